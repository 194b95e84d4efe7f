#!/usr/bin/python3
"""lib/web/openapi.json is what the API does: in form, against the table of
routes, the recorded replies of the original, and replies of our own."""
import copy
import datetime
import hashlib
import json
import os
import re
import sqlite3
import subprocess
import sys
import warnings

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ.get("SRCDIR", "."), "t/lib"))
import programs
import tap

try:
    import jsonschema
except ImportError:
    tap.skip_all("not installed: python3-jsonschema")
warnings.simplefilter("ignore", DeprecationWarning)

builddir, srcdir = tap.needs("BUILDDIR", "SRCDIR")
with open(os.path.join(srcdir, "lib/web/openapi.json"), "rb") as opened:
    SOURCE = opened.read()
DOC = json.loads(SOURCE.decode("ascii"))
COMPONENTS = DOC["components"]
JSON = "application/json"
METHODS = ("get", "head", "post", "put")
# What no test can bring about: a reply of 64 MiB.
NOT_PROVOKED = {"500"}
# Not operations' own: what a path that is not there, or a method, gives.
NOWHERE = {"404": "NotFound", "405": "MethodNotAllowed"}


def resolve(value):
    while isinstance(value, dict) and "$ref" in value:
        found = DOC
        for key in value["$ref"].removeprefix("#/").split("/"):
            found = found[key.replace("~1", "/").replace("~0", "~")]
        value = found
    return value


def wrong(value, schema):
    """What is wrong with a value by a schema of the description, or ''."""
    validator = jsonschema.Draft202012Validator(
        schema, resolver=jsonschema.RefResolver("", DOC),
        format_checker=jsonschema.FormatChecker())
    return "; ".join("%s at %s" % (e.message[:300], list(e.absolute_path))
                     for e in validator.iter_errors(value))


def operations():
    for path, item in DOC["paths"].items():
        for method in METHODS:
            if method in item:
                yield path, method, item[method]


def walk(value, at=""):
    yield at, value
    if isinstance(value, (dict, list)):
        pairs = (value.items() if isinstance(value, dict)
                 else enumerate(value))
        for key, inner in pairs:
            yield from walk(inner, "%s/%s" % (at, key))


# --- form --------------------------------------------------------------------

def closed(needed, /, **optional):
    """An object of OpenAPI's: these members, and x-... of our own."""
    return {"type": "object", "required": list(needed),
            "properties": {**needed, **optional},
            "patternProperties": {"^x-": {}}, "additionalProperties": False}


def each(schema, names=".*"):
    return {"type": "object", "additionalProperties": False,
            "patternProperties": {"^(%s)$" % names: schema}}


def or_ref(schema):
    return {"if": {"required": ["$ref"]}, "else": schema, "then": {
        "properties": {"$ref": {"pattern": "^#/components/"}},
        "additionalProperties": False}}


TEXT = {"type": "string", "minLength": 1}
SCHEMA = {"type": ["object", "boolean"]}
EXAMPLES = each(closed({"value": {}}, summary=TEXT))
CONTENT = each(closed({"schema": SCHEMA}, example={}, examples=EXAMPLES),
               r"[a-z]+/[a-z+-]+(; charset=utf-8)?")
HEADER = closed({"schema": SCHEMA}, description=TEXT,
                required={"type": "boolean"})
RESPONSE = closed({"description": TEXT}, content=CONTENT,
                  headers=each(or_ref(HEADER)))
PARAMETER = closed(
    {"name": TEXT, "in": {"enum": ["query", "path"]}, "schema": SCHEMA},
    description=TEXT, required={"type": "boolean"}, explode={"const": True},
    style={"const": "form"})
SECURITY = {"type": "array", "items": each({"const": []})}
OPERATION = closed(
    {"operationId": TEXT, "summary": TEXT, "tags": {"type": "array"},
     "security": SECURITY,
     "responses": {**each(or_ref(RESPONSE), "[1-5][0-9][0-9]"),
                   "required": ["200"]}},
    description=TEXT, parameters={"type": "array",
                                  "items": or_ref(PARAMETER)},
    requestBody=closed({"content": CONTENT}, description=TEXT,
                       required={"type": "boolean"}))
SCHEME = {"oneOf": [
    closed({"type": {"const": "http"}, "scheme": {"enum": [
        "basic", "bearer"]}}, description=TEXT),
    closed({"type": {"const": "apiKey"}, "in": {"const": "cookie"},
            "name": TEXT}, description=TEXT)]}
