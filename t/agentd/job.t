#!/usr/bin/env python3
"""The main job: a command by heartbeat, PerfSpect fetched, a run, a report."""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ.get("SRCDIR", "."), "t/agentd"))
from harness import *  # noqa: E402,F403


def perfspect_session(server, host):
    server.files["/perfspect.tgz"], digest = archive()
    command = server.start(duration=5, frequency=11, profiling_mode="cpu",
                           continuous=False, enable_perfspect=True)
    host.start()
    report = server.report(command)
    target = os.path.join(host.tmp, "perfspect")
    version = os.path.join(target, "versions", digest)
    results = os.path.join(host.state, "runs", command, "results")
    equal(report, {
        "command_id": command, "hostname": "db01", "status": "completed",
        "execution_time": report["execution_time"], "error_message": None,
        "results_path": results, "exit_status": 0,
        "perfspect_version": VERSION,
        "arguments": report["arguments"][:1] + host.arguments()}, "the run is reported completed")
    equal(host.arguments(), [
        "-o", results, "-d", "5", "-f", "11", "--mode", "cpu",
        "--max-processes-runtime-profiler", "10",
        "--enable-hw-metrics-collection",
        "--perfspect-path=" + version + "/perfspect",
        "--perfspect-duration", "5", "--skip-system-profilers-above", "600",
        "--perf-max-docker-containers", "2"], "gProfiler's arguments")
    ok(os.access(target + "/perfspect", os.X_OK), "PerfSpect is installed")
    equal(os.stat(target).st_mode & 0o7777, 0o755, "for no other to write")
    equal(os.listdir(host.tmp), ["perfspect"], "nothing else is left behind")
    equal(os.path.realpath(target + "/perfspect"), version + "/perfspect",
          "the version that a run uses has the archive's digest in its name")
    equal(sorted(n for n in os.listdir(results) if "_met" in n),
          sorted(n for n in os.listdir(host.env["GPROFILER_PERFSPECT"])
                 if n != "perfspect.log"), "PerfSpect's files are there")
    with open(os.path.join(results, os.uname().nodename
                           + "_metrics_summary.csv")) as f:
        equal(f.read().split("\n")[:2],
              ["metric,mean,min,max,stddev",
               "CPU utilization %,40.000000,40.000000,40.000000,0.000000"],
              "as it wrote them")
    ok(any(n.endswith(".html") for n in os.listdir(results)),
       "the profile is in the run's directory")
    equal(os.stat(os.path.join(host.state, "runs", command)).st_mode & 0o777,
          0o700, "which is private")
    fetched = ["/perfspect.tgz", "/perfspect.tgz.md5.txt"]
    equal(server.fetched, fetched, "one download")

    second = server.start(duration=5, continuous=False, enable_perfspect=True)
    equal(server.report(second)["status"], "completed", "a second run")
    equal(server.fetched, fetched, "uses what is there")
    equal(server.count(command), 1, "the first is reported once")


def heartbeats(server, host):
    command = server.start(duration=LONG, continuous=False)
    host.env["GPROFILER_SECOND"] = "1"
    host.start()
    until(lambda: server.state(command) == "running", "running")
    first, last = server.beats[0], server.beats[-1]
    equal([first[k] for k in ("ip_address", "hostname", "service_name",
                              "last_command_id", "status", "commands")],
          ["127.0.0.1", "db01", "web", None, "idle", []],
          "the first heartbeat of a new agent")
    equal(server.headers_seen[0]["Authorization"], "Bearer " + TOKEN,
          "carries the token")
    equal((last["status"], last["last_command_id"],
           last["received_command_ids"], last["executed_command_ids"]),
          ("active", command, [command], []), "a busy agent says so")
    equal(last["arch"], os.uname().machine, "and its architecture")
    with open("/proc/sys/kernel/random/boot_id") as f:
        equal(last["boot_id"], f.read().strip(), "and its boot")
    equal(len(last["agent_id"]), 36, "and its own id")
    ok(last["timestamp"].endswith("Z"), "times are UTC")
    stop = server.stop()
    equal(server.report(command)["status"], "stopped", "a stop ends the run")
    equal(server.report(command)["error_message"], "stopped by " + stop,
          "with its reason")
    equal(server.report(stop)["status"], "completed", "and is completed")
    ids = [r["command_id"] for r in server.reports]
    equal(ids, [command, stop], "after the run that it stopped")
    until(lambda: len(server.beats[-1]["executed_command_ids"]) == 2,
          "both are executed")
    last = server.beats[-1]
    equal((last["status"], sorted(last["executed_command_ids"])),
          ("idle", sorted([command, stop])), "and the agent is idle again")
    equal(server.beats[-1]["agent_id"], first["agent_id"], "the same agent")
    text = host.log_text()
    ok(TOKEN not in text, "the token is not in the log")


