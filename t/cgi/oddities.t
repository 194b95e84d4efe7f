#!/usr/bin/python3
"""What web servers and clients make of CGI: odd environments, odd lengths,
odd clocks and names, many at once, a directory that may not be written.
t/cgi/api.t has what the API answers when nothing is odd."""
import concurrent.futures
import datetime
import json
import os
import pwd
import shutil
import sqlite3
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ.get("SRCDIR", "."), "t/lib"))
import programs
import tap
from programs import says

builddir, top = tap.needs("BUILDDIR", "TOP_BUILDDIR")
template = programs.Template(builddir, tap.TMP)
database = os.path.join(tap.TMP, "conspect.db")
template.copy_to(database)
api = programs.Cgi(os.path.join(builddir, "cgi-bin/api"), database)

REQUEST = "/api/metrics/profile_request"
BEAT = "/api/metrics/heartbeat"
DONE = "/api/metrics/command_completion"
HOSTS = "/api/metrics/profiling/host_status"
WHO = {REQUEST: template.user, BEAT: template.agent, DONE: template.agent,
       HOSTS: template.user}
JSON = {"Content-Type": "application/json"}


def post(path, body):
    if not isinstance(body, bytes):
        body = json.dumps(body).encode()
    return api.send("POST", path, {**JSON, **WHO[path]}, body)


def beat(hostname, service="web", **members):
    return post(BEAT, {"hostname": hostname, "service_name": service,
                       "ip_address": "10.0.0.1", **members})


def start(hosts, service="web", **members):
    return post(REQUEST, {"service_name": service, "request_type": "start",
                          "target_hosts": hosts, **members})


def sql(query, *values):
    db = sqlite3.connect(database)
    try:
        return db.execute(query, values).fetchall()
    finally:
        db.close()


def environment(path, body=b"", **changes):
    """Of a POST; a change to None takes the variable away."""
    env = api.environment("POST", path, {**JSON, **WHO[path]}, len(body))
    env.update((k, v) for k, v in changes.items() if v is not None)
    return {k: v for k, v in env.items() if changes.get(k, "") is not None}


# --- the environment ---------------------------------------------------------

HELLO = json.dumps({"hostname": "h", "service_name": "s",
                    "ip_address": "10.0.0.1"}).encode()


def check_paths():
    for script, info in (
            ("/api", "/metrics/heartbeat"), ("", "/metrics/heartbeat"),
            (None, "/metrics/heartbeat"), ("/api", "metrics/heartbeat"),
            ("/tools/conspect/cgi-bin/api", "//metrics///heartbeat//"),
            ("/tools/conspect/api/", "/metrics/heartbeat/")):
        reply, _ = api.run(environment(BEAT, HELLO, SCRIPT_NAME=script,
                                       PATH_INFO=info), HELLO)
        tap.equal(reply.status, 200, "SCRIPT_NAME %s and PATH_INFO %s lead "
                  "to the route" % (script, info))
    for info in (None, "", "/", "//", "/metrics", "/metrics/./heartbeat",
                 "/metrics/../metrics/heartbeat", "/METRICS/heartbeat",
                 "/metrics%2fheartbeat", "/metrics/heartbeat?x", "/\udcff",
                 "/" + "x" * 100000):
        reply, _ = api.run(environment(BEAT, HELLO, PATH_INFO=info), HELLO)
        tap.ok(says(reply, 404, "nothing at this address"),
               "PATH_INFO %s leads nowhere" % ascii(info)[:40], reply)


def check_lengths():
    for length, status in (
            (None, 411), ("", 411), ("-1", 400), ("99999999999", 413),
            ("18446744073709551618", 413), ("9" * 100, 413), ("+2", 400),
            (" 2", 400), ("2 ", 400), ("0x2", 400), ("2,2", 400),
            ("1e1", 400), ("two", 400), ("-0", 400), ("2.0", 400)):
        reply, _ = api.run(environment(BEAT, CONTENT_LENGTH=length), b"{}")
        tap.ok(says(reply, status, "Content-Length" if status < 413
                    else "larger"),
               "CONTENT_LENGTH %s is %d" % (ascii(length)[:30], status), reply)
    padded = "0" * 200 + str(len(HELLO))
    reply, _ = api.run(environment(BEAT, CONTENT_LENGTH=padded), HELLO)
    tap.equal(reply.status, 200, "zeros before it do not matter")


