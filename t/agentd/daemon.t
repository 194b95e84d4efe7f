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


def init_script(server, host):
    script = os.path.join(TOP_BUILDDIR, "agentd/init/conspect-agentd.init")
    pid_file = os.path.join(host.root, "pid")
    defaults = os.path.join(host.root, "default")
    host.write(defaults, "DAEMON='%s'\nPIDFILE='%s'\nOPTIONS='%s'\n" % (
        AGENT, pid_file, " ".join(
            host.command("--log-file", host.root + "/agent.log")[1:])), 0o600)
    env = dict(host.env, CONSPECT_AGENTD_DEFAULTS=defaults)
    equal(call("sh", script, "status", env=env),
          (3, "conspect-agentd is not running\n"), "status before: 3")
    equal(call("sh", script, "start", env=env), (0, ""), "start")
    pid = running(pid_file)
    equal(call("sh", script, "status", env=env),
          (0, "conspect-agentd is running\n"), "status: 0")
    equal(call("sh", script, "start", env=env), (0, ""), "start again")
    equal(running(pid_file), pid, "leaves it alone")
    until(lambda: server.beats, "a heartbeat")
    equal(call("sh", script, "restart", env=env)[0], 0, "restart")
    # a sanitizer looks for leaks after the agent's last step
    until(lambda: gone(pid), "the old one ends")
    ok(True, "ends the old one")
    pid = running(pid_file)
    equal(call("sh", script, "reload", env=env)[0], 0, "reload")
    equal(call("sh", script, "stop", env=env), (0, ""), "stop")
    until(lambda: gone(pid), "it ends")
    ok(True, "ends it")
    equal(call("sh", script, "status", env=env)[0], 3, "status after: 3")
    equal(call("sh", script, "stop", env=env), (0, ""), "stop again")
    equal(call("sh", script, "dance", env=env)[0], 2, "what is unknown: 2")


for test in command_line, daemon:
    run(test)
# start-stop-daemon knows the agent by its program, which is valgrind there
if not os.environ.get("CONSPECT_VALGRIND"):
    run(init_script)
done()
