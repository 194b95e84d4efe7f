#!/usr/bin/env python3
"""The agent under a service manager, which this test plays; its last
heartbeat; and one agent at a time on a state directory."""
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ.get("SRCDIR", "."), "t/agentd"))
from harness import *  # noqa: E402,F403


class Manager:
    """The end of NOTIFY_SOCKET that systemd has."""

    def __init__(self, address):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(address.replace("@", "\0", 1))
        self.heard = []

    def read(self):
        while select.select([self.socket], [], [], 0)[0]:
            self.heard.append(self.socket.recv(4096).decode())
        return self.heard

    def words(self):
        return [m.split("=")[0] for m in self.read()]

    def wait(self, condition, what):
        until(lambda: condition(self.read()), what)


def environment_of(pid):
    with open("/proc/%d/environ" % pid, "rb") as f:
        return dict(e.split(b"=", 1) for e in f.read().split(b"\0") if e)


def run_of(command):
    """The pid of a run's profiler, once it is there."""
    def look():
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if environment_of(int(pid)).get(
                        b"CONSPECT_RUN") == command.encode():
                    return int(pid)
            except OSError:
                pass
        return None
    return until(look, "a process of the run")


def notified(server, host):
    path = os.path.join(host.root, "notify")
    manager = Manager(path)
    host.env["NOTIFY_SOCKET"] = path
    host.env["WATCHDOG_USEC"] = "400000"
    host.start()
    manager.wait(lambda h: "READY=1" in h, "READY=1")
    equal(manager.heard[0], "READY=1", "the first word is READY=1")
    manager.wait(lambda h: h.count("WATCHDOG=1") > 4, "signs of life")
    ok(True, "signs of life come without being asked for")
    manager.wait(lambda h: "STATUS=idle, %s answers" % server.url in h,
                 "a status")
    ok(True, "a status says that the server answers")

    server.refuse = (503, {}, b"{}")
    manager.wait(lambda h: any(
        m.startswith("STATUS=no answer: ") and "answered 503" in m
        for m in h), "a status of a failure")
    ok(True, "and why it does not")
    server.refuse = None
    command = server.start(duration=LONG)
    pid = run_of(command)
    manager.wait(lambda h: any(m.startswith("STATUS=active") for m in h),
                 "a status of a run")
    ok(not {b"NOTIFY_SOCKET", b"WATCHDOG_USEC"} & set(environment_of(pid)),
       "no profiler speaks for the agent")

    manager.read()
    manager.heard.clear()
    host.process.send_signal(signal.SIGHUP)
    manager.wait(lambda h: "READY=1" in h, "READY=1 after a reload")
    reloading = [m for m in manager.heard
                 if not m.startswith(("WATCHDOG", "STATUS"))]
    equal([m.split("\n")[0] for m in reloading[:2]],
          ["RELOADING=1", "READY=1"], "SIGHUP: RELOADING=1, then READY=1")
    name, _, stamp = reloading[0].partition("\n")[2].partition("=")
    equal(name, "MONOTONIC_USEC", "with the time")
    now = time.clock_gettime(time.CLOCK_MONOTONIC) * 1000000
    ok(now - DEADLINE * 1000000 < int(stamp) <= now, "which is now's", stamp)

    manager.heard.clear()
    equal(host.end(), 0, "SIGTERM ends it")
    words = [m for m in manager.read() if "WATCHDOG" not in m]
    equal(words, ["STOPPING=1", "STATUS=ending"],
          "STOPPING=1 is the last word")
    equal(server.report(command)["error_message"], "the agent was stopped",
          "the run was ended in order")


def abstract(server, host):
    address = "@" + os.path.basename(host.root)
    manager = Manager(address)
    host.env.update(NOTIFY_SOCKET=address, WATCHDOG_USEC="100000",
                    WATCHDOG_PID="1")
    host.start()
    manager.wait(lambda h: "READY=1" in h, "READY=1")
    ok(True, "an abstract socket is a socket, too")
    until(lambda: len(server.beats) > 1, "two heartbeats")
    ok("WATCHDOG" not in manager.words(),
       "signs of life for another process are not ours to give")

    # a second one on the same state is never ready
    manager.heard.clear()
    done = subprocess.run(host.command("--foreground"), env=host.env,
                          stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True, timeout=DEADLINE)
    equal(done.returncode, 1, "a second agent on the same state ends")
    contains(done.stderr, "another agent runs with the state directory "
             + host.state, "with the reason")
    ok("READY" not in manager.words(), "and was never ready")
    manager.socket.close()
    host.process.send_signal(signal.SIGHUP)
    until(lambda: "the service manager was not told" in host.log_text(),
          "a manager that is gone is logged")
    count = len(server.beats)
    until(lambda: len(server.beats) > count, "a heartbeat")
    ok(True, "a manager that is gone stops nothing")