def talk(env, *parts):
    """Sends a body in parts, with pauses, and then nothing more: the reply
    must come without the end of the file."""
    child = subprocess.Popen([api.program], env=env, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        for part in parts:
            child.stdin.write(part)
            child.stdin.flush()
            time.sleep(0.05)  # so that they arrive one by one
        child.wait(programs.PATIENCE)
        return child.stdout.read()
    except (subprocess.TimeoutExpired, BrokenPipeError) as error:
        return repr(error).encode()
    finally:
        child.kill()
        child.communicate()


def check_bodies():
    env = environment(BEAT, HELLO)
    tap.has(talk(env, HELLO[:5], HELLO[5:9], HELLO[9:]), b"Status: 200",
            "a body may come in parts, and without an end of file")
    tap.has(talk(env, HELLO + b"more"), b"Status: 200",
            "what follows it is not read")
    reply, _ = api.run(environment(BEAT, HELLO, CONTENT_LENGTH="1000"), HELLO)
    tap.ok(says(reply, 400, "shorter"), "a body that breaks off is 400", reply)
    reply, _ = api.run(environment(BEAT, HELLO, CONTENT_LENGTH="20"), HELLO)
    tap.ok(says(reply, 422, "JSON decode error"),
           "and one that is cut by its length is no JSON", reply)


def shell(command, env):
    return subprocess.run(["sh", "-c", command, "sh", api.program], env=env,
                          capture_output=True, timeout=programs.PATIENCE)


def check_environments():
    bare = {k: v for k, v in os.environ.items() if k.endswith("_OPTIONS")}
    bare["CONSPECT_DB"] = database
    reply, _ = api.run(bare)
    tap.ok(says(reply, 404, "nothing"), "an empty environment is 404", reply)
    for name in ("REMOTE_ADDR", "QUERY_STRING", "CONTENT_TYPE", "HTTP_HOST",
                 "SERVER_PROTOCOL", "GATEWAY_INTERFACE"):
        reply, _ = api.run(environment(BEAT, HELLO, **{name: None}), HELLO)
        tap.equal(reply.status, 200, "%s is not needed" % name)
    done = shell('exec "$1" <&-', environment(BEAT, HELLO))
    tap.ok(done.returncode == 0 and done.stdout.startswith(b"Status: 400"),
           "without standard input the body is missing", done)
    done = shell('exec "$1" <&-', environment(BEAT, CONTENT_LENGTH="0"))
    tap.ok(done.stdout.startswith(b"Status: 422"),
           "and one of no bytes is no JSON", done)
    done = shell('"$1" >&-', environment(BEAT, CONTENT_LENGTH="0"))
    tap.ok(done.returncode == 0 and b"went away" in done.stderr,
           "without standard output it says so and ends", done)
    tap.equal(sql("PRAGMA integrity_check"), [("ok",)],
              "and nothing was written into the database")


def check_secrets():
    for value in ("", "Bearer", "Bearer ", "Bearer \udcff", "bearer x",
                  "Bearer " + "x" * 100000, "Basic", "Basic ", "Basic !!!",
                  "Basic Og==", "Basic /zr/", "Basic " + "QUFB" * 30000,
                  "Digest x", "\udcff\udcfe"):
        reply, _ = api.run(environment(BEAT, HELLO, HTTP_AUTHORIZATION=value),
                           HELLO)
        tap.ok(says(reply, 401, "agent's token"),
               "Authorization %s is nobody" % ascii(value)[:30], reply)
    for value in ("", ";;;", "=", "conspect_session", "conspect_session=",
                  "conspect_session=" + "x" * 100000, "a=\udcff",
                  "x" * 100000, "conspect_session=x; " * 1000):
        reply, _ = api.run(environment(REQUEST, b"{}", HTTP_COOKIE=value),
                           b"{}")
        tap.ok(says(reply, 401, "role operator"),
               "Cookie %s is nobody" % ascii(value)[:30], reply)


def check_bad_queries():
    for query, text in (("hostname=%", "UTF-8"), ("hostname=%g0", "UTF-8"),
                        ("%00=1", "UTF-8"), ("hostname=%C0%AF", "UTF-8"),
                        ("&".join(["a"] * 20001), "20000"),
                        ("pids=" + "9" * 100000, "out of range"),
                        ("pids=1&pids=+", "integer"),
                        ("exact_match=" + "x" * 100000, "boolean")):
        reply = api.send("GET", HOSTS + "?" + query, WHO[HOSTS])
        tap.ok(says(reply, 422, text), "?%s is 422" % query[:30], reply)


# --- clocks and names --------------------------------------------------------

def check_clocks():
    now = datetime.datetime.utcnow()
    minutes = datetime.timedelta(minutes=1)
    zone = "%Y-%m-%dT%H:%M:%S"
    clocks = {
        "slow": (now - 10 * minutes).strftime(zone + "Z"),
        "fast": (now + 10 * minutes).strftime(zone + "Z"),
        "local": (now + 330 * minutes).strftime(zone),
        "zoned": (now + 330 * minutes).strftime(zone + "+05:30"),
        "first": 0, "last": "9999-12-31T23:59:59Z", "none": None,
    }
    for name, text in clocks.items():
        reply = beat(name, "clocks", timestamp=text)
        (seen,), = sql("SELECT last_seen FROM HostHeartbeats"
                       " WHERE hostname = ?", name)
        off = datetime.datetime.fromisoformat(seen[:-1]) - now
        tap.ok(reply.status == 200 and
               abs(off.total_seconds()) < programs.PATIENCE,
               "%s: a clock at %s is last seen by the server's" % (name, text),
               seen)
    reply = start({}, "clocks")
    tap.equal(len(reply.json()["command_ids"]), len(clocks),
              "and all of them are active")


def check_names():
    spellings = ("DB01", "db01", "Db01")
    for name in spellings:
        beat(name, "names")
    beat("db01.corp", "names")
    tap.equal(sql("SELECT hostname FROM HostHeartbeats WHERE service_name ="
                  " 'names' ORDER BY id"), [("DB01",), ("db01.corp",)],
              "DB01 and db01 are one host, as first spelt; db01.corp is not")
    asked = start({"dB01": None}, "names").json()["command_ids"]
    tap.equal(beat("db01.corp", "names").json()["command_id"], None,
              "a command for dB01 is not for db01.corp")
    tap.equal([beat("db01", "names").json()["command_id"]], asked,
              "but for db01")
    reply = post(DONE, {"command_id": asked[0].upper(), "hostname": "DB01",
                        "status": "completed"})
    tap.ok(reply.json()["success"], "which DB01 ends", reply)
    start({"db01": [1]}, "names")
    start({"DB01": [2]}, "names")
    config = beat("db01", "names").json()["profiling_command"]
    tap.equal(config["combined_config"]["pids"], [1, 2],
              "and two spellings are merged")


# --- many at once, and none that may ----------------------------------------

WRITERS = 8
ROUNDS = 4 if builddir == top else 1  # slow under valgrind


def writer(number):
    """A host's whole life some times over, beside a host that all share:
    what is wrong with the replies."""
    name, wrong = "writer-%d" % number, []
    for _ in range(ROUNDS):
        replies = [start({name: None, "shared": [number + 1]}, "many"),
                   beat(name, "many")]
        done = post(DONE, {"command_id": replies[1].json()["command_id"],
                           "hostname": name, "status": "completed"})
        wrong += [r for r in replies + [done]
                  if r.status != 200 or not r.json()["success"]]
    return wrong


def check_writers():
    with concurrent.futures.ThreadPoolExecutor(WRITERS) as pool:
        wrong = sum(pool.map(writer, range(WRITERS)), [])
    tap.equal(wrong, [], "%d programs write at once, and all succeed" %
              WRITERS)
    tap.equal(sql("SELECT count(*) FROM ProfilingRequests"
                  " WHERE service_name = 'many'"), [(WRITERS * ROUNDS,)],
              "each request is there")
    tap.equal(sql("SELECT count(*) FROM ProfilingCommands WHERE service_name"
                  " = 'many' AND hostname <> 'shared' AND status ="
                  " 'completed'"), [(WRITERS * ROUNDS,)],
              "and each host's commands are done")
    config = beat("shared", "many").json()["profiling_command"]
    tap.equal(config["combined_config"]["pids"], list(range(1, WRITERS + 1)),
              "and the host of all has one command, with what each asked for")
    tap.equal(beat("shared", "many", last_command_id=sql(
        "SELECT command_id FROM ProfilingCommands WHERE hostname = 'shared'"
        )[0][0]).json()["command_id"], None, "and no other")
    tap.equal(sql("PRAGMA integrity_check") + sql("PRAGMA foreign_key_check"),
              [("ok",)], "and the database is whole")


def check_directory():
    """The file is writable, its directory is not; root may write both."""
    directory = os.path.join(tap.TMP, "closed")
    user = pwd.getpwuid(os.geteuid())
    as_user = {}
    if user.pw_uid == 0:
        user = pwd.getpwnam("nobody")
        as_user = {"user": user.pw_uid, "group": user.pw_gid,
                   "extra_groups": []}
    os.chmod(tap.TMP, 0o755)
    os.mkdir(directory)
    # the program itself, where nobody may start it
    program = os.path.join(tap.TMP, "api")
    shutil.copy(os.path.join(top, "cgi-bin/api"), program)
    closed = programs.Cgi(program, os.path.join(directory, "conspect.db"))
    template.copy_to(closed.database)
    os.chmod(closed.database, 0o666)
    os.chmod(directory, 0o555)
    reply, log = closed.run({**environment(BEAT, HELLO),
                             "CONSPECT_DB": closed.database}, HELLO,
                            **as_user)
    tap.ok(says(reply, 503, "log names user and path"),
           "in a directory that may not be written it is 503", reply)
    tap.ok("retry-after" in reply.headers, "and to be tried again", reply)
    tap.ok(directory in log and user.pw_name in log and
           "writable file is not enough" in log,
           "the log names user and directory", log)
    tap.ok(directory.encode() not in reply.body, "and the reply does not")
    os.chmod(directory, 0o755)


check_paths()
check_lengths()
check_bodies()
check_environments()
check_secrets()
check_bad_queries()
check_clocks()
check_names()
check_writers()
check_directory()
tap.done()
