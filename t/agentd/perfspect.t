#!/usr/bin/env python3
"""PerfSpect: alone, beside gProfiler, cut off; its limits; the host's
settings."""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ.get("SRCDIR", "."), "t/agentd"))
from harness import *  # noqa: E402,F403

ARCHIVE, _ = archive()
NODE = os.uname().nodename
SHORT = {"enable_perfspect": True, "continuous": False, "duration": 1,
         "perfspect_args": {"interval": 1}}


def prepare(server, host, *options):
    server.files["/perfspect.tgz"] = ARCHIVE
    host.env["PERFSPECT_ARGV_LOG"] = os.path.join(host.root, "flags")
    host.start(*options)


def flags(host):
    path = host.env["PERFSPECT_ARGV_LOG"]
    if not os.path.exists(path):
        return []
    with open(path) as f:
        return f.read().split("\n")[:-1]


def results(host, command):
    return os.path.join(host.state, "runs", command, "results")


def content(*path):
    with open(os.path.join(*path)) as f:
        return f.read()


def without_gprofiler(server, host):
    prepare(server, host, "--gprofiler-path", "/nonexistent/gprofiler")
    command = server.start(**dict(SHORT, pids=[10, 20], perfspect_args={
        "interval": 1, "metrics": "CPI,a b", "noroot": True}))
    report = server.report(command)
    equal((report["status"], report["error_message"], report["exit_status"]),
          ("completed", None, 0), "PerfSpect runs without gProfiler")
    where = results(host, command)
    argv = report["arguments"]
    equal(argv, [os.path.realpath(host.tmp + "/perfspect/perfspect")]
          + flags(host), "the report has its arguments")
    tempdir = argv[argv.index("--tempdir") + 1]
    equal(argv[1:], [
        "metrics", "--duration", "1", "--output", where, "--tempdir",
        tempdir, "--noupdate", "--scope", "process", "--pids", "10,20",
        "--metrics", "CPI,a b", "--interval", "1", "--noroot"],
        "which are these")
    ok(tempdir.startswith(host.tmp + "/") and not os.path.exists(tempdir),
       "its temporary directory is private and gone")
    equal(sorted(os.listdir(where)),
          [NODE + "_metadata.json", NODE + "_metrics.csv",
           NODE + "_metrics_summary.csv", NODE + "_metrics_summary.html"],
          "its files are the results")
    ok("partial" not in report, "all of them")
    profile = server.start(duration=1)
    contains(server.report(profile)["error_message"], "--gprofiler-path",
             "without PerfSpect the lack of gProfiler is the reason")
    bad = server.start(**dict(SHORT, perfspect_args={"--": "reboot"}))
    contains(server.report(bad)["error_message"],
             "perfspect_args.--: this PerfSpect flag may not be set",
             "flags are checked here, too")


def side_by_side(server, host):
    host.env["GPROFILER_SECOND"] = "1"
    prepare(server, host)
    continuous = server.start(duration=60, continuous=True)
    until(lambda: server.state(continuous) == "running" and
          os.path.exists(host.argv), "gProfiler runs")
    os.unlink(host.argv)
    command = server.start(**dict(SHORT, profiling_mode="none"))
    equal(server.report(command)["status"], "completed",
          "no profiler, PerfSpect only: beside gProfiler")
    text = host.log_text()
    ok("paused" not in text and not os.path.exists(host.argv),
       "which was not disturbed")
    both = server.start(**dict(SHORT, duration=2))
    report = server.report(both)
    equal(report["status"], "completed", "PerfSpect and gProfiler")
    contains(host.log_text(), continuous + ": paused for " + both,
             "want the host for themselves")
    path = [a for a in report["arguments"] if "--perfspect-path" in a]
    ok(len(path) == 1 and path[0].startswith(
        "--perfspect-path=%s/.conspect-perfspect." % host.tmp),
       "gProfiler is given a program of the run's", path)
    equal(flags(host)[-2:], ["--interval", "1"], "which adds the flags")
    until(lambda: os.path.exists(host.argv) and "-c" in host.arguments(),
          "then the continuous run goes on")


