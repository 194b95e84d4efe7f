"""What the process tests of the agent share: TAP, a server, an agent.

The server speaks the agent's protocol and records what it hears; a test
puts commands into its queue and changes how it answers.  All of it is on
loopback.
"""
import http.client
import http.server
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import uuid

SRCDIR = os.environ.get("SRCDIR") or os.path.abspath(
    os.path.join(os.path.dirname(__file__), "../.."))
BUILDDIR = os.environ.get("BUILDDIR") or os.getcwd()
# Under valgrind BUILDDIR has scripts in the place of programs.
TOP_BUILDDIR = os.environ.get("TOP_BUILDDIR") or BUILDDIR
STANDINS = os.path.join(SRCDIR, "t/standins")
PERFSPECT = os.path.join(TOP_BUILDDIR, "t/standins/perfspect")
AGENT = os.path.join(BUILDDIR, "conspect-agentd")
VERSION = "3.17.1_2026-08-07_c399daa0"
TOKEN = "agent-token-0123456789"
# Seconds of a run that a test ends, or whose end it does not wait for: no
# machine is so slow that it ends by itself before.
LONG = 100000
# No test waits for luck: it waits for a condition, and this is when it gives
# up.  Long, since a build machine may be slow, and valgrind makes it slower.
DEADLINE = 600 if os.environ.get("CONSPECT_VALGRIND") else 120

_count = 0
_failed = 0
_lock = threading.Lock()  # of these two and of the lines with them


def ok(good, what, got=None):
    global _count, _failed
    with _lock:
        _count += 1
        print("%sok %d - %s" % ("" if good else "not ", _count, what),
              flush=True)
        if not good:
            _failed += 1
            if got is not None:
                print("# got: %s" % (got,), flush=True)
    return good


def equal(got, want, what):
    return ok(got == want, what, "%r, want %r" % (got, want))


def contains(text, part, what):
    return ok(part in (text or ""), what, "%r, want part %r" % (text, part))


def done():
    print("1..%d" % _count, flush=True)
    sys.exit(1 if _failed else 0)


def until(condition, what, deadline=DEADLINE):
    """Waits until condition() is true and returns what it gave."""
    end = time.monotonic() + deadline
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    # ends this test only: TAP's "Bail out!" would end all others, too
    ok(False, "waited in vain for: " + what)
    if threading.current_thread() is not threading.main_thread():
        sys.exit(1)  # ends the thread; run_at_once() goes on
    done()


