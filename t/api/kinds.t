#!/usr/bin/python3
"""More of the kinds of which golden.jsonl has one case each, under lighttpd
and FastCGI."""
import json
import os
import sqlite3
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ.get("SRCDIR", "."), "t/lib"))
import programs
import tap
from programs import says
from golden import BEAT, DONE, HOSTS, JSON, REQUEST

tap.needs("BUILDDIR", "SRCDIR")
server = programs.Server("lighttpd-fastcgi")
api = programs.Http(server.base)
AGENT = {"Authorization": "Bearer " + server.token}
USER = {"Cookie": programs.log_in(api, "/login")}
START = {"service_name": "s", "request_type": "start",
         "target_hosts": {"h": None}}
HELLO = {"ip_address": "10.0.0.1", "hostname": "h", "service_name": "s"}
BODIES = {REQUEST: START, BEAT: HELLO, DONE: {
    "command_id": "00000000-0000-4000-8000-000000000000", "hostname": "h",
    "status": "completed"}}


def post(path, body, headers=None):
    if isinstance(body, str):
        body = body.encode("utf-8")
    elif not isinstance(body, bytes):
        body = json.dumps(body).encode()
    who = USER if path == REQUEST else AGENT
    return api.send("POST", path,
                    {**(JSON if headers is None else headers), **who},
                    body)


def first(reply):
    """What a 422 says first."""
    if reply.status != 422:
        return repr(reply)
    fault = reply.json()["detail"][0]
    return (fault["loc"], fault["msg"], fault["type"])


# The original's decoder is Python's.  Where that changed between versions (a
# comma before the closing bracket) ours is what the recording has.
BROKEN = """
{|[|{"a"|{"a":|{"a":1|{"a":1,|[1 2]|{"a" 1}|{"a":1 "b":2}|{"a":"xyz|"xyz
{"a":"x\\qy"}|{"a":"\\u12"}|{"a":"\\u12G4"}|{"a":"\\u|{"a":"\\|{"a":"b\\
{"a":tru}|{"a":nul|{"a":truex}|{"a":01}|{"a":-}|{"a":1.}|{"a":1.x}|{"a":1e}
{"a":1e+}|{"a":.5}|{"a":+1}|{"a":-a}|{'a':1}|{a:1}|{,}|{"a":1,,"b":2}|[1,,2]
{"a"::1}|]|}|{} x|{}}|{"a":1]|[1}|/*x*/{}|{"é":"x|{"é":tru}|x|{"a":"b"c}
{"a":[1,2}|{"a":{"b":}|{"a":1}{|{1:2}|{"a":0x1}|{"a":1_0}|-|{"a":--1}
{"a":1.5.5}|["a" "b"]|{"a":"\\ud800\\u12"}|\xa0{}|{"a":1;"b":2}|{"a":1e5x}
"""


def check_offsets():
    texts = BROKEN.strip("\n").replace("\n", "|").split("|")
    for text in texts + ["  ", "\n\n{", '"a\tb"', '{"a":\f1}', '["\0"]']:
        try:
            json.loads(text)
            expected = "nothing"
        except json.JSONDecodeError as error:
            expected = error.pos
        tap.equal(first(post(BEAT, text)), (
            ["body", expected], "JSON decode error", "json_invalid"),
            "%s is no JSON at offset %s" % (ascii(text), expected))


def check_bodies():
    for path in BODIES:
        for text in ("0", "-1.5", "true", '""', "[1]", "[{}]", "[null]"):
            tap.equal(first(post(path, text)), (
                ["body"], "value is not a valid dict", "type_error.dict"),
                "%s is no body of %s" % (text, path[13:]))
        for kind, status in (
                ("application/json", 200), ("Application/JSON", 200),
                ("application/json;charset=utf-8", 200),
                ("application/vnd.conspect+json", 200), ("", 200),
                ("text/plain; charset=utf-8", 422), ("TEXT/PLAIN", 422),
                ("application/x-www-form-urlencoded", 422),
                ("application/xml", 415), ("text/html", 415),
                ("application/json-seq", 415), ("json", 415)):
            reply = post(path, BODIES[path], {"Content-Type": kind})
            tap.equal(reply.status, status, "a body of %s declared as «%s» "
                      "is %d" % (path[13:], kind, status))