OPENAPI = closed(
    {"openapi": {"pattern": r"^3\.1\.\d+$"},
     "info": closed({"title": TEXT, "version": TEXT}, summary=TEXT,
                    description=TEXT),
     "paths": each(closed({}, **{m: OPERATION for m in METHODS}), "/.*")},
    servers={"type": "array", "items": closed({"url": TEXT},
                                              description=TEXT)},
    tags={"type": "array", "items": closed({"name": TEXT},
                                           description=TEXT)},
    components=closed({}, schemas=each(SCHEMA, r"[A-Za-z0-9._-]+"),
                      responses=each(RESPONSE), parameters=each(PARAMETER),
                      headers=each(HEADER), securitySchemes=each(SCHEME)))


def check_form():
    errors = jsonschema.Draft202012Validator(OPENAPI).iter_errors(DOC)
    tap.equal([e.message[:300] for e in errors], [],
              "the description has the form of OpenAPI 3.1")
    tap.equal([s["url"] for s in DOC["servers"]], ["/api"],
              "it names no machine")
    with open(os.path.join(srcdir, "configure.ac"), encoding="utf-8") as file:
        version = re.search(r"AC_INIT\(\[conspect\], \[(.*?)\]", file.read())
    tap.equal(DOC["info"]["version"], version[1], "and our version")
    bad = []
    for at, value in walk({**DOC["paths"], **COMPONENTS}):
        if re.search("/schema$|^/schemas/[^/]+$", at):
            try:
                jsonschema.Draft202012Validator.check_schema(value)
            except jsonschema.SchemaError as error:
                bad.append((at, error.message[:200]))
    tap.equal(bad, [], "its schemas are JSON Schema 2020-12")


def check_names():
    names = [o["operationId"] for _, _, o in operations()]
    tap.equal(sorted(set(names)), sorted(names),
              "each operation has an id of its own")
    tags = {t["name"] for t in DOC["tags"]}
    used = {t for _, _, o in operations() for t in o["tags"]}
    tap.equal(used, tags, "the tags are those that are used")
    lost = [p for p, m, o in operations() if
            set(re.findall(r"\{(.*?)\}", p)) !=
            {resolve(x)["name"] for x in o.get("parameters", [])
             if resolve(x)["in"] == "path"}]
    tap.equal(lost, [], "each {name} of a path is a parameter of it")
    refs = {v["$ref"] for _, v in walk(DOC)
            if isinstance(v, dict) and isinstance(v.get("$ref"), str)}
    refs |= {"#/components/responses/" + name for name in NOWHERE.values()}
    refs |= {"#/components/securitySchemes/" + name for _, _, o in
             operations() for way in o["security"] for name in way}
    there = {"#/components/%s/%s" % (kind, name) for kind in COMPONENTS
             for name in COMPONENTS[kind]}
    # the rows of detail=true are named in words, too
    tap.equal(refs, there, "each $ref leads somewhere, each component is used")
    open_ones = [at for at, v in walk(COMPONENTS["schemas"])
                 if isinstance(v, dict) and v.get("type") == "object" and
                 not {"additionalProperties", "propertyNames", "maxProperties",
                      "minProperties"} & set(v)]
    # requests, in which other members are ignored; JSON of the user's own;
    # what allOf closes by unevaluatedProperties
    tap.equal(sorted(at.split("/")[1] for at in open_ones), sorted([
        "ProfileRequest", "Heartbeat", "Heartbeat", "Heartbeat", "Completion",
        "HostMembers", "RequestMembers", "Description", "Description",
        "Description"]), "what we send has no members but those named")


def media_types():
    """(where, schema, examples, request?) of all bodies."""
    places = [("%s %s" % (m, p), o["requestBody"], True)
              for p, m, o in operations() if "requestBody" in o]
    places += [("%s %s %s" % (m, p, s), r, False)
               for p, m, o in operations() for s, r in o["responses"].items()
               if "$ref" not in r]
    places += [(n, r, False) for n, r in COMPONENTS["responses"].items()]
    for where, holder, is_request in places:
        for media in holder.get("content", {}).values():
            examples = [e["value"] for e in
                        media.get("examples", {}).values()]
            examples += [media["example"]] if "example" in media else []
            yield where, media["schema"], examples, is_request


