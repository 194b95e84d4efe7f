#!/usr/bin/python3
"""The original's own agent as a client of our server."""
import json
import os
import socket
import sqlite3
import sys
import time
import urllib.parse

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ.get("SRCDIR", "."), "t/lib"))
import programs
import tap

try:
    import requests
except ImportError:
    tap.skip_all("not installed: python3-requests")
from original_agent import Agent

tap.needs("BUILDDIR", "SRCDIR")
# its clock is half a day behind
os.environ["TZ"] = "XXX12"
time.tzset()
server = programs.Server("lighttpd-fastcgi")
SERVICE = "my-service"
user = requests.Session()
user.trust_env = False
user.post(server.base + "/login", allow_redirects=False, data={
    "user": "admin", "password": programs.PASSWORD}).raise_for_status()


def ask(**members):
    """The command ids of a request."""
    reply = user.post(server.base + "/api/metrics/profile_request",
                      json={"service_name": SERVICE, **members}, timeout=30)
    reply.raise_for_status()
    return reply.json()["command_ids"]


def start(host, pids=None, **members):
    return ask(request_type="start", target_hosts={host: pids}, **members)[0]


def stop(host, pids=None):
    return ask(request_type="stop", target_hosts={host: pids},
               stop_level="process" if pids else "host")[0]


def status(host):
    rows = user.get(server.base + "/api/metrics/profiling/host_status",
                    params={"hostname": host, "exact_match": "true"},
                    timeout=30).json()
    return [row["profiling_status"] for row in rows]


def sql(query, *values):
    db = sqlite3.connect("file:%s?mode=ro" % server.database, uri=True)
    try:
        return db.execute(query, values).fetchall()
    finally:
        db.close()


def agent_of(host, ids=()):
    return Agent(server.base, server.token, host, SERVICE, ids)


def check_run():
    agent = agent_of("db01", Agent.ids(1))
    tap.ok(not agent.turn(), "with nothing to do it does nothing")
    tap.ok(75000 < agent.sent < 90000,
           "a heartbeat with 1,000 ids in each list is taken", agent.sent)
    asked = start("db01", duration=90, frequency=25,
                  additional_args={"enable_perfspect": True})
    tap.ok(agent.turn(), "a start is run and its end taken")
    tap.equal(agent.ran, [("start", {
        "command_type": "start", "duration": 90, "frequency": 25,
        "continuous": False, "profiling_mode": "cpu",
        "enable_perfspect": True})], "as it was asked for")
    tap.equal(agent.last_command_id, asked, "by the id that the user has")
    tap.equal(status("db01"), ["completed"], "and it shows as completed")
    tap.equal(sql("SELECT status, execution_time FROM ProfilingExecutions"
                  " WHERE command_id = ?", asked), [("completed", 0)],
              "after no time at all, as the agent says")
    tap.ok(not agent.turn() and len(agent.ran) == 1, "and runs once")
    tap.equal(len(agent.received), 1000, "of 1,001 ids it forgot one")
    tap.ok(agent.complete(asked)["success"],
           "it may say the same again, when it did not hear the answer")
    tap.ok(not agent.complete(asked, "failed")["success"],
           "but nothing else")


def check_failure():
    agent = agent_of("db02")
    start("db02")
    command_id, _ = agent.heartbeat()
    tap.ok(agent.complete(command_id, "failed", "no perf")["success"],
           "a failure is taken")
    tap.equal(status("db02"), ["failed"], "and shows")
    tap.ok(not agent.turn(), "and is not tried again")


def check_stop():
    agent = agent_of("db03")
    start("db03", continuous=True)
    tap.ok(agent.turn(), "a continuous start is run")
    stop("db03")
    tap.ok(agent.turn(), "and stopped")
    tap.equal(agent.ran[-1], ("stop", {"stop_level": "host"}), "altogether")
    tap.equal(status("db03"), ["stopped"], "which shows")
    tap.ok(not agent.turn(), "and no more is said of it")
    stop("db03")
    start("db03", continuous=True)
    tap.ok(agent.turn() and agent.turn(), "a stop and a start reach it both")
    tap.equal([kind for kind, _ in agent.ran[-2:]], ["stop", "start"],
              "in this order")
    start("db03", [10, 20])
    tap.ok(agent.turn(), "processes are profiled")
    stop("db03", [10])
    tap.ok(agent.turn(), "and one of them stopped")
    tap.equal(agent.ran[-1], ("stop", {"pids": [10], "stop_level": "process"}),
              "which it is told by its number: the run counts as finished")


def send_and_leave(agent):
    """A heartbeat whose reply nobody reads."""
    base = urllib.parse.urlsplit(server.base)
    body = json.dumps(agent.members()).encode()
    head = ("POST /api/metrics/heartbeat HTTP/1.1\r\nHost: %s\r\n"
            "Authorization: Bearer %s\r\nContent-Type: application/json\r\n"
            "Content-Length: %d\r\n\r\n" % (base.netloc, server.token,
                                            len(body)))
    with socket.create_connection((base.hostname, base.port)) as s:
        s.sendall(head.encode() + body)
        # until it is handled, and no longer
        return tap.wait_for(60, lambda: status(agent.hostname) == ["sent"])


def check_lost_reply():
    agent = agent_of("db04", Agent.ids(4))
    agent.turn()
    asked = start("db04")
    tap.ok(send_and_leave(agent), "a command is sent and the reply lost")
    tap.ok(send_and_leave(agent), "and a second one goes the same way")
    tap.ok(agent.turn(), "the next heartbeat brings it")
    tap.equal((agent.last_command_id, len(agent.ran)), (asked, 1),
              "the same one")
    tap.ok(not agent.turn() and len(agent.ran) == 1, "which runs once")


def check_restart():
    agent = agent_of("db05")
    start("db05")
    tap.ok(agent.turn(), "a run is finished")
    agent = agent.restarted()
    tap.ok(not agent.turn() and not agent.turn(),
           "an agent that forgot it does not run it again")
    tap.equal(status("db05"), ["completed"], "it stays completed")
    asked = start("db05")
    agent.heartbeat()
    agent = agent.restarted()
    tap.ok(agent.turn() and agent.last_command_id == asked,
           "one that it never began is begun after the restart")
    tap.ok(not agent.turn() and len(agent.ran) == 1, "once")
    start("db05")
    agent.heartbeat()
    agent.heartbeat()
    agent = agent.restarted()
    tap.ok(not agent.turn(), "one that it showed to have is its own matter")


def check_clock():
    (sent, seen), = sql("SELECT heartbeat_timestamp, last_seen"
                        " FROM HostHeartbeats WHERE hostname = 'db05'")
    now = time.strftime("%Y-%m-%dT%H:", time.gmtime())
    tap.ok(sent < seen and not sent.startswith(now),
           "its own time is kept as it sends it", (sent, seen, now))
    tap.equal(len(ask(request_type="start")), 5,
              "and it is active by the server's clock: all hosts are five")


def check_names():
    first, second = agent_of("Web01"), agent_of("web01")
    first.turn()
    start("WEB01")
    tap.ok(second.turn(), "a name in another spelling is the same host")
    tap.ok(not first.turn(), "to which it is sent once")
    other = Agent(server.base, "wrong", "web01", SERVICE)
    try:
        other.turn()
        tap.ok(False, "a wrong token is refused")
    except requests.HTTPError as error:
        tap.equal(error.response.status_code, 401, "a wrong token is refused")


check_run()
check_failure()
check_stop()
check_lost_reply()
check_restart()
check_clock()
check_names()
tap.equal(server.stop(), "", "nothing went wrong behind the answers")
tap.done()
