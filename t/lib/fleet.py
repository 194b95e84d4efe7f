"""Many agents against one real server, through kills and restarts of it.

An agent here is a coroutine that speaks as conspect-agentd does: it notes a
command's id before it acts, runs no id twice, hastens its heartbeat with
news, sends a report until the server has it, and backs off by a random time
after a failure.  What it would have on its disk outlives its own crashes.
It runs nothing: a run is a short wait.

    fleet = Fleet(agents=100, interval=(1, 1), down=1)
    result = fleet.live()       # a Result

Run by t/e2e/fleet.t and bench/load.
"""
import asyncio
import base64
import bisect
import collections
import json
import os
import random
import resource
import sqlite3
import subprocess
import time
import uuid

SERVICE = "fleet"
USER, PASSWORD = "admin", "correct-horse battery:staple"  # t/lib/servers.sh
TIMEOUT = 30          # of one request, as the agent has it
BACKOFF_MAX = 300     # as the agent has it
APART = 1             # between two heartbeats of one agent
REPORT_BASE = 2       # reports that fail are tried again from this on
IDS_MAX = 1000        # in each list of a heartbeat
# no step of the whole takes longer, slowed by a busy machine
PATIENCE = 600
# of 100 replies so many are not read: the connection is closed after sending
DROPS = 3
# a run's seconds, least and most
RUN = (0.2, 1.5)

# A server on one port and database, which it finds again when it is started
# anew.  Its processes are lighttpd and the workers that lighttpd started.
SERVER = r"""
. "$SRCDIR/t/lib/tap.sh"
. "$SRCDIR/t/lib/servers.sh"
missing=$(server_missing lighttpd-fastcgi)
[ -z "$missing" ] || { echo missing "$missing"; exit; }
server_start lighttpd-fastcgi >&2 || exit 1
echo started
printf '%s\n' "$BASE" "$STATE" "$DB"
while read -r word; do
	pid=${server_pids[-1]}
	case $word in
	kill)
		workers=$(pgrep -P "$pid")
		kill -9 "$pid" $workers
		wait "$pid" 2>/dev/null
		;;
	end) stop_pid "$pid" ;;
	start)
		server_run lighttpd -D -f "$STATE/server.conf"
		wait_for 60 server_listens
		;;
	esac
	echo done
done
server_reports
"""


class NotHere(Exception):
    """What the server needs is not installed."""


class Appliance:
    def __init__(self):
        self.bash = subprocess.Popen(
            ["bash", "-c", SERVER], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)
        word, _, rest = self.bash.stdout.readline().strip().partition(" ")
        if word == "missing":
            raise NotHere(rest)
        if word != "started":
            raise RuntimeError("the server does not start")
        self.base, state, self.database = (
            self.bash.stdout.readline().strip() for _ in range(3))
        with open(state + "/agent.token", encoding="ascii") as file:
            self.token = file.read().strip()
        host, _, port = self.base.rpartition("/")[2].partition(":")
        self.address = host, int(port)

    def tell(self, word):
        """kill, end or start; returns when it is done."""
        self.bash.stdin.write(word + "\n")
        self.bash.stdin.flush()
        if self.bash.stdout.readline() != "done\n":
            raise RuntimeError("the server cannot be told to " + word)

    def close(self):
        """What its programs wrote that no program should write."""
        if self.bash.stdin.closed:
            return ""
        self.bash.stdin.close()
        reports = self.bash.stdout.read()
        self.bash.wait(PATIENCE)
        return reports


class Lost(Exception):
    """No reply, for whatever reason."""