def slots(server, host):
    host.env["GPROFILER_SECOND"] = "1"
    host.start()
    idle = server.stop()
    equal(server.report(idle)["status"], "completed",
          "a stop with nothing to stop is completed at once")
    first = server.start(duration=60, continuous=True)
    until(lambda: server.state(first) == "running", "first runs")
    ad_hoc = server.start(duration=1, continuous=False)
    equal(server.report(ad_hoc)["status"], "completed",
          "an ad-hoc run goes before a continuous one")
    until(lambda: "-c" in host.arguments(), "the first goes on")
    second = server.start(duration=60, continuous=True)
    report = server.report(first)
    equal((report["status"], report["error_message"]),
          ("stopped", "replaced by " + second), "a new continuous replaces")
    until(lambda: server.state(second) == "running" and
          "-c" in host.arguments(), "second runs")
    one = server.start(duration=LONG, continuous=False, pids=[10, 20])
    until(lambda: "10,20" in host.arguments() and
          server.state(one) == "running", "one runs")
    part = server.stop(stop_level="process", pids=[10])
    equal(server.report(part)["status"], "completed", "a stop of one process")
    until(lambda: "20" in host.arguments(), "leaves the other one's run")
    equal(server.state(one), "running", "which is the same")
    whole = server.stop(stop_level="process", pids=[20, 30])
    report = server.report(one)
    equal((report["status"], report["error_message"]),
          ("stopped", "stopped by " + whole),
          "a stop of all its processes ends a run")
    ok("20" in report["arguments"] and "10,20" not in report["arguments"],
       "the report has the arguments that held in the end")
    until(lambda: "-c" in host.arguments(), "the continuous one goes on")


def failures(server, host):
    host.env["GPROFILER_FAIL"] = "no perf on this host"
    host.start()
    command = server.start(duration=1)
    report = server.report(command)
    equal((report["status"], report["error_message"], report["exit_status"],
           report["results_path"]),
          ("failed", "[ERROR] no perf on this host", 1, None),
          "the profiler's last line is the reason")
    with open(os.path.join(host.state, "runs", command, "output.log")) as f:
        equal(f.read(), "[ERROR] no perf on this host\n",
              "its output is kept")
    bad = server.start(duration=-1)
    contains(server.report(bad)["error_message"], "duration must be",
             "a config that cannot be is refused with its reason")
    short = server.start(duration=3, enable_perfspect=True)
    contains(server.report(short)["error_message"], "at least 5 seconds",
             "PerfSpect for three seconds")
    host.end()
    host.start("--gprofiler-path", "/nonexistent/gprofiler")
    missing = server.start(duration=1)
    contains(server.report(missing)["error_message"], "--gprofiler-path",
             "without gProfiler the reason names the flag")


def upload(server, host):
    host.start("--server-host", "https://upload.example")
    command = server.start(duration=60, continuous=True)
    until(lambda: server.state(command) == "running" and
          os.path.exists(host.argv), "running")
    arguments = host.arguments()
    config = os.path.join(host.state, "runs", command, "gprofiler.conf")
    equal(arguments[:2], ["--config", config], "a file carries the upload")
    ok(not any(TOKEN in a for a in arguments), "the command line no secret")
    equal(os.stat(config).st_mode & 0o777, 0o600, "the file is private")
    with open(config) as f:
        equal(f.read().split("\n")[:4],
              ["upload-results = true", "service-name = web",
               "server-host = https://upload.example", "token = " + TOKEN],
              "and complete")
    server.stop()
    server.report(command)
    until(lambda: not os.path.exists(config), "it goes with the run")


for test in perfspect_session, heartbeats, slots, failures, upload:
    run(test)
done()
