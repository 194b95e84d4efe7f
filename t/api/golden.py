"""golden.jsonl, 170 exchanges recorded with the original, replayed.

A case is a list of steps on an empty database.  Of a case whose contract is
`same` each reply must equal the recorded one but for ids and times.  Of one
that `differs` all steps but the last must, and the last gives the status that
the case names; what else it must do says DIFFERS below, case by case.

    golden.replay(client, template, database)
"""
import datetime
import json
import os
import re

import tap

UUID = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-"
                  "[0-9a-f]{12}")
RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
TIMES = ("estimated_completion_time", "heartbeat_timestamp")
# The recording was made in these minutes; an earlier time was in a request.
RECORDED = datetime.datetime(2026, 12, 1, 1, 20)
# Times of now lie this near, in seconds: the longest duration asked for.
NEAR = 600

HOSTS = "/api/metrics/profiling/host_status"
REQUEST = "/api/metrics/profile_request"
BEAT = "/api/metrics/heartbeat"
DONE = "/api/metrics/command_completion"
AGENT_PATHS = (BEAT, DONE)
JSON = {"Content-Type": "application/json"}


class Wrong(Exception):
    """The reply is not what it must be; says how."""


def must(good, text, *values):
    if not good:
        raise Wrong(text % values)


def utc(text):
    text = text[:-1] if text.endswith("Z") else text
    return datetime.datetime.fromisoformat(text)


class Case:
    """One case on its way: the client, and which of our ids stands for
    which recorded one."""

    def __init__(self, recorded, client, template):
        self.name = recorded["case"]
        self.number = int(self.name[:3])
        self.recorded = recorded
        self.client = client
        self.template = template
        self.ours = {}    # by recorded id
        self.theirs = {}  # by our id
        self.reply = None

    # --- sending ---------------------------------------------------------

    def send(self, method, path, headers=None, body=""):
        """The reply, also kept as self.reply."""
        who = (self.template.agent
               if path.rstrip("/") in AGENT_PATHS else self.template.user)
        self.reply = self.client.send(method, path, {**(headers or {}), **who},
                                      body.encode("utf-8"))
        return self.reply

    def post(self, path, **members):
        """The JSON of a reply that must be 200."""
        reply = self.send("POST", path, JSON, json.dumps(members))
        must(reply.status == 200, "%s: %r", path, reply)
        return reply.json()

    def beat(self, hostname="test-host-202", service_name="my-service",
             **members):
        return self.post(BEAT, ip_address="127.0.0.1", hostname=hostname,
                         service_name=service_name, **members)

    def hosts(self):
        """Their rows of host_status, by name."""
        reply = self.send("GET", HOSTS)
        must(reply.status == 200, "host_status: %r", reply)
        return {row["hostname"]: row for row in reply.json()}

    def to_ours(self, text):
        return UUID.sub(lambda m: self.ours.get(m[0], m[0]), text)

    def step(self, step):
        return self.send(step["method"], self.to_ours(step["path"]),
                         step["headers"], self.to_ours(step["body"] or ""))

    # --- comparing -------------------------------------------------------

    def same_text(self, got, expected, at):
        """Equal, with ids bound one to one where they stand."""
        must(isinstance(got, str), "%s: %r is no text", at, got)
        must(UUID.sub("*", got) == UUID.sub("*", expected),
             "%s: %r, expected %r", at, got, expected)
        for ours, theirs in zip(UUID.findall(got), UUID.findall(expected)):
            # an id that nobody gave out stands for itself
            if theirs not in self.ours and theirs.startswith("00000000-"):
                must(ours == theirs, "%s: %s, expected %s", at, ours, theirs)
            must(self.ours.setdefault(theirs, ours) == ours,
                 "%s: another id: %s", at, ours)
            # where ours merges, one of our ids is two of theirs
            must(self.theirs.setdefault(ours, theirs) == theirs or
                 self.recorded["contract"] == "differs",
                 "%s: the id of something else: %s", at, ours)

    def same_time(self, got, expected, at):
        must(isinstance(got, str) and RFC3339.fullmatch(got),
             "%s: %r is no time with Z", at, got)
        now = datetime.datetime.utcnow()
        expected = utc(expected)
        if expected < RECORDED:
            off, most = (utc(got) - expected).total_seconds(), 0.001
        else:
            off, most = (utc(got) - now).total_seconds(), NEAR
        must(abs(off) <= most, "%s: %r is %f s off", at, got, off)

    def same(self, got, expected, at="reply"):
        if at.rpartition(".")[2] in TIMES and expected is not None:
            self.same_time(got, expected, at)
        elif isinstance(expected, str):
            self.same_text(got, expected, at)
        elif isinstance(expected, dict):
            must(isinstance(got, dict) and set(got) == set(expected),
                 "%s: %r, expected %r", at, got, expected)
            for key in expected:
                free = (key == "ctx" and
                        expected.get("type") == "json_invalid")
                if not free:
                    self.same(got[key], expected[key], at + "." + key)
        elif isinstance(expected, list):
            must(isinstance(got, list) and len(got) == len(expected),
                 "%s: %r, expected %r", at, got, expected)
            for i, value in enumerate(expected):
                self.same(got[i], value, "%s.%d" % (at, i))
        else:  # true is not 1
            must(type(got) is type(expected) and got == expected,
                 "%s: %r, expected %r", at, got, expected)

    def as_recorded(self, step):
        reply = self.step(step)
        must(reply.status == step["status"], "%s %s: %r, recorded: %d",
             step["method"], step["path"], reply, step["status"])
        self.same(reply.json(), step["response"])

    # --- both contracts --------------------------------------------------

    def run(self):
        *steps, last = self.recorded["steps"]
        for step in steps:
            self.as_recorded(step)
        if self.recorded["contract"] == "same":
            self.as_recorded(last)
            return
        reply = self.step(last)
        must(reply.status == self.recorded["status"], "%r, wanted: %d",
             reply, self.recorded["status"])
        DIFFERS[self.number](self)