# path, member, what it does with null, wrong type and absence
NOT_NULL = ("none is not an allowed value", "type_error.none.not_allowed")
MISSING = ("field required", "value_error.missing")
STR = ("str type expected", "type_error.str")
INTEGER = ("value is not a valid integer", "type_error.integer")
BOOLEAN = ("value could not be parsed to a boolean", "type_error.bool")
DICT = ("value is not a valid dict", "type_error.dict")
LIST = ("value is not a valid list", "type_error.list")
TIME = ("invalid datetime format", "value_error.datetime")
MEMBERS = (
    (REQUEST, "service_name", NOT_NULL, STR, MISSING),
    (REQUEST, "request_type", NOT_NULL, STR, MISSING),
    (REQUEST, "continuous", None, BOOLEAN, None),
    (REQUEST, "duration", None, INTEGER, None),
    (REQUEST, "frequency", None, INTEGER, None),
    (REQUEST, "target_hosts", None, DICT, None),
    (REQUEST, "additional_args", None, DICT, None),
    (BEAT, "ip_address", NOT_NULL, STR, MISSING),
    (BEAT, "hostname", NOT_NULL, STR, MISSING),
    (BEAT, "service_name", NOT_NULL, STR, MISSING),
    (BEAT, "status", NOT_NULL, STR, None),
    (BEAT, "timestamp", None, TIME, None),
    (BEAT, "last_command_id", None, STR, None),
    (BEAT, "received_command_ids", None, None, None),
    (BEAT, "executed_command_ids", None, None, None),
    (DONE, "command_id", NOT_NULL, STR, MISSING),
    (DONE, "hostname", NOT_NULL, STR, MISSING),
    (DONE, "status", NOT_NULL, STR, MISSING),
    (DONE, "execution_time", None, INTEGER, None),
    (DONE, "error_message", None, STR, None),
    (DONE, "results_path", None, STR, None),
)


def check_members():
    for path, name, null, wrong, absent in MEMBERS:
        without = {k: v for k, v in BODIES[path].items() if k != name}
        for what, body, fault in (
                ("null", {**without, name: None}, null),
                ("a list", {**without, name: []}, wrong),
                ("absent", without, absent)):
            reply = post(path, body)
            sentence = "%s of %s: %s" % (name, path[13:], what)
            if fault:
                tap.equal(first(reply), (["body", name], *fault), sentence)
            else:
                tap.equal(reply.status, 200, sentence)
    for name in ("received_command_ids", "executed_command_ids"):
        tap.equal(first(post(BEAT, {**HELLO, name: {}})),
                  (["body", name], *LIST), name + " is a list")


TIMES = {
    "2026-01-02T03:04:05": "2026-01-02T03:04:05.000Z",
    "2026-01-02 03:04": "2026-01-02T03:04:00.000Z",
    "2026-01-02T03:04:05.678901": "2026-01-02T03:04:05.678Z",
    "2026-01-02T03:04:05Z": "2026-01-02T03:04:05.000Z",
    "2026-01-02T03:04:05-0730": "2026-01-02T10:34:05.000Z",
    "1767322800": "2026-01-02T03:00:00.000Z",
    "1767322800.25": "2026-01-02T03:00:00.250Z",
    1767322800.25: "2026-01-02T03:00:00.250Z",
    1767322800250: "2026-01-02T03:00:00.250Z",
    1767322800250000: "2026-01-02T03:00:00.250Z",
    1767322800250000000: "2026-01-02T03:00:00.250Z",
    0: "1970-01-01T00:00:00.000Z",
}


def check_times():
    for given, stored in TIMES.items():
        post(BEAT, {**HELLO, "timestamp": given})
        row, = api.send("GET", HOSTS, USER).json()
        tap.equal(row["heartbeat_timestamp"], stored,
                  "a timestamp of %r" % given)
    for given in ("", "now", "2026-01-02", "2026-02-30T00:00:00", "1.2.3",
                  ".", "1e9", True, [], {}):
        tap.equal(first(post(BEAT, {**HELLO, "timestamp": given})),
                  (["body", "timestamp"], *TIME), "%r is no time" % given)


def rows():
    """How much there is in the tables that requests fill."""
    db = sqlite3.connect("file:%s?mode=ro" % server.database, uri=True)
    try:
        return db.execute("SELECT (SELECT count(*) FROM HostHeartbeats),"
                          " (SELECT count(*) FROM ProfilingRequests),"
                          " (SELECT count(*) FROM ProfilingCommands)"
                          ).fetchone()
    finally:
        db.close()


def nested(depth):
    return b'{"x":' + b"[" * depth + b"]" * depth + b"}"


