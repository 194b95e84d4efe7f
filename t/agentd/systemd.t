#!/usr/bin/env python3
"""The systemd unit as it is installed, under a real systemd: process 1 of
name spaces of its own, with a cgroup of its own.  Needs root."""
import os
import re
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ.get("SRCDIR", "."), "t/agentd"))
from harness import *  # noqa: E402,F403

UNIT = "conspect-agentd.service"
RENDERED = os.path.join(TOP_BUILDDIR, "agentd/init", UNIT)
SYSTEMD = next((p for p in ("/usr/lib/systemd/systemd",
                            "/lib/systemd/systemd") if os.path.exists(p)), "")
TARGETS = ["basic", "multi-user", "network-online", "shutdown", "sysinit",
           "test"]

# Outside: a cgroup below the root of the hierarchy, removed at the end, which
# is when the test closes our standard input, or is no more.
OUTER = r"""
set -e
mount --make-rprivate /
mkdir -p "$WORK/cgroup"
mount -t cgroup2 cgroup2 "$WORK/cgroup"
mine=$(sed -n 's/^0:://p' /proc/self/cgroup)
mkdir "$WORK/cgroup/conspect-t.$$"
echo $$ >"$WORK/cgroup/conspect-t.$$/cgroup.procs"
unshare -m -p -C -u -i --fork --kill-child sh "$WORK/inner" </dev/null &
echo $! >"$WORK/child.part"
mv "$WORK/child.part" "$WORK/child"
read -r _ || :
kill -KILL $! || :
wait $! || :
echo $$ >"$WORK/cgroup$mine/cgroup.procs"
tries=0
until grep -q 'populated 0' "$WORK/cgroup/conspect-t.$$/cgroup.events" ||
    [ "$tries" -ge 100 ]; do
	tries=$((tries + 1))
	sleep 0.1
done
find "$WORK/cgroup/conspect-t.$$" -depth -type d -exec rmdir {} +
umount "$WORK/cgroup"
"""

# Inside: what systemd writes to is not the machine's.
INNER = r"""
set -e
mount -t proc proc /proc
mount -t tmpfs -o mode=755 tmpfs /run
mount -t tmpfs -o mode=755 tmpfs /var/lib
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount --bind /etc /etc
mount -o remount,bind,ro /etc
exec env -i PATH="$PATH" container=conspect-test \
    SYSTEMD_UNIT_PATH="$WORK/units" SYSTEMD_GENERATOR_PATH=/nonexistent \
    "$SYSTEMD" --system --unit=test.target --log-target=console \
    --show-status=0
"""


def why_not():
    if os.environ.get("CONSPECT_VALGRIND"):
        return "systemd knows the agent by its process, not by valgrind's"
    if os.geteuid() != 0:
        return "only root has name spaces of its own"
    if not SYSTEMD:
        return "systemd is not installed"
    for program in "systemctl", "systemd-analyze", "unshare", "nsenter":
        if not shutil.which(program):
            return program + " is not installed"
    for place in BUILDDIR, SRCDIR, os.environ.get("TMPDIR", "/tmp"):
        if os.path.abspath(place).startswith(("/run/", "/var/lib/")):
            return place + " is where systemd has directories of its own"
    tried = subprocess.run(
        ["unshare", "-m", "-p", "-C", "-u", "-i", "--fork", "sh", "-c",
         "mount -t proc proc /proc && mount -t tmpfs tmpfs /run && "
         "mount -t cgroup2 cgroup2 /run && "
         "mkdir /run/conspect-t.try.%d && rmdir /run/conspect-t.try.%d"
         % (os.getpid(), os.getpid())],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True, timeout=DEADLINE)
    if tried.returncode:
        return ("this machine gives no name spaces and cgroups: "
                + " ".join(tried.stderr.split()))
    return None


