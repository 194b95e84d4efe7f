#include "core/report.h"

#include "core/mem.h"
#include "core/result.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *const host_status_names[] = { "active", "idle", "offline", NULL };

/* Texts of our agent: a version, an architecture. */
#define AGENT_TEXT_MAX 100

/* --- heartbeat ----------------------------------------------------------- */

static void
check_ids(struct json_object *ids, const struct place *at, void *heartbeat,
    struct faults *faults)
{
	size_t n = json_object_array_length(ids);

	(void)heartbeat;
	if (n > COMMAND_IDS_MAX) {
		fault_add(faults, at, FAULT_VALUE,
		    "%zu command ids: at most %d", n, COMMAND_IDS_MAX);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		struct place here = { at, NULL, i };
		struct json_object *id = json_object_array_get_idx(ids, i);
		char text[UUID_TEXT];

		if (!json_object_is_type(id, json_type_string))
			fault_add(faults, &here, "type_error.str",
			    "str type expected");
		else if (!uuid_parse(json_object_get_string(id), text))
			fault_add(faults, &here, FAULT_VALUE, "not a UUID");
	}
}

static bool
read_progress(struct json_object *entry, struct command_progress *progress)
{
	const char *id = json_member_text(entry, "command_id"),
		   *name = json_member_text(entry, "state");
	int state = name ? command_state_of(name) : -1;

	if (!id || !uuid_parse(id, progress->command_id))
		return false;
	progress->state = (enum command_state)state;
	return state == COMMAND_ACCEPTED || state == COMMAND_INSTALLING ||
	       state == COMMAND_RUNNING;
}

static void
read_commands(struct json_object *list, const struct place *at, void *out,
    struct faults *faults)
{
	struct heartbeat *h = out;
	size_t n = json_object_array_length(list);

	if (n > COMMAND_STATES_MAX) {
		fault_add(faults, at, FAULT_VALUE, "%zu commands: at most %d",
		    n, COMMAND_STATES_MAX);
		return;
	}
	h->progress = mem_alloc(n, sizeof *h->progress);
	for (size_t i = 0; i < n; i++) {
		struct place here = { at, NULL, i };

		if (read_progress(json_object_array_get_idx(list, i),
			&h->progress[h->n_progress]))
			h->n_progress++;
		else
			fault_add(faults, &here, FAULT_VALUE,
			    "needs command_id, a UUID, and state: accepted, "
			    "installing or running");
	}
}

/* --- preflight ----------------------------------------------------------- */

#define CHECK_MAX 32

/* What a check found, the worst last. */
static const char *const preflight_outcomes[] = { "ok", "warning", "problem",
	NULL };

struct preflight {
	const char *check, *text;
	int outcome;
};

static const struct field preflight_fields[] = {
	{ .name = "check",
	    .kind = FIELD_TEXT,
	    .flags = FIELD_REQUIRED,
	    .offset = offsetof(struct preflight, check),
	    .max = CHECK_MAX },
	{ .name = "outcome",
	    .kind = FIELD_WORD,
	    .flags = FIELD_REQUIRED,
	    .offset = offsetof(struct preflight, outcome),
	    .words = preflight_outcomes,
	    .message = "outcome must be ok, warning or problem" },
	{ .name = "text",
	    .kind = FIELD_TEXT,
	    .flags = FIELD_REQUIRED,
	    .offset = offsetof(struct preflight, text),
	    .max = PREFLIGHT_TEXT_MAX },
};

/* Reads one finding, and copies what is known of it. */
static struct json_object *
read_finding(
    struct json_object *entry, const struct place *at, struct faults *faults)
{
	struct place check = { at, "check", 0 };
	struct preflight p = { NULL, NULL, 0 };
	struct json_object *copy;

	if (!json_object_is_type(entry, json_type_object)) {
		fault_add(faults, at, FAULT_DICT, MSG_DICT);
		return NULL;
	}
	fields_read(preflight_fields,
	    sizeof preflight_fields / sizeof *preflight_fields, entry, at, &p,
	    faults);
	if (!p.check || !p.text)
		return NULL;
	if (!*p.check || p.check[strspn(p.check,
			     "abcdefghijklmnopqrstuvwxyz0123456789_")]) {
		fault_add(faults, &check, FAULT_VALUE,
		    "check must be 1 to %d of a-z, 0-9 and _", CHECK_MAX);
		return NULL;
	}
	copy = json_object_new_object();
	json_add_text(copy, "check", p.check);
	json_add_text(copy, "outcome", preflight_outcomes[p.outcome]);
	json_add_text(copy, "text", p.text);
	return copy;
}

