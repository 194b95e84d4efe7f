#!/usr/bin/python3
"""Result files: who may deliver and fetch them, under which names, how many,
and how long they stay.  The API as a CGI program."""
import hashlib
import os
import sqlite3
import stat
import subprocess
import sys
import time
import urllib.parse

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ.get("SRCDIR", "."), "t/lib"))
import programs
import tap
from programs import says

builddir, srcdir = tap.needs("BUILDDIR", "SRCDIR")
template = programs.Template(builddir, tap.TMP)
DB = os.path.join(tap.TMP, "conspect.db")
template.copy_to(DB)
RESULTS = os.path.join(tap.TMP, "results")
api = programs.Cgi(os.path.join(builddir, "cgi-bin/api"), DB)
AGENT, USER = template.agent, template.user
NONE = "00000000-0000-4000-8000-000000000000"
MIB = 1024 * 1024


def sql(text, *values):
    connection = sqlite3.connect(DB, timeout=60)
    with connection:
        rows = connection.execute(text, values).fetchall()
    connection.close()
    return rows


def ctl(*words):
    done = subprocess.run(
        [os.path.join(builddir, "conspectctl"), "--db", DB, *words],
        text=True, capture_output=True, timeout=programs.PATIENCE)
    if done.returncode:
        tap.give_up("conspectctl %s: %s" % (words, done.stderr))
    return done.stdout + done.stderr


def token(name, *options):
    path = os.path.join(tap.TMP, name)
    ctl("token", "add", name, "--out", path, *options)
    with open(path, encoding="ascii") as file:
        return {"Authorization": "Bearer " + file.read().strip()}


def command(host="h1", service="web", take=True):
    """The id of a new command, which the host was given."""
    post("/api/metrics/profile_request", USER, {
        "service_name": service, "request_type": "start",
        "target_hosts": {host: None}})
    if take:
        post("/api/metrics/heartbeat", AGENT, {
            "service_name": service, "hostname": host, "ip_address": "::1"})
    return sql("SELECT command_id FROM ProfilingCommands"
               " ORDER BY id DESC LIMIT 1")[0][0]


def post(path, who, body):
    import json
    reply = api.send("POST", path, {**who, "Content-Type":
                                    "application/json"},
                     json.dumps(body).encode())
    if reply.status != 200:
        tap.give_up("%s: %r" % (path, reply))
    return reply.json()


def address(command_id, name, host="h1"):
    return "/api/metrics/results/%s/%s%s" % (
        command_id, name, "" if host is None else
        "?hostname=" + urllib.parse.quote(host))


def put(command_id, name, body=b"x", who=None, host="h1", headers=None):
    return api.send("PUT", address(command_id, name, host),
                    {**(AGENT if who is None else who), **(headers or {})},
                    body)


def get(path, who=None):
    return api.send("GET", "/api/metrics/results/" + path,
                    USER if who is None else who)


def stored():
    """Everything below results/: {path: bytes}."""
    found = {}
    for directory, _, names in os.walk(RESULTS):
        for name in names:
            path = os.path.join(directory, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, RESULTS)] = file.read()
    return found


# --- refusals ----------------------------------------------------------------

def check_who(mine):
    tap.equal(put(mine, "a", who={}).status, 401, "nobody delivers a file")
    tap.equal(put(mine, "a", who=USER).status, 403, "nor does a user")
    for path in (mine, mine + "/a"):
        tap.equal(get(path, {}).status, 401, "nobody sees files")
        tap.equal(get(path, AGENT).status, 403, "nor does an agent")
    other = token("other-host", "--host", "h2")
    tap.ok(says(put(mine, "a", who=other), 403, "for another host"),
           "a token for another host does not")
    tap.ok(says(put(mine, "a", who=other, host="h2"), 404, "no command"),
           "not by that host's name either")
    tap.ok(says(put(mine, "a", host="h2"), 404, "no command"),
           "a command is its host's only")
    service = token("other-service", "--service", "mail")
    tap.ok(says(put(mine, "a", who=service), 404, "no command"),
           "and its service's")
    tap.equal(stored(), {}, "nothing of it is stored")