class Channel:
    """One connection, kept between requests and made anew when lost."""

    def __init__(self, address, authorization):
        self.address, self.authorization = address, authorization
        self.reader = self.writer = None

    def close(self):
        if self.writer:
            self.writer.close()
        self.reader = self.writer = None

    async def post(self, path, members, drop=False):
        """(status, headers, body); with drop the reply is not waited for."""
        body = json.dumps(members).encode()
        request = (
            "POST /api/metrics/%s HTTP/1.1\r\nHost: %s:%d\r\n"
            "Authorization: %s\r\nContent-Type: application/json\r\n"
            "Content-Length: %d\r\n\r\n" % (
                path, *self.address, self.authorization, len(body))
        ).encode() + body
        try:
            return await asyncio.wait_for(self.exchange(request, drop),
                                          TIMEOUT)
        except (OSError, EOFError, ValueError, asyncio.TimeoutError) as e:
            self.close()
            raise Lost(type(e).__name__) from e

    async def exchange(self, request, drop):
        kept = self.writer is not None
        try:
            return await self.send(request, drop)
        except (ConnectionError, EOFError):
            # the server may close a kept connection at any time
            self.close()
            if not kept:
                raise
            return await self.send(request, drop)

    async def send(self, request, drop):
        if not self.writer:
            self.reader, self.writer = await asyncio.open_connection(
                *self.address)
        self.writer.write(request)
        await self.writer.drain()
        if drop:
            # so that the server has it, and most often carries it out
            await asyncio.sleep(0.05)
            self.close()
            raise OSError("dropped")
        return await self.receive()

    async def receive(self):
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        lines = head.split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines[1:-2])
        if headers.get("transfer-encoding") == "chunked":
            body = await self.chunks()
        else:
            body = await self.reader.readexactly(
                int(headers["content-length"]))
        if headers.get("connection") == "close":
            self.close()
        return int(lines[0].split()[1]), headers, body

    async def chunks(self):
        body = b""
        while True:
            size = int((await self.reader.readline()).strip(), 16)
            body += (await self.reader.readexactly(size + 2))[:-2]
            if size == 0:
                return body


class Pace:
    """When to speak next: agentd/pace.c."""

    def __init__(self, base):
        self.base, self.failures = base, 0

    def after_failure(self, headers=None):
        bound = min(BACKOFF_MAX, self.base * 2 ** min(self.failures, 16))
        self.failures += 1
        after = (headers or {}).get("retry-after", "")
        if after.isdigit():
            return int(after) + random.uniform(0, bound)
        return max(APART, random.uniform(0, bound))


class Disk:
    """What an agent remembers when it crashes."""

    def __init__(self):
        self.received = []      # ids, in order
        self.done = {}          # id: the status that was reported
        self.outbox = []        # reports to deliver


class Run:
    def __init__(self, command_id, continuous):
        self.command_id, self.continuous = command_id, continuous
        self.end = asyncio.Event()
        self.over = asyncio.Event()
        self.reason = None


