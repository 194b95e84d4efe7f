#!/usr/bin/env python3
"""Kill -9 at each step of a command's life.

strace kills the agent as it makes its Nth call of a kind, before the kernel
carries the call out: so what is killed is the released program, and the
steps are all that leave a trace outside of it.  First a life is listed, then
it is lived once for each step; then the agent starts anew and must neither
run anything twice nor lose a report.
"""
import collections
import concurrent.futures
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ.get("SRCDIR", "."), "t/agentd"))
from harness import *  # noqa: E402,F403

# Each call of these kinds is a step.
KINDS = ("clone", "connect", "fdatasync", "flock", "ftruncate", "kill",
         "mkdir", "pidfd_open", "pwrite64", "recvfrom", "rmdir", "sendto",
         "unlink", "wait4")
# SQLite writes two pieces for each page: the first of a row of them, which is
# the end of what was before it, and some in its middle.
SOME = 12
# Looks at a child, most of them for nothing; and the archive's files.
EVERY = {"wait4": 6, "fsync": 2}
# A sanitizer makes each life longer: the plain build goes through all steps.
STRIDE = 3 if os.environ.get("ASAN_OPTIONS") else 1
HOSTS = 12  # at a time
GOOD, DIGEST = archive()
WITH_PERFSPECT = {"duration": 5, "enable_perfspect": True}


class Fault(Exception):
    pass


def wait(condition, what):
    """until() of the harness, for threads."""
    end = time.monotonic() + DEADLINE
    while not condition():
        if time.monotonic() > end:
            raise Fault("waited in vain for: " + what)
        time.sleep(0.02)


def need(good, what, found=""):
    if not good:
        raise Fault("%s: %r" % (what, found))


class Recorder(Server):
    """Keeps reports as they were sent, and wants one answer for each."""

    def __init__(self):
        super().__init__()
        self.files["/perfspect.tgz"] = GOOD

    def heard(self, command):
        return [json.dumps(report, sort_keys=True) for report in self.reports
                if report["command_id"] == command]

    def has_files(self, command):
        """Whether it is a run with PerfSpect that was not cut off."""
        report = json.loads(self.heard(command)[0])
        return report["status"] == "completed" and \
            report["perfspect_version"]


class Life:
    """One host from its first start to the end of its second."""

    def __init__(self, story):
        self.story = story
        self.is_traced = False
        self.server = Recorder()
        self.host = Host(self.server)
        self.starts = self.host.root + "/starts"
        self.host.env.update(GPROFILER_STARTS=self.starts,
                             GPROFILER_SECOND="0.02")
        open(self.starts, "w").close()
        self.commands = story.begin(self)

    def traced(self, *flags):
        """Starts the agent under strace."""
        self.is_traced = True
        before = self.host.env.get("ASAN_OPTIONS")
        # it cannot look for leaks in a process that is traced
        self.host.env["ASAN_OPTIONS"] = (before + ":" if before else "") + \
            "detect_leaks=0"
        self.host.start(under=("strace", "-qq", *flags, "--"))
        if before is None:
            del self.host.env["ASAN_OPTIONS"]
        else:
            self.host.env["ASAN_OPTIONS"] = before

    def agent(self):
        """The agent's pid, None when it has ended under strace."""
        pid = self.host.process.pid
        if not self.is_traced:
            return pid
        try:
            with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
                return int(f.read().split()[0])
        except (OSError, IndexError):
            return None

    def has_all(self, commands):
        """The server has their reports, and the files of what ran."""
        return all(map(self.server.heard, commands)) and all(
            any(of == command and name.endswith(end)
                for of, name in list(self.server.delivered))
            for command in commands if self.server.has_files(command)
            for end in (".col", ".html", "_metrics.csv", "_summary.csv"))

    def is_over(self):
        """All commands are done and the server knows."""
        beats = self.server.beats[-1:]
        return beats and self.has_all(self.commands) and \
            set(self.commands) <= set(beats[0]["executed_command_ids"])

    def until_killed(self):
        """Strace ends with its agent; the step may not come at all.
        Returns whether the agent was killed."""
        wait(lambda: self.host.process.poll() is not None or self.is_over(),
             "the step or the end of the life")
        came = self.host.process.poll() is not None
        self.kill()
        return came

    def kill(self):
        pid = self.agent()
        try:
            if pid:
                os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # the step came after all
        self.host.process.wait(DEADLINE)

    def started(self, command):
        with open(self.starts) as f:
            return f.read().split().count(command)

    def remembered(self):
        """{command: phase} and {command: report} of the state on the disk:
        of a copy, for who opens the file changes it."""
        copy = self.host.root + "/copy"
        shutil.copytree(self.host.state, copy, ignore=lambda where, names:
                        [n for n in names if not n.startswith("agent.db")])
        state = sqlite3.connect(copy + "/agent.db")
        try:
            phases = dict(state.execute(
                "SELECT command_id, phase FROM commands"))
            reports = [json.loads(body) for body, in state.execute(
                "SELECT body FROM reports")]
        except sqlite3.OperationalError as error:
            need("no such table" in str(error), "the state", error)
            phases, reports = {}, []
        finally:
            state.close()
            shutil.rmtree(copy)
        return phases, {r["command_id"]: json.dumps(r, sort_keys=True)
                        for r in reports}

    def close(self):
        if self.host.process.poll() is None:
            self.kill()
        shutil.rmtree(self.host.root, ignore_errors=True)
        self.server.shutdown()
        self.server.server_close()