def check_what(mine):
    waiting = command("h9", take=False)
    tap.ok(says(put(NONE, "a"), 404, "no command"), "an unknown command is 404")
    tap.ok(says(put(waiting, "a", host="h9"), 404, "no command"),
           "so is one that was not handed out")
    for odd in ("x", mine[:-1], mine + "0", mine.replace("-", "0"), ".."):
        tap.equal(put(odd, "a").status, 404, "%r is no command" % odd)
    for path in (NONE, NONE + "/a", "x", "x/a", mine + "/a"):
        tap.equal(get(path).status, 404, "there is no %s" % path)
    reply = put(mine, "a", host=None)
    tap.equal((reply.status, reply.json()["detail"][0]["loc"]),
              (422, ["query", "hostname"]), "the host must be named")
    tap.equal(put(mine, "a", host="").status, 422, "and not be empty")
    env = api.environment("PUT", address(mine, "a"), AGENT, 1)
    for key, value, status in (("CONTENT_LENGTH", None, 411),
                               ("CONTENT_LENGTH", "-1", 400),
                               ("CONTENT_LENGTH", "2", 400),
                               ("CONTENT_LENGTH", str(16 * MIB + 1), 413),
                               ("HTTP_TRANSFER_ENCODING", "chunked", 411)):
        one = {**env, key: value}
        one = {k: v for k, v in one.items() if v is not None}
        tap.equal(api.run(one, b"x")[0].status, status, "%s %s is %d" % (
            key, value, status))
    tap.equal(stored(), {}, "nothing of it is stored")


def check_names(mine):
    for name in ("..", ".", ".hidden", "%2e%2e", ".%2e", "%2e", "a%0ab", "%01",
                 "a%7f", "%c2%80", "%ff", "a%c3", "a" * 256,
                 "%c3%a4" * 128):
        tap.ok(says(put(mine, name), 422, "name of a result file"),
               "%.40s is no name" % name, put(mine, name))
        tap.ok(says(get("%s/%s" % (mine, name)), 422, "name of a result"),
               "to fetch, either")
    for name in ("a/b", "a%2fb", "..%2f..%2fconspect.db", "%2fetc%2fpasswd2/x",
                 "../../x"):
        reply = put(mine, name)
        tap.ok(reply.status in (404, 405), "%s leads nowhere" % name, reply)
        tap.ok(get("%s/%s" % (mine, name)).status in (404, 405),
               "to fetch, either")
    tap.equal(stored(), {}, "nothing of it is stored")
    tap.equal(sql("SELECT count(*) FROM ResultFiles"), [(0,)], "nor noted")


# --- what works --------------------------------------------------------------

def check_stored(mine):
    body = bytes(range(256)) * 1000
    reply = put(mine.upper(), "series.csv", body, host="H1",
                headers={"Content-Type": "multipart/form-data"})
    tap.equal(reply.status, 201, "a file is taken, whatever type it claims")
    said = reply.json()
    tap.equal({k: v for k, v in said.items() if k != "received_at"},
              {"name": "series.csv", "bytes": len(body),
               "sha256": hashlib.sha256(body).hexdigest()},
              "the reply says what was understood")
    tap.equal(stored(), {mine + "/series.csv": body},
              "it lies beside the database, byte for byte")
    modes = [stat.S_IMODE(os.stat(os.path.join(RESULTS, p)).st_mode) & 0o027
             for p in ("", mine, mine + "/series.csv")]
    tap.equal(modes, [0, 0, 0], "for its owner and group only")
    tap.equal(put(mine, "series.csv", b"new").status, 200,
              "the same name again replaces it")
    tap.equal(stored(), {mine + "/series.csv": b"new"}, "as a whole")
    tap.equal(put(mine, "empty", b"").status, 201, "a file may be empty")
    full = b"\0" * (16 * MIB)
    tap.equal(put(mine, "full", full).status, 201, "or have 16 MiB")
    tap.ok(get(mine + "/full").body == full, "and comes back so")
    listed = get(mine).json()
    tap.equal((listed["command_id"],
               [(f["name"], f["bytes"]) for f in listed["files"]]),
              (mine, [("empty", 0), ("full", 16 * MIB), ("series.csv", 3)]),
              "the list has them in the order of names")
    tap.equal(get(command("h2")).json()["files"], [],
              "a command without files has none")
    post("/api/metrics/command_completion", AGENT, {
        "command_id": mine, "hostname": "h1", "status": "completed"})
    tap.equal(put(mine, "late.json", b"{}").status, 201,
              "a file may come after the end of the run")


