#!/usr/bin/env python3
"""Installing PerfSpect: what a download can be, and what it may not leave.

Most faults are played to the installer alone, by t/agentd/driver, many at a
time; a few to the whole agent, for what a user sees of them.
"""
import concurrent.futures
import fcntl
import hashlib
import os
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
import io
import threading

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ.get("SRCDIR", "."), "t/agentd"))
from harness import *  # noqa: E402,F403

GOOD, DIGEST = archive()
MD5 = hashlib.md5(GOOD).hexdigest()
OTHER_MD5 = hashlib.md5(b"other").hexdigest()
HTML = b"<!DOCTYPE html><html><title>Sign in</title></html>"
PREFIX = "PerfSpect could not be installed: "
NAME = "/perfspect.tgz"
ROOT = os.geteuid() == 0
release = threading.Event()
pool = concurrent.futures.ThreadPoolExecutor(8)


# --- what a server can do --------------------------------------------------

def page(status, headers, body):
    return lambda handler: handler.answer(status, headers, body)


def raw(data):
    """Sends bytes as they are, and closes."""
    def send(handler):
        handler.wfile.write(data)
        handler.close_connection = True
    return send


def head(length, status="200 OK"):
    return ("HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n"
            % (status, length)).encode()


def stall(*parts):
    """Sends bytes and then nothing, but stays."""
    def send(handler):
        for part in parts:
            handler.wfile.write(part)
        handler.wfile.flush()
        handler.close_connection = True
        release.wait(DEADLINE)
    return send


def trickle(body, pieces, pause):
    """The body in so many pieces, with a pause after each."""
    def send(handler):
        handler.close_connection = True
        handler.wfile.write(head(len(body)))
        step = len(body) // pieces + 1
        for at in range(0, len(body), step):
            handler.wfile.write(body[at:at + step])
            handler.wfile.flush()
            if release.wait(pause):
                return
    return send


def chunked(body, first=5000):
    data = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    at = 0
    while at < len(body):
        part = body[at:at + (5000 if at else first)]
        data += b"%x\r\n%s\r\n" % (len(part), part)
        at += len(part)
    return raw(data + b"0\r\n\r\n")


def endless(handler):
    """A body without a length and without an end."""
    handler.close_connection = True
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n" + GOOD)
    try:
        for _ in range(100000):
            handler.wfile.write(b"\0" * 65536)
    except OSError:
        pass


def in_turn(*contents):
    """One answer after the other."""
    left = list(contents)

    def send(handler):
        content = left.pop(0)
        content(handler) if callable(content) else handler.answer(
            200, {}, content)
    return send


def cut(n):
    return raw(head(len(GOOD)) + GOOD[:n])


def redirect(to, status=302):
    return page(status, {"Location": to}, b"moved")


def chain(server, name, n):
    """n redirects, the first of which is returned, then the archive."""
    def step(i):
        return redirect("%s/%d" % (name, i), (301, 302, 303, 307, 308)[i % 5])
    for i in range(1, n):
        server.files["%s/%d" % (name, i)] = step(i + 1)
    server.files["%s/%d" % (name, n)] = GOOD
    return step(1)


# --- downloads -------------------------------------------------------------

