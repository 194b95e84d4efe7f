/* GET /metrics/profiling/host_status: the hosts and their newest command. */
#include "web/api.h"

#include <string.h>
#include <strings.h>

/* What the original shows for a host without a command. */
#define NO_COMMAND "N/A"
#define NO_STATUS "stopped"

struct listing {
	const struct params *filters;
	bool exact;
	struct json_object *hosts;
};

/* --- filters ----------------------------------------------------------------
 */

enum filter_kind {
	FILTER_TEXT, /* holds the text, or with exact_match is it */
	FILTER_WORD, /* is the word, in upper or lower case */
};

/* A lone "%" is what the original's clients write for any text; a part is
 * literal otherwise. */
static bool
contains(const char *text, const char *part)
{
	size_t n = strlen(part);

	if (strcmp(part, "%") == 0)
		return true;
	for (; *text; text++)
		if (strncasecmp(text, part, n) == 0)
			return true;
	return n == 0;
}

/* Whether any value of the filter fits; so does a filter that is not there. */
static bool
fits(const struct listing *l, const char *name, enum filter_kind kind,
    const char *value)
{
	bool given = false;

	for (size_t i = 0; i < l->filters->n; i++) {
		const struct param *p = &l->filters->list[i];

		if (strcmp(p->name, name) != 0)
			continue;
		given = true;
		if (kind == FILTER_WORD ? strcasecmp(value, p->value) == 0
		    : l->exact          ? strcmp(value, p->value) == 0
					: contains(value, p->value))
			return true;
	}
	return !given;
}

static bool
fits_pids(const struct listing *l, struct json_object *pids)
{
	bool given = false;

	for (size_t i = 0; i < l->filters->n; i++) {
		const struct param *p = &l->filters->list[i];
		int64_t pid;

		if (strcmp(p->name, "pids") != 0)
			continue;
		given = true;
		(void)field_integer_text(p->value, &pid);
		for (size_t j = 0; j < json_object_array_length(pids); j++)
			if (json_object_get_int64(
				json_object_array_get_idx(pids, j)) == pid)
				return true;
	}
	return !given;
}

/* Checks the filters that are not texts. */
static void
check_filters(struct listing *l, struct faults *faults)
{
	struct place query = { NULL, "query", 0 },
		     pids = { &query, "pids", 0 },
		     exact = { &query, "exact_match", 0 };
	size_t n_pids = 0;

	for (size_t i = 0; i < l->filters->n; i++) {
		const struct param *p = &l->filters->list[i];
		struct place here = { &pids, NULL, n_pids };
		int64_t pid;

		if (strcmp(p->name, "pids") == 0) {
			n_pids++;
			if (!field_integer_text(p->value, &pid))
				fault_add(
				    faults, &here, FAULT_INTEGER, MSG_INTEGER);
			else if (pid < 1 || pid > PID_MAX)
				fault_add(faults, &here, FAULT_VALUE,
				    "out of range: must be from 1 to %d",
				    PID_MAX);
		} else if (strcmp(p->name, "exact_match") == 0 &&
			   !field_boolean_text(p->value, &l->exact)) {
			fault_add(faults, &exact, FAULT_BOOLEAN, MSG_BOOLEAN);
		}
	}
}

/* --- rows -------------------------------------------------------------------
 */

static struct json_object *
pids_of(const struct host *host)
{
	struct json_object *config =
	    host->combined_config ? json_tokener_parse(host->combined_config)
				  : NULL;
	struct json_object *pids =
	    json_object_get(json_member(config, "pids"));

	json_object_put(config);
	return pids ? pids : json_object_new_array();
}

/* A stop that was carried out leaves the host stopped. */
static const char *
status_of(const struct host *host)
{
	if (!host->command_id)
		return NO_STATUS;
	if (strcmp(host->command_type, "stop") == 0 &&
	    strcmp(host->command_status,
		command_state_names[COMMAND_COMPLETED]) == 0)
		return NO_STATUS;
	return host->command_status;
}

static void
add_row(struct listing *l, const struct host *host, const char *type,
    struct json_object *pids)
{
	struct json_object *row = json_object_new_object();
	const struct {
		const char *key, *value;
	} texts[] = { { "service_name", host->service_name },
		{ "hostname", host->hostname },
		{ "ip_address", host->ip_address }, { NULL, NULL },
		{ "command_type", type },
		{ "profiling_status", status_of(host) },
		{ "heartbeat_timestamp", host->heartbeat_timestamp } };

	json_object_object_add(row, "id", json_object_new_int64(host->id));
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (texts[i].key)
			json_object_object_add(row, texts[i].key,
			    json_object_new_string(texts[i].value));
		else
			json_object_object_add(
			    row, "pids", json_object_get(pids));
	json_object_array_add(l->hosts, row);
}

static bool
add_host(void *context, const struct host *host)
{
	struct listing *l = context;
	const char *type =
	    host->command_type ? host->command_type : NO_COMMAND;
	struct json_object *pids = pids_of(host);

	if (fits(l, "service_name", FILTER_TEXT, host->service_name) &&
	    fits(l, "hostname", FILTER_TEXT, host->hostname) &&
	    fits(l, "ip_address", FILTER_TEXT, host->ip_address) &&
	    fits(l, "profiling_status", FILTER_WORD, status_of(host)) &&
	    fits(l, "command_type", FILTER_WORD, type) && fits_pids(l, pids))
		add_row(l, host, type, pids);
	json_object_put(pids);
	return true;
}

static void
list_hosts(
    struct web_request *request, struct web_reply *reply, struct listing *l)
{
	struct faults faults = { NULL };

	check_filters(l, &faults);
	if (faults.list) {
		api_reply_faults(reply, &faults);
		return;
	}
	l->hosts = json_object_new_array();
	if (host_each(request->store, HOSTS_NEWEST_FIRST, add_host, l) == 0) {
		reply_json(reply, 200, l->hosts);
		return;
	}
	json_object_put(l->hosts);
	reply_store_failure(request, reply);
}

void
api_host_status(struct web_request *request, struct web_reply *reply)
{
	struct params query;
	struct listing listing = { &query, false, NULL };
	struct reason why;

	if (params_read(
		&query, request->query, strlen(request->query), &why) == 0)
		list_hosts(request, reply, &listing);
	else
		reply_error(request, reply, 422, why.text);
	params_free(&query);
}
