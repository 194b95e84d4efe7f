/* conspectctl show request|command|host: history for a person */
#include "ctl.h"

#include "core/buf.h"
#include "core/json.h"
#include "store/history.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Commands of a host that are shown, the newest. */
#define HOST_COMMANDS_SHOWN 20

/* --- lines: a label and a value, nothing where there is none ------------- */

/* The bytes of a control character at the start of a text, 0 for another:
 * C0, DEL and, in UTF-8, C1. */
static size_t
control_bytes(const char *text)
{
	const unsigned char *c = (const unsigned char *)text;

	if (c[0] == 0xc2 && c[1] >= 0x80 && c[1] <= 0x9f)
		return 2;
	return c[0] < 0x20 || c[0] == 0x7f;
}

/* What a host sent must not steer the terminal. */
static void
line(const char *label, const char *value)
{
	if (!value)
		return;
	(void)printf("%-18s", label);
	while (*value) {
		size_t n = control_bytes(value);

		(void)putchar(n ? '?' : *value);
		value += n ? n : 1;
	}
	(void)putchar('\n');
}

static void
number(const char *label, int64_t value, const char *unit)
{
	if (value != FIELD_NULL)
		(void)printf("%-18s%" PRId64 "%s\n", label, value, unit);
}

static bool
print_request(void *context, const struct request_record *r)
{
	(void)context;
	line("request", r->request_id);
	line("type", r->request_type);
	line("status", r->status);
	line("service", r->service_name);
	line("hosts", r->target_hostnames);
	line("processes", r->host_pids);
	line("continuous", r->continuous ? "yes" : "no");
	number("duration", r->duration, " s");
	number("frequency", r->frequency, " Hz");
	line("mode", r->profiling_mode);
	line("additional args", r->additional_args);
	line("asked by", r->created_by);
	line("from", r->created_from);
	line("asked at", r->created_at);
	(void)printf("%-18s%" PRId64 ": %" PRId64 " waiting, %" PRId64
		     " under way, %" PRId64 " failed, %" PRId64 " done\n",
	    "commands", r->n_commands, r->n_waiting, r->n_open, r->n_failed,
	    r->n_done);
	return true;
}

static bool
print_command(void *context, const struct command_record *c)
{
	(void)context;
	line("command", c->command_id);
	line("  host", c->hostname);
	line("  service", c->service_name);
	line("  kind", c->kind);
	line("  status", c->status);
	line("  reason", c->reason);
	line("  config", c->combined_config);
	line("  made at", c->created_at);
	line("  expires at", c->accepted_at ? NULL : c->expires_at);
	line("  delivered at", c->sent_at);
	line("  accepted at", c->accepted_at);
	line("  started at", c->started_at);
	line("  ended at", c->ended_at);
	number("  ran for", c->execution_time, " s");
	number("  exit status", c->exit_status, "");
	line("  error", c->error_message);
	line("  results", c->results_path);
	line("  PerfSpect", c->perfspect_version);
	line("  arguments", c->arguments);
	line("  partial",
	    c->partial ? "the results cover less than was asked" : NULL);
	return true;
}

/* A line for each check: its name, and what is not well by its word. */
static void
print_findings(const char *preflight)
{
	struct json_fault fault;
	struct json_object *list;

	if (!preflight ||
	    json_read(preflight, strlen(preflight), &list, &fault))
		return;
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *one = json_object_array_get_idx(list, i);
		const char *outcome = json_member_text(one, "outcome");
		struct buf label = BUF_INIT(200), text = BUF_INIT(2000);

		buf_fmt(&label, "  %s ", json_member_text(one, "check"));
		if (strcmp(outcome, "ok") != 0)
			buf_fmt(&text, "%s: ", outcome);
		buf_str(&text, json_member_text(one, "text"));
		line(buf_text(&label), buf_text(&text));
		buf_free(&label);
		buf_free(&text);
	}
	json_object_put(list);
}

static bool
print_host(void *context, const struct host *h)
{
	(void)context;
	line("host", h->hostname);
	line("  service", h->service_name);
	line("  address", h->ip_address);
	line("  architecture", h->arch);
	line("  agent", h->agent_version);
	line("  last seen", h->last_seen);
	line("  active", h->active ? "yes" : "no");
	line("  conflict",
	    h->conflict ? "two agents report with this name" : NULL);
	number("  clock ahead", h->clock_skew_ms, " ms");
	print_findings(h->preflight);
	return true;
}

/* --- commands ------------------------------------------------------------ */

/* Prints what went wrong with a look-up, if anything did. */
static int
finish(int result, const char *what, const char *name)
{
	if (result == STORE_NOT_FOUND)
		return ctl_fail("there is no %s %s", what, name);
	return result == 0 ? CTL_OK : CTL_FAILED;
}

int
ctl_show_request(struct store *store, const struct ctl_args *args)
{
	char id[UUID_TEXT];
	int result = STORE_NOT_FOUND;

	if (uuid_parse(args->name, id))
		result = request_by_id(store, id, print_request, NULL);
	if (result == 0)
		result = commands_of_request(store, id, print_command, NULL);
	return finish(result, "request", args->name);
}

int
ctl_show_command(struct store *store, const struct ctl_args *args)
{
	char id[UUID_TEXT];
	int result = STORE_NOT_FOUND;

	if (uuid_parse(args->name, id))
		result = command_by_id(store, id, print_command, NULL);
	if (result == 0)
		result = requests_of_command(store, id, print_request, NULL);
	return finish(result, "command", args->name);
}

int
ctl_show_host(struct store *store, const struct ctl_args *args)
{
	int result = host_by_name(store, args->name, print_host, NULL);

	if (result == 0)
		result = commands_of_host(store, args->name,
		    HOST_COMMANDS_SHOWN, print_command, NULL);
	return finish(result, "host", args->name);
}