def downloads(server, host):
    """Each at an address of its own, fetched to a file of its own."""
    url = server.url
    local = url.replace("127.0.0.1", "localhost")
    closed = closed_port()
    redirected = "%s/elsewhere" % url
    server.files["/elsewhere"] = page(404, {}, HTML)
    server.files["/at-another"] = GOOD
    server.files["/big"] = page(200, {}, b"\x1f\x8b" + b"\0" * 200000)
    # name, content, settings, part of the reason or None, times asked for
    cases = [
        ("plain", GOOD, {}, None, 1),
        ("chunked", chunked(GOOD), {}, None, 1),
        ("without a length", raw(b"HTTP/1.1 200 OK\r\n\r\n" + GOOD), {},
         None, 1),
        ("a content encoding that is none",
         page(200, {"Content-Encoding": "gzip"}, GOOD), {}, None, 1),
        ("the magic in two pieces", chunked(GOOD, 1), {}, None, 1),
        ("slow but steady", trickle(GOOD, 40, 0.2), {"stall": "6"}, None, 1),
        ("to another host", redirect(local + "/at-another"), {}, None, 1),
        ("ten redirects", chain(server, "/ten", 10), {}, None, 1),
        ("eleven redirects", chain(server, "/eleven", 11), {},
         "Maximum (10) redirects followed", 1),
        ("a loop", redirect("/a%20loop"), {},
         "Maximum (10) redirects followed", 11),
        ("to ftp", redirect("ftp://127.0.0.1/x"), {},
         ": only http,https is followed from there", 1),
        ("to a file", redirect("file:///etc/passwd"), {},
         ": only http,https is followed from there", 1),
        ("to nothing here", redirect("/elsewhere"), {},
         "%%s (redirected to %s) answered 404 Not Found" % redirected, 1),
        ("404 with a body", page(404, {}, HTML), {},
         "%s answered 404 Not Found", 1),
        ("206", page(206, {}, GOOD), {}, "%s answered 206 Partial Content",
         1),
        ("416", page(416, {}, b""), {},
         "%s answered 416 Range Not Satisfiable", 1),
        ("204", raw(b"HTTP/1.1 204 No Content\r\n\r\n"), {},
         "%s answered 204 No Content", 1),
        ("500 twice", page(500, {}, b"oops"), {},
         "%s answered 500 Internal Server Error", 2),
        ("500, then good", in_turn(page(500, {}, b"oops"), GOOD), {}, None,
         2),
        ("HTML with 200", page(200, {"Content-Type": "text/html"}, HTML), {},
         "%s: not a gzip archive: text/html, starts with \"" + HTML.decode()
         + "\"", 1),
        ("empty", page(200, {}, b""), {}, "%s: the answer is empty", 2),
        ("cut twice", cut(len(GOOD) // 2), {}, "bytes remaining to read", 2),
        ("cut, then good", in_turn(cut(1000), GOOD), {}, None, 2),
        ("a length larger than the body", raw(head(len(GOOD) + 1) + GOOD),
         {}, "with 1 bytes remaining to read", 2),
        ("closed before the headers", raw(b""), {}, "Empty reply", 2),
        ("not HTTP", raw(GOOD), {}, "HTTP/0.9", 1),
        ("chunks that are none",
         raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
         {}, "chunk", 2),
        ("headers without an end",
         raw(b"HTTP/1.1 200 OK\r\n" + b"X: " + b"y" * 900000), {},
         "%s: ", 2),
        ("a stall after the headers", stall(head(len(GOOD))),
         {"stall": "1"}, "Operation too slow", 2),
        ("a stall in the middle", stall(head(len(GOOD)), GOOD[:1000]),
         {"stall": "1"}, "Operation too slow", 2),
        ("a stall, then good", in_turn(stall(head(len(GOOD)), GOOD[:99]),
                                       GOOD), {"stall": "5"}, None, 2),
        ("slower than its time", trickle(GOOD, 1000, 0.1), {"total": "2"},
         "timed out", 1),
        ("too long by its header", redirect("/big"), {"max": "100000"},
         " is larger than 100000 bytes", 1),
        ("too long without a header", endless, {"max": "1000000"},
         "%s is larger than 1000000 bytes", 1),
        ("a wrong pin", GOOD, {"sha256": "0" * 64},
         "%%s: SHA-256 is %s, expected %s, of %d bytes"
         % (DIGEST, "0" * 64, len(GOOD)), 1),
        ("a pin that is none", GOOD, {"sha256": "0" * 63},
         "\"%s\" is no SHA-256" % ("0" * 63), 1),
        ("a pin in upper case", GOOD, {"sha256": DIGEST.upper()}, None, 1),
    ]

    def one(case):
        name, content, settings, _, _ = case
        path = "/" + name.replace(" ", "%20")
        server.files[path] = content
        to = os.path.join(host.root, name.replace("/", " "))
        return driver("fetch", url + path, to,
                      *("%s=%s" % s for s in settings.items())), path, to

    elsewhere = [
        ("nobody there", "http://127.0.0.1:%d/x" % closed,
         "Couldn't connect to server"),
        ("no such host", "http://%s/x" % NOBODY,
         "Could not resolve host: " + NOBODY),
        ("another protocol", "ftp://127.0.0.1/x", "only http"),
        ("no address", "http://", "URL"),
    ]
    others = [pool.submit(driver, "fetch", address, host.root + "/e",
                          "total=20") for _, address, _ in elsewhere]
    for case, (got, path, to) in zip(cases, pool.map(one, cases)):
        name, _, settings, reason, times = case
        if reason is None:
            equal((got["ok"], got["sha256"]), (True, DIGEST), name)
            with open(to, "rb") as f:
                ok(f.read() == GOOD, name + ": whole")
        else:
            want = reason % (url + path) if "%s" in reason else reason
            ok(got["ok"] is False and want in got["why"], name + ": "
               + reason, got)
            ok(not os.path.exists(to), name + ": nothing is kept")
        equal(server.fetched.count(path), times, name + ": times asked for")
    for (name, _, reason), got in zip(elsewhere, others):
        contains(got.result()["why"], reason, name)
    contains(driver("fetch", url + "/plain", "/proc/x/file")["why"],
             "/proc/x/file, as user %d: " % os.geteuid(),
             "a file that cannot be written")


def checksums(server, host):
    """The MD5 beside an archive that nobody pinned."""
    note = "its MD5 was not checked: "
    # name, the checksum's content, archive, ok, part of note or reason,
    # times that the archive was asked for
    cases = [
        ("same", MD5.encode(), GOOD, True, "its MD5 is that of %s.md5.txt",
         1),
        ("upper case and a name",
         b"\r\n " + MD5.upper().encode() + b"  perfspect.tgz\r\n", GOOD, True,
         "its MD5 is that of %s.md5.txt", 1),
        ("another", OTHER_MD5.encode() + b"  perfspect.tgz\n", GOOD, False,
         "%%s: MD5 is %s, expected %s by %%s.md5.txt, of %d bytes"
         % (MD5, OTHER_MD5, len(GOOD)), 2),
        ("another at first", in_turn(OTHER_MD5.encode(), MD5.encode()), GOOD,
         True, "its MD5 is that of %s.md5.txt", 2),
        ("moved", redirect("/sum"), GOOD, False,
         "by %%s.md5.txt (redirected to %s/sum), of" % server.url, 2),
        ("none", None, GOOD, True,
         note + "%s.md5.txt answered 404 Not Found", 1),
        ("500", page(500, {}, b""), GOOD, True,
         note + "%s.md5.txt answered 500", 1),
        ("a page", page(200, {"Content-Type": "text/html"}, HTML), GOOD,
         True, note + "%s.md5.txt: no MD5, but \"<!DOCTYPE", 1),
        ("empty", b"", GOOD, True, note + "%s.md5.txt: no MD5, but \"\"", 1),
        ("a digit short", MD5[1:].encode(), GOOD, True,
         note + "%s.md5.txt: no MD5", 1),
        ("a digit more", MD5.encode() + b"0", GOOD, True,
         note + "%s.md5.txt: no MD5", 1),
        ("a book", b"0" * 5000, GOOD, True,
         note + "%s.md5.txt is longer than 4096 bytes", 1),
        ("stalls", stall(head(32)), GOOD, True, note + "%s.md5.txt: "
         "Operation too slow", 1),
    ]
    server.files["/sum"] = OTHER_MD5.encode()

    def one(case):
        path = "/md5/" + case[0].replace(" ", "%20")
        server.files[path] = case[2]
        if case[1] is not None:
            server.files[path + ".md5.txt"] = case[1]
        return path, driver("fetch", server.url + path,
                            host.root + "/md5 " + case[0], "stall=5")
    for case, (path, got) in zip(cases, pool.map(one, cases)):
        name, _, _, good, text, times = case
        url = server.url + path
        equal(got["ok"], good, "MD5: " + name)
        want = text.replace("%s", url)
        contains(got["note"] if good else got["why"], want,
                 "MD5: " + name + ": " + text)
        equal(server.fetched.count(path), times, "MD5: times asked for")
    pinned = server.url + "/plain?token=1"
    server.files["/plain?token=1"] = GOOD
    got = driver("fetch", pinned, host.root + "/p", "sha256=" + DIGEST)
    equal((got["ok"], got["note"]), (True, "its SHA-256 is the pinned one"),
          "a pinned archive")
    ok(not any(p.startswith("/plain.md5") for p in server.fetched),
       "needs no MD5")
    driver("fetch", pinned, host.root + "/p")
    ok("/plain.md5.txt?token=1" in server.fetched,
       "the checksum's address is the archive's path and .md5.txt")


# --- archives --------------------------------------------------------------

def tar_of(*entries):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, content, mode in entries:
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(content), mode
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


with open(PERFSPECT, "rb") as f:
    PROGRAM = f.read()


def release_of(mark):
    """A release that is another one than GOOD, and its digest."""
    data = tar_of(("perfspect/perfspect", PROGRAM, 0o755),
                  ("perfspect/mark", mark.encode(), 0o644))
    return data, hashlib.sha256(data).hexdigest()


def elf_for_another_machine():
    program = bytearray(PROGRAM)
    program[18:20] = b"\x16\x00"  # s390
    return bytes(program)


def new_tmp(host):
    return tempfile.mkdtemp(prefix="tmp.", dir=host.root)


def archives(server, host):
    """What was fetched well, and still is not PerfSpect."""
    program = "perfspect/perfspect"
    cases = [
        (tar_of(("../../x", b"data", 0o644)),
         "the archive has a name that leaves its directory: ../../x"),
        (tar_of(("perfspect/LICENSE", b"data", 0o644)),
         "the archive holds no perfspect/perfspect"),
        (tar_of((program, b"#!/bin/sh\n", 0o755)),
         "perfspect/perfspect is not an ELF executable"),
        (tar_of((program, PROGRAM, 0o644)),
         "perfspect/perfspect is not executable"),
        (tar_of((program, elf_for_another_machine(), 0o755)),
         "perfspect/perfspect is a program for s390, this is "),
        (tar_of((program, PROGRAM[:4096], 0o755)),
         "perfspect/perfspect "),
        (GOOD[:len(GOOD) // 2], "the archive is damaged"),
        # more body than length: only so much of it is read
        (raw(head(len(GOOD) - 1000) + GOOD), "the archive is damaged"),
        (b"\x1f\x8b" + b"garbage" * 100, "the archive is damaged"),
    ]
    with open("/bin/false", "rb") as f:
        cases.append((tar_of((program, f.read(), 0o755)),
                      "perfspect --version "))

    def one(case):
        tmp = new_tmp(host)
        path = "/a/" + os.path.basename(tmp)
        server.files[path] = case[0]
        first = driver("install", server.url + path, tmp)
        left = os.listdir(tmp)
        server.files[path] = GOOD
        return first, left, driver("install", server.url + path, tmp), \
            os.listdir(tmp)
    for case, (got, left, again, there) in zip(cases, pool.map(one, cases)):
        ok(got["ok"] is False and case[1] in got["why"], case[1], got)
        equal(left, [], "nothing left behind")
        # a failure is never remembered as «have it»
        equal((again["ok"], again.get("version")), (True, VERSION),
              "then a good one")
        equal(there, ["perfspect"], "is all that is there")
    ok(not os.path.exists(os.path.join(host.root, "x")), "nothing outside")


# --- versions --------------------------------------------------------------

def tree(tmp):
    return sorted(os.listdir(os.path.join(tmp, "perfspect/versions")))


def version_of(tmp, digest):
    return os.path.join(tmp, "perfspect/versions", digest)


def noted(tmp):
    """What can be said of $TMPDIR/perfspect without running it."""
    got = driver("look", tmp + "/perfspect", "-")
    return got["ok"], got["there"], got["version"], got["sha256"]


def versions(server, host):
    tmp = new_tmp(host)
    equal(noted(tmp), (True, False, "", ""), "nothing is noted of nothing")
    made = [release_of("release %d" % i) for i in range(6)]
    for i, (data, _) in enumerate(made):
        server.files["/v/%d" % i] = data
    link = os.path.join(tmp, "perfspect/perfspect")

    def install(i, pinned=True):
        return driver("install", "%s/v/%d" % (server.url, i), tmp,
                      *(["sha256=" + made[i][1].upper()] if pinned else []))

    def is_last(i):
        return os.readlink(link) == "versions/%s/perfspect" % made[i][1]
    got = install(0)
    equal((got["ok"], got["id"], got["version"]),
          (True, made[0][1], VERSION), "a pinned version")
    ok(is_last(0) and os.access(link, os.X_OK), "is $TMPDIR/perfspect's")
    for path in "perfspect", "perfspect/versions", \
            "perfspect/versions/" + made[0][1]:
        equal(stat.S_IMODE(os.stat(os.path.join(tmp, path)).st_mode), 0o755,
              path + " is for nobody else to write")
    equal(noted(tmp), (True, True, VERSION, made[0][1]),
          "its version and its archive's digest are noted")
    first = os.stat(version_of(tmp, made[0][1])).st_ino
    ok(install(1)["ok"] and is_last(1), "another pin")
    with open(os.path.join(version_of(tmp, made[1][1]), "mark")) as f:
        equal(f.read(), "release 1", "whole")
    ok(os.path.exists(version_of(tmp, made[0][1]) + "/mark"),
       "the first is still there")
    count = len(server.fetched)
    got = install(0)
    equal((got["ok"], got["note"], is_last(0)),
          (True, "it was there already", True), "switched back")
    equal(os.stat(version_of(tmp, made[0][1])).st_ino, first, "and the same")
    got = install(5, False)
    equal((got["ok"], got["id"]), (True, made[0][1]),
          "without a pin the last one serves")
    equal(len(server.fetched), count, "nothing of this was fetched")

    # 0 is in use, 1 was used longest ago, and three may stay
    held = os.open(version_of(tmp, made[0][1]), os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_SH)
    for i in 2, 3:
        ok(install(i)["ok"], "a third and a fourth version")
    equal(tree(tmp), sorted(made[i][1] for i in (0, 2, 3)),
          "what was used longest ago is removed")
    for i in 4, 5:
        ok(install(i)["ok"], "a fifth and a sixth")
    equal(tree(tmp), sorted(made[i][1] for i in (0, 4, 5)),
          "what is in use stays")
    os.close(held)
    ok(install(1)["ok"], "once it is not")
    equal(tree(tmp), sorted(made[i][1] for i in (1, 4, 5)), "it may go")

    # broken ones
    with open(version_of(tmp, made[1][1]) + "/perfspect", "w") as f:
        f.write("#!/bin/sh\n")
    count = len(server.fetched)
    ok(install(1)["ok"] and len(server.fetched) == count + 1,
       "a version that was damaged is fetched again")
    with open(version_of(tmp, made[1][1]) + "/perfspect", "rb") as f:
        ok(f.read() == PROGRAM, "and is whole")
    os.chmod(version_of(tmp, made[1][1]) + "/perfspect", 0o777)
    ok(install(1)["ok"] and len(server.fetched) == count + 2,
       "so is one that others can write")
    os.unlink(link)
    os.symlink("/bin/true", link)
    ok(install(1, False)["ok"] and is_last(1),
       "a link to elsewhere is not followed")

    # one that somebody put there
    other = new_tmp(host)
    os.mkdir(other + "/perfspect", 0o755)
    by_hand = other + "/perfspect/perfspect"
    shutil.copy(PERFSPECT, by_hand)
    os.chmod(by_hand, 0o755)
    count = len(server.fetched)
    got = driver("install", server.url + "/v/0", other)
    equal((got["ok"], got["id"], len(server.fetched)), (True, "", count),
          "a program put there by hand serves where no pin says otherwise")
    equal(noted(other), (True, True, "", ""), "nothing is noted of it")
    got = driver("install", server.url + "/v/0", other,
                 "sha256=" + made[0][1])
    equal((got["ok"], got["id"]), (True, made[0][1]), "a pin is fetched")
    ok(not os.path.islink(by_hand), "and leaves the other alone")
    with open(by_hand, "w") as f:
        f.write("#!/bin/sh\nexit 0\n")
    got = driver("install", server.url + "/v/1", other)
    equal((got["ok"], got["id"]), (True, made[1][1]),
          "what is broken is renewed")
    equal(os.readlink(by_hand), "versions/%s/perfspect" % made[1][1],
          "in its place")
    equal(os.listdir(other), ["perfspect"], "and nothing is left")


# --- the temporary directory -----------------------------------------------

def squatters(server, host):
    """Who was at $TMPDIR/perfspect, or $TMPDIR, before us."""
    server.files[NAME] = GOOD
    tmp = new_tmp(host)
    target = os.path.join(tmp, "perfspect")
    outside = os.path.join(host.root, "outside")
    os.mkdir(outside)
    user = os.geteuid()
    where = "temporary directory %s, as user %d: " % (tmp, user)

    def refused(text, what):
        got = driver("install", server.url + NAME, tmp)
        ok(got["ok"] is False and text in got["why"], what, got)
    count = len(server.fetched)
    os.symlink(outside, target)
    contains(driver("look", target, "-")["why"], "is a link: remove it",
             "a link is seen without an installation")
    refused(target + " is a link: remove it, it is not followed", "a link")
    equal(os.listdir(outside), [], "is not followed")
    os.unlink(target)
    os.mkdir(target)
    os.chmod(target, 0o777)
    refused(target + " can be written by other users (mode 0777)",
            "a directory that others can write")
    if ROOT:
        os.chmod(target, 0o755)
        os.chown(target, 12345, 12345)
        refused(target + " belongs to user 12345", "another user's")
    os.rmdir(target)
    with open(target, "w") as f:
        f.write("file")
    refused("is not a directory", "a file")
    os.unlink(target)
    os.mkdir(target, 0o755)
    os.symlink(outside, target + "/versions")
    got = driver("install", server.url + NAME, tmp)
    contains(got.get("why"), "versions is a link", "a link below")
    equal(os.listdir(outside), [], "is not followed either")
    shutil.rmtree(target)
    count = len(server.fetched)
    os.chmod(tmp, 0o777)
    refused(where + "others could replace what is in %s (mode 0777)" % tmp,
            "a directory for all without the sticky bit")
    os.chmod(tmp, 0o1777)
    ok(driver("install", server.url + NAME, tmp)["ok"], "with it, it will do")
    shutil.rmtree(target)
    count = len(server.fetched)
    os.chmod(tmp, 0o700)
    if ROOT:
        os.chown(tmp, 12345, 0)
        refused(where + tmp + " belongs to user 12345, who could replace",
                "another user's directory")
        os.chown(tmp, 0, 0)
        os.chown(host.root, 12345, 0)
        refused(where + host.root + " belongs to user 12345", "or one above")
        os.chown(host.root, 0, 0)
    tmp = os.path.join(host.root, "missing")
    refused("temporary directory %s, as user %d: No such file or directory"
            % (tmp, user), "one that is missing")
    tmp = "/proc"
    refused("temporary directory /proc, as user %d: " % user,
            "one that cannot be written")
    tmp = new_tmp(host)
    got = driver("install", server.url + NAME, tmp, "space=%d" % (1 << 60))
    contains(got["why"], " bytes are free, %d are needed" % (1 << 60),
             "one without room")
    equal(len(server.fetched), count, "all that before a download")
    equal(os.listdir(tmp), [], "and nothing is left")


MOUNT = ["unshare", "-m", "sh", "-c",
         "mount -t tmpfs -o \"$0\" conspect-t \"$1\" && shift && \"$@\""]


def mounts(server, host):
    """File systems that are full, or forbid execution."""
    tmp = new_tmp(host)
    inside = ["size=1m", tmp]
    if not ROOT or subprocess.run(
            MOUNT + inside + ["true"], stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL).returncode:
        ok(True, "noexec and full # SKIP no mounts here")
        return
    server.files[NAME] = GOOD
    count = len(server.fetched)
    got = driver("install", server.url + NAME, tmp, "space=0",
                 before=MOUNT + ["noexec", tmp])
    # valgrind, which runs the file itself, does not get to say why
    contains(got["why"], "temporary directory %s, as user 0: a file in it "
             "cannot be run (%s): mount it without noexec"
             % (tmp, "" if os.environ.get("CONSPECT_VALGRIND")
                else "Permission denied"), "noexec is found by trying")
    equal(len(server.fetched), count, "before a download")
    server.files["/large"] = raw(head(3000000) + GOOD[:2]
                                 + os.urandom(2999998))
    got = driver("install", server.url + "/large", tmp, "space=0",
                 before=MOUNT + inside)
    ok(got["why"].endswith(", as user 0: No space left on device")
       and got["why"].startswith(tmp), "full while it downloads", got)
    server.files["/zeros"] = tar_of(("perfspect/a", b"\0" * 3000000, 0o644))
    got = driver("install", server.url + "/zeros", tmp, "space=0",
                 before=MOUNT + inside)
    ok(got["why"].startswith(tmp) and
       got["why"].endswith(", as user 0: cannot write perfspect/a: "
                           "No space left on device"),
       "full while it unpacks", got)


# --- the whole agent -------------------------------------------------------

def attempt(server, **more):
    """A start with PerfSpect; its report."""
    return server.report(server.offer(
        "start", {"duration": 5, "enable_perfspect": True}, **more))


def as_a_user_sees_it(server, host):
    url = server.url + NAME
    host.start()
    server.files[NAME] = page(404, {}, b"gone")
    report = attempt(server)
    equal((report["status"], report["error_message"]),
          ("failed", PREFIX + url + " answered 404 Not Found"),
          "a failure reaches the user")
    equal(os.listdir(host.tmp), [], "and leaves nothing")
    server.files[NAME] = GOOD
    server.files[NAME + ".md5.txt"] = OTHER_MD5.encode()
    contains(attempt(server)["error_message"], PREFIX + url + ": MD5 is "
             + MD5, "so does a checksum")
    del server.files[NAME + ".md5.txt"]
    pin = {"url": NAME, "sha256": DIGEST, "version": "x"}
    report = attempt(server, perfspect=pin)
    equal((report["status"], report["perfspect_version"]),
          ("completed", VERSION), "a pinned one")
    program = version_of(host.tmp, DIGEST) + "/perfspect"
    ok("--perfspect-path=" + program in host.arguments(),
       "gProfiler gets that very version")
    contains(host.log_text(), "%s: fetched from %s, its SHA-256 is the "
             "pinned one" % (program, url), "logged")


def without_tmpdir(server, host):
    if os.environ.get("CONSPECT_VALGRIND"):
        return  # it does not start itself there
    host.env["TMPDIR"] = host.root + "/missing"
    host.start()
    equal(attempt(server)["error_message"], PREFIX + "temporary directory "
          "%s/missing, as user %d: No such file or directory"
          % (host.root, os.geteuid()), "a missing TMPDIR")
    equal(server.fetched, [], "is noticed before a download")


def a_run_keeps_its_version(server, host):
    """Four more versions are installed while a run has the first."""
    host.env["GPROFILER_SECOND"] = "1"
    digests = []
    for i in range(4):
        server.files["/r/%d" % i], digest = release_of("run %d" % i)
        digests.append(digest)
    host.start()
    command = server.offer(
        "start", {"duration": 60, "continuous": True,
                  "enable_perfspect": True},
        perfspect={"url": "/r/0", "sha256": digests[0]})
    until(lambda: server.state(command) == "running", "running")
    for i in 1, 2, 3:
        got = driver("install", "%s/r/%d" % (server.url, i), host.tmp,
                     "sha256=" + digests[i])
        ok(got["ok"], "another version", got)
    equal(tree(host.tmp), sorted(digests[i] for i in (0, 2, 3)),
          "a run holds its version")
    server.stop()
    server.report(command)
    host.end()
    driver("install", server.url + "/r/1", host.tmp, "sha256=" + digests[1])
    equal(tree(host.tmp), sorted(digests[i] for i in (1, 2, 3)),
          "until it ends")


def deadline(server, host):
    server.files[NAME] = stall(head(len(GOOD)), GOOD[:1000])
    host.env["PERFSPECT_INSTALL_TIMEOUT"] = "8"
    host.start()
    command = server.start(duration=5, enable_perfspect=True)
    until(lambda: server.state(command) == "installing", "installing")
    count = len(server.beats)
    until(lambda: len(server.beats) > count, "heartbeats go on meanwhile")
    contains(server.report(command)["error_message"],
             "not done within 8 seconds", "the deadline")
    until(lambda: os.listdir(host.tmp) == [], "nothing left behind")


def stopped(server, host):
    server.files[NAME] = stall(head(len(GOOD)), GOOD[:1000])
    host.start()
    command = server.start(duration=5, enable_perfspect=True)
    until(lambda: server.state(command) == "installing", "installing")
    stop = server.stop()
    equal(server.report(command)["error_message"], "stopped by " + stop,
          "a stop ends an installation")
    until(lambda: os.listdir(host.tmp) == [], "nothing left behind")


def proxies(server, host):
    """Control and downloads have proxies of their own."""
    control, downloads_by, other = Proxy(), Proxy(), Proxy()
    elsewhere = Server()
    elsewhere.files[NAME] = GOOD
    # a page, in which a line looks like the installer's own
    elsewhere.files[NAME + ".md5.txt"] = b"<p>\nconspect: ok - 9.9 x\n"
    server.files["/dist/p.tgz"], digest = release_of("dist")
    pin = {"url": "/dist/p.tgz", "sha256": digest}
    host.env.update(http_proxy=other.url, no_proxy="127.0.0.1",
                    PERFSPECT_DOWNLOAD_URL=elsewhere.url + NAME)
    host.start("--proxy", control.url, "--download-proxy", downloads_by.url)
    report = attempt(server)
    equal((report["status"], report["perfspect_version"]),
          ("completed", VERSION), "both are used")
    contains(host.log_text(), "no MD5, but \"<p> conspect: ok - 9.9 x",
             "and it is logged that the MD5 was not to be had")
    equal(downloads_by.seen, [elsewhere.url + NAME, elsewhere.url + NAME
                              + ".md5.txt"], "PerfSpect by its own proxy")
    ok(control.seen and all(u.startswith(server.url + "/api/")
                            for u in control.seen),
       "the appliance by the other", control.seen)
    equal(attempt(server, perfspect=pin)["status"], "completed", "a pin")
    equal((control.seen.count(server.url + "/dist/p.tgz"),
           len(downloads_by.seen)), (1, 2),
          "what the appliance has comes as its answers do")
    equal(other.seen, [], "options are in place of the environment")
    host.end()
    shutil.rmtree(os.path.join(host.tmp, "perfspect"))
    host.env["no_proxy"] = ""
    host.start()
    equal(attempt(server, perfspect=pin)["status"], "completed",
          "without options")
    ok(server.url + "/dist/p.tgz" in other.seen and
       server.url + "/api/metrics/heartbeat" in other.seen,
       "the environment's proxy is used", other.seen)
    for one in control, downloads_by, other, elsewhere:
        one.shutdown()
        one.server_close()


run_at_once(downloads, checksums, archives, versions, squatters, mounts,
            as_a_user_sees_it, without_tmpdir, a_run_keeps_its_version,
            deadline, stopped, proxies)
release.set()
done()