# --- what a reply says that differs -----------------------------------------

def explains(*parts):
    """{"detail": "..."} with these words in it."""
    def check(case):
        value = case.reply.json()
        must(set(value) == {"detail"} and isinstance(value["detail"], str),
             "%r is no detail", value)
        for part in parts:
            must(part in value["detail"], "%r is not about %r", value, part)
    return check


def fault(*loc, says):
    """A 422 that names this place, with these words, and no other."""
    return faults([list(loc)], says)


def faults(locs, says):
    def check(case):
        detail = case.reply.json()["detail"]
        must([entry["loc"] for entry in detail] == locs,
             "%r is not about %r", detail, locs)
        for entry in detail:
            must(says in entry["msg"], "%r does not say %r", entry, says)
            must(entry["type"], "%r has no type", entry)
    return check


def no_json(says, where):
    """A 422 at the offset where the body has this text."""
    def check(case):
        body = case.recorded["steps"][-1]["body"]
        entry, = case.reply.json()["detail"]
        must(entry["type"] == "json_invalid" and
             entry["msg"] == "JSON decode error", "%r", entry)
        offset = body.index(where) + len(where)
        must(entry["loc"] == ["body", offset], "%r, expected offset %d",
             entry, offset)
        must(says in entry["ctx"]["error"], "%r does not say %r", entry, says)
    return check


def both(*checks):
    def check(case):
        for one in checks:
            one(case)
    return check


def no_host(case):
    """A refused heartbeat leaves no host."""
    must(case.hosts() == {}, "a host is left: %r", case.reply)


def command_waits(case):
    """A refused heartbeat was not given the command: the next one is."""
    must(case.hosts() == {}, "a host is left: %r", case.reply)
    must(case.beat()["command_id"] in case.theirs, "no command: %r",
         case.reply)


def nothing_started(case):
    """A refused start of test-host-202 leaves nothing for it."""
    value = case.beat()
    must(value["command_id"] is None, "a command: %r", value)