# --- what is lived -------------------------------------------------------

class Run:
    """A start with PerfSpect: fetched, installed, run, reported."""
    name = "a run"
    kinds = KINDS
    flags = ()

    @staticmethod
    def begin(life):
        return [life.server.start(**WITH_PERFSPECT)]

    @staticmethod
    def end_of(kind):
        """The status of a command that nothing interrupts."""
        return ("completed",)

    steps = staticmethod(lambda calls: calls)


class Stop(Run):
    """A continuous run, and the stop that ends it."""
    name = "a stop"

    @staticmethod
    def begin(life):
        life.host.env["GPROFILER_SECOND"] = "1"
        return [life.server.start(duration=60, continuous=True),
                life.server.stop()]

    @staticmethod
    def end_of(kind):
        return ("stopped",) if kind == 0 else ("completed",)

    @staticmethod
    def steps(calls):
        """From the heartbeat on that brings the stop."""
        beats = [i for i, call in enumerate(calls) if "/heartbeat" in call[2]]
        return calls[beats[1]:]


class Recovery(Run):
    """The start after a kill in the middle of a run."""
    name = "a recovery"

    @staticmethod
    def begin(life):
        life.host.env["GPROFILER_SECOND"] = "1"
        command = life.server.start(duration=60)
        life.host.start()
        wait(lambda: life.started(command), "the run")
        life.host.kill()
        return [command]

    @staticmethod
    def end_of(kind):
        return ("failed",)


class Installer(Run):
    """The same, with the process killed that fetches and unpacks: the agent
    lives on."""
    name = "an installation"
    kinds = ("fsync", "renameat2")
    flags = ("-f", "-b", "execve")

    @staticmethod
    def steps(calls):
        """Those of the process that moves it into its place: strace counts
        the calls of each process by themselves."""
        pid = next(line for kind, _, line in calls
                   if kind == "renameat2").split()[0]
        counts, own = collections.Counter(), []
        for kind, _, line in calls:
            if line.split()[0] == pid:
                counts[kind] += 1
                own.append((kind, counts[kind], line))
        return own

    @staticmethod
    def end_of(kind):
        return ("failed",)


