#include "agentd/wire.h"

#include "core/clock.h"
#include "core/json.h"
#include "core/mem.h"
#include "core/result.h"
#include "core/utf8.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* An interval from the server is held to these. */
#define INTERVAL_MIN 5
#define INTERVAL_MAX 3600

/* The longest text of an address, IPv6 with a zone, and its quotes. */
#define ADDRESS_ROOM 64

static const char ADDRESS_KEY[] = ",\"ip_address\":";

static void
add(struct json_object *to, const char *key, const char *text)
{
	json_object_object_add(
	    to, key, text ? json_object_new_string(text) : NULL);
}

/* Text from a child or a file is not always UTF-8; JSON must be. */
static struct json_object *
loose(const char *text)
{
	char *copy = mem_copy(text);
	struct json_object *value;

	if (copy)
		utf8_repair(copy);
	value = copy ? json_object_new_string(copy) : NULL;
	free(copy);
	return value;
}

static void
add_loose(struct json_object *to, const char *key, const char *text)
{
	json_object_object_add(to, key, loose(text));
}

/* Changes with each boot; "" where the kernel does not tell. */
static void
read_boot_id(char text[UUID_TEXT])
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, UUID_TEXT - 1);

	text[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		close(fd);
}

static void
add_host(struct json_object *to, const struct options *o, struct state *state)
{
	char boot_id[UUID_TEXT];
	struct utsname machine = { 0 };

	read_boot_id(boot_id);
	(void)uname(&machine);
	add_loose(to, "hostname", o->host_name);
	add_loose(to, "service_name", o->service_name);
	add(to, "agent_id", state_agent_id(state));
	add(to, "boot_id", boot_id);
	add(to, "agent_version", PACKAGE_VERSION);
	add_loose(to, "arch", machine.machine);
}

struct json_object *
wire_heartbeat(const struct options *o, struct state *state,
    const struct wire_moment *moment)
{
	struct json_object *to = json_object_new_object();
	struct json_object *received = state_ids(state, false);
	char now[CLOCK_TEXT];

	clock_format(clock_now_ms(), now);
	add_host(to, o, state);
	add(to, "timestamp", now);
	add(to, "status",
	    moment->offline  ? "offline"
	    : moment->active ? "active"
			     : "idle");
	json_object_object_add(to, "last_command_id",
	    json_object_get(json_object_array_get_idx(received, 0)));
	json_object_object_add(to, "received_command_ids", received);
	json_object_object_add(
	    to, "executed_command_ids", state_ids(state, true));
	json_object_object_add(to, "commands", moment->in_hand);
	if (moment->preflight)
		json_object_object_add(
		    to, "preflight", json_object_get(moment->preflight));
	return to;
}

char *
wire_text_with_room(struct json_object *heartbeat, size_t *room)
{
	const char *text = json_text(heartbeat);
	size_t n = strlen(text) - 1; /* without the closing brace */
	char *out = mem_alloc(n + sizeof ADDRESS_KEY + ADDRESS_ROOM + 1, 1);

	memcpy(out, text, n);
	memcpy(out + n, ADDRESS_KEY, sizeof ADDRESS_KEY - 1);
	*room = n + sizeof ADDRESS_KEY - 1;
	wire_set_address(out, *room, "");
	return out;
}

void
wire_set_address(char *text, size_t room, const char *address)
{
	char *at = text + room;
	int n = snprintf(at, ADDRESS_ROOM, "\"%.*s\"}", ADDRESS_ROOM - 4,
	    strpbrk(address, "\"\\") ? "" : address);

	memset(at + n, ' ', ADDRESS_ROOM - (size_t)n);
	at[ADDRESS_ROOM] = '\0';
}

/* As much of them as the server takes (core/result.h). */
static void
add_arguments(struct json_object *to, char *const *arguments)
{
	struct json_object *list = json_object_new_array();
	size_t bytes = 0;

	for (size_t i = 0; i < ARGUMENTS_MAX && arguments[i]; i++) {
		bytes += strlen(arguments[i]);
		if (bytes > ARGUMENTS_BYTES_MAX)
			break;
		json_object_array_add(list, loose(arguments[i]));
	}
	json_object_object_add(to, "arguments", list);
}

char *
wire_report_text(const struct wire_report *r)
{
	struct json_object *to = json_object_new_object();
	char *text;

	add(to, "command_id", r->command_id);
	add_loose(to, "hostname", r->host_name);
	add(to, "status", r->status);
	json_object_object_add(
	    to, "execution_time", json_object_new_int64(r->seconds));
	add_loose(to, "error_message", r->error);
	add_loose(to, "results_path", r->results_path);
	json_object_object_add(to, "exit_status",
	    r->exit_status < 0 ? NULL : json_object_new_int(r->exit_status));
	add_loose(to, "perfspect_version", r->perfspect_version);
	if (r->arguments)
		add_arguments(to, r->arguments);
	if (r->partial)
		json_object_object_add(
		    to, "partial", json_object_new_boolean(true));
	text = mem_copy(json_text(to));
	json_object_put(to);
	return text;
}