def check_served(mine):
    names = {
        "a.html": "application/octet-stream", "a.svg":
        "application/octet-stream", "a.csv.html": "application/octet-stream",
        "noend": "application/octet-stream", "A.CSV":
        "text/csv; charset=utf-8", "a.json": "application/json",
        "a b\"'\\%;\u00e4<.csv": "text/csv; charset=utf-8"}
    script = b"<script>alert(document.cookie)</script>"
    for name, kind in names.items():
        path = urllib.parse.quote(name, safe="")
        put(mine, path, script)
        reply = get("%s/%s" % (mine, path))
        tap.equal((reply.status, reply.body), (200, script),
                  "%s comes back" % name)
        tap.equal(reply.headers["content-type"], kind, "as " + kind)
        tap.equal(reply.headers["content-disposition"],
                  "attachment; filename*=UTF-8''" + path,
                  "as a download by its own name")
        tap.equal(reply.headers["x-content-type-options"], "nosniff",
                  "not to be guessed at")
        # Cgi keeps the last of several headers of a name
        tap.equal(reply.headers["content-security-policy"],
                  "sandbox; default-src 'none'", "in a sandbox")
    head = api.send("HEAD", "/api/metrics/results/%s/a.html" % mine, USER)
    tap.equal((head.status, head.headers["content-length"], head.body),
              (200, str(len(script)), b""), "HEAD has no body")


def check_limits():
    mine = command("h3")
    sql("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
        " WHERE i < 63) INSERT INTO ResultFiles (command_id, name, bytes,"
        " sha256, received_at) SELECT ?, i, 1, printf('%064d', 0), '9999'"
        " FROM n", mine)
    tap.equal(put(mine, "a", host="h3").status, 201, "64 files are taken")
    tap.ok(says(put(mine, "b", host="h3"), 413, "64"), "65 are not")
    tap.equal(put(mine, "a", host="h3").status, 200, "but one is replaced")
    tap.equal([p for p in stored() if p.startswith(mine)], [mine + "/a"],
              "what was refused is not left behind")
    sql("DELETE FROM ResultFiles WHERE command_id = ? AND name <> 'a'", mine)
    sql("UPDATE ResultFiles SET bytes = ?, name = 'b' WHERE command_id = ?",
        256 * MIB - 2, mine)
    tap.ok(says(put(mine, "c", b"abc", host="h3"), 413, "256 MiB"),
           "more than 256 MiB are not taken")
    tap.equal(put(mine, "c", b"ab", host="h3").status, 201, "so many are")


def check_disk(mine):
    where = os.path.join(RESULTS, mine)
    outside = os.path.join(tap.TMP, "outside")
    os.unlink(os.path.join(where, "empty"))
    tap.ok(says(get(mine + "/empty"), 404, "no result file"),
           "a file that was removed by hand is 404")
    os.rename(where, outside)
    os.symlink(outside, where)
    before = sorted(os.listdir(outside))
    tap.equal(put(mine, "new").status, 503, "a link is not followed to store")
    tap.equal(get(mine + "/late.json").status, 503, "nor to fetch")
    tap.equal(sorted(os.listdir(outside)), before, "nothing went there")
    os.unlink(where)
    os.rename(outside, where)
    os.rename(RESULTS, outside)
    with open(RESULTS, "w", encoding="ascii"):
        pass
    env = api.environment("PUT", address(mine, "new"), AGENT, 1)
    reply, log = api.run(env, b"x")
    tap.equal((reply.status, "retry-after" in reply.headers), (503, True),
              "without a directory the agent is asked to come again")
    tap.has(log, RESULTS, "and the log names it")
    os.unlink(RESULTS)
    os.rename(outside, RESULTS)
    tap.equal(put(mine, "new").status, 201, "then it works again")