static void
read_preflight(struct json_object *list, const struct place *at, void *out,
    struct faults *faults)
{
	struct heartbeat *h = out;
	size_t n = json_object_array_length(list);

	/* what was put there is the body's */
	h->preflight = NULL;
	if (n > PREFLIGHT_MAX) {
		fault_add(faults, at, FAULT_VALUE, "%zu checks: at most %d", n,
		    PREFLIGHT_MAX);
		return;
	}
	h->preflight = json_object_new_array();
	for (size_t i = 0; i < n; i++) {
		struct place here = { at, NULL, i };
		struct json_object *one = read_finding(
		    json_object_array_get_idx(list, i), &here, faults);

		if (one)
			json_object_array_add(h->preflight, one);
	}
}

#define AT(member) offsetof(struct heartbeat, member)
#define AGENT_TEXT(member)                                                    \
	{                                                                     \
		.name = #member, .kind = FIELD_TEXT, .flags = FIELD_NULLABLE, \
		.offset = AT(member), .max = AGENT_TEXT_MAX                   \
	}

static const struct field heartbeat_fields[] = {
	{ .name = "ip_address",
	    .kind = FIELD_TEXT,
	    .flags = FIELD_REQUIRED,
	    .offset = AT(ip_address) },
	{ .name = "hostname",
	    .kind = FIELD_NAME,
	    .flags = FIELD_REQUIRED,
	    .offset = AT(hostname) },
	{ .name = "service_name",
	    .kind = FIELD_NAME,
	    .flags = FIELD_REQUIRED,
	    .offset = AT(service_name) },
	{ .name = "last_command_id",
	    .kind = FIELD_TEXT,
	    .flags = FIELD_NULLABLE,
	    .offset = AT(last_command_id) },
	{ .name = "status",
	    .kind = FIELD_WORD,
	    .offset = AT(status),
	    .words = host_status_names,
	    .message = "status must be active, idle or offline" },
	{ .name = "timestamp",
	    .kind = FIELD_TIME,
	    .flags = FIELD_NULLABLE,
	    .offset = AT(timestamp) },
	{ .name = "received_command_ids",
	    .kind = FIELD_LIST,
	    .flags = FIELD_NULLABLE,
	    .offset = AT(received_command_ids),
	    .check = check_ids },
	{ .name = "executed_command_ids",
	    .kind = FIELD_LIST,
	    .flags = FIELD_NULLABLE,
	    .offset = AT(executed_command_ids),
	    .check = check_ids },
	AGENT_TEXT(agent_id),
	AGENT_TEXT(boot_id),
	AGENT_TEXT(agent_version),
	AGENT_TEXT(arch),
	{ .name = "commands",
	    .kind = FIELD_LIST,
	    .flags = FIELD_NULLABLE,
	    .offset = AT(commands),
	    .check = read_commands },
	{ .name = "preflight",
	    .kind = FIELD_LIST,
	    .flags = FIELD_NULLABLE,
	    .offset = AT(preflight),
	    .check = read_preflight },
};

static void
check_address(const struct heartbeat *h, struct faults *faults)
{
	struct place body = { NULL, "body", 0 },
		     at = { &body, "ip_address", 0 };
	struct in6_addr address;

	if (inet_pton(AF_INET, h->ip_address, &address) != 1 &&
	    inet_pton(AF_INET6, h->ip_address, &address) != 1)
		fault_add(faults, &at, FAULT_VALUE,
		    "must be one IPv4 or IPv6 address");
}

static void
check_last_command(const struct heartbeat *h, struct faults *faults)
{
	struct place body = { NULL, "body", 0 },
		     at = { &body, "last_command_id", 0 };
	char id[UUID_TEXT];

	if (h->last_command_id && !uuid_parse(h->last_command_id, id))
		fault_add(faults, &at, FAULT_VALUE, "not a UUID");
}

bool
heartbeat_read(
    struct json_object *body, struct heartbeat *h, struct faults *faults)
{
	memset(h, 0, sizeof *h);
	h->timestamp = FIELD_NULL;
	if (!body_read(heartbeat_fields,
		sizeof heartbeat_fields / sizeof *heartbeat_fields, body, h,
		faults))
		return false;
	check_address(h, faults);
	check_last_command(h, faults);
	return !faults->list;
}

void
heartbeat_free(struct heartbeat *h)
{
	free(h->progress);
	h->progress = NULL;
	h->n_progress = 0;
	json_object_put(h->preflight);
	h->preflight = NULL;
}