def no_manager(server, host):
    host.env.update(NOTIFY_SOCKET="relative/path", WATCHDOG_USEC="1000000")
    host.start()
    until(lambda: server.beats, "a heartbeat")
    contains(host.log_text(), 'NOTIFY_SOCKET is no address: "relative/path"',
             "what is no address is logged, and the agent runs")


class Order:
    """What came from an agent, in the order in which it came."""

    def __init__(self, server):
        self.seen = []
        plain = server.heartbeat

        def heartbeat(beat):
            self.seen.append(beat["status"])
            return plain(beat)
        server.heartbeat = heartbeat

        class Reports(list):
            def append(inner, report):
                self.seen.append(report["status"] + " report")
                list.append(inner, report)
        server.reports = Reports()


def farewell(server, host):
    order = Order(server)
    host.start()
    command = server.start(duration=LONG)
    until(lambda: server.state(command) == "running", "running")
    plain, late = server.heartbeat, []

    def heartbeat(beat):
        if beat["status"] == "offline":
            late.append(server.start(duration=1))
        return plain(beat)
    server.heartbeat = heartbeat
    equal(host.end(), 0, "an orderly end")
    equal(order.seen[-2:], ["stopped report", "offline"],
          "the last that the server hears, after the reports: offline")
    equal(server.beats[-1]["executed_command_ids"], [command],
          "with what was done")
    equal(order.seen.count("offline"), 1, "once")
    equal(len(late), 1, "its reply offered a command")
    count = len(server.beats)
    host.start()
    until(lambda: len(server.beats) > count, "the next agent")
    ok(late[0] not in server.beats[count]["received_command_ids"],
       "which was not taken")
    equal(server.report(late[0])["status"], "completed",
          "the next agent takes it")

    # a server that does not answer is not waited for
    released = threading.Event()

    def silent(beat):
        if beat["status"] == "offline":
            released.wait(DEADLINE)
        return plain(beat)
    server.heartbeat = silent
    equal(host.end(), 0, "a server that is silent is not waited for")
    ok(not released.is_set(), "it had not answered then")
    released.set()
    host.start()
    count = len(server.beats)
    until(lambda: any(b["status"] == "idle" for b in server.beats[count:]),
          "a heartbeat")
    server.refuse = (500, {}, b"{}")
    equal(host.end(), 0, "nor is one that refuses")


def links(pid):
    found = []
    for fd in os.listdir("/proc/%d/fd" % pid):
        try:
            found.append(os.readlink("/proc/%d/fd/%s" % (pid, fd)))
        except OSError:
            pass
    return found


def lock(server, host):
    # a lock file alone, as a crash leaves it, is no lock
    os.mkdir(host.state, 0o700)
    host.write(os.path.join(host.state, "lock"), "4711\n", 0o600)
    host.env["GPROFILER_DEAF"] = "1"
    host.start()
    command = server.start(duration=LONG)
    pid = run_of(command)
    until(lambda: server.state(command) == "running", "running")
    ok(True, "a lock file that nobody holds is no hindrance")
    ok(host.state + "/lock" in links(host.process.pid),
       "the agent holds it")
    ok(not any(f in (host.state + "/lock", host.state + "/agent.db")
               for f in links(pid)), "a run has no part in it", links(pid))
    host.kill()
    ok(not gone(pid), "the run outlives kill -9")
    host.env.pop("GPROFILER_DEAF")
    host.start()
    equal(server.report(command)["error_message"], "agent restarted",
          "and the next agent begins at once")
    ok("another agent runs" not in host.log_text(), "with no lock in its way")
    until(lambda: gone(pid), "the run is killed")


run_at_once(notified, abstract, no_manager, farewell, lock)
done()
