#!/usr/bin/env python3
"""The way to the appliance: TLS, names, redirects, proxies, IPv6.

Most of it is asked of one request, by t/agentd/driver, many at a time; the
rest of the whole agent.
"""
import concurrent.futures
import email.utils
import os
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ.get("SRCDIR", "."), "t/agentd"))
from harness import *  # noqa: E402,F403

BODY = json.dumps({"received_command_ids": []})
pool = concurrent.futures.ThreadPoolExecutor(8)
keys = tempfile.mkdtemp(prefix="conspect-t.")
given_up = threading.Event()


# --- certificates ----------------------------------------------------------

def openssl(*arguments, text=None):
    subprocess.run(["openssl", *arguments], check=True, cwd=keys, input=text,
                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                   text=True)


def authority(name):
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt",
            "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
            name + ".key", "-out", name + ".pem", "-days", "2", "-subj",
            "/CN=" + name)
    return os.path.join(keys, name + ".pem")


def certificate(name, alternatives, days):
    """One of the authority «ours»."""
    openssl("req", "-newkey", "ec", "-pkeyopt",
            "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
            name + ".key", "-out", name + ".csr", "-subj", "/CN=appliance")
    with open(os.path.join(keys, name + ".ext"), "w") as f:
        f.write("subjectAltName=" + alternatives)
    openssl("x509", "-req", "-in", name + ".csr", "-CA", "ours.pem",
            "-CAkey", "ours.key", "-CAcreateserial", "-out", name + ".pem",
            "-days", str(days), "-extfile", name + ".ext")


class TLSServer(Server):
    def __init__(self, name):
        super().__init__()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(os.path.join(keys, name + ".pem"),
                                os.path.join(keys, name + ".key"))
        # the handshake is the business of the connection's own thread
        self.socket = context.wrap_socket(self.socket, server_side=True,
                                          do_handshake_on_connect=False)
        self.url = self.url.replace("http:", "https:")

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], ssl.SSLError):
            super().handle_error(request, client_address)


OURS, ANOTHERS = authority("ours"), authority("anothers")
certificate("good", "IP:127.0.0.1,DNS:localhost", 2)
certificate("misnamed", "DNS:elsewhere.example", 2)
certificate("expired", "IP:127.0.0.1", -1)


# --- one request -----------------------------------------------------------

def post(server, *settings, **env):
    return driver("post", server, BODY, *settings, **env)


def check_all(cases):
    """Each is a name, a call's arguments, and part of the reason or None."""
    results = list(pool.map(lambda c: post(*c[1]), cases))
    for (name, arguments, reason), got in zip(cases, results):
        if reason is None:
            ok(got["ok"], name, got)
        else:
            want = "%s/x: %s" % (arguments[0], reason)
            ok(got["ok"] is False and got["why"].startswith(want),
               name + ": " + reason, got)
    return results


def certificates(server, host):
    good, misnamed, expired = (TLSServer(n) for n in
                               ("good", "misnamed", "expired"))
    for one in good, misnamed, expired, server:
        one.any_path = True
    ca, wrong = "ca-file=" + OURS, "ca-file=" + ANOTHERS
    check_all([
        ("a good certificate", (good.url, ca), None),
        ("by its name", (good.url.replace("127.0.0.1", "localhost"), ca),
         None),
        ("without its authority", (good.url,),
         "SSL certificate problem: unable to get local issuer certificate "
         "(see --ca-file)"),
        ("with another authority", (good.url, wrong),
         "SSL certificate problem: unable to get local issuer certificate "
         "(see --ca-file)"),
        ("a certificate for another host", (misnamed.url, ca),
         "SSL: no alternative certificate subject name matches target host "
         "name '127.0.0.1' (see --ca-file)"),
        ("an expired one", (expired.url, ca),
         "SSL certificate problem: certificate has expired (see --ca-file)"),
        ("an authority's file that is missing",
         (good.url, "ca-file=" + keys + "/none"),
         "error setting certificate file: " + keys + "/none"),
        ("no verification", (good.url, "no-verify=1"), None),
        ("nor of a name", (misnamed.url, "no-verify=1"), None),
        ("nor of a date", (expired.url, "no-verify=1"), None),
        ("https where http is spoken",
         (server.url.replace("http:", "https:"),), ""),
        ("http where https is spoken", (good.url.replace("https:", "http:"),),
         ""),
    ])
    equal([len(s.headers_seen) for s in (misnamed, expired, server)],
          [1, 1, 0], "whom is not trusted gets no token")

    # the same for downloads, and redirects between the two
    for one in good, server:
        one.files["/a"] = b"\x1f\x8b and so on"
    to = os.path.join(host.root, "file")
    good.files["/down"] = lambda h: h.answer(
        302, {"Location": server.url + "/a"}, b"")
    server.files["/up"] = lambda h: h.answer(
        302, {"Location": good.url + "/a"}, b"")
    ok(driver("fetch", good.url + "/a", to, ca)["ok"], "a download by https")
    contains(driver("fetch", good.url + "/a", to)["why"],
             "certificate problem", "needs the authority, too")
    ok(driver("fetch", server.url + "/up", to, ca)["ok"],
       "a redirect from http to https is followed")
    equal(driver("fetch", good.url + "/down", to, ca)["why"],
          "%s/down (redirected to %s/a): only https is followed from there"
          % (good.url, server.url), "one from https to http is not")
    ok("/a" not in server.fetched, "and nothing is asked for there")
    for one in good, misnamed, expired:
        one.shutdown()
        one.server_close()