# --- how long ----------------------------------------------------------------

def kept(host, *files):
    """Files of a host's first command: name, age in days, size."""
    mine = command(host)
    for name, days, size in files:
        if put(mine, name, b"x" * size, host=host).status != 201:
            tap.give_up("no file")
        sql("UPDATE ResultFiles SET received_at = strftime("
            "'%Y-%m-%dT%H:%M:%fZ', 'now', ?) WHERE command_id = ?"
            " AND name = ?", "-%s seconds" % int(days * 86400), mine, name)
    return mine


def names(mine):
    found = [f["name"] for f in get(mine).json()["files"]]
    there = sorted(p.partition("/")[2] for p in stored()
                   if p.startswith(mine + "/"))
    tap.equal(there, found, "rows and files agree")
    return found


def check_kept():
    sql("DELETE FROM ResultFiles")
    subprocess.run(["rm", "-rf", RESULTS], check=True)
    mine = kept("k1", ("old", 30.01, 10), ("young", 29.99, 10), ("new", 0, 10))
    log = ctl("housekeep")
    tap.has(log, "1 result files", "housekeeping says what it removed")
    tap.equal(names(mine), ["new", "young"], "30 days are enough")
    ctl("set", "results_keep_days", "1")
    ctl("housekeep")
    tap.equal(names(mine), ["new"], "or what the setting says")
    ctl("set", "results_keep_mib", "1")
    size = kept("k2", ("b", 0.3, 512 * 1024), ("a", 0.2, 512 * 1024 - 10),
                ("c", 0.1, 10))
    sql("DELETE FROM ResultFiles WHERE command_id = ?", mine)
    ctl("housekeep")
    tap.equal(names(size), ["a", "b", "c"], "a size that may be stays")
    put(size, "d", host="k2")
    ctl("housekeep")
    tap.equal(names(size), ["a", "c", "d"], "beyond it the oldest goes")


def check_tidied():
    mine, gone = kept("k3", ("a", 0, 1)), kept("k4", ("b", 0, 1))
    fresh = os.path.join(RESULTS, mine, ".x.part")
    stale = os.path.join(RESULTS, mine, ".y.part")
    for path in (fresh, stale):
        with open(path, "w", encoding="ascii") as file:
            file.write("x")
    os.utime(stale, (1, time.time() - 3700))
    sql("PRAGMA foreign_keys = ON")
    sql("UPDATE ProfilingCommands SET status = 'completed',"
        " ended_at = '2001-01-01T00:00:00.000Z' WHERE command_id = ?", gone)
    for path in (os.path.join(RESULTS, gone, "b"),
                 os.path.join(RESULTS, gone)):
        os.utime(path, (1, time.time() - 3700))
    ctl("housekeep")
    tap.equal(get(gone).status, 404, "a command that is gone")
    tap.ok(not os.path.exists(os.path.join(RESULTS, gone, "b")),
           "takes its files with it")
    tap.ok(not os.path.exists(stale), "what an upload left goes")
    tap.ok(os.path.exists(fresh), "an upload under way is not disturbed")
    tap.ok(os.path.exists(os.path.join(RESULTS, mine, "a")),
           "nor is what is known")


MINE = command()
check_who(MINE)
check_what(MINE)
check_names(MINE)
check_stored(MINE)
check_served(MINE)
check_limits()
check_disk(MINE)
check_kept()
check_tidied()
tap.done()