static bool
lists(struct json_object *ids, const char *command_id)
{
	size_t n = ids ? json_object_array_length(ids) : 0;

	/* the newest stand last */
	while (n-- > 0)
		if (strcasecmp(json_object_get_string(
				   json_object_array_get_idx(ids, n)),
			command_id) == 0)
			return true;
	return false;
}

bool
heartbeat_shows(const struct heartbeat *h, const char *command_id)
{
	if (h->last_command_id &&
	    strcasecmp(h->last_command_id, command_id) == 0)
		return true;
	for (size_t i = 0; i < h->n_progress; i++)
		if (strcmp(h->progress[i].command_id, command_id) == 0)
			return true;
	return lists(h->received_command_ids, command_id) ||
	       lists(h->executed_command_ids, command_id);
}

/* --- completion ---------------------------------------------------------- */

#undef AT
#define AT(member) offsetof(struct completion, member)

static void
check_arguments(struct json_object *list, const struct place *at, void *out,
    struct faults *faults)
{
	size_t n = json_object_array_length(list), bytes = 0;

	(void)out;
	if (n > ARGUMENTS_MAX) {
		fault_add(faults, at, FAULT_VALUE, "%zu arguments: at most %d",
		    n, ARGUMENTS_MAX);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		struct place here = { at, NULL, i };
		struct json_object *one = json_object_array_get_idx(list, i);

		if (json_object_is_type(one, json_type_string))
			bytes += (size_t)json_object_get_string_len(one);
		else
			fault_add(faults, &here, "type_error.str",
			    "str type expected");
	}
	if (bytes > ARGUMENTS_BYTES_MAX)
		fault_add(faults, at, FAULT_VALUE,
		    "arguments must not be longer than %d bytes in all",
		    ARGUMENTS_BYTES_MAX);
}

/* A completion's states, in the order of its words. */
static const char *const outcome_words[] = { "completed", "failed", "stopped",
	NULL };
static const enum command_state outcomes[] = { COMMAND_COMPLETED,
	COMMAND_FAILED, COMMAND_STOPPED };

static const struct field completion_fields[] = {
	{ .name = "command_id",
	    .kind = FIELD_TEXT,
	    .flags = FIELD_REQUIRED | FIELD_NUMBER,
	    .offset = AT(command_id_as_sent) },
	{ .name = "hostname",
	    .kind = FIELD_NAME,
	    .flags = FIELD_REQUIRED,
	    .offset = AT(hostname) },
	{ .name = "status",
	    .kind = FIELD_WORD,
	    .flags = FIELD_REQUIRED,
	    .offset = AT(state),
	    .words = outcome_words,
	    .message = "invalid status: %s. Must be 'completed' or "
		       "'failed'." },
	{ .name = "execution_time",
	    .kind = FIELD_INTEGER,
	    .flags = FIELD_NULLABLE,
	    .offset = AT(execution_time),
	    .min = 0,
	    .max = EXECUTION_TIME_MAX },
	{ .name = "error_message",
	    .kind = FIELD_TEXT,
	    .flags = FIELD_NULLABLE,
	    .offset = AT(error_message),
	    .max = ERROR_MESSAGE_MAX },
	{ .name = "results_path",
	    .kind = FIELD_TEXT,
	    .flags = FIELD_NULLABLE,
	    .offset = AT(results_path),
	    .max = PATH_BYTES_MAX },
	{ .name = "exit_status",
	    .kind = FIELD_INTEGER,
	    .flags = FIELD_NULLABLE,
	    .offset = AT(exit_status),
	    .min = 0,
	    .max = 255 },
	{ .name = "perfspect_version",
	    .kind = FIELD_TEXT,
	    .flags = FIELD_NULLABLE,
	    .offset = AT(perfspect_version),
	    .max = AGENT_TEXT_MAX },
	{ .name = "arguments",
	    .kind = FIELD_LIST,
	    .flags = FIELD_NULLABLE,
	    .offset = AT(arguments),
	    .check = check_arguments },
	{ .name = "partial",
	    .kind = FIELD_BOOLEAN,
	    .flags = FIELD_NULLABLE,
	    .offset = AT(partial) },
};

bool
completion_read(
    struct json_object *body, struct completion *c, struct faults *faults)
{
	struct place at = { NULL, "body", 0 }, id = { &at, "command_id", 0 };

	memset(c, 0, sizeof *c);
	c->execution_time = c->exit_status = FIELD_NULL;
	if (!body_read(completion_fields,
		sizeof completion_fields / sizeof *completion_fields, body, c,
		faults))
		return false;
	c->state = outcomes[c->state];
	if (!uuid_parse(c->command_id_as_sent, c->command_id))
		fault_add(faults, &id, FAULT_VALUE, "not a UUID");
	return !faults->list;
}
