#!/usr/bin/env python3
"""Installing PerfSpect: what a download can be, and what it may not leave."""
import hashlib
import os
import stat
import subprocess
import sys
import tarfile
import io
import threading

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ.get("SRCDIR", "."), "t/agentd"))
from harness import *  # noqa: E402,F403

GOOD, DIGEST = archive()
HTML = b"<!DOCTYPE html><html><title>Sign in</title></html>"
PREFIX = "PerfSpect could not be installed: "
release = threading.Event()


def page(status, headers, body):
    return lambda handler: handler.answer(status, headers, body)


def cut_short(handler):
    handler.answer(200, {"Content-Length": str(len(GOOD))}, GOOD[:1000])
    handler.close_connection = True


def stall(handler):
    handler.answer(200, {"Content-Length": str(len(GOOD))}, GOOD[:1000])
    handler.wfile.flush()
    release.wait(DEADLINE)


def tar_of(entries):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, content, mode in entries:
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(content), mode
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def elf_for_another_machine():
    with open(PERFSPECT, "rb") as f:
        program = bytearray(f.read())
    program[18:20] = b"\x16\x00"  # s390
    return bytes(program)


def attempt(server, **more):
    """A start with PerfSpect; its report."""
    return server.report(server.offer(
        "start", {"duration": 5, "enable_perfspect": True}, **more))