def children(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        return [int(n) for n in f.read().split()]


def descendant(pid, comm):
    """The first process below this one that is called so, or None."""
    try:
        for child in children(pid):
            with open("/proc/%d/comm" % child) as f:
                if f.read().strip() == comm and not gone(child):
                    return child
            found = descendant(child, comm)
            if found:
                return found
    except OSError:
        pass  # one of them has just ended
    return None


class Systemd:
    def __init__(self, host):
        self.work = host.root
        self.units = os.path.join(host.root, "units")
        os.makedirs(os.path.join(self.units, UNIT + ".d"))
        for name in TARGETS:
            host.write(os.path.join(self.units, name + ".target"),
                       "[Unit]\nDefaultDependencies=no\n", 0o644)
        self.write_unit(host)
        for name, text in ("outer", OUTER), ("inner", INNER):
            host.write(os.path.join(host.root, name), text, 0o644)
        self.pid = 0

    def write_unit(self, host):
        """The unit that was built, with this build's program in it; beside
        it what an administrator would say, and shorter times."""
        with open(RENDERED) as f:
            text = f.read()
        text, n = re.subn(r"(?m)^ExecStart=\S+", "ExecStart=" + AGENT, text)
        equal(n, 1, "the unit starts the agent")
        host.write(os.path.join(self.units, UNIT), text, 0o644)
        environment = os.path.join(host.root, "default")
        command = [c for c in host.command() if c != host.state][1:]
        command.remove("--state-dir")
        host.write(environment, "OPTIONS=\"%s\"\n" % " ".join(command)
                   + "".join('%s="%s"\n' % (k, v)
                             for k, v in host.env.items()
                             if k.startswith(("GPROFILER_", "PERFSPECT_",
                                              "TMPDIR", "ASAN_", "UBSAN_"))),
                   0o600)
        host.write(os.path.join(self.units, UNIT + ".d/test.conf"),
                   "[Unit]\nStartLimitIntervalSec=0\n"
                   "[Service]\nEnvironmentFile=%s\nStandardError=append:%s\n"
                   "RestartSec=100ms\nWatchdogSec=15\nLimitCORE=0\n"
                   % (environment, host.log),
                   0o644)
        host.write(host.log, "", 0o600)

    def begin(self):
        with open(os.path.join(self.work, "systemd.log"), "w") as log:
            self.process = subprocess.Popen(
                ["unshare", "-m", "sh", os.path.join(self.work, "outer")],
                env=dict(os.environ, WORK=self.work, SYSTEMD=SYSTEMD),
                stdin=subprocess.PIPE, stdout=log, stderr=log)
        self.pid = until(self.is_there, "systemd as process 1")

    def is_there(self):
        path = os.path.join(self.work, "child")
        if not os.path.exists(path):
            return None
        with open(path) as f:
            child = int(f.read())
        if gone(child):
            with open(os.path.join(self.work, "systemd.log")) as f:
                ok(False, "systemd runs", f.read())
            sys.exit(1)  # ends this thread
        pid = descendant(child, "systemd")
        return pid if pid and os.path.exists(
            "/proc/%d/root/run/systemd/private" % pid) else None

    def ctl(self, *words):
        """systemctl's exit status and what it said."""
        run = subprocess.run(
            ["nsenter", "-t", str(self.pid), "-m", "-p", "-C", "systemctl",
             *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=DEADLINE)
        return run.returncode, run.stdout

    def show(self, *names):
        _, text = self.ctl("show", UNIT, "--property=" + ",".join(names))
        values = dict(line.split("=", 1) for line in text.splitlines())
        return tuple(values[n] for n in names)

    def main_pid(self):
        """The agent, by its number out here."""
        return descendant(self.pid, "conspect-agentd")

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=DEADLINE)
        with open(os.path.join(self.work, "systemd.log")) as f:
            ok(self.process.returncode == 0,
               "no process and no cgroup of it is left", f.read())


def verified(server, host):
    systemd = Systemd(host)
    run = subprocess.run(
        ["systemd-analyze", "verify", "--man=no",
         os.path.join(systemd.units, UNIT)], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        timeout=DEADLINE)
    equal((run.returncode, run.stdout), (0, ""),
          "systemd-analyze verify has no finding")


def starts(server, host, systemd):
    os.chmod(host.token, 0o644)
    status, _ = systemd.ctl("start", UNIT)
    ok(status != 0, "a start that never comes to READY=1 is a failure")
    contains(host.log_text(), "chmod 600 " + host.token, "with the reason")
    equal(systemd.ctl("stop", UNIT)[0], 0, "it is given up")
    os.chmod(host.token, 0o600)
    systemd.ctl("reset-failed", UNIT)

    equal(systemd.ctl("start", UNIT), (0, ""), "start")
    equal(systemd.show("ActiveState", "SubState", "Type"),
          ("active", "running", "notify"), "it is active")
    until(lambda: server.beats, "a heartbeat")
    until(lambda: systemd.show("StatusText")[0]
          == "idle, %s answers" % server.url, "a status text")
    ok(True, "systemctl status says what it does")


def sandboxed(host, systemd):
    pid = systemd.main_pid()
    with open("/proc/%d/status" % pid) as f:
        status = dict(line.split(":\t", 1) for line in f.read().splitlines()
                      if ":\t" in line)
    equal(status["NoNewPrivs"], "1", "NoNewPrivileges")
    bounding = int(status["CapBnd"], 16)
    equal((bounding >> 22 & 1, bounding >> 25 & 1), (0, 0),
          "the host cannot be rebooted, nor its clock set")
    equal((bounding >> 19 & 1, bounding >> 21 & 1), (1, 1),
          "SYS_PTRACE and SYS_ADMIN are there for profilers")
    with open("/proc/%d/mountinfo" % pid) as f:
        mounts = {m[4]: m[5].split(",")[0] for m in map(str.split, f)}
    equal((mounts.get("/usr"), mounts.get("/etc")), ("ro", "ro"),
          "what the system is made of cannot be written")
    ok(mounts.get("/proc/sys", "rw") == "rw" and
       mounts.get("/proc", "rw") == "rw", "the kernel's settings can")
    ok(not {"/tmp", "/dev"} & set(mounts) or mounts.get("/tmp") != "ro",
       "and so can /tmp")
    state = "/proc/%d/root/var/lib/conspect-agent" % pid
    equal(os.stat(state).st_mode & 0o777, 0o700, "the state is private")
    ok(os.path.exists(state + "/agent.db"), "and where the unit says")
    with open("/proc/%d/cgroup" % pid) as f:
        unified = [line for line in f if line.startswith("0::")][0].strip()
    # where there are controllers, it is in one below that
    ok(unified.endswith(("/system.slice/" + UNIT,
                         "/system.slice/" + UNIT + "/agent")),
       "it has its own cgroup", unified)
    equal(systemd.show("Delegate")[0], "yes", "which is its to divide")


def reloads(server, host, systemd):
    host.write(host.token, "another-token-42\n", 0o600)
    pid = systemd.main_pid()
    equal(systemd.ctl("reload", UNIT), (0, ""), "reload")
    until(lambda: server.headers_seen[-1]["Authorization"]
          == "Bearer another-token-42", "the new token")
    equal(systemd.main_pid(), pid, "the new token is used by the same agent")
    until(lambda: systemd.show("SubState")[0] == "running",
          "the reload is over")


def profiles(server, host, systemd):
    server.files["/perfspect.tgz"], _ = archive()
    report = server.report(server.start(duration=5, enable_perfspect=True))
    equal((report["status"], report["error_message"],
           report["perfspect_version"]), ("completed", None, VERSION),
          "gProfiler and PerfSpect run in the sandbox")


def begins_anew(server, host, systemd):
    agent = server.beats[-1]["agent_id"]
    command = server.start(duration=LONG)
    until(lambda: server.state(command) == "running", "running")
    pid = systemd.main_pid()
    os.kill(pid, signal.SIGKILL)
    equal(server.report(command)["error_message"], "agent restarted",
          "kill -9: another agent reports what was cut off")
    until(lambda: systemd.main_pid() not in (None, pid), "another process")
    equal(server.beats[-1]["agent_id"], agent, "with the same state")
    restarts = int(systemd.show("NRestarts")[0])
    ok(restarts >= 1, "systemd began it anew", restarts)

    pid = systemd.main_pid()
    os.kill(pid, signal.SIGSTOP)
    until(lambda: systemd.main_pid() not in (None, pid),
          "another agent for one that gives no sign of life")
    equal(int(systemd.show("NRestarts")[0]), restarts + 1,
          "one that gives no sign of life is begun anew")
    count = len(server.beats)
    until(lambda: len(server.beats) > count, "a heartbeat")


def stops(server, host, systemd):
    command = server.start(duration=LONG)
    until(lambda: server.state(command) == "running", "running")
    pid = systemd.main_pid()
    equal(systemd.ctl("stop", UNIT), (0, ""), "stop")
    equal(server.report(command)["error_message"], "the agent was stopped",
          "the run is ended in order")
    equal(server.beats[-1]["status"], "offline", "the server is told")
    equal(systemd.show("ActiveState", "Result", "MainPID"),
          ("inactive", "success", "0"), "it is inactive, without a failure")
    ok(not os.path.exists("/proc/%d" % pid), "and gone")
    ok(descendant(systemd.pid, "gprofiler") is None, "with all its runs")


def under_systemd(server, host):
    systemd = Systemd(host)
    systemd.begin()
    try:
        starts(server, host, systemd)
        sandboxed(host, systemd)
        reloads(server, host, systemd)
        profiles(server, host, systemd)
        begins_anew(server, host, systemd)
        stops(server, host, systemd)
    finally:
        systemd.close()


reason = why_not()
if reason:
    print("1..0 # SKIP " + reason)
    sys.exit(0)
run_at_once(verified, under_systemd)
done()