class Agent:
    def __init__(self, fleet, number):
        self.fleet = fleet
        self.name = "host-%04d" % number
        self.id = str(uuid.uuid4())
        self.interval = random.uniform(*fleet.interval)
        self.disk = Disk()
        self.ran = collections.Counter()     # id: how often
        self.answered = []                   # when heartbeats were
        self.tasks = []
        self.begin(random.uniform(0, self.interval))

    # --- its life

    def begin(self, delay):
        self.runs, self.hand = [], {}
        self.news, self.mail = asyncio.Event(), asyncio.Event()
        self.channels = [Channel(self.fleet.address, self.fleet.bearer)
                         for _ in "hr"]
        for command in self.disk.received:
            if command not in self.disk.done:
                self.finish(command, "failed", "agent restarted")
        self.mail.set()
        self.tasks = [asyncio.create_task(self.beats(delay)),
                      asyncio.create_task(self.reports())]

    async def end(self):
        """wait_for() may swallow a cancellation: until none is left."""
        while left := [task for task in self.tasks if not task.done()]:
            for task in left:
                task.cancel()
            await asyncio.wait(left, timeout=1)
        for task in self.tasks:
            if not task.cancelled() and task.exception():
                self.fleet.broken.append((self.name, task.exception()))
        for channel in self.channels:
            channel.close()

    async def crash(self):
        """kill -9 of the agent and its start."""
        await self.end()
        self.begin(0)

    def back(self, moment):
        """When it was answered first after this moment, or None."""
        i = bisect.bisect(self.answered, moment)
        return self.answered[i] if i < len(self.answered) else None

    def is_idle(self):
        return not self.hand and not self.disk.outbox

    # --- heartbeats

    def members(self):
        return {
            "ip_address": "127.0.0.1", "hostname": self.name,
            "service_name": SERVICE, "agent_id": self.id,
            "boot_id": self.fleet.boot_id, "agent_version": "fleet",
            "arch": "x86_64", "timestamp": time.strftime(
                "%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "status": "active" if self.hand else "idle",
            "last_command_id": (self.disk.received or [None])[-1],
            "received_command_ids": self.disk.received[:-IDS_MAX - 1:-1],
            "executed_command_ids": list(self.disk.done)[:-IDS_MAX - 1:-1],
            "commands": [{"command_id": c, "state": s}
                         for c, s in self.hand.items()]}

    async def beats(self, delay):
        pace = Pace(self.interval)
        await asyncio.sleep(delay)
        while True:
            began = time.monotonic()
            wait = await self.beat(pace)
            due = began + max(APART, self.interval) if wait is None \
                else time.monotonic() + wait
            while (left := due - time.monotonic()) > 0:
                try:
                    await asyncio.wait_for(self.news.wait(), left)
                except asyncio.TimeoutError:
                    break
                self.news.clear()
                if wait is None:
                    due = min(due, began + APART)

    async def beat(self, pace):
        """None, or the seconds to wait after a failure."""
        began = time.monotonic()
        self.news.clear()
        try:
            status, headers, body = await self.channels[0].post(
                "heartbeat", self.members(), self.fleet.drops())
        except Lost as lost:
            self.fleet.note_failure("heartbeat: %s" % lost)
            return pace.after_failure()
        if status != 200:
            self.fleet.note_failure("heartbeat: %d" % status)
            return pace.after_failure(headers)
        self.answered.append(time.monotonic())
        self.fleet.latencies.append(self.answered[-1] - began)
        pace.failures = 0
        reply = json.loads(body)
        if reply["profiling_command"]:
            self.take(reply["command_id"], reply["profiling_command"])
        return None

    # --- commands

    def take(self, command_id, command):
        if command_id in self.disk.received:
            self.fleet.counts["offered again"] += 1
            return
        self.disk.received.append(command_id)   # before acting
        self.hand[command_id] = "accepted"
        self.news.set()
        act = self.stop if command["command_type"] == "stop" else self.run
        self.tasks.append(asyncio.create_task(
            act(command_id, command["combined_config"])))

    def end_runs(self, which, reason):
        ended = [run for run in self.runs if which(run)]
        for run in ended:
            run.reason = run.reason or reason
            run.end.set()
        return ended

    async def run(self, command_id, config):
        run = Run(command_id, bool(config.get("continuous")))
        if run.continuous:
            for other in self.end_runs(lambda r: r.continuous,
                                       "replaced by " + command_id):
                await other.over.wait()
        self.runs.append(run)
        self.ran[command_id] += 1
        self.hand[command_id] = "running"
        self.news.set()
        try:
            await asyncio.wait_for(
                run.end.wait(),
                None if run.continuous else random.uniform(*RUN))
        except asyncio.TimeoutError:
            pass
        self.runs.remove(run)
        self.finish(command_id, "stopped" if run.reason else "completed",
                    run.reason)
        run.over.set()

    async def stop(self, command_id, _config):
        self.ran[command_id] += 1
        for run in self.end_runs(lambda run: True, "stopped by " + command_id):
            await run.over.wait()
        self.finish(command_id, "completed", None)

    def finish(self, command_id, status, error):
        """Both or none, as the state's transaction is."""
        self.disk.done[command_id] = status
        self.disk.outbox.append({
            "command_id": command_id, "hostname": self.name,
            "status": status, "execution_time": 1, "error_message": error,
            "results_path": None, "exit_status": 0,
            "perfspect_version": None})
        self.hand.pop(command_id, None)
        self.news.set()
        self.mail.set()

    # --- reports

    async def reports(self):
        pace = Pace(REPORT_BASE)
        while True:
            await self.mail.wait()
            self.mail.clear()
            while self.disk.outbox:
                wait = await self.report(pace, self.disk.outbox[0])
                if wait is None:
                    self.disk.outbox.pop(0)
                    continue
                self.disk.outbox.append(self.disk.outbox.pop(0))
                await asyncio.sleep(wait)

    async def report(self, pace, members):
        """None once the server has it, or the seconds to wait."""
        try:
            status, headers, body = await self.channels[1].post(
                "command_completion", members, self.fleet.drops())
        except Lost as lost:
            self.fleet.note_failure("report: %s" % lost)
            return pace.after_failure()
        if status != 200:
            self.fleet.note_failure("report: %d" % status)
            return pace.after_failure(headers)
        pace.failures = 0
        reply = json.loads(body)
        self.fleet.counts["reports taken"] += 1
        if not reply["success"]:
            self.fleet.refused.append((self.name, members, reply["message"]))
        return None


class Result:
    def __init__(self):
        self.lines = []         # (what, figure)
        self.checks = []        # (sentence, what broke it)

    def line(self, what, form, *values):
        self.lines.append((what, form % values))

    def check(self, sentence, broken):
        self.checks.append((sentence, list(broken)[:5]))


def percentile(values, part):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * part))] \
        if values else 0