def names_control(case):
    """\\u0000 ends the text for C; other control characters are JSON."""
    for control in ("\x01", "\x1f", "\x7f", "\n"):
        case.send("POST", REQUEST, JSON, json.dumps({
            "service_name": "a" + control, "request_type": "start",
            "target_hosts": {"h": None}}))
        fault("body", "service_name", says="control characters")(case)


def every_active_host(case):
    value = case.reply.json()
    must(value["success"] is True and value["command_ids"] == [] and
         "No active hosts of service 'my-service'" in value["message"],
         "%r", value)
    case.beat("one")
    case.beat("two")
    case.beat("other", service_name="other")
    case.step(case.recorded["steps"][-1])
    given = case.reply.json()["command_ids"]
    must(len(given) == 2 and sorted(given) == sorted(
        case.beat(name)["command_id"] for name in ("one", "two")),
        "%r", given)
    must(case.beat("other", service_name="other")["command_id"] is None,
         "another service's host, too")


def merged(case):
    value = case.reply.json()
    must(value["profiling_command"]["combined_config"] == {
        "a": 1, "b": 2, "pids": [1, 2, 3], "duration": 300, "frequency": 50,
        "continuous": False, "command_type": "start",
        "profiling_mode": "cpu"}, "not both: %r", value)
    for step in case.recorded["steps"][:2]:
        theirs, = step["response"]["command_ids"]
        must(case.ours[theirs] == value["command_id"], "another id: %r",
             value)
    case.post(DONE, command_id=value["command_id"], hostname="test-host-202",
              status="completed")
    must(case.beat()["command_id"] is None, "a second command: %r",
         case.reply)


def both_run_on(case):
    """A stop that was refused for one host changed none."""
    for name, pids in (("h1", [1, 2]), ("h2", [3, 4])):
        config = case.beat(name)["profiling_command"]["combined_config"]
        must(config["pids"] == pids, "%r", config)


def allow(methods):
    def check(case):
        explains("methods")(case)
        must(case.reply.headers.get("allow") == methods, "%r", case.reply)
    return check


def as_get_without_body(case):
    head = case.reply
    case.send("GET", HOSTS)
    must(head.body == b"" and case.reply.body == b"[]", "%r", head)
    for name in ("content-type", "content-length"):
        must(head.headers.get(name) == case.reply.headers.get(name),
             "%r, as GET: %r", head, case.reply)


def as_without_slash(case):
    first = case.reply.json()
    must(first["success"] is True, "%r", first)
    case.step({**case.recorded["steps"][-1], "path": BEAT})
    must(case.reply.json() == first, "%r, without: %r", first, case.reply)


def not_offered_again(case):
    for value in (case.reply.json(), case.beat()):
        must(value == {
            "success": True, "profiling_command": None, "command_id": None,
            "message": "Heartbeat received. No profiling commands."},
            "%r", value)


def is_delivered(case):
    value = case.reply.json()
    must(value["command_id"] in case.theirs and
         value["profiling_command"]["combined_config"]["enable_perfspect"]
         is True, "%r", value)
    must(len(case.hosts()) == 1, "two hosts: %r", case.reply)


def success_again(case):
    must(case.reply.json() == {
        "success": True, "message": case.to_ours(
            case.recorded["steps"][-2]["response"]["message"])},
        "%r", case.reply)
    status = case.hosts()["test-host-202"]["profiling_status"]
    must(status == "completed", "%s", status)


def still_runs(case):
    """A refused completion ended nothing: the right one does."""
    hosts = case.hosts()
    must(hosts["test-host-202"]["profiling_status"] == "sent", "%r", hosts)
    command, = (ours for theirs, ours in case.ours.items()
                if theirs in case.recorded["steps"][-1]["body"])
    must(case.post(DONE, command_id=command, hostname="test-host-202",
                   status="completed")["success"] is True, "%r", case.reply)


def no_row(case):
    must(case.reply.json() == [], "%r", case.reply)


