#!/usr/bin/env python3
"""Preflight: the table, and what the heartbeats carry of it, on a host whose
/proc and /sys are played."""
import os
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ.get("SRCDIR", "."), "t/agentd"))
from harness import *  # noqa: E402,F403

CHECKS = ["pmu", "pmu_busy", "nmi_watchdog", "perf_event_paranoid", "root",
          "tmpdir", "free_space", "file_limit", "perfspect", "gprofiler",
          "arch"]


class Played:
    """A /proc and a /sys below a directory."""

    def __init__(self, host):
        self.root = os.path.join(host.root, "played")
        self.put("proc/sys/kernel/nmi_watchdog", "1\n")
        self.put("proc/sys/kernel/perf_event_paranoid", "3\n")
        self.put("sys/devices/system/cpu/online", "0-1\n")
        self.put("proc/4242/comm", "vtune\x1b\n")
        os.mkdir(os.path.join(self.root, "proc/4242/fd"))
        os.symlink("anon_inode:[perf_event]",
                   os.path.join(self.root, "proc/4242/fd/5"))

    def put(self, path, text):
        path = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        # in one step: a check may be about to read it
        Host.write(path + ".part", text, 0o644)
        os.rename(path + ".part", path)


def table(server, host, *more):
    """{check: (outcome, text)} in the order of its lines, and the status."""
    done = subprocess.run(
        [AGENT, "--config", "/dev/null", "--state-dir", host.state,
         "--preflight", *more], env=host.env, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        timeout=DEADLINE)
    equal(done.stderr, "", "nothing goes to standard error")
    return {line.split(None, 2)[0]: tuple(line.split(None, 2)[1:])
            for line in done.stdout.splitlines()}, done.returncode


def by_hand(server, host):
    played = Played(host)
    rows, status = table(server, host, "--host-root", played.root,
                         "--gprofiler-path", STANDINS + "/gprofiler")
    equal(list(rows), CHECKS, "a line for each check, without a server's name")
    equal(status, int(any(r[0] == "problem" for r in rows.values())),
          "the exit status says whether there is a problem")
    equal(rows["tmpdir"][0], "ok", "a private temporary directory will do")
    contains(rows["tmpdir"][1], host.tmp, "and is named")
    equal(rows["pmu_busy"], (
        "warning", "perf events are held by vtune? (pid 4242): counters of "
        "the PMU may be taken"), "who holds perf events is looked for below "
          "--host-root")
    contains(rows["nmi_watchdog"][1], "on: it takes one counter",
             "and so are the kernel's settings")
    equal(rows["gprofiler"], ("ok", STANDINS + "/gprofiler"), "gProfiler")
    equal(os.listdir(host.tmp), [], "nothing is left in TMPDIR")
    ok(not os.path.exists(host.state), "no state directory is made")

    os.chmod(host.tmp, 0o777)
    played.put("proc/77/comm", "gprofiler\n")
    played.put("proc/77/stat", "77 (gprofiler) S 1 77 77\n")
    rows, status = table(server, host, "--host-root", played.root)
    equal(status, 1, "a problem: 1")
    equal(rows["tmpdir"], (
        "problem", "temporary directory %s, as user %d: others could replace "
        "what is in %s (mode 0777): set its sticky bit, or TMPDIR to another "
        "directory" % (host.tmp, os.geteuid(), host.tmp)),
          "which has its reason")
    equal(rows["gprofiler"], (
        "problem", "gProfiler runs already: gprofiler (pid 77); a second one "
        "ends at once"), "a gProfiler that runs is named")
    os.chmod(host.tmp, 0o1777)
    rows, status = table(server, host)
    equal(rows["tmpdir"][0], "ok", "with a sticky bit it will do")
    done = subprocess.run([AGENT, "--config", "/nonexistent", "--preflight"],
                          stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          timeout=DEADLINE)
    equal(done.returncode, 2, "a settings file that is missing: 2")


def found(beat):
    return {e["check"]: e for e in beat.get("preflight", [])}


def by_heartbeat(server, host):
    played = Played(host)
    host.start("--host-root", played.root)
    until(lambda: server.beats and "preflight" in server.beats[-1],
          "a heartbeat with preflight")
    ok("preflight" not in server.beats[0],
       "the first heartbeat waits for no check")
    entries = server.beats[-1]["preflight"]
    equal([e["check"] for e in entries], CHECKS, "the next has all of them")
    ok(all(set(e) == {"check", "outcome", "text"} and
           e["outcome"] in ("ok", "warning", "problem") and
           0 < len(e["text"].encode()) <= 300 for e in entries),
       "each with an outcome and a text", entries)
    equal(found(server.beats[-1])["pmu_busy"]["text"],
          "perf events are held by vtune? (pid 4242): counters of the PMU "
          "may be taken", "with what it found")
    played.put("proc/sys/kernel/nmi_watchdog", "0\n")
    count = len(server.beats)
    until(lambda: len(server.beats) > count, "another heartbeat")
    contains(found(server.beats[-1])["nmi_watchdog"]["text"], "on: ",
             "the last result is sent again and again")
    server.files["/perfspect.tgz"], digest = archive()
    report = server.report(server.start(duration=5, enable_perfspect=True))
    equal(report["status"], "completed", "whatever it is, a run goes")
    until(lambda: found(server.beats[-1])["nmi_watchdog"]["text"] == "off",
          "a new result after a run")
    ok(True, "after a run the host is looked at again")
    equal(found(server.beats[-1])["gprofiler"]["outcome"], "ok",
          "the agent's own run is in nobody's way")
    text = "version %s in %s/perfspect, archive SHA-256 %s" % (
        VERSION, host.tmp, digest)
    until(lambda: found(server.beats[-1])["perfspect"]["text"] == text,
          "PerfSpect's version in a heartbeat")
    ok(True, "an installed PerfSpect is told with version and digest")


def children(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        return [int(n) for n in f.read().split()]


def begin_to_write(fifo):
    """A descriptor, once somebody reads; None before.  The reader then waits
    for what is written."""
    try:
        return os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return None


def a_check_that_hangs(server, host):
    played = Played(host)
    os.makedirs(played.root + "/proc/1/net")
    fifo = played.root + "/proc/1/net/unix"
    os.mkfifo(fifo)
    host.start("--host-root", played.root)
    until(lambda: len(server.beats) > 2, "heartbeats")
    writes = until(lambda: begin_to_write(fifo), "the check that hangs")
    ok(not any("preflight" in b for b in server.beats),
       "a check that hangs delays no heartbeat")
    looks = children(host.process.pid)
    equal(len(looks), 1, "it hangs in a process of its own")
    os.kill(looks[0], signal.SIGKILL)
    os.close(writes)
    until(lambda: "preflight" in server.beats[-1], "a result")
    entries = server.beats[-1]["preflight"]
    equal([e["check"] for e in entries], CHECKS[:CHECKS.index("gprofiler")
                                                + 1],
          "what was found before is kept")
    equal(entries[-1], {
        "check": "gprofiler", "outcome": "problem", "text": "the check was "
        "not done: its process was killed by SIGKILL"},
          "and the check that hung is a problem")
    server.report(server.start(duration=1))
    until(lambda: children(host.process.pid), "it hangs again")
    looks = children(host.process.pid)
    equal(host.end(), 0, "the agent ends nevertheless")
    until(lambda: all(map(gone, looks)), "the end of the check")
    ok(True, "and leaves no check behind")


run_at_once(by_hand, by_heartbeat, a_check_that_hangs)
done()
