/* GET /metrics/profiling/host_status: the hosts and their newest command. */
#include "web/api.h"

#include "core/mem.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* What the original shows for a host without a command. */
#define NO_COMMAND "N/A"
#define NO_STATUS "stopped"

/* What the original's clients write for any text; a % in a longer filter is
 * itself. */
#define ANY "%"

struct listing {
	const struct params *query;
	bool exact;  /* exact_match */
	bool detail; /* more members than the original's */
	int64_t limit, offset;
	const char *sort; /* a member's name, NULL: newest first */
	bool descending;
	struct json_object **rows; /* owned, and what they point to */
	size_t n_rows;
};

/* --- filters ------------------------------------------------------------- */

enum filter_kind {
	FILTER_TEXT, /* holds the text, or with exact_match is it */
	FILTER_WORD, /* is the word, in upper or lower case */
};

static bool
contains(const char *text, const char *part)
{
	size_t n = strlen(part);

	for (; *text; text++)
		if (strncasecmp(text, part, n) == 0)
			return true;
	return n == 0;
}

static bool
fits_one(const struct listing *l, enum filter_kind kind, const char *value,
    const char *filter)
{
	if (kind == FILTER_WORD)
		return strcasecmp(value, filter) == 0;
	if (l->exact)
		return strcmp(value, filter) == 0;
	return strcmp(filter, ANY) == 0 || contains(value, filter);
}

/* Whether any value of the filter fits; so does a filter that is not there. */
static bool
fits(const struct listing *l, const char *name, enum filter_kind kind,
    const char *value)
{
	bool given = false;

	for (size_t i = 0; i < l->query->n; i++) {
		const struct param *p = &l->query->list[i];

		if (strcmp(p->name, name) != 0)
			continue;
		if (fits_one(l, kind, value, p->value))
			return true;
		given = true;
	}
	return !given;
}

static bool
holds_pid(struct json_object *pids, int64_t pid)
{
	for (size_t i = 0; i < json_object_array_length(pids); i++)
		if (json_object_get_int64(
			json_object_array_get_idx(pids, i)) == pid)
			return true;
	return false;
}

static bool
fits_pids(const struct listing *l, struct json_object *pids)
{
	bool given = false;

	for (size_t i = 0; i < l->query->n; i++) {
		const struct param *p = &l->query->list[i];
		int64_t pid;

		if (strcmp(p->name, "pids") != 0)
			continue;
		(void)field_integer_text(p->value, &pid);
		if (holds_pid(pids, pid))
			return true;
		given = true;
	}
	return !given;
}

/* --- rows ---------------------------------------------------------------- */

/* The members, in the original's order; ours, with detail=true, follow. */
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
add_detail(struct json_object *row, const struct host *host)
{
	json_add_bool(row, "active", host->active);
	json_add_bool(row, "conflict", host->conflict);
	json_add_text(row, "last_seen", host->last_seen);
	json_add_int(row, "clock_skew_ms", host->clock_skew_ms);
	json_add_text(row, "arch", host->arch);
	json_add_text(row, "agent_version", host->agent_version);
	json_add_json(row, "preflight", host->preflight);
	json_add_text(row, "command_id", host->command_id);
	json_add_text(row, "command_status", host->command_status);
	json_add_text(row, "reason", host->reason);
	json_add_int(row, "execution_time", host->execution_time);
	json_add_text(row, "perfspect_version", host->perfspect_version);
}

static void
add_row(struct listing *l, const struct host *host, const char *type,
    struct json_object *pids)
{
	struct json_object *row = json_object_new_object();

	json_add_int(row, "id", host->id);
	json_add_text(row, "service_name", host->service_name);
	json_add_text(row, "hostname", host->hostname);
	json_add_text(row, "ip_address", host->ip_address);
	json_object_object_add(row, "pids", json_object_get(pids));
	json_add_text(row, "command_type", type);
	json_add_text(row, "profiling_status", status_of(host));
	json_add_text(row, "heartbeat_timestamp", host->heartbeat_timestamp);
	if (l->detail)
		add_detail(row, host);
	l->rows = mem_grow(l->rows, l->n_rows + 1, sizeof *l->rows);
	l->rows[l->n_rows++] = row;
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
	    fits(l, "command_type", FILTER_WORD, type) &&
	    fits(l, "activity", FILTER_WORD,
		host->active ? "active" : "silent") &&
	    fits_pids(l, pids))
		add_row(l, host, type, pids);
	json_object_put(pids);
	return true;
}