def check_examples():
    for where, schema, examples, is_request in media_types():
        if schema == {"$ref": "#/components/schemas/Description"}:
            examples = [DOC]
        tap.ok(examples, "%s has an example" % where)
        for example in examples:
            tap.equal(wrong(example, schema), "", "which is valid")
    document = DOC["paths"]["/metrics/profile_request"]["post"]
    example = document["requestBody"]["content"][JSON]["examples"]
    tap.equal(example["document"]["value"], {
        "service_name": "test-service-2", "request_type": "start",
        "continuous": True, "duration": 60, "frequency": 11,
        "profiling_mode": "cpu", "target_hosts": {"test-host-202": None},
        "additional_args": {"enable_perfspect": True}},
        "the feature document's request is one of them")


# --- against the table of routes ---------------------------------------------

WAYS = {"anyone": [], "agent": ["agentToken"],
        "viewer": ["basic", "session"], "operator": ["basic", "session"],
        "admin": ["basic", "session"]}


def check_routes():
    run = subprocess.run([os.path.join(builddir, "t/api/routes")],
                         capture_output=True, text=True, check=True,
                         timeout=programs.PATIENCE)
    table = {}
    for line in run.stdout.splitlines():
        path, methods, who, size = line.split()
        for method in methods.strip(",").split(","):
            table[path, method] = who, size
    described = {}
    for path, method, o in operations():
        described[re.sub(r"\{.*?\}", "*", path), method] = (
            o["x-who"], str(o.get("x-body-max", "-")))
        tap.equal(sorted(w for way in o["security"] for w in way),
                  WAYS[o["x-who"]], "%s %s: the ways to log in are those of "
                  "who may" % (method, path))
        tap.equal("requestBody" in o, "x-body-max" in o, "and its body")
    tap.equal(described, table, "what is described is the table of routes: "
              "paths, methods, who, bodies")


# --- against the recorded replies --------------------------------------------

def operation_of(method, path):
    """The described operation for an address below /api, or None."""
    path = re.sub("/+", "/", path.partition("?")[0])
    for template, item in DOC["paths"].items():
        if re.fullmatch(re.sub(r"\{.*?\}", "[^/]+", template),
                        path.rstrip("/")):
            return item.get(method.lower()), template
    return None, None


def our_times(value):
    """Recorded times in our form: the contract leaves them free."""
    if isinstance(value, dict):
        return {k: our_time(v) if k in ("estimated_completion_time",
                                        "heartbeat_timestamp") and v
                else our_times(v) for k, v in value.items()}
    return [our_times(v) for v in value] if isinstance(value, list) else value