class Download(Run):
    """The same, killed by the server in the middle of the archive."""
    name = "a download"

    @staticmethod
    def begin(life):
        def half(handler):
            handler.server.files["/perfspect.tgz"] = GOOD
            handler.answer(200, {"Content-Length": str(len(GOOD))},
                           GOOD[:len(GOOD) // 2])
            handler.wfile.flush()
            os.kill(life.agent(), signal.SIGKILL)
            handler.close_connection = True
        life.server.files["/perfspect.tgz"] = half
        return Run.begin(life)


def list_calls(story):
    """(kind, number of its kind, line) of each step, in their order."""
    life = Life(story)
    path = life.host.root + "/calls"
    try:
        life.traced("-o", path, "-s", "64",
                    *story.flags, "-e", "trace=" + ",".join(story.kinds))
        wait(life.is_over, "the end of a life without a kill")
        life.kill()
        counts, calls = collections.Counter(), []
        with open(path) as f:
            for line in f:
                kind = re.match(r"(?:\d+ +)?(\w+)\(", line)
                if kind:
                    counts[kind[1]] += 1
                    calls.append((kind[1], counts[kind[1]], line))
        return story.steps(calls)
    finally:
        life.close()


def points(story):
    """(story, kind, number) of each step to kill at."""
    chosen, before = [], None
    for kind, n, _ in list_calls(story):
        within = kind == before == "pwrite64"
        if n % (SOME if within else EVERY.get(kind, 1)) == 0:
            chosen.append((story, kind, n))
        before = kind
    return chosen[::STRIDE]


# --- what must be --------------------------------------------------------

def check_perfspect(life):
    """What is installed is whole, or nothing is."""
    target = life.host.tmp + "/perfspect"
    versions = target + "/versions"
    there = os.listdir(versions) if os.path.lexists(versions) else []
    for name in there:
        with open("%s/%s/perfspect" % (versions, name), "rb") as f, \
                open(PERFSPECT, "rb") as g:
            need(name == DIGEST and f.read() == g.read(),
                 "what is under a digest is whole", there)
    if os.path.lexists(target + "/perfspect"):
        need(os.readlink(target + "/perfspect") ==
             "versions/%s/perfspect" % DIGEST, "the link leads to it", there)


def check_command(life, kind, command, memory, before):
    """One command after all, by what the state had when it was killed."""
    phase, kept = memory[0].get(command), memory[1].get(command)
    heard = life.server.heard(command)
    status = json.loads(heard[0])["status"]
    error = json.loads(heard[0])["error_message"]
    need(len(set(heard)) == 1, "a report sent again is the same", heard)
    # one that was on its way when the agent was killed may have been heard
    # after `before` was looked at
    expected = len(before) + (1 if kept or phase != "done" else 0)
    need(0 <= len(heard) - expected <= 1, "reports, of %d" % expected, heard)
    if kept:
        need(heard[0] == kept, "the report is the one kept", heard)
    if phase not in (None, "done"):
        need((status, error) == ("failed", "agent restarted"),
             "what was cut off says so", heard)
    elif (status, error) != ("failed", "agent restarted"):
        need(status in life.story.end_of(kind), "the status", heard)
    else:
        need(life.story is Recovery, "cut off, by what it says", heard)
    need(status != "failed" or error, "the reason of a failure", heard)
    need(life.started(command) <= 1, "started twice")
    if phase in ("accepted", "installing"):
        need(not life.started(command), "started before it was noted")
    if status == "completed" and life.story is Run:
        need(life.started(command) == 1, "started once")


def check_end(life, commands):
    need(life.host.end() == 0, "the agent ends with 0", life.host.log_text())
    phases, kept = life.remembered()
    need(kept == {}, "reports that were not delivered", kept)
    need(phases == dict.fromkeys(commands, "done"), "commands", phases)
    need(os.listdir(life.host.tmp) == ["perfspect"], "left in TMPDIR",
         os.listdir(life.host.tmp))
    wait(lambda: not living(life.host.root.encode()),
         "the end of all that was started")


def check_life(life):
    before = {c: life.server.heard(c) for c in life.commands}
    memory = life.remembered() if os.path.exists(
        life.host.state + "/agent.db") else ({}, {})
    check_perfspect(life)
    life.host.env["GPROFILER_SECOND"] = "0.02"
    life.is_traced = False
    last = life.server.start(**WITH_PERFSPECT)
    everything = life.commands + [last]
    life.host.start()
    life.commands, ours = everything, life.commands
    wait(life.is_over, "all reports and files")
    check_end(life, everything)
    for kind, command in enumerate(ours):
        check_command(life, kind, command, memory, before[command])
    need(json.loads(life.server.heard(last)[0])["status"] == "completed",
         "the next command", life.server.heard(last))
    need(life.started(last) == 1 and len(life.server.heard(last)) == 1,
         "the next command, once")
    check_perfspect(life)


def live(point):
    """What was wrong, or None, and whether the agent was killed."""
    story, kind, n = point
    came = False
    life = Life(story)
    try:
        life.traced("-o", "/dev/null", *story.flags, "-e", "trace=" + kind,
                    *(["-e", "inject=%s:signal=SIGKILL:when=%d" % (kind, n)]
                      if n else []))
        came = life.until_killed()
        check_life(life)
        return None, came
    except (Fault, OSError, subprocess.TimeoutExpired) as fault:
        return "%s\n%s" % (fault, life.host.log_text()[-3000:]), came
    finally:
        life.close()


def show(story, kind, n, fault):
    step = "%s number %d" % (kind, n) if n else "end"
    if not ok(not fault, "%s, killed before its %s: once, and reported" %
              (story.name, step)):
        print("# " + fault.replace("\n", "\n# "), flush=True)


def kill_at_each_step(pool):
    came = []
    lists = pool.map(points, (Run, Stop, Recovery, Installer))
    chosen = [p for some in lists for p in some] + [(Download, "none", 0)]
    for point, (fault, killed) in zip(chosen, pool.map(live, chosen)):
        show(*point, fault)
        came += [killed] if point[0] is not Installer else []
    # a life is not always of the same number of calls
    ok(sum(came) > 0.8 * len(came), "most steps came",
       "%d of %d" % (sum(came), len(came)))


def why_not():
    """Why nothing can be traced here, or None."""
    if os.environ.get("CONSPECT_VALGRIND"):
        return "valgrind's calls would be counted, not the agent's"
    if not shutil.which("strace"):
        return "not installed: strace"
    tried = subprocess.run(["strace", "-qq", "-o", "/dev/null", "true"],
                           capture_output=True, text=True, timeout=DEADLINE)
    if tried.returncode:
        return "nothing can be traced here: " + tried.stderr.split("\n")[0]
    return None


def main():
    reason = why_not()
    if reason:
        print("1..0 # SKIP " + reason)
        return
    with concurrent.futures.ThreadPoolExecutor(HOSTS) as pool:
        try:
            kill_at_each_step(pool)
        except Fault as fault:
            ok(False, "a life without a kill", fault)
    done()


main()