def redirects(server, host):
    """None is followed: it would carry the token to wherever it leads."""
    other = Server()
    for status in 301, 302, 303, 307, 308:
        server.refuse = (status, {"Location": other.url + "/deep/x"}, b"")
        equal(post(server.url)["why"],
              "%s/x redirects to %s/deep/x, which is not followed: set "
              "--api-server to %s/deep" % (server.url, other.url, other.url),
              "%d names the address to set" % status)
    server.refuse = (302, {"Location": "/login"}, b"")
    equal(post(server.url)["why"],
          "%s/x redirects to %s/login, which is not followed: set "
          "--api-server to the address of the appliance"
          % (server.url, server.url), "a login page is none")
    server.refuse = (302, {}, b"")
    equal(post(server.url)["why"], server.url + "/x answered 302 Found: ",
          "nor is nothing")
    equal(len(server.headers_seen), 7, "each was asked once")
    equal(other.headers_seen, [], "nobody else was asked")
    other.shutdown()
    other.server_close()


def busy(server, host):
    """Retry-After: a number or a date, and never longer than an hour."""
    def asked(value):
        headers = {} if value is None else {"Retry-After": value}
        server.refuse = (503, headers, b"busy")
        got = post(server.url)
        equal(got["why"], server.url + "/x answered 503 Service Unavailable: "
              "busy", "503 with Retry-After: %s" % value)
        return got["retry_after"]

    def date(seconds):
        return email.utils.formatdate(time.time() + seconds, usegmt=True)
    for value, want in ((None, 0), ("7", 7), ("0", 0), ("3600", 3600),
                        ("3601", 3600), ("9999999999", 3600),
                        ("-5", 0), ("soon", 0), (date(-100), 0),
                        (date(100000), 3600)):
        equal(asked(value), want, "is %d seconds" % want)
    began = time.time()
    got = asked(date(1000))
    ok(999 - (time.time() - began) <= got + 1 and got <= 1000,
       "a date is so far away as it is", got)


def replies(server, host):
    """Answers that are none, from sockets that say one thing each."""
    def play(data, stays=False):
        listener = socket.create_server(("127.0.0.1", 0))

        def serve():
            connection, _ = listener.accept()
            asked = b""
            # an end with something unread would reset the connection
            while not asked.endswith(BODY.encode()):
                asked += connection.recv(65536)
            connection.sendall(data)
            if stays:
                given_up.wait(DEADLINE)
            connection.close()
            listener.close()
        threading.Thread(target=serve, daemon=True).start()
        return "http://127.0.0.1:%d" % listener.getsockname()[1]
    ok_head = b"HTTP/1.1 200 OK\r\n"
    long = b" " * (1024 * 1024 + 1)
    closed = "http://127.0.0.1:%d" % closed_port()
    check_all([
        ("nobody there", (closed,), "Failed to connect to 127.0.0.1 port "),
        ("no such host", ("http://" + NOBODY,),
         "Could not resolve host: " + NOBODY),
        ("no answer", (play(b""),), "Empty reply from server"),
        ("no HTTP", (play(b"220 mail.example ESMTP\r\n"),),
         "Received HTTP/0.9 when not allowed"),
        ("an answer that is cut",
         (play(ok_head + b"Content-Length: 100\r\n\r\n{\"suc"),),
         "transfer closed with 95 bytes remaining to read"),
        ("chunks that are cut",
         (play(ok_head + b"Transfer-Encoding: chunked\r\n\r\n5\r\n{\"s"),),
         "transfer closed with outstanding read data remaining"),
        ("one that is too long",
         (play(ok_head + b"Content-Length: %d\r\n\r\n" % len(long) + long),),
         "the reply is longer than 1048576"),
        ("one without an end",
         (play(ok_head + b"\r\n" + long, True),),
         "the reply is longer than 1048576"),
        ("headers without an end",
         (play(ok_head + b"X: y\r\n" * 100000, True),), ""),
    ])
    given_up.set()


