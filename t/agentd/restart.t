#!/usr/bin/env python3
"""Kill -9, restarts, lost replies, a server that is away: once, and all."""
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ.get("SRCDIR", "."), "t/agentd"))
from harness import *  # noqa: E402,F403


def killed_while_running(server, host):
    host.env["GPROFILER_SECOND"] = "1"
    host.env["GPROFILER_DEAF"] = "1"  # it does not go by itself
    host.start()
    command = server.start(duration=60, continuous=True)
    until(lambda: server.state(command) == "running" and marked(command),
          "running")
    waiting = [server.start(duration=LONG, continuous=False) for _ in "ab"]
    until(lambda: server.state(waiting[1]) == "accepted", "one waits")
    agent = server.beats[-1]["agent_id"]
    host.kill()
    os.unlink(host.argv)
    host.env.pop("GPROFILER_DEAF")
    host.start()
    for one in [command] + waiting:
        report = server.report(one)
        equal((report["status"], report["error_message"]),
              ("failed", "agent restarted"), "what was cut off says so")
        equal(marked(one), [], "nothing of it goes on")
    equal(server.beats[-1]["agent_id"], agent, "the agent keeps its id")
    host.end()
    host.start()
    count = len(server.beats)
    until(lambda: len(server.beats) > count + 1, "two more heartbeats")
    equal([server.count(c) for c in [command] + waiting], [1, 1, 1],
          "each is reported once")
    ok(not os.path.exists(host.argv), "nothing ran again")


def the_same_command_again(server, host):
    command = server.start(duration=1)
    body = list(server.offers)
    host.start()
    server.report(command)
    os.unlink(host.argv)
    # the server that lost the news offers it again and again
    plain = server.heartbeat
    seen = []

    def forgetful(beat):
        seen.append(1)
        reply = plain(beat)
        reply.update(profiling_command=body[0][1], command_id=command)
        return reply
    server.heartbeat = forgetful
    until(lambda: len(seen) > 2, "offered again")
    host.end()
    host.start()
    seen.clear()
    until(lambda: len(seen) > 2, "offered again after a restart")
    ok(not os.path.exists(host.argv), "it ran once")
    equal(server.count(command), 1, "and is reported once")


def server_away(server, host):
    host.hold_runs()
    host.start()
    command = server.start(duration=1)
    until(lambda: server.state(command) == "running", "running")
    server.refuse = (503, {"Retry-After": "1"}, b"{\"detail\":\"busy\"}")
    host.release_runs()
    until(lambda: os.path.exists(host.argv) and not marked(command),
          "the run ends without the server")
    until(lambda: "completed after" in host.log_text() and
          host.log_text().count("answered 503") >= 2, "both refused")
    posts = len(server.headers_seen)
    until(lambda: len(server.headers_seen) > posts + 3, "tried again")
    equal(server.count(command), 0, "no report yet")
    host.kill()
    server.refuse = None
    host.start()
    equal(server.report(command)["status"], "completed",
          "a report outlives kill -9 and an absent server")
    text = host.log_text()
    equal(text.count("/heartbeat answered 503"), 1,
          "a failure is logged once, not each time")
    contains(text, "answered 503 Service Unavailable: {\"detail\":\"busy\"}",
             "with what the server said")


def refused_reports(server, host):
    server.report_reply = {"success": False, "message": "not your command"}
    host.start()
    command = server.start(duration=1)
    server.report(command)
    until(lambda: "does not take a report: not your command"
          in host.log_text(), "log")
    server.report_reply = {"success": True}
    other = server.start(duration=1)
    server.report(other)
    host.end()
    host.start()
    count = len(server.beats)
    until(lambda: len(server.beats) > count + 1, "two more heartbeats")
    equal(server.count(command), 1, "a refused report is dropped")


def orderly_end(server, host):
    host.env["GPROFILER_SECOND"] = "1"
    host.start()
    command = server.start(duration=60, continuous=True)
    until(lambda: server.state(command) == "running" and marked(command),
          "running")
    equal(host.end(), 0, "SIGTERM: exit status 0")
    report = server.report(command)
    equal((report["status"], report["error_message"]),
          ("stopped", "the agent was stopped"), "the run is reported")
    equal(marked(command), [], "and has ended")


def odd_servers(server, host):
    other = Server()
    server.refuse = (302, {"Location": other.url + "/api/metrics/heartbeat"},
                     b"")
    host.start()
    until(lambda: "not followed" in host.log_text(), "log")
    contains(host.log_text(), "set --api-server to " + other.url + "\n",
             "a redirect names the address to set")
    equal(other.headers_seen, [], "and is not followed")
    server.refuse = (401, {}, b"{}")
    until(lambda: "token is not accepted" in host.log_text(), "401")
    server.refuse = (200, {"Content-Type": "text/html"}, b"<html>log in")
    until(lambda: "the reply is no JSON" in host.log_text(), "HTML with 200")
    server.refuse = (200, {}, b" " * (1024 * 1024 + 1))
    until(lambda: "the reply is longer than" in host.log_text(), "too long")
    server.refuse = None
    command = server.start(duration=1)
    equal(server.report(command)["status"], "completed",
          "after all that it works")
    until(lambda: "answers again" in host.log_text(), "log")
    other.shutdown()


for test in (killed_while_running, the_same_command_again, server_away,
             refused_reports, orderly_end, odd_servers):
    run(test)
done()