def gone(pid):
    """Whether a process has ended; a zombie has."""
    try:
        with open("/proc/%d/stat" % pid) as f:
            return f.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    host = "127.0.0.1"

    def __init__(self):
        super().__init__((self.host, 0), Handler)
        self.url = "http://127.0.0.1:%d" % self.server_port
        self.lock = threading.Lock()
        self.beats = []        # heartbeats heard
        self.headers_seen = []
        self.reports = []      # completions heard
        self.offers = []       # commands not yet shown as received
        self.extra = {}        # goes into each reply to a heartbeat
        self.files = {}        # path: bytes, or a function of the handler
        self.fetched = []      # paths of GETs
        self.refuse = None     # (status, headers, body) for each request, or
                               # a function that gives it or None
        self.came = []         # ids of reports, and names of result files
        self.delivered = {}    # (command, name): bytes
        self.put_answer = None  # a function of the name: such a triple, or
                                # None for 201
        self.report_reply = {"success": True, "message": "ok"}
        self.any_path = False  # any POST is a heartbeat
        self.report_status = 200
        # shutdown() waits for one poll of it
        threading.Thread(target=self.serve_forever, args=(0.05,),
                         daemon=True).start()

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)

    def offer(self, kind, config, **more):
        """Queues a command and returns its id."""
        command = str(uuid.uuid4())
        with self.lock:
            self.offers.append((command, {
                "command_type": kind, "combined_config": config}, more))
        return command

    def start(self, **config):
        return self.offer("start", dict(config, command_type="start"))

    def stop(self, **config):
        return self.offer("stop", dict(config or {"stop_level": "host"}))

    def report(self, command):
        """The report on a command, once it has come."""
        return until(lambda: next((r for r in list(self.reports)
                                   if r["command_id"] == command), None),
                     "report on " + command)

    def count(self, command):
        return sum(r["command_id"] == command for r in self.reports)

    def state(self, command):
        """The newest state of a command that a heartbeat showed."""
        for beat in reversed(list(self.beats)):
            for one in beat["commands"]:
                if one["command_id"] == command:
                    return one["state"]
        return None

    def refusal(self):
        return self.refuse() if callable(self.refuse) else self.refuse

    def heartbeat(self, beat):
        with self.lock:
            self.beats.append(beat)
            seen = beat["received_command_ids"]
            self.offers = [o for o in self.offers if o[0] not in seen]
            reply = {"success": True, "message": "ok",
                     "profiling_command": None, "command_id": None}
            reply.update(self.extra)
            if self.offers:
                command, body, more = self.offers[0]
                reply.update(profiling_command=body, command_id=command,
                             **more)
            return reply


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, status, headers, body):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if "Content-Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        server = self.server
        status = 200
        body = self.rfile.read(int(self.headers["Content-Length"]))
        server.headers_seen.append(dict(self.headers))
        refusal = server.refusal()
        if refusal:
            self.answer(*refusal)
            return
        data = json.loads(body)
        if self.path == "/api/metrics/heartbeat" or server.any_path:
            reply = server.heartbeat(data)
        elif self.path == "/api/metrics/command_completion":
            server.reports.append(data)
            server.came.append(data["command_id"])
            reply, status = server.report_reply, server.report_status
        else:
            self.answer(404, {}, b"{}")
            return
        self.answer(status, {"Content-Type": "application/json"},
                    json.dumps(reply).encode())

    def do_PUT(self):
        """A result file."""
        server = self.server
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if len(body) < int(self.headers["Content-Length"]):
            return  # who sent it was killed
        address = urllib.parse.urlsplit(self.path)
        *place, command, name = address.path.split("/")
        name = urllib.parse.unquote(name)
        refusal = server.refusal()
        answer = refusal or (server.put_answer and server.put_answer(name))
        wrong = (place != ["", "api", "metrics", "results"] or
                 address.query != "hostname=db01" or
                 self.headers["Authorization"] != "Bearer " + TOKEN)
        if wrong:
            answer = (400, {}, b"{}")
        if not refusal:
            server.came.append(name)
        if not answer:
            server.delivered[command, name] = body
        self.answer(*(answer or (201, {}, b"{}")))

    def do_GET(self):
        self.server.fetched.append(self.path)
        content = self.server.files.get(self.path)
        if callable(content):
            content(self)
        elif content is None:
            self.answer(404, {"Content-Type": "text/html"}, b"<h1>no</h1>")
        else:
            self.answer(200, {"Content-Type": "application/gzip"}, content)


class Proxy(http.server.ThreadingHTTPServer):
    """An HTTP proxy that notes which addresses it was asked for."""
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), ProxyHandler)
        self.url = "http://127.0.0.1:%d" % self.server_port
        self.seen = []
        threading.Thread(target=self.serve_forever, daemon=True).start()


class ProxyHandler(Handler):
    def forward(self):
        self.server.seen.append(self.path)
        target = urllib.parse.urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        connection = http.client.HTTPConnection(target.netloc)
        connection.request(
            self.command, target.path, body or None,
            {k: v for k, v in self.headers.items()
             if not k.lower().startswith("proxy-")})
        reply = connection.getresponse()
        content = reply.read()
        self.answer(reply.status, {k: v for k, v in reply.getheaders()
                                   if k == "Content-Type"}, content)
        connection.close()

    do_GET = forward
    do_POST = forward
    do_PUT = forward


# No name of a host: a label has 63 characters at most.  So no resolver asks
# another machine for it, which may be silent.
NOBODY = "nobody" * 11

held = []  # sockets of closed_port()


def closed_port():
    """A port of loopback where nobody listens: held, so that no other program
    is given it meanwhile."""
    held.append(socket.socket())
    held[-1].bind(("127.0.0.1", 0))
    return held[-1].getsockname()[1]


def clean_env(**more):
    """The environment without anybody's proxy, and with more."""
    return dict({k: v for k, v in os.environ.items()
                 if "proxy" not in k.lower()}, **more)