class Fleet:
    def __init__(self, agents, interval, down, say=lambda text: None):
        """interval: seconds between an agent's heartbeats, least and most;
        down: seconds between the server's end and its start; say() is told
        what happens."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self.n, self.interval = agents, interval
        self.down, self.say = down, say
        self.latencies, self.counts = [], collections.Counter()
        self.failures, self.refused = collections.Counter(), []
        self.broken = []        # agents of ours that failed
        self.boot_id = str(uuid.uuid4())
        self.result = Result()

    # --- what agents tell

    def drops(self):
        dropped = random.randrange(100) < DROPS
        self.counts["replies dropped"] += dropped
        return dropped

    def note_failure(self, what):
        self.failures[what] += 1

    # --- the operator

    async def request(self, **members):
        """Asks until it is answered; the ids of the commands.  Merging
        makes a request that is asked twice no harm."""
        pair = base64.b64encode(("%s:%s" % (USER, PASSWORD)).encode())
        channel = Channel(self.address, "Basic " + pair.decode())
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                status, _, body = await channel.post(
                    "profile_request", dict(members, service_name=SERVICE))
                if status == 200:
                    return json.loads(body)["command_ids"]
                self.note_failure("request: %d" % status)
            except Lost as lost:
                self.note_failure("request: %s" % lost)
            await asyncio.sleep(1)
        raise RuntimeError("a request is not answered")

    async def start(self, **members):
        ids = await self.request(request_type="start", **members)
        self.say("%s start for %d hosts" % (
            "continuous" if members.get("continuous") else "ad hoc",
            len(ids)))
        return ids

    async def until(self, condition, what):
        end = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > end:
                raise RuntimeError("waited in vain for: " + what)
            await asyncio.sleep(0.1)

    async def until_share_ran(self, ids, share):
        """So many of these commands have begun."""
        ids = set(ids)
        await self.until(lambda: sum(
            bool(ids & set(agent.ran)) for agent in self.agents) >=
            share * self.n, "%d %% of the runs" % (100 * share))

    async def tell(self, word):
        await asyncio.get_running_loop().run_in_executor(
            None, self.appliance.tell, word)

    async def interrupt(self, word):
        """Ends the server so, for a while.  Seconds, from the moment on that
        it listens again, until half of the agents and all are answered."""
        self.say("server: " + word)
        await self.tell(word)
        await asyncio.sleep(self.down)
        await self.tell("start")
        began = time.monotonic()
        await self.until(lambda: all(agent.back(began)
                                     for agent in self.agents),
                         "all agents to be back")
        took = [agent.back(began) - began for agent in self.agents]
        self.say("server: all agents are back after %.1f s" % max(took))
        return percentile(took, .5), max(took)

    def all_idle(self):
        return all(agent.is_idle() for agent in self.agents)

    # --- the story

    async def story(self):
        everyone = {agent.name: None for agent in self.agents}
        await self.until(lambda: all(a.answered for a in self.agents),
                         "all agents to be heard")
        first = await self.start()
        self.result.check("a start without names is for each active host",
                          [] if len(first) == self.n else [len(first)])
        going = await self.start(continuous=True, target_hosts=everyone)
        await self.until_share_ran(going, 0.3)
        self.first = self.latencies[:]
        killed = await self.interrupt("kill")
        second = await self.start(target_hosts=everyone)
        await self.until_share_ran(second, 0.3)
        for agent in self.agents[::20]:
            await agent.crash()
            self.counts["agents killed"] += 1
        await self.request(request_type="stop", stop_level="host",
                           target_hosts=everyone)
        self.say("stop for all hosts")
        await asyncio.sleep(self.interval[0])
        ended = await self.interrupt("end")
        last = await self.start(target_hosts=everyone)
        await self.until_share_ran(last, 1)
        await self.until(self.all_idle, "the end of all runs and reports")
        self.recovery = killed, ended

    async def run(self):
        self.began = time.monotonic()
        self.agents = [Agent(self, n) for n in range(self.n)]
        try:
            await self.story()
            # what may be on its way comes with one more heartbeat of each
            mark = time.monotonic()
            await self.until(lambda: self.all_idle() and all(
                a.back(mark) for a in self.agents), "rest")
        finally:
            for agent in self.agents:
                await agent.end()

    def live(self):
        """Raises RuntimeError when it does not come to an end."""
        self.appliance = Appliance()
        self.address = self.appliance.address
        self.bearer = "Bearer " + self.appliance.token
        try:
            asyncio.run(self.run())
            self.took = time.monotonic() - self.began
            self.judge()
            self.measure()
            self.result.check("no program has a fault to report",
                              self.appliance.close().split("\n")[:-1])
        finally:
            self.appliance.close()
        return self.result

    # --- what must be

    def rows(self, query):
        database = sqlite3.connect(self.appliance.database, timeout=60)
        try:
            return database.execute(query).fetchall()
        finally:
            database.close()

    def judge(self):
        check = self.result.check
        ran, said = collections.Counter(), {}
        for agent in self.agents:
            ran.update(agent.ran)
            said.update(agent.disk.done)
        commands = {r[0]: r[1:] for r in self.rows(
            "SELECT command_id, status, hostname, sent_at, ended_at"
            " FROM ProfilingCommands")}
        executions = collections.defaultdict(list)
        for command, status, ended in self.rows(
                "SELECT command_id, status, completed_at"
                " FROM ProfilingExecutions"):
            executions[command].append((status, ended is not None))
        self.commands = collections.Counter(c[0] for c in commands.values())
        withdrawn = ("superseded", "cancelled", "expired")

        check("the fleet itself works", self.broken)
        check("no command ran twice",
              (c for c, n in ran.items() if n > 1))
        check("no agent was given another host's command", (
            (c, a.name) for a in self.agents for c in a.disk.received
            if c not in commands or commands[c][1] != a.name))
        check("each command has come to its end", (
            (c, row) for c, row in commands.items() if row[3] is None))
        check("each command that a host took was reported once, as it ended", (
            (c, executions[c], status) for c, status in said.items()
            if executions[c] != [(status, True)]))
        check("and has this status, if it was not withdrawn meanwhile", (
            (c, commands[c][0], status) for c, status in said.items()
            if commands[c][0] not in (status,) + withdrawn))
        check("each command that is not withdrawn was carried out", (
            (c, row) for c, row in commands.items()
            if row[0] not in withdrawn and c not in said))
        # one that was cut off may have been noted and not begun
        check("and ran exactly once", (
            (c, ran[c]) for c, status in said.items()
            if ran[c] != 1 and not (status == "failed" and ran[c] == 0)))
        check("what was withdrawn before it was handed out did not run", (
            c for c, row in commands.items()
            if row[2] is None and c in said))
        check("nothing has an execution that no host took", (
            c for c in executions if c not in said))
        check("no report was refused", self.refused)

    def measure(self):
        line = self.result.line
        every, first = self.latencies, self.first
        line("agents, each at an interval of %g to %g s" % self.interval,
             "%d", self.n)
        line("duration", "%.0f s", self.took)
        line("heartbeats answered", "%d (%.0f/s)", len(every),
             len(every) / self.took)
        line("their latency before the first kill, p50 / p99",
             "%.1f / %.1f ms", 1000 * percentile(first, .5),
             1000 * percentile(first, .99))
        line("their latency in all, p50 / p99", "%.1f / %.1f ms",
             1000 * percentile(every, .5), 1000 * percentile(every, .99))
        for what, took in zip(("kill -9 of the server", "orderly restart"),
                              self.recovery):
            line(what + ": half / all of the agents are back after",
                 "%.1f / %.1f s", *took)
        line("commands by their end", "%s", ", ".join(
            "%d %s" % (n, status)
            for status, n in sorted(self.commands.items())))
        for what, n in sorted(self.counts.items()):
            line(what, "%d", n)
        line("failures seen by agents", "%s", ", ".join(
            "%d %s" % (n, what)
            for what, n in sorted(self.failures.items())) or "none")