def stopped_hosts(*others):
    """Those without a command; after its completion, the one stopped."""
    def check(case):
        def names():
            return {row["hostname"] for row in case.reply.json()}

        must(names() == {"idle-1", *others}, "%r", case.reply)
        command = case.beat("db_02", "backend")["command_id"]
        case.post(DONE, command_id=command, hostname="db_02",
                  status="completed")
        case.step(case.recorded["steps"][-1])
        must(names() == {"idle-1", "db_02", *others}, "%r", case.reply)
    return check


RESERVED = [["body", "additional_args", key] for key in (
    "command_type", "duration", "frequency", "pids", "profiling_mode")]
NOT_UUID = fault("body", "command_id", says="not a UUID")
TIME_RANGE = fault("body", "execution_time", says="out of range")
PID_RANGE = fault("query", "pids", 0, says="from 1 to 4194304")

DIFFERS = {
    10: fault("body", "target_hosts", "", says="must not be empty"),
    11: fault("body", "service_name", says="must not be empty"),
    14: both(faults(RESERVED, "may not stand in additional_args"),
             nothing_started),
    19: fault("body", "service_name", says="str type expected"),
    20: both(fault("body", "duration", says="not a valid integer"),
             nothing_started),
    21: both(fault("body", "duration", says="not a valid integer"),
             nothing_started),
    22: every_active_host,
    23: every_active_host,
    48: both(fault("body", "duration", says="out of range"),
             nothing_started),
    49: both(no_json("out of range", '"duration":'), nothing_started),
    62: faults([["body", "target_hosts", "h1", i] for i in (0, 1)],
               "from 1 to 4194304"),
    66: no_json("not JSON", '"duration":'),
    67: no_json("not JSON", '"x":'),
    68: both(no_json("NUL", "a\\u0000"), names_control),
    69: no_json("not valid Unicode", "\\ud800"),
    71: no_json("deeper than 32 levels", '{"x":' + "[" * 31),
    77: fault("body", "__root__", says="a stop needs target_hosts"),
    88: both(fault("body", "__root__", says="every host that it names"),
             both_run_on),
    89: merged,
    90: allow("POST"),
    92: allow("GET, HEAD"),
    93: allow("POST"),
    94: as_get_without_body,
    95: as_without_slash,
    96: explains("nothing at this address"),
    110: not_offered_again,
    111: not_offered_again,
    113: is_delivered,
    115: both(fault("body", "ip_address", says="one IPv4 or IPv6 address"),
              no_host),
    125: both(fault("body", "hostname", says="must not be empty"), no_host),
    126: both(fault("body", "ip_address", says="one IPv4 or IPv6 address"),
              command_waits),
    127: both(fault("body", "status", says="active, idle or offline"),
              command_waits),
    129: both(fault("body", "received_command_ids", 0, says="not a UUID"),
              command_waits),
    130: both(no_json("NUL", "a\\u0000"), no_host),
    142: both(fault("body", "hostname", says="str type expected"), no_host),
    151: success_again,
    155: NOT_UUID,
    156: NOT_UUID,
    164: both(TIME_RANGE, still_runs),
    165: both(TIME_RANGE, still_runs),
    185: no_row,
    190: stopped_hosts(),
    191: stopped_hosts("web-01"),
    204: PID_RANGE,
    211: explains("UTF-8"),
    212: PID_RANGE,
}


# --- all of them -------------------------------------------------------------

def load():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                        "golden.jsonl")
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def replay(client, template, database):
    """One assertion a case, each on a database of its own."""
    count = {"same": 0, "differs": 0}
    for recorded in load():
        template.copy_to(database)
        count[recorded["contract"]] += 1
        case = Case(recorded, client, template)
        try:
            case.run()
            good, found = True, None
        except Wrong as wrong:
            good, found = False, wrong
        except Exception as error:  # a reply that is not as the checks read
            good, found = False, "%r after %r" % (error, case.reply)
        tap.ok(good, "%s (%s)" % (case.name, recorded["contract"]), found)
    print("# golden: %d cases, %d same, %d differ" % (
        sum(count.values()), count["same"], count["differs"]), flush=True)