def driver(kind, *arguments, before=(), **env):
    """What t/agentd/driver makes of one call, run by the program `before`."""
    done = subprocess.run(
        [*before, os.path.join(BUILDDIR, "t/agentd/driver"), kind,
         *arguments], env=clean_env(**env), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        timeout=DEADLINE)
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {"ok": None, "why": "driver: %d: %s%s" % (
            done.returncode, done.stdout, done.stderr)}


class Host:
    """A host: its directories, and the agent that runs on it."""

    def __init__(self, server):
        self.server = server
        self.root = tempfile.mkdtemp(prefix="conspect-t.")
        self.tmp = os.path.join(self.root, "tmp")
        self.state = os.path.join(self.root, "state")
        self.log = os.path.join(self.root, "log")
        self.token = os.path.join(self.root, "token")
        self.argv = os.path.join(self.root, "argv")
        self.goes_on = os.path.join(self.root, "goes-on")
        os.mkdir(self.tmp)
        self.write(self.token, TOKEN + "\n", 0o600)
        self.env = clean_env(
            TMPDIR=self.tmp, GPROFILER_ARGV_LOG=self.argv,
            GPROFILER_SECOND="0.2", GPROFILER_GOES_ON=self.goes_on,
            GPROFILER_PERFSPECT=os.path.join(self.root, "perfspect_data"),
            PERFSPECT_DOWNLOAD_URL=server.url + "/perfspect.tgz")
        self.process = None

    @staticmethod
    def write(path, text, mode):
        with open(path, "w") as f:
            f.write(text)
        os.chmod(path, mode)

    def command(self, *more):
        return [AGENT, "--api-server", self.server.url, "--service-name",
                "web", "--token-file", self.token, "--state-dir", self.state,
                "--heartbeat-interval", "1", "--host-name", "db01",
                "--gprofiler-path", os.path.join(STANDINS, "gprofiler"),
                "--perfspect-data", self.env["GPROFILER_PERFSPECT"],
                "--config", "/dev/null", *more]

    def start(self, *more, under=()):
        """Starts the agent, under a program such as strace."""
        log = open(self.log, "a")
        self.process = subprocess.Popen(
            [*under, *self.command("--foreground", *more)], env=self.env,
            stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        log.close()
        return self

    def hold_runs(self):
        """From now on no run ends by itself, until release_runs()."""
        self.write(self.goes_on, "", 0o600)

    def release_runs(self):
        os.unlink(self.goes_on)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def end(self):
        """SIGTERM; returns the exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=DEADLINE)

    def log_text(self):
        with open(self.log) as f:
            return f.read()

    def arguments(self):
        with open(self.argv) as f:
            return f.read().split("\n")[:-1]

    def close(self):
        if self.process and self.process.poll() is None:
            status = self.end()
            if status != 0:
                ok(False, "agent ends with 0", status)
                print("# " + self.log_text().replace("\n", "\n# "))
        shutil.rmtree(self.root, ignore_errors=True)


def living(entry):
    """Processes with these bytes in their environment, zombies left out."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/environ" % pid, "rb") as f:
                environ = f.read()
            with open("/proc/%s/stat" % pid) as f:
                zombie = f.read().rpartition(")")[2].split()[0] == "Z"
        except OSError:
            continue
        if entry in environ and not zombie:
            found.append(int(pid))
    return found


def marked(command):
    """Living processes of a run."""
    return living(b"CONSPECT_RUN=" + command.encode() + b"\0")


def archive(program=PERFSPECT):
    """The bytes of a release archive and its SHA-256."""
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "a.tgz")
        digest = subprocess.run(
            [os.path.join(STANDINS, "make-archive"), program, path],
            check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
        with open(path, "rb") as f:
            return f.read(), digest


def run(test):
    """Runs a test with a server and a host; both go afterwards."""
    server = Server()
    host = Host(server)
    try:
        test(server, host)
    finally:
        host.close()
        server.shutdown()
        server.server_close()


def run_at_once(*tests):
    """As run() for each, side by side: agents' tests mostly wait."""
    def guarded(test):
        try:
            run(test)
        except Exception as fault:  # would end the thread, not the test
            ok(False, "%s ends without a fault" % test.__name__, repr(fault))
    threads = [threading.Thread(target=guarded, args=(t,)) for t in tests]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