BAD_JSON = (
    (b"{", "too early"), (b'{"a":1,}', "JSON decode"), (b"{'a':1}", "JSON"),
    (b"{} {}", "follows"), (b'{"a":.5}', "not JSON"), (b"\0", "not JSON"),
    (b'{"a":Infinity}', "not JSON"), (b'{"a":-NaN}', "not JSON"),
    (b'{"a":01}', "begin with 0"), (b'{"a":' + b"9" * 400 + b"}", "range"),
    (b'{"a":"\n"}', "control"), (b'{"a":"\\x"}', "escape"),
    (b'{"a":"\\u00"}', "hex digits"), (b'{"a":"\\udc00"}', "Unicode"),
    (b'{"a":"\xff"}', "UTF-8"), (b'{"a":"\xc0\xaf"}', "UTF-8"),
    (b'{"a":"\xed\xa0\x80"}', "UTF-8"), (b'{"a":"\xf5\x80\x80\x80"}', "UTF-8"),
    ('{"a":1}'.encode("utf-16"), "UTF-8"), (b"\x1f\x8b\x08", "UTF-8"),
    (nested(32), "32 levels"), (b"[" * 500000, "32 levels"),
    (b'{"a":' * 100000, "32 levels"), (b'"' + b"x" * 1000000, "too early"),
)


def check_bad_json():
    before = rows()
    for i, (body, text) in enumerate(BAD_JSON):
        reply = post((REQUEST, BEAT, DONE)[i % 3], body)
        tap.ok(says(reply, 422, text) and
               reply.json()["detail"][0]["loc"][0] == "body",
               "%s is 422, with the place" % ascii(body)[1:34], reply)
    tap.equal(rows(), before, "and none of it left anything")


LONG = "x" * 256
BAD_REQUESTS = (
    ({"service_name": LONG}, "255 bytes"),
    ({"service_name": "ж" * 128}, "255 bytes"),
    ({"service_name": "a\x7fb"}, "control"),
    ({"target_hosts": {LONG: None}}, "255 bytes"),
    ({"target_hosts": {"a\tb": None}}, "control"),
    ({"target_hosts": {"h": [0]}}, "4194304"),
    ({"target_hosts": {"h": [4194305]}}, "4194304"),
    ({"target_hosts": {"h": [1.5]}}, "integer"),
    ({"target_hosts": {"h": [True]}}, "integer"),
    ({"target_hosts": {"h": list(range(1, 1002))}}, "1000 process"),
    ({"target_hosts": {"h%d" % i: None for i in range(10001)}}, "10000"),
    ({"target_hosts": {"db1": None, "DB1": None}}, "same host"),
    ({"duration": 1e300}, "out of range"),
    ({"duration": -9223372036854775808}, "positive"),
    ({"duration": " 60"}, "integer"),
    ({"duration": {}}, "integer"),
    ({"frequency": "1e3"}, "integer"),
    ({"continuous": 2}, "boolean"),
    ({"expires_in": 0}, "out of range"),
    ({"additional_args": {"enable_perfspect": "yes"}}, "true or false"),
    ({"additional_args": {"perfspect_args": {"--": "sh"}}}, "not be set"),
    ({"additional_args": {"perfspect_args": {"output": "/etc"}}},
     "not be set"),
    ({"additional_args": {"perfspect_args": {"metrics": "--x"}}}, "'-'"),
    ({"additional_args": {"max_processes": 1001}}, "1000"),
)


def check_bad_values():
    good = {"service_name": "s", "request_type": "start",
            "target_hosts": {"h": None}}
    before = rows()
    for members, text in BAD_REQUESTS:
        reply = post(REQUEST, {**good, **members})
        tap.ok(says(reply, 422, text), "%s is 422" % str(members)[:50], reply)
    reply = post(REQUEST, {**good, "target_hosts": {
        "h": ["x"] * 1000, "i": ["x"] * 1000}})
    tap.ok(says(reply, 422, "integer") and len(reply.json()["detail"]) == 100,
           "of 2,000 faults 100 are named", reply)
    reply = post(BEAT, {"hostname": "h", "service_name": "s",
                        "ip_address": "1.2.3.4",
                        "received_command_ids": [""] * 1001})
    tap.ok(says(reply, 422, "at most 1000"), "1,001 ids are 422", reply)
    tap.equal(rows(), before, "and none of it left anything")


check_offsets()
check_bodies()
check_members()
check_times()
check_bad_json()
check_bad_values()
tap.equal(server.stop(), "", "nothing went wrong behind the answers")
tap.done()