/* An address as it stands, or one beginning with / on the server. */
static char *
resolve(const char *api_server, const char *address)
{
	const char *host = strstr(api_server, "://");
	const char *path = host ? strchr(host + 3, '/') : NULL;

	if (address[0] != '/' || address[1] == '/')
		return mem_copy(address);
	return mem_fmt("%.*s%s",
	    (int)(path ? path - api_server : (long)strlen(api_server)),
	    api_server, address);
}

static void
read_perfspect(
    struct json_object *reply, const char *api_server, struct command *c)
{
	struct json_object *perfspect = json_member(reply, "perfspect");
	const char *url = json_member_text(perfspect, "url");

	if (!url)
		return;
	c->perfspect_url = resolve(api_server, url);
	c->perfspect_sha256 = mem_copy(json_member_text(perfspect, "sha256"));
}

static int
read_kind(struct json_object *command, struct command *c, struct reason *why)
{
	const char *type = json_member_text(command, "command_type");

	if (type && strcmp(type, "start") == 0)
		c->kind = COMMAND_START;
	else if (type && strcmp(type, "stop") == 0)
		c->kind = COMMAND_STOP;
	else
		return reason_set(why, "command_type must be start or stop");
	return 0;
}

/* A fault of the command is its report's matter, not the reply's. */
static struct command *
read_command(struct json_object *reply, struct json_object *command,
    const char *id, const char *api_server)
{
	struct command *c = mem_alloc(1, sizeof *c);

	memcpy(c->id, id, UUID_TEXT);
	c->config = json_object_get(json_member(command, "combined_config"));
	if (read_kind(command, c, &c->fault) == 0)
		(void)!session_read(c->config, &c->session, &c->fault);
	read_perfspect(reply, api_server, c);
	return c;
}

static long
read_interval(struct json_object *object)
{
	int64_t n = json_member_int(object, "heartbeat_interval", 0);

	if (n <= 0)
		return 0;
	return (long)(n < INTERVAL_MIN   ? INTERVAL_MIN
		      : n > INTERVAL_MAX ? INTERVAL_MAX
					 : n);
}

/* What the server says of a refusal. */
static const char *
message_of(struct json_object *object)
{
	const char *message = json_member_text(object, "message");

	return message && *message ? message : "no reason given";
}

static int
read_object(const char *text, size_t len, struct json_object **object,
    struct reason *why)
{
	struct json_fault fault;

	if (json_read(text, len, object, &fault))
		return reason_set(why,
		    "the reply is no JSON: %s, at character %zu", fault.why,
		    fault.offset);
	if (json_object_is_type(*object, json_type_object) &&
	    json_object_is_type(
		json_member(*object, "success"), json_type_boolean))
		return 0;
	json_object_put(*object);
	return reason_set(why, "the reply is no JSON object with \"success\"");
}

static int
read_reply_object(struct json_object *object, const char *api_server,
    struct wire_reply *reply, struct reason *why)
{
	struct json_object *command = json_member(object, "profiling_command");
	const char *given = json_member_text(object, "command_id");
	char id[UUID_TEXT];

	if (!json_member_bool(object, "success", false))
		return reason_set(why, "the server refused the heartbeat: %s",
		    message_of(object));
	reply->interval = read_interval(object);
	if (!command)
		return 0;
	if (!given || !uuid_parse(given, id))
		return reason_set(
		    why, "the server sent a command without a usable id");
	reply->command = read_command(object, command, id, api_server);
	return 0;
}

int
wire_read_reply(const char *text, size_t len, const char *api_server,
    struct wire_reply *reply, struct reason *why)
{
	struct json_object *object;
	int result;

	*reply = (struct wire_reply) { 0 };
	if (read_object(text, len, &object, why))
		return -1;
	result = read_reply_object(object, api_server, reply, why);
	json_object_put(object);
	return result;
}

int
wire_read_verdict(const char *text, size_t len, struct reason *why)
{
	struct json_object *object;
	int verdict;

	if (read_object(text, len, &object, why))
		return -1;
	verdict = json_member_bool(object, "success", false) ? WIRE_TAKEN
							     : WIRE_REFUSED;
	if (verdict == WIRE_REFUSED)
		reason_set(why, "%s", message_of(object));
	json_object_put(object);
	return verdict;
}
