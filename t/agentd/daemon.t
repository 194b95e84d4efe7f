#!/usr/bin/env python3
"""The agent as a program: command line, daemon, signals, init script."""
import os
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ.get("SRCDIR", "."), "t/agentd"))
from harness import *  # noqa: E402,F403


def call(*command, env=None):
    done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=DEADLINE)
    return done.returncode, done.stdout + done.stderr


def command_line(server, host):
    status, text = call(AGENT, "--version")
    equal((status, text.split()[0]), (0, "conspect-agentd"), "--version")
    status, text = call(AGENT, "--help")
    ok(status == 0 and text.startswith("usage: "), "--help")
    status, text = call(AGENT, "--config", "/dev/null")
    equal(status, 2, "without settings: 2")
    contains(text, "api-server is not set", "and the reason")
    os.chmod(host.token, 0o644)
    status, text = call(*host.command("--foreground"), env=host.env)
    equal(status, 1, "an open token file: 1")
    contains(text, "chmod 600 " + host.token, "and the way out")
    os.chmod(host.token, 0o600)
    status, text = call(*host.command("--state-dir", "/dev/null/x"),
                        env=host.env)
    equal(status, 1, "a daemon that cannot begin tells its starter")
    contains(text, "state directory /dev/null/x: Not a directory", "why")


def running(pid_file):
    with open(pid_file) as f:
        return int(f.read())


def daemon(server, host):
    pid_file = os.path.join(host.root, "pid")
    log = os.path.join(host.root, "agent.log")
    status, text = call(*host.command("--pid-file", pid_file, "--log-file",
                                      log), env=host.env)
    equal((status, text), (0, ""), "a daemon's starter gets 0 and no text")
    pid = running(pid_file)
    until(lambda: server.beats, "a heartbeat")
    equal(os.readlink("/proc/%d/fd/0" % pid), "/dev/null", "standard input")
    equal(os.readlink("/proc/%d/cwd" % pid), "/", "working directory")
    equal(os.getsid(pid), pid, "a session of its own")
    status, text = call(*host.command("--foreground"), env=host.env)
    equal(status, 1, "a second agent on the same state")
    contains(text, "another agent runs with the state directory "
             + host.state, "is refused")
    equal(running(pid_file), pid, "and changes nothing")

    os.rename(log, log + ".1")
    host.write(host.token, "another-token-42\n", 0o600)
    os.kill(pid, signal.SIGHUP)
    until(lambda: os.path.exists(log), "SIGHUP opens the log anew")
    until(lambda: server.headers_seen[-1]["Authorization"]
          == "Bearer another-token-42", "SIGHUP reads the token again")
    ok(True, "SIGHUP opens the log anew and reads the token again")
    host.write(host.token, "", 0o600)
    os.kill(pid, signal.SIGHUP)
    until(lambda: "the token read before is used" in open(log).read(),
          "a token that cannot be used is named")
    count = len(server.beats)
    until(lambda: len(server.beats) > count, "and the old one goes on")
    os.kill(pid, signal.SIGTERM)
    until(lambda: gone(pid), "SIGTERM ends it")
    ok(not os.path.exists(pid_file), "with its pid file")


class Script:
    """The init script with a defaults file of its own."""

    def __init__(self, host, name):
        self.path = os.path.join(TOP_BUILDDIR,
                                 "agentd/init/conspect-agentd.init")
        self.pid_file = os.path.join(host.root, name)
        defaults = os.path.join(host.root, name + ".default")
        host.write(defaults, "DAEMON='%s'\nPIDFILE='%s'\nOPTIONS='%s'\n" % (
            AGENT, self.pid_file, " ".join(host.command(
                "--log-file", host.root + "/agent.log")[1:])), 0o600)
        self.env = dict(host.env, CONSPECT_AGENTD_DEFAULTS=defaults)

    def __call__(self, word):
        return call("sh", self.path, word, env=self.env)

    def pid(self):
        return running(self.pid_file)


def init_script(server, host):
    script = Script(host, "pid")
    equal(script("status"), (3, "conspect-agentd is not running\n"),
          "status before: 3")
    equal(script("reload")[0], 1, "nothing to reload: 1")
    equal(script("start"), (0, ""), "start")
    pid = script.pid()
    equal(script("status"), (0, "conspect-agentd is running\n"),
          "status: 0")
    equal(script("start"), (0, ""), "start again")
    equal(script.pid(), pid, "leaves it alone")
    until(lambda: server.beats, "a heartbeat")
    equal(script("restart")[0], 0, "restart")
    # a sanitizer looks for leaks after the agent's last step
    until(lambda: gone(pid), "the old one ends")
    ok(True, "ends the old one")
    pid = script.pid()
    host.write(host.token, "another-token-42\n", 0o600)
    equal(script("reload")[0], 0, "reload")
    until(lambda: server.headers_seen[-1]["Authorization"]
          == "Bearer another-token-42", "the new token")
    equal(script.pid(), pid, "leaves it alone, but for its token")
    equal(script("stop"), (0, ""), "stop")
    until(lambda: gone(pid), "it ends")
    equal(server.beats[-1]["status"], "offline", "ends it in order")
    equal(script("status")[0], 3, "status after: 3")
    equal(script("stop"), (0, ""), "stop again")
    equal(script("dance")[0], 2, "what is unknown: 2")


def init_script_and_others(server, host):
    """What a crash, a reused number and a second agent make of it."""
    script = Script(host, "pid")
    ended = subprocess.Popen(["true"])
    ended.wait()
    host.write(script.pid_file, "%d\n" % ended.pid, 0o644)
    equal(script("status"), (1, "conspect-agentd is not running, but %s is "
                             "there\n" % script.pid_file),
          "a process id file that a crash left: status 1")
    equal(script("start"), (0, ""), "is no hindrance to a start")
    pid = script.pid()
    ok(pid != ended.pid and not gone(pid), "which writes its own")
    os.kill(pid, signal.SIGKILL)
    until(lambda: gone(pid), "kill -9")

    # its number is another program's by now: ours
    host.write(script.pid_file, "%d\n" % os.getpid(), 0o644)
    equal(script("stop")[0], 0, "another program of that number")
    ok(not os.path.exists(script.pid_file), "is not ended by a stop")
    host.write(script.pid_file, "%d\n" % os.getpid(), 0o644)
    equal(script("start"), (0, ""), "nor is it an agent that runs")
    pid = script.pid()

    other = Script(host, "other.pid")
    status, text = other("start")
    equal(status, 1, "a second agent, with another process id file")
    contains(text, "another agent runs with the state directory "
             + host.state, "but the same state, is refused")
    equal(other("status")[0], 3, "it is not there")
    equal((script("status")[0], script.pid()), (0, pid),
          "and the first one is")
    equal(script("stop"), (0, ""), "stop")
    until(lambda: gone(pid), "it ends")


tests = [command_line, daemon]
# start-stop-daemon knows the agent by its program, which is valgrind there
if not os.environ.get("CONSPECT_VALGRIND"):
    tests += [init_script, init_script_and_others]
run_at_once(*tests)
done()