def faults(server, host):
    url = server.url + "/perfspect.tgz"
    host.start()
    cases = [
        (page(404, {}, b"gone"), url + " answered 404 Not Found"),
        (page(500, {}, b"oops"), url + " answered 500 Internal Server Error"),
        (page(206, {}, GOOD), url + " answered 206 Partial Content"),
        (page(200, {"Content-Type": "text/html"}, HTML),
         url + ": not a gzip archive: text/html, starts with \""
         + HTML.decode() + "\""),
        (page(200, {}, b""), url + ": the answer is empty"),
        (cut_short, "bytes remaining to read"),
        (page(302, {"Location": "ftp://127.0.0.1/x"}, b""),
         "Protocol \"ftp\" not supported"),
        (page(302, {"Location": "/perfspect.tgz"}, b""), "redirects"),
        (tar_of([("../../x", b"data", 0o644)]),
         "the archive has a name that leaves its directory: ../../x"),
        (tar_of([("perfspect/LICENSE", b"data", 0o644)]),
         "the archive holds no perfspect/perfspect"),
        (tar_of([("perfspect/perfspect", b"#!/bin/sh\n", 0o755)]),
         "perfspect/perfspect is not an ELF executable"),
        (tar_of([("perfspect/perfspect", elf_for_another_machine(), 0o755)]),
         "perfspect/perfspect is a program for s390, this is "),
        (GOOD[:len(GOOD) // 2], "the archive is damaged"),
    ]
    for content, reason in cases:
        server.files["/perfspect.tgz"] = content
        report = attempt(server)
        equal(report["status"], "failed", "failed")
        text = report["error_message"] or ""
        ok(text.startswith(PREFIX) and reason in text, reason, text)
        until(lambda: os.listdir(host.tmp) == [], "nothing left behind")
    ok(not os.path.exists(os.path.join(host.root, "x")), "nothing outside")
    # a failure is never remembered as «have it»
    server.files["/perfspect.tgz"] = GOOD
    equal(attempt(server)["status"], "completed", "then a good one")


def retried(server, host):
    tries = []

    def flaky(handler):
        tries.append(1)
        (cut_short if len(tries) == 1 else
         page(200, {}, GOOD))(handler)
    server.files["/perfspect.tgz"] = page(
        302, {"Location": server.url.replace("127.0.0.1", "localhost")
              + "/elsewhere"}, b"")
    server.files["/elsewhere"] = flaky
    host.start()
    report = attempt(server)
    equal((report["status"], report["perfspect_version"]),
          ("completed", VERSION), "one retry, through a redirect")
    equal(len(tries), 2, "from the start")


def pinned(server, host):
    server.files["/dist/p.tgz"] = GOOD
    host.start()
    wrong = "0" * 64
    report = attempt(server, perfspect={"url": "/dist/p.tgz",
                                        "sha256": wrong, "version": "x"})
    equal(report["error_message"],
          PREFIX + "%s/dist/p.tgz: SHA-256 is %s, expected %s, of %d bytes"
          % (server.url, DIGEST, wrong, len(GOOD)), "a wrong digest")
    equal(os.listdir(host.tmp), [], "nothing is installed")
    pin = {"url": "/dist/p.tgz", "sha256": DIGEST.upper(), "version": "x"}
    equal(attempt(server, perfspect=pin)["status"], "completed",
          "the right one, in upper case")
    equal(attempt(server, perfspect=pin)["status"], "completed",
          "the same pin again")
    equal(server.fetched, ["/dist/p.tgz"] * 2, "is not fetched again")
    other = tar_of([("perfspect/perfspect", open(PERFSPECT, "rb").read(),
                     0o755), ("perfspect/new", b"new", 0o644)])
    server.files["/dist/q.tgz"] = other
    equal(attempt(server, perfspect={
        "url": server.url + "/dist/q.tgz",
        "sha256": hashlib.sha256(other).hexdigest()})["status"],
        "completed", "another pin")
    equal(sorted(os.listdir(host.tmp)), ["perfspect"], "takes its place")
    ok(os.path.exists(host.tmp + "/perfspect/new"), "whole")
    ok(not os.path.exists(host.tmp + "/perfspect/LICENSE"), "and alone")
    ok("/perfspect.tgz" not in server.fetched,
       "a pin wins over PERFSPECT_DOWNLOAD_URL")


def deadline(server, host):
    server.files["/perfspect.tgz"] = stall
    host.env["PERFSPECT_INSTALL_TIMEOUT"] = "3"
    host.start()
    command = server.start(duration=5, enable_perfspect=True)
    until(lambda: server.state(command) == "installing", "installing")
    count = len(server.beats)
    until(lambda: len(server.beats) > count, "heartbeats go on meanwhile")
    contains(server.report(command)["error_message"],
             "not done within 3 seconds", "the deadline")
    until(lambda: os.listdir(host.tmp) == [], "nothing left behind")
    host.env.pop("PERFSPECT_INSTALL_TIMEOUT")
    host.end()
    host.start()
    command = server.start(duration=5, enable_perfspect=True)
    until(lambda: server.state(command) == "installing", "installing")
    stop = server.stop()
    equal(server.report(command)["error_message"], "stopped by " + stop,
          "a stop ends an installation")
    until(lambda: os.listdir(host.tmp) == [], "nothing left behind")
    release.set()


def squatters(server, host):
    server.files["/perfspect.tgz"] = GOOD
    target = os.path.join(host.tmp, "perfspect")
    outside = os.path.join(host.root, "outside")
    os.mkdir(outside)
    os.symlink(outside, target)
    host.start()
    equal(attempt(server)["error_message"], PREFIX + target
          + " is a link: remove it, it is not followed", "a link")
    equal(os.listdir(outside), [], "is not followed")
    os.unlink(target)
    os.mkdir(target)
    os.chmod(target, 0o777)
    contains(attempt(server)["error_message"],
             target + " can be written by other users (mode 0777)",
             "a directory that others can write")
    if os.geteuid() == 0:
        os.chmod(target, 0o755)
        os.chown(target, 12345, 12345)
        contains(attempt(server)["error_message"],
                 target + " belongs to user 12345", "another user's")
    os.rmdir(target)
    with open(target, "w") as f:
        f.write("file")
    contains(attempt(server)["error_message"], "is not a directory", "a file")
    os.unlink(target)
    # ours, but broken: put right
    os.mkdir(target, 0o755)
    with open(os.path.join(target, "perfspect"), "w") as f:
        f.write("#!/bin/sh\nexit 0\n")
    equal(attempt(server)["status"], "completed", "what is broken is renewed")
    equal(sorted(os.listdir(host.tmp)), ["perfspect"], "in its place")
    host.end()
    host.env["TMPDIR"] = os.path.join(host.root, "missing")
    host.start()
    equal(attempt(server)["error_message"], PREFIX + "temporary directory "
          + "%s/missing, as user %d: No such file or directory"
          % (host.root, os.geteuid()), "a missing TMPDIR")


for test in faults, retried, pinned, deadline, squatters:
    run(test)
done()
