"""What the process tests of the agent share: TAP, a server, an agent.

The server speaks the agent's protocol and records what it hears; a test
puts commands into its queue and changes how it answers.  All of it is on
loopback.
"""
import http.server
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
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
# No test waits for luck: it waits for a condition, and this is when it gives
# up.  Long, since a build machine may be slow, and valgrind makes it slower.
DEADLINE = 600 if os.environ.get("CONSPECT_VALGRIND") else 120

_count = 0
_failed = 0


def ok(good, what, got=None):
    global _count, _failed
    _count += 1
    print("%sok %d - %s" % ("" if good else "not ", _count, what), flush=True)
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

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d" % self.server_port
        self.lock = threading.Lock()
        self.beats = []        # heartbeats heard
        self.headers_seen = []
        self.reports = []      # completions heard
        self.offers = []       # commands not yet shown as received
        self.extra = {}        # goes into each reply to a heartbeat
        self.files = {}        # path: bytes, or a function of the handler
        self.fetched = []      # paths of GETs
        self.refuse = None     # (status, headers, body) for each POST
        self.report_reply = {"success": True, "message": "ok"}
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        """An agent that ends, or is killed, takes its connection along."""
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
        body = self.rfile.read(int(self.headers["Content-Length"]))
        server.headers_seen.append(dict(self.headers))
        if server.refuse:
            self.answer(*server.refuse)
            return
        data = json.loads(body)
        if self.path == "/api/metrics/heartbeat":
            reply = server.heartbeat(data)
        elif self.path == "/api/metrics/command_completion":
            server.reports.append(data)
            reply = server.report_reply
        else:
            self.answer(404, {}, b"{}")
            return
        self.answer(200, {"Content-Type": "application/json"},
                    json.dumps(reply).encode())

    def do_GET(self):
        self.server.fetched.append(self.path)
        content = self.server.files.get(self.path)
        if callable(content):
            content(self)
        elif content is None:
            self.answer(404, {"Content-Type": "text/html"}, b"<h1>no</h1>")
        else:
            self.answer(200, {"Content-Type": "application/gzip"}, content)


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
        os.mkdir(self.tmp)
        self.write(self.token, TOKEN + "\n", 0o600)
        self.env = dict(
            {k: v for k, v in os.environ.items() if "proxy" not in k.lower()},
            TMPDIR=self.tmp, GPROFILER_ARGV_LOG=self.argv,
            GPROFILER_SECOND="0.2",
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
                "--config", "/dev/null", *more]

    def start(self, *more):
        log = open(self.log, "a")
        self.process = subprocess.Popen(
            self.command("--foreground", *more), env=self.env, stdout=log,
            stderr=log, stdin=subprocess.DEVNULL)
        log.close()
        return self

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


def _run_in_child(test, out):
    status = 1
    try:
        os.dup2(out.fileno(), 1)
        run(test)
        status = 0
    except SystemExit:
        pass  # done(), which said why
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(status)


def run_together(*tests):
    """Runs tests side by side, for they mostly wait, each in a process of
    its own; what they say comes in their order."""
    sys.stdout.flush()
    started = []
    for test in tests:
        out = tempfile.TemporaryFile("w+")
        pid = os.fork()
        if pid == 0:
            _run_in_child(test, out)
        started.append((test, pid, out))
    for test, pid, out in started:
        _, status = os.waitpid(pid, 0)
        before = _failed
        out.seek(0)
        for line in out.read().splitlines():
            head, dash, what = line.partition(" - ")
            if dash and head.split()[0] in ("ok", "not"):
                ok(head.startswith("ok"), what)
            elif not line.startswith("1.."):
                print(line, flush=True)
        out.close()
        if status and _failed == before:
            ok(False, test.__name__ + " ends", status)