def our_time(text):
    time = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    return time.strftime("%Y-%m-%dT%H:%M:%S.") + "%03dZ" % (
        time.microsecond // 1000)


def check_recorded():
    with open(os.path.join(srcdir, "t/api/golden.jsonl"),
              encoding="utf-8") as file:
        cases = [json.loads(line) for line in file]
    steps, bad = 0, []
    for case in cases:
        if case["contract"] != "same":
            continue
        for step in case["steps"]:
            steps += 1
            operation, _ = operation_of(step["method"],
                                        step["path"].removeprefix("/api"))
            response = resolve(operation["responses"].get(
                str(step["status"]), {}))
            fault = ("status %d" % step["status"] if not response else wrong(
                our_times(step["response"]),
                response["content"][JSON]["schema"]))
            if fault:
                bad.append((case["case"], fault))
    tap.equal(bad, [], "the %d recorded replies that are the contract are "
              "described" % steps)
    tap.ok(steps > 300, "which are all that were recorded", steps)


# --- against replies of our own ----------------------------------------------

class Api:
    """The program, each of whose replies is held against the description.
    `seen` is what was: (method, path template, status)."""

    def __init__(self):
        template = programs.Template(builddir, tap.TMP)
        self.database = os.path.join(tap.TMP, "conspect.db")
        template.copy_to(self.database)
        self.program = os.path.join(builddir, "cgi-bin/api")
        self.cgi = programs.Cgi(self.program, self.database)
        self.away = programs.Cgi(self.program, tap.TMP + "/none/conspect.db")
        self.seen = set()
        self.bad = []
        self.who = {"nobody": {}, "agent": template.agent,
                    "admin": template.user,
                    "viewer": self.session("viewer"),
                    "operator": self.session("operator"),
                    "slow": {"Authorization": "Basic c2xvdzp3cm9uZw=="}}
        self.sql("INSERT INTO LoginFailures VALUES ('slow', '127.0.0.1', 30,"
                 " strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))")

    def sql(self, text, *values):
        connection = sqlite3.connect(self.database, timeout=60)
        with connection:
            rows = connection.execute(text, values).fetchall()
        connection.close()
        return rows

    def session(self, role):
        """Of a new user, without the time that a password takes."""
        secret = os.urandom(32).hex()
        self.sql("INSERT INTO Users (name, role, password_hash, created_at,"
                 " changed_at) VALUES (?, ?, 'none', '2026', '2026')",
                 role, role)
        self.sql("INSERT INTO Sessions (token_hash, user_id, created_at,"
                 " expires_at) SELECT ?, id, '2026', '9999' FROM Users"
                 " WHERE name = ?", hashlib.blake2b(
                     secret.encode(), digest_size=32).digest(), role)
        return {"Cookie": "conspect_session=" + secret}

    def call(self, method, path, who, body=None, headers=None, cgi=None,
             **environment):
        """`body` is sent as JSON, or as it is where it is bytes."""
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        cgi = cgi or self.cgi
        length = len(body or b"")
        env = cgi.environment(method.upper(), "/api" + path, {
            **({"Content-Type": JSON} if body else {}), **(headers or {}),
            **self.who[who]}, length)
        for name, value in environment.items():
            if value is None:
                del env[name]
            else:
                env[name] = value
        reply, log = cgi.run(env, body or b"")
        self.judge(method.lower(), path, reply)
        if re.search("Sanitizer|runtime error:|Assertion", log):
            self.bad.append("%s %s: %s" % (method, path, log))
        return reply

    def judge(self, method, path, reply):
        operation, template = operation_of(method, path)
        status = str(reply.status)
        response = ((operation or {}).get("responses", {}).get(status) or
                    (not operation and status in NOWHERE and
                     COMPONENTS["responses"][NOWHERE[status]]))
        self.seen.add((method, template if operation else None, status))
        if not response:
            self.bad.append("%s %s: %s is not described: %r" % (
                method, path, status, reply))
            return
        response = resolve(response)
        for fault in self.faults(method, reply, response):
            self.bad.append("%s %s %s: %s" % (method, path, status, fault))

    def faults(self, method, reply, response):
        for name, header in response.get("headers", {}).items():
            header, value = resolve(header), reply.headers.get(name.lower())
            if header["schema"]["type"] == "integer":
                value = int(value) if value and value.isdigit() else value
            yield from filter(None, [wrong(value, header["schema"]) and
                                     "%s: %s" % (name, value)])
        extra = {"www-authenticate", "allow", "retry-after",
                 "x-total-count", "content-disposition"} & set(reply.headers)
        if extra - {name.lower() for name in response.get("headers", {})}:
            yield "not described: %s" % extra
        if method == "head" or "content" not in response:
            if reply.body:
                yield "a body: %r" % reply.body[:100]
            return
        kind = reply.headers.get("content-type")
        if kind not in response["content"]:
            yield "%s, not of %s" % (kind, list(response["content"]))
            return
        value = reply.json() if kind == JSON else reply.body.decode()
        yield from filter(None, [wrong(value,
                                       response["content"][kind]["schema"])])


api = Api()
RIGHT = {"anyone": "nobody", "agent": "agent", "viewer": "viewer",
         "operator": "operator", "admin": "admin"}
NOT_ENOUGH = {"agent": "admin", "viewer": "agent", "operator": "viewer",
              "admin": "operator"}
SOME_ID = "00000000-0000-4000-8000-000000000000"


def filled(path):
    """A path with something in each of its {names}."""
    return re.sub(r"\{.*?\}", SOME_ID, path)


def body_of(operation):
    examples = operation.get("requestBody", {}).get("content", {}).get(
        JSON, {}).get("examples", {})
    return next((copy.deepcopy(e["value"]) for e in examples.values()), None)


def check_served():
    reply = api.call("get", "/openapi.json", "viewer")
    tap.equal(reply.body, SOURCE, "the description is served as it is")
    reply = api.call("head", "/openapi.json", "viewer")
    tap.equal(reply.headers.get("content-length"), str(len(SOURCE)),
              "HEAD tells its length")


def command_in_hand():
    """The id of a command that test-host-202 was given."""
    host = {"service_name": "s", "hostname": "test-host-202",
            "ip_address": "::1"}
    api.call("post", "/metrics/profile_request", "operator", {
        "service_name": "s", "request_type": "start",
        "target_hosts": {"test-host-202": None}})
    return api.call("post", "/metrics/heartbeat", "agent",
                    host).json()["command_id"]


def check_request_examples():
    for path, method, operation in operations():
        media = operation.get("requestBody", {}).get("content", {})
        for name, example in media.get(JSON, {}).get("examples", {}).items():
            body = example["value"]
            if path == "/metrics/command_completion":
                body = {**body, "command_id": command_in_hand()}
            reply = api.call(method, path, RIGHT[operation["x-who"]], body)
            tap.ok(reply.status == 200 and reply.json()["success"] is True,
                   "%s takes the example %s" % (path, name), reply)


def check_told():
    """What only our agent is told: a pinned archive and an interval."""
    host = {"service_name": "told", "hostname": "h", "ip_address": "::1"}
    ours = {**host, "agent_id": "a", "arch": "x86_64"}
    digest = hashlib.sha256(b"archive").hexdigest()
    name = "perfspect-x86_64-%s.tgz" % digest[:16]
    api.call("post", "/metrics/profile_request", "operator", {
        "service_name": "told", "request_type": "start",
        "target_hosts": {"h": None},
        "additional_args": {"enable_perfspect": True}})
    plain = api.call("post", "/metrics/heartbeat", "agent", host).json()
    tap.equal(api.call("post", "/metrics/heartbeat", "agent", ours).json(),
              plain, "with nothing set our agent is told what others are")
    api.sql("INSERT INTO PerfSpectArchives VALUES"
            " ('x86_64', '3.17.1', ?, 7, ?, '2026')", digest, name)
    api.sql("INSERT INTO Settings VALUES ('heartbeat_interval', 45, '2026')")
    reply = api.call("post", "/metrics/heartbeat", "agent", ours).json()
    tap.equal(reply, {**plain, "heartbeat_interval": 45, "perfspect": {
        "url": "/dist/" + name, "sha256": digest, "version": "3.17.1"}},
        "it is told the interval, and where PerfSpect is")
    tap.equal(api.call("post", "/metrics/heartbeat", "agent", host).json(),
              plain, "and the others are not")
    reply = api.call("post", "/metrics/heartbeat", "agent", {
        **ours, "last_command_id": plain["command_id"]}).json()
    tap.equal((reply["command_id"], reply["heartbeat_interval"],
               "perfspect" in reply), (None, 45, False),
              "the interval with each reply, PerfSpect with its start")
    api.sql("DELETE FROM Settings")
    api.sql("DELETE FROM PerfSpectArchives")


def check_persons():
    for path, method, operation in operations():
        who = operation["x-who"]
        here = filled(path)
        body = body_of(operation)
        if who != "anyone":
            for one in ("nobody", NOT_ENOUGH[who], "slow"):
                api.call(method, here, one, body)
        api.call(method, here, RIGHT[who], body, cgi=api.away)
        api.call(method, here, RIGHT[who], body)


def check_health():
    """Credentials, right or wrong, make no difference to it."""
    for who in api.who:
        for method in ("get", "head"):
            reply = api.call(method, "/healthz", who)
            tap.equal(reply.status, 200, "%s /healthz as %s" % (method, who))


def check_bodies():
    large = b" " * (1024 * 1024 + 1)
    for path, method, operation in operations():
        if JSON not in operation.get("requestBody", {}).get("content", {}):
            continue
        who, body = RIGHT[operation["x-who"]], body_of(operation)
        text = json.dumps(body).encode()

        def gives(status, sent, **options):
            reply = api.call(method, path, who, sent, **options)
            tap.equal(reply.status, status, "%s: %s %s" % (
                path, options or sent[:20], status))
        gives(400, text, CONTENT_LENGTH="-1")
        gives(400, text, CONTENT_LENGTH=str(len(text) + 1))
        gives(403, text, headers={"Origin": "https://elsewhere.example"})
        gives(411, text, CONTENT_LENGTH=None)
        gives(411, text, headers={"Transfer-Encoding": "chunked"})
        gives(413, large)
        gives(413, text, CONTENT_LENGTH="99999999999999999999")
        gives(415, text, headers={"Content-Type": "application/xml"})
        gives(422, b"{}")
        gives(422, b"")
        gives(422, b"{\"a\": NaN}")
        gives(422, text, headers={"Content-Type": "text/plain"})
        gives(200, text, headers={"Content-Type": ""})


def check_gets():
    reply = api.call("get", "/metrics/profile_requests", "viewer")
    request_id = reply.json()[0]["request_id"]
    one = api.call("get", "/metrics/profile_request/" + request_id, "viewer")
    tap.equal(one.status, 200, "a request that is in the list is found")
    api.call("head", "/metrics/profile_request/" + request_id, "viewer")
    for path in ("/metrics/profile_requests", "/metrics/profiling/host_status"):
        for method in ("get", "head"):
            for query in ("limit=-1", "hostname=%ff", "offset=x"):
                api.call(method, path + "?" + query, "viewer")
    rows = api.call("get", "/metrics/profiling/host_status?detail=true",
                    "viewer").json()
    tap.equal([wrong(row, {"$ref": "#/components/schemas/HostDetail"})
               for row in rows], [""] * len(rows), "detail=true gives %d "
              "hosts in detail" % len(rows))
    tap.ok(rows, "of which there are some")
    reply = api.call("get", "/metrics/profiling/host_status", "viewer")
    tap.equal([wrong(row, {"$ref": "#/components/schemas/Host"})
               for row in reply.json()], [""] * len(rows),
              "and without it they are as the original's")


def check_results():
    """What is described of files: their bodies are not JSON."""
    command = command_in_hand()
    path = "/metrics/results/%s/%s?hostname=test-host-202"

    def put(status, name="a.csv", body=b"a,b\n", at=path, **more):
        reply = api.call("put", at % (command, name), "agent", body, **more)
        tap.equal(reply.status, status, "a file is answered %d: %s" % (
            status, more or (name, at)))
    put(201)
    put(200)
    put(201, "a.json", b'{"a": 1}')
    put(201, "a.html", b"<script>alert(1)</script>",
        headers={"Content-Type": "text/html"})
    put(422, ".a")
    put(422, at="/metrics/results/%s/%s")
    put(422, at="/metrics/results/%s/%s?hostname=")
    put(422, at="/metrics/results/%s/%s?hostname=%%ff")
    put(404, at=path.replace("202", "203"))
    put(400, CONTENT_LENGTH="5")
    put(403, headers={"Origin": "https://elsewhere.example"})
    put(411, CONTENT_LENGTH=None)
    put(413, body=b"x" * (16 * 1024 * 1024 + 1))
    for method in ("get", "head"):
        for name, status in (("a.csv", 200), ("a.json", 200), ("a.html", 200),
                             ("b", 404), (".a", 422)):
            reply = api.call(method, "/metrics/results/%s/%s" % (
                command, name), "viewer")
            tap.equal(reply.status, status, "%s of %s: %d" % (
                method, name, status))
        reply = api.call(method, "/metrics/results/" + command, "viewer")
        tap.equal(reply.status, 200, "%s lists the files" % method)


def check_elsewhere():
    for path in ("/", "/nothing", "/metrics/nothing", "/openapi.json/x",
                 "/metrics/profile_request/a/b"):
        for method in ("get", "post"):
            reply = api.call(method, path, "admin")
            tap.equal(reply.status, 404, "%s %s is nowhere" % (method, path))
    for path, item in DOC["paths"].items():
        path = filled(path)
        for method in ("get", "post", "put", "delete", "options"):
            if method not in item:
                reply = api.call(method, path, "admin")
                # /metrics/profile_request and .../ID have one each
                tap.equal(reply.status, 405, "%s %s is not taken" % (
                    method, path))
                tap.equal(sorted(reply.headers["allow"].split(", ")),
                          sorted(m.upper() for m in METHODS if m in item),
                          "and Allow names what is")


# --- the manual --------------------------------------------------------------

def check_manual():
    """conspect-api(7) names all that is described."""
    with open(os.path.join(srcdir, "man/conspect-api.7"),
              encoding="utf-8") as file:
        page = file.read()
    words = set(re.split(r"[\s,/?&=()]+", page))
    names = {name for at, value in walk(COMPONENTS["schemas"])
             if at.endswith("/properties") and "/Description/" not in at
             for name in value}
    names |= {resolve(p)["name"] for _, _, o in operations()
              for p in o.get("parameters", [])} - {"request_id", "file"}
    names |= {word for at, value in walk(COMPONENTS["schemas"])
              if at.endswith("/enum") for word in value if word != "N/A"}
    names |= {status for _, _, o in operations() for status in o["responses"]}
    names |= set(NOWHERE)
    # json_invalid's: ctx.error stands there, input is {}
    tap.equal(sorted(names - words - {"error", "ctx", "input"}), [],
              "the manual names every member, parameter, word and status")
    tap.equal([p for p in DOC["paths"] if p.replace("{request_id}", "ID")
               .replace("{command_id}", "COMMAND_ID").replace("{file}", "FILE")
               not in page], [], "and every path")
    settings = subprocess.run(
        [os.path.join(builddir, "conspectctl"), "--db", api.database,
         "settings"], capture_output=True, text=True, check=True).stdout
    tap.equal([line for line in settings.splitlines() if not re.search(
        r"%s\n[^.]*?\.\n(Default: %s\.)" % tuple(line.split()[:2]), page)],
        [], "and every setting with its default")


# --- bounds ------------------------------------------------------------------

def values(schema):
    """(right values, wrong values) at the bounds of a schema."""
    schema = resolve(schema)
    nullable = False
    if isinstance(schema, dict) and "anyOf" in schema:
        some = [s for s in schema["anyOf"] if s != {"type": "null"}]
        if len(some) < len(schema["anyOf"]):
            nullable, schema = True, resolve(some[0])
    if schema is False:
        return [], [1, None]
    kind = schema.get("type")
    if isinstance(kind, list) and "null" in kind:
        nullable, kind = True, next(k for k in kind if k != "null")
    right, bad = [], []
    if "enum" in schema:
        right, bad = list(schema["enum"]), ["nonsense", "", True]
    elif kind == "integer":
        low, high = schema["minimum"], schema["maximum"]
        right, bad = [low, high], [low - 1, high + 1, low + 0.5, True, "x", []]
    elif kind == "boolean":
        right, bad = [True, False], ["maybe", 2, []]
    elif kind == "string" and schema.get("format") == "uuid":
        right = [SOME_ID, "ABCDEF00-0000-4000-8000-00000000000F"]
        bad = [SOME_ID[1:], SOME_ID + "0", SOME_ID.replace("-", "0"), "", []]
    elif kind == "string" and "maxLength" in schema:
        letter = "0" if wrong("a", {"pattern": schema.get("pattern", "")}) \
            else "a"
        most = schema["maxLength"]
        right = [letter, letter * most]
        bad = [letter * (most + 1), 1, True, []]
        bad += [""] if schema.get("minLength") else []
        bad += ["-" + letter] if wrong(
            "-a", {"pattern": schema.get("pattern", "")}) and \
            "\\u" not in json.dumps(schema.get("pattern", "")) else []
    elif kind == "array" and "maxItems" in schema:
        one = values(schema["items"])
        item = one[0][0] if one[0] else {
            name: values(inner)[0][0] for name, inner in
            resolve(schema["items"])["properties"].items()}
        right = [[], [item] * schema["maxItems"]]
        bad = [[item] * (schema["maxItems"] + 1), {}, "x", 1]
        bad += [[v] for v in one[1]] + [[None]]
    elif kind == "object" and "maxProperties" in schema:
        # the most hosts take a second, and t/store has them
        right = [{"h": v} for v in values(schema["additionalProperties"])[0]]
        bad = [{"h%d" % i: None for i in range(schema["maxProperties"] + 1)},
               [], "x", {"": None}, {"h" * 256: None}, {"h\ni": None}]
        bad += [{"h": v} for v in values(schema["additionalProperties"])[1]]
    (right if nullable else bad).append(None)
    return right, bad


def members(schema, path=()):
    """(path, schema) of the members of a request, of all depths."""
    schema = resolve(schema)
    if isinstance(schema, dict) and "anyOf" in schema:
        schema = resolve(schema["anyOf"][0])
    for key, inner in schema.get("properties", {}).items():
        here = resolve(inner)
        if isinstance(here, dict) and "anyOf" in here and \
                {"type": "null"} in here["anyOf"]:
            here = resolve(here["anyOf"][0])
        if isinstance(here, dict) and here.get("properties"):
            yield from members(here, (*path, key))
        else:
            yield (*path, key), inner


def put(body, path, value):
    body = copy.deepcopy(body)
    inner = body
    for key in path[:-1]:
        inner = inner.setdefault(key, {})
    inner[path[-1]] = value
    return body


# Smallest that is right, to which one member at a time is added.
BASES = {
    "/metrics/profile_request": {"service_name": "bounds",
                                 "request_type": "start",
                                 "target_hosts": {"h": None}},
    "/metrics/heartbeat": {"hostname": "bounds", "service_name": "bounds",
                           "ip_address": "::1"},
    "/metrics/command_completion": {"command_id": SOME_ID, "hostname": "h",
                                    "status": "completed"},
}
# A stop needs processes besides.
STOP = {"request_type": "stop", "target_hosts": {"h": [1]}}


def check_member(path, who, schema, member, inner):
    base = BASES[path]
    right, bad = values(inner)
    odd = []
    for value in right:
        body = put(base, member, value)
        if value == "stop":
            body.update(STOP)
        reply = api.call("post", path, who, body)
        if reply.status != 200 or wrong(body, schema):
            odd.append(("right", value, reply, wrong(body, schema)))
    for value in bad:
        body = put(base, member, value)
        reply = api.call("post", path, who, body)
        locs = [f["loc"] for f in reply.json()["detail"]] \
            if reply.status == 422 else []
        if not any(loc[1:2] == [member[0]] for loc in locs) or \
                not wrong(body, schema):
            odd.append(("wrong", str(value)[:80], reply))
    tap.ok(not odd, "%s of %s: %d values are right, %d are not" % (
        ".".join(member), path, len(right), len(bad)), odd)


def check_bounds():
    for path, base in BASES.items():
        operation = DOC["paths"][path]["post"]
        schema = operation["requestBody"]["content"][JSON]["schema"]
        for member, inner in members(schema):
            check_member(path, RIGHT[operation["x-who"]], schema, member,
                         inner)
        for name in resolve(schema)["required"]:
            body = {k: v for k, v in base.items() if k != name}
            reply = api.call("post", path, RIGHT[operation["x-who"]], body)
            tap.ok(reply.status == 422 and wrong(body, schema),
                   "%s needs %s" % (path, name), reply)
        reply = api.call("post", path, RIGHT[operation["x-who"]],
                         {**base, "unknown": {"a": [1]}})
        tap.equal(reply.status, 200, "%s ignores what it does not know" % path)


def check_together():
    """What members of a request must be to each other."""
    path = "/metrics/profile_request"
    schema = DOC["paths"][path]["post"]["requestBody"]["content"][JSON][
        "schema"]
    stop = {"service_name": "s", "request_type": "stop"}
    for right, more in (
            (True, {"target_hosts": {"h": [1]}}),
            (True, {"target_hosts": {"h": [1]}, "stop_level": "process"}),
            (True, {"target_hosts": {"h": None}, "stop_level": "host"}),
            (True, {"target_hosts": {"h": []}, "stop_level": "host"}),
            (False, {}), (False, {"target_hosts": {}}),
            (False, {"target_hosts": None}),
            (False, {"target_hosts": None, "stop_level": "host"}),
            (False, {"target_hosts": {"h": None}}),
            (False, {"target_hosts": {"h": []}}),
            (False, {"target_hosts": {"h": [1], "i": None}}),
            (False, {"target_hosts": {"h": [1]}, "stop_level": "host"})):
        body = {**stop, **more}
        reply = api.call("post", path, "operator", body)
        tap.equal((reply.status == 200, not wrong(body, schema)),
                  (right, right), "a stop with %s" % more)


def check_parameters():
    for path, method, operation in operations():
        if method != "get":
            continue
        for parameter in map(resolve, operation.get("parameters", [])):
            if parameter["in"] != "query":
                continue
            name, schema = parameter["name"], resolve(parameter["schema"])
            one = resolve(schema.get("items", schema))
            right, bad = [], []
            if "minimum" in one:
                right = [one["minimum"], one.get("maximum", 10 ** 30)]
                bad = [one["minimum"] - 1, "x", "", "1.5"]
                bad += [one["maximum"] + 1] if "maximum" in one else []
            elif one["type"] == "boolean":
                right = ["true", "false", "1", "0", "yes", "no", "on", "off",
                         "t", "f", "y", "n"]
                bad = ["maybe", "", "2"]
            elif "enum" in one:
                right = one["enum"]
                bad = ["nonsense"] if name == "sort" else []
            got = [api.call("get", "%s?%s=%s" % (path, name, v),
                            "viewer").status for v in right + bad]
            tap.equal(got, [200] * len(right) + [422] * len(bad),
                      "%s of %s: %d values are right, %d are not" % (
                          name, path, len(right), len(bad)))


def check_seen():
    tap.equal(api.bad, [], "every reply of ours is as it is described")
    described = {(method, path, status) for path, method, o in operations()
                 for status in o["responses"] if status not in NOT_PROVOKED}
    tap.equal(sorted(described - api.seen), [],
              "every status that is described was seen")
    there = {status for _, path, status in api.seen if path is None}
    tap.equal(there, set(NOWHERE), "and so were 404 and 405")


check_form()
check_names()
check_examples()
check_routes()
check_recorded()
check_served()
check_request_examples()
check_told()
check_persons()
check_health()
check_bodies()
check_gets()
check_results()
check_elsewhere()
check_manual()
check_together()
check_parameters()
check_bounds()
check_seen()
tap.done()