def cut_off(server, host):
    host.env["PERFSPECT_HOST"] = fake = os.path.join(host.root, "host")
    os.makedirs(fake + "/proc/sys/kernel")
    os.makedirs(fake + "/sys/devices/cpu")
    watchdog = fake + "/proc/sys/kernel/nmi_watchdog"
    interval = fake + "/sys/devices/cpu/perf_event_mux_interval_ms"
    Host.write(watchdog, "1\n", 0o644)
    Host.write(interval, "4\n", 0o644)
    host.env["PERFSPECT_KILLED"] = "1"
    prepare(server, host, "--host-root", fake)
    command = server.start(**dict(SHORT, duration=60, profiling_mode="none"))
    report = server.report(command)
    equal((report["status"], report["error_message"], report["partial"]),
          ("failed", "perfspect was killed by SIGKILL", True),
          "a PerfSpect that was killed")
    summary = content(results(host, command), NODE + "_metrics_summary.csv")
    equal(summary.split("\n")[:3], [
        "metric,mean,min,max,stddev",
        "CPU utilization %,41.000000,40.000000,42.000000,0.816497",
        "CPI,0.900000,0.900000,0.900000,0.000000"],
        "its series gives the summary, without the row that was cut")
    equal((content(watchdog)[:1], content(interval)[:1]), ("1", "4"),
          "the host's settings are put back")
    contains(host.log_text(), "nmi_watchdog was left at 0 and is put back",
             "and that is logged")
    ok(not os.path.exists(host.state + "/host-settings"), "the note is gone")

    # the agent is killed as well: its successor puts them back
    host.end()
    del host.env["PERFSPECT_KILLED"]
    host.start("--host-root", fake)
    long = server.start(**dict(SHORT, duration=LONG, profiling_mode="none"))
    until(lambda: content(watchdog)[:1] == "0", "PerfSpect runs")
    host.kill()
    host.start("--host-root", fake)
    equal(server.report(long)["error_message"], "agent restarted",
          "an agent that was killed")
    equal((content(watchdog)[:1], content(interval)[:1]), ("1", "4"),
          "the next one puts the settings back")

    early = server.start(**dict(SHORT, duration=LONG, profiling_mode="none"))
    until(lambda: content(watchdog)[:1] == "0", "PerfSpect runs")
    server.stop()
    report = server.report(early)
    equal((report["status"], report["partial"]), ("stopped", True),
          "what a stop cuts short is partial")
    ok(os.path.exists(os.path.join(results(host, early),
                                   NODE + "_metrics_summary.csv")),
       "and kept")


def faults(server, host):
    host.env["PERFSPECT_NO_FILES"] = "1"
    prepare(server, host, "--memory-limit", "128")
    lone = dict(SHORT, profiling_mode="none")
    report = server.report(server.start(**lone))
    equal((report["status"], report["error_message"], report["exit_status"],
           report["results_path"]),
          ("failed", "PerfSpect left no results; the last it logged: "
           "level=INFO msg=\"Starting up\" app=perfspect", 0, None),
          "status 0 and no files is a failure")
    if os.environ.get("CONSPECT_VALGRIND"):
        return  # it keeps the agent's RLIMIT_DATA for itself
    host.end()
    del host.env["PERFSPECT_NO_FILES"]
    host.env["PERFSPECT_MIB"] = "200"
    host.start("--memory-limit", "128")
    command = server.start(**lone)
    report = server.report(command)
    equal((report["status"], report["error_message"]),
          ("failed", "the run exceeded its memory limit of 128 MiB: Error: "
           "runtime: out of memory (limits.memory_mib of the request, "
           "memory-limit of the agent)"), "too much memory")
    equal(server.report(server.start(**dict(lone, limits={
        "memory_mib": 1000})))["status"], "failed",
        "a request cannot raise the agent's limit")
    host.end()
    host.start("--memory-limit", "1000")
    equal(server.report(server.start(**lone))["status"], "completed",
          "enough memory")
    contains(server.report(server.start(**dict(lone, limits={
        "memory_mib": 100})))["error_message"], "memory limit of 100 MiB",
        "a request can lower it")
    equal(server.count(command), 1, "what failed is not tried again")


for test in without_gprofiler, side_by_side, cut_off, faults:
    run(test)
done()