def proxies(server, host):
    """A proxy that is there, is not, or wants to know who asks."""
    server.any_path = True
    proxy, tls = Proxy(), TLSServer("good")
    refusing = Server()
    refusing.refuse = (407, {"Proxy-Authenticate": "Basic"}, b"who?")
    port = closed_port()
    ok(post(server.url, "proxy=" + proxy.url)["ok"], "through a proxy")
    equal(proxy.seen, [server.url + "/x"], "it was asked")
    ok(post(server.url, "proxy=" + proxy.url, no_proxy="127.0.0.1")["ok"] and
       len(proxy.seen) == 2, "no_proxy does not speak of an option's proxy")
    ok(post(server.url, http_proxy=proxy.url)["ok"] and
       len(proxy.seen) == 3, "without an option http_proxy is used")
    ok(post(server.url, http_proxy=proxy.url, no_proxy="127.0.0.1")["ok"] and
       len(proxy.seen) == 3, "but not for what no_proxy names")
    equal(post(server.url, "proxy=" + refusing.url)["why"], server.url
          + "/x answered 407 Proxy Authentication Required: who?",
          "a proxy that refuses")
    contains(post(server.url, "proxy=http://127.0.0.1:%d" % port)["why"],
             "Failed to connect to 127.0.0.1 port %d" % port,
             "one that is not there")
    contains(post(tls.url, "ca-file=" + OURS, "proxy=" + proxy.url)["why"],
             "response 501", "one that makes no tunnel for https")
    for one in proxy, tls, refusing:
        one.shutdown()
        one.server_close()


# --- the whole agent -------------------------------------------------------

def tls_agent(server, host):
    """All of it over https: heartbeat, archive, report."""
    tls = TLSServer("good")
    tls.files["/dist/p.tgz"], digest = archive()
    host.server = tls
    host.start("--ca-file", OURS)
    command = tls.offer("start", {"duration": 5, "enable_perfspect": True},
                        perfspect={"url": "/dist/p.tgz", "sha256": digest})
    report = tls.report(command)
    equal((report["status"], report["perfspect_version"]),
          ("completed", VERSION), "a run with PerfSpect over https")
    equal(tls.fetched, ["/dist/p.tgz"], "from the appliance")
    host.end()
    tls.shutdown()
    tls.server_close()


def ipv6(server, host):
    class Six(Server):
        address_family = socket.AF_INET6
        host = "::1"
    try:
        six = Six()
    except OSError:
        ok(True, "IPv6 # SKIP there is none here")
        return
    six.url = "http://[::1]:%d" % six.server_port
    six.files["/dist/p.tgz"], digest = archive()
    host.server = six
    host.start()
    command = six.offer("start", {"duration": 5, "enable_perfspect": True},
                        perfspect={"url": "/dist/p.tgz", "sha256": digest})
    equal(six.report(command)["status"], "completed", "a run over IPv6")
    equal({b["ip_address"] for b in six.beats}, {"::1"},
          "the host's address is that of the connection")
    host.end()
    six.shutdown()
    six.server_close()


def spread(server, host):
    """An agent that is refused comes again, but not before it may."""
    times = []

    def first_only():
        times.append(time.monotonic())
        return (503, {"Retry-After": "2"}, b"") if len(times) == 1 else None
    server.refuse = first_only
    host.start()
    until(lambda: len(times) > 1, "the one after it")
    ok(times[1] - times[0] >= 2, "comes after Retry-After",
       times[1] - times[0])
    until(lambda: "the server answers again, after 1 failures"
          in host.log_text(), "log")


try:
    run_at_once(certificates, redirects, busy, replies, proxies, tls_agent,
                ipv6, spread)
finally:
    given_up.set()
    shutil.rmtree(keys, ignore_errors=True)
done()
