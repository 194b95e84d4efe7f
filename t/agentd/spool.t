#!/usr/bin/env python3
"""Result files come to the server: after the report, whole, and once, also
when the server is away and the agent is killed."""
import os
import sqlite3
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ.get("SRCDIR", "."), "t/agentd"))
from harness import *  # noqa: E402,F403


def results(host, command):
    return os.path.join(host.state, "runs", command, "results")


def left_by(host, command):
    """The run's files as they are on the host: {(command, name): bytes}."""
    found = {}
    for name in os.listdir(results(host, command)):
        with open(os.path.join(results(host, command), name), "rb") as f:
            found[command, name] = f.read()
    return found


def state(host, query):
    """What the agent's state holds."""
    database = sqlite3.connect(
        "file:%s/agent.db?mode=ro" % host.state, uri=True, timeout=DEADLINE)
    rows = database.execute(query).fetchall()
    database.close()
    return rows


def waits(host):
    return state(host, "SELECT count(*) FROM results")[0][0]


def away_and_killed(server, host):
    host.hold_runs()
    host.start()
    command = server.start(duration=1)
    until(lambda: server.state(command) == "running", "running")
    server.refuse = (503, {"Retry-After": "1"}, b"{}")
    host.release_runs()
    until(lambda: "completed after" in host.log_text(), "the run's end")
    host.kill()
    host.start()
    until(lambda: waits(host) == 2, "both files noted")
    host.kill()
    equal(server.came, [], "a server that is away hears nothing")
    server.refuse = None
    host.start()
    until(lambda: len(server.came) >= 3 and waits(host) == 0, "all of it")
    files = left_by(host, command)
    equal(len(files), 2, "the run left two files")
    equal(server.delivered, files,
          "kill -9 and an absent server lose none, byte for byte")
    equal(server.came[0], command, "the report goes first")
    host.end()
    host.start()
    count = len(server.beats)
    until(lambda: len(server.beats) > count + 1, "two more heartbeats")
    equal(sorted(server.came), sorted([command] + [n for _, n in files]),
          "each comes once")


# What a run leaves that is not delivered, and what the log says of it.
ODD = {"link.csv": "is no regular file", "directory": "is no regular file",
       "large.csv": "is larger than 16 MiB",
       ".hidden": "has a name that the server does not take"}


def add_odd(directory):
    os.symlink("/etc/passwd", os.path.join(directory, "link.csv"))
    os.mkdir(os.path.join(directory, "directory"))
    Host.write(os.path.join(directory, ".hidden"), "x", 0o600)
    with open(os.path.join(directory, "large.csv"), "w") as f:
        f.truncate(16 * 1024 * 1024 + 1)
    with open(os.path.join(directory, "a b%2f\u00e4.csv"), "w") as f:
        f.truncate(16 * 1024 * 1024)
    Host.write(os.path.join(directory, "empty.json"), "", 0o600)


def answers_and_names(server, host):
    tries = {"html": [(500, {}, b"{}"), (503, {"Retry-After": "1"}, b"{}"),
                      (429, {}, b"{}")]}

    def answer(name):
        if name.endswith(".col"):
            return (404, {}, b'{"detail": "no such command"}')
        some = tries["html"] if name.endswith(".html") else []
        return some.pop(0) if some else None
    server.put_answer = answer
    host.hold_runs()
    host.start()
    command = server.start(duration=1)
    until(lambda: server.state(command) == "running" and
          os.path.isdir(results(host, command)), "running")
    add_odd(results(host, command))
    host.release_runs()
    server.report(command)
    until(lambda: state(host, "SELECT collected FROM runs") == [(1,)] and
          waits(host) == 0, "nothing waits any more")
    log = host.log_text()
    equal(sorted(len(b) for b in server.delivered.values()),
          [0, 42, 16 * 1024 * 1024], "what is in bounds is delivered")
    ok((command, "a b%2f\u00e4.csv") in server.delivered,
       "by its own name, whatever is in it", list(server.delivered))
    equal(tries["html"], [], "5xx and 429 are tried again")
    refused = [n for n in server.came if n.endswith(".col")]
    equal(len(refused), 1, "404 is not")
    contains(log, "the server does not take a result file, which stays on "
             "this host: %s/api/metrics/results/%s/" % (server.url, command),
             "which the log says")
    contains(log, "no such command", "with the server's words")
    ok(os.path.exists(os.path.join(results(host, command), refused[0])),
       "and the file stays")
    for name, why in ODD.items():
        ok(name not in server.came, name + " is not sent")
        contains(log, "command %s: %s %s and stays on this host" % (
            command, name, why), "which the log says")


def a_refused_report(server, host):
    """It is tried again, but does not hold up the files."""
    server.report_status = 422
    host.start()
    command = server.start(duration=1)
    server.report(command)
    until(lambda: len(server.delivered) == 2, "both files")
    equal(server.delivered, left_by(host, command),
          "a report that is refused does not hold up the files")
    server.report_status = 200
    until(lambda: state(host, "SELECT 1 FROM reports") == [], "the report")


run_at_once(away_and_killed, answers_and_names, a_refused_report)
done()