/* --- parameters ---------------------------------------------------------- */

/* What rows may be sorted by: texts. */
static const char *const sorts[] = { "service_name", "hostname", "ip_address",
	"command_type", "profiling_status", "heartbeat_timestamp", NULL };

static void
read_pid(const char *value, size_t nth, const struct place *query,
    struct faults *faults)
{
	struct place pids = { query, "pids", 0 }, here = { &pids, NULL, nth };
	int64_t pid;

	if (!field_integer_text(value, &pid))
		fault_add(faults, &here, FAULT_INTEGER, MSG_INTEGER);
	else if (pid < 1 || pid > PID_MAX)
		fault_add(faults, &here, FAULT_VALUE,
		    "out of range: must be from 1 to %d", PID_MAX);
}

static void
read_sort(struct listing *l, const char *value, const struct place *query,
    struct faults *faults)
{
	struct place at = { query, "sort", 0 };

	l->sort = NULL;
	l->descending = *value == '-';
	for (size_t i = 0; sorts[i]; i++)
		if (strcmp(value + l->descending, sorts[i]) == 0)
			l->sort = sorts[i];
	if (!l->sort)
		fault_add(faults, &at, FAULT_VALUE,
		    "must be service_name, hostname, ip_address, "
		    "command_type, profiling_status or heartbeat_timestamp, "
		    "with - before it for the other direction");
}

static void
read_parameters(struct listing *l, struct faults *faults)
{
	struct place query = { NULL, "query", 0 };
	size_t n_pids = 0;

	for (size_t i = 0; i < l->query->n; i++) {
		const struct param *p = &l->query->list[i];

		if (strcmp(p->name, "pids") == 0)
			read_pid(p->value, n_pids++, &query, faults);
		else if (strcmp(p->name, "sort") == 0)
			read_sort(l, p->value, &query, faults);
	}
	api_query_bool(l->query, "exact_match", &l->exact, faults);
	api_query_bool(l->query, "detail", &l->detail, faults);
	api_query_page(l->query, &l->limit, &l->offset, faults);
}

/* --- the reply ----------------------------------------------------------- */

static int
compare_rows(const void *a, const void *b, void *context)
{
	const struct listing *l = context;
	struct json_object *x = *(struct json_object *const *)a,
			   *y = *(struct json_object *const *)b;
	int by = strcasecmp(
	    json_member_text(x, l->sort), json_member_text(y, l->sort));

	if (by == 0)
		by = json_member_int(x, "id", 0) < json_member_int(y, "id", 0)
			 ? -1
			 : 1;
	return l->descending ? -by : by;
}

/* The rows from offset on, limit at most, as an array. */
static struct json_object *
page_of(struct listing *l)
{
	struct json_object *page = json_object_new_array();

	if (l->sort && l->n_rows > 0)
		qsort_r(l->rows, l->n_rows, sizeof *l->rows, compare_rows, l);
	for (size_t i = 0; i < l->n_rows; i++) {
		int64_t place = (int64_t)i;

		if (place >= l->offset && place - l->offset < l->limit)
			json_object_array_add(page, l->rows[i]);
		else
			json_object_put(l->rows[i]);
	}
	free(l->rows);
	return page;
}

static void
list_hosts(
    struct web_request *request, struct web_reply *reply, struct listing *l)
{
	struct faults faults = { NULL };
	int64_t total;
	int result;

	read_parameters(l, &faults);
	if (faults.list) {
		api_reply_faults(reply, &faults);
		return;
	}
	result = host_each(request->store, HOSTS_NEWEST_FIRST, add_host, l);
	total = (int64_t)l->n_rows;
	reply_json(reply, 200, page_of(l));
	reply_header(reply, "X-Total-Count", "%lld", (long long)total);
	if (result != 0)
		reply_store_failure(request, reply);
}

void
api_host_status(struct web_request *request, struct web_reply *reply)
{
	struct params query;
	struct listing listing = { .query = &query, .limit = INT64_MAX };

	if (api_read_query(request, reply, &query))
		list_hosts(request, reply, &listing);
	params_free(&query);
}
