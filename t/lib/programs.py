"""The api and console programs for test scripts in Python: a database to
begin with, and one exchange with a program as CGI or by HTTP.

Template   a migrated database with a user, a session and an agent's token
Cgi, Http  ways to send a request: send() returns a Reply
Server     a web server with the programs, as t/lib/servers.sh starts it
"""
import atexit
import http.client
import json
import os
import subprocess
import urllib.parse

import tap

PASSWORD = "correct-horse battery:staple"

# Under valgrind a program takes a second to start.
PATIENCE = 120


class Reply:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers  # names in lower case
        self.body = body        # bytes

    def json(self):
        return json.loads(self.body.decode("utf-8", "strict"))

    def __repr__(self):
        return "%d %r %r" % (self.status, self.headers, self.body[:2000])


def says(reply, status, text):
    """{"detail": ...} with this status, and this in it."""
    try:
        value = reply.json()
    except ValueError:
        return False
    return (reply.status == status and set(value) == {"detail"} and
            text in json.dumps(value["detail"], ensure_ascii=False))


class Cgi:
    """One program started for each request, as RFC 3875 has it."""

    def __init__(self, program, database):
        self.program = program
        self.database = database

    def environment(self, method, path, headers, length):
        path, _, query = path.partition("?")
        env = dict(os.environ, GATEWAY_INTERFACE="CGI/1.1",
                   SERVER_PROTOCOL="HTTP/1.1", REQUEST_METHOD=method,
                   SCRIPT_NAME="/api", REMOTE_ADDR="127.0.0.1",
                   PATH_INFO=urllib.parse.unquote(
                       path[len("/api"):], errors="surrogateescape"),
                   QUERY_STRING=query, CONTENT_LENGTH=str(length),
                   CONSPECT_DB=self.database)
        for name, value in headers.items():
            name = name.upper().replace("-", "_")
            env[name if name == "CONTENT_TYPE" else "HTTP_" + name] = value
        return env

    def run(self, env, body=b"", **options):
        """With an environment of the caller's own: Reply, standard error."""
        done = subprocess.run([self.program], env=env, input=body,
                              capture_output=True, timeout=PATIENCE, **options)
        head, gap, rest = done.stdout.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        headers = dict((n.lower(), v) for n, v in
                       (line.split(": ", 1) for line in lines if line))
        if done.returncode or not gap or "status" not in headers:
            tap.diag("%s ended with %d: %r\n%s" % (
                self.program, done.returncode, done.stdout[:500],
                done.stderr.decode("utf-8", "replace")))
            return Reply(0, {}, b""), done.stderr.decode("utf-8", "replace")
        return (Reply(int(headers.pop("status").split()[0]), headers, rest),
                done.stderr.decode("utf-8", "replace"))

    def send(self, method, path, headers=None, body=b""):
        env = self.environment(method, path, headers or {}, len(body))
        return self.run(env, body)[0]


class Http:
    """A web server that is there already."""

    def __init__(self, base):
        self.base = urllib.parse.urlsplit(base)

    def send(self, method, path, headers=None, body=b""):
        connection = http.client.HTTPConnection(
            self.base.hostname, self.base.port, timeout=PATIENCE)
        try:
            connection.putrequest(method, path, skip_accept_encoding=True)
            for name, value in (headers or {}).items():
                connection.putheader(name, value)
            if body or method == "POST":
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body or None)
            reply = connection.getresponse()
            return Reply(reply.status, dict(
                (n.lower(), v) for n, v in reply.getheaders()), reply.read())
        finally:
            connection.close()


def log_in(console, path):
    """The cookie of a new session of admin."""
    form = urllib.parse.urlencode({"user": "admin", "password": PASSWORD})
    reply = console.send("POST", path, {
        "Content-Type": "application/x-www-form-urlencoded"}, form.encode())
    if reply.status != 303 or "set-cookie" not in reply.headers:
        tap.give_up("the login fails: %r" % reply)
    return reply.headers["set-cookie"].split(";")[0]


class Template:
    """A database made once and copied for each use.  Its session is of one
    login: a password takes argon2 30 ms at every request."""

    def __init__(self, builddir, directory):
        self.path = os.path.join(directory, "template.db")
        self.ctl = os.path.join(builddir, "conspectctl")
        token = os.path.join(directory, "template.token")
        self._ctl("migrate")
        self._ctl("user", "add", "admin", "--role", "admin",
                  "--password-file", "-", feed=PASSWORD + "\n")
        self._ctl("token", "add", "test-agent", "--out", token)
        with open(token, encoding="ascii") as file:
            self.agent = {"Authorization": "Bearer " + file.read().strip()}
        console = Cgi(os.path.join(builddir, "cgi-bin/console"), self.path)
        self.user = {"Cookie": log_in(console, "/api/login")}

    def _ctl(self, *words, feed=""):
        done = subprocess.run([self.ctl, "--db", self.path, *words],
                              input=feed, text=True, capture_output=True,
                              timeout=PATIENCE)
        if done.returncode:
            tap.give_up("conspectctl %s: %s" % (words, done.stderr))

    def copy_to(self, path):
        """Takes the place of a database that may be there, and its owner.
        A worker with the old one open must be the only one: SQLite removes
        the -wal beside the path when the old one's last user closes it."""
        for suffix in ("-wal", "-shm"):
            if os.path.exists(path + suffix):
                os.unlink(path + suffix)
        with open(self.path, "rb") as file:
            content = file.read()
        with open(path + ".new", "wb") as file:
            file.write(content)
        owner = os.stat(os.path.dirname(path))
        os.chown(path + ".new", owner.st_uid, owner.st_gid)
        os.rename(path + ".new", path)


SERVER = r"""
. "$SRCDIR/t/lib/tap.sh"
. "$SRCDIR/t/lib/servers.sh"
one_worker() { sed -i '/"max-procs"/s/[0-9][0-9]*/1/' "$1"; }
[ -z "$2" ] || server_edit=one_worker
missing=$(server_missing "$1")
[ -z "$missing" ] || { echo missing "$missing"; exit; }
server_start "$1" >&2 || exit 1
echo started
printf '%s\n' "$BASE" "$STATE" "$DB"
read -r _
server_reports
"""


class Server:
    """One of the set-ups of t/lib/servers.sh, ended with the test: with a
    user admin of the PASSWORD above.  `one_worker` is for who replaces the
    database file under it."""

    def __init__(self, kind, one_worker=False):
        self.bash = subprocess.Popen(
            ["bash", "-c", SERVER, "bash", kind, "1" if one_worker else ""],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        atexit.register(self.stop)
        word, _, rest = self.bash.stdout.readline().strip().partition(" ")
        if word == "missing":
            tap.skip_all("not installed: " + rest)
        if word != "started":
            tap.give_up("%s does not start" % kind)
        self.base, self.state, self.database = (
            self.bash.stdout.readline().strip() for _ in range(3))
        with open(self.state + "/agent.token", encoding="ascii") as file:
            self.token = file.read().strip()

    def stop(self):
        """What programs wrote to the logs that no program should write."""
        if self.bash.stdin.closed:
            return ""
        self.bash.stdin.close()
        reports = self.bash.stdout.read()
        self.bash.wait(PATIENCE)
        return reports
