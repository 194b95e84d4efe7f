#include "core/request.h"

#include "core/mem.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *const request_type_names[] = { "start", "stop", NULL };
const char *const profiling_mode_names[] = { "cpu", "allocation", "none",
	NULL };
const char *const stop_level_names[] = { "process", "host", NULL };

/* The original's defaults: seconds and Hz. */
#define DURATION_DEFAULT 60
#define FREQUENCY_DEFAULT 11

static int
compare_pids(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

static void
sort_pids(struct target *target)
{
	size_t kept = 0;

	if (target->n_pids == 0)
		return;
	qsort(
	    target->pids, target->n_pids, sizeof *target->pids, compare_pids);
	for (size_t i = 0; i < target->n_pids; i++)
		if (kept == 0 || target->pids[i] != target->pids[kept - 1])
			target->pids[kept++] = target->pids[i];
	target->n_pids = kept;
}

static void
read_pids(struct json_object *list, const struct place *at,
    struct target *target, struct faults *faults)
{
	size_t n;

	if (!list)
		return;
	if (!json_object_is_type(list, json_type_array)) {
		fault_add(faults, at, FAULT_LIST, MSG_LIST);
		return;
	}
	n = json_object_array_length(list);
	if (n > REQUEST_PIDS_MAX) {
		fault_add(faults, at, FAULT_VALUE, "more than %d process ids",
		    REQUEST_PIDS_MAX);
		return;
	}
	target->pids = mem_alloc(n, sizeof *target->pids);
	for (size_t i = 0; i < n; i++) {
		struct place here = { at, NULL, i };
		int64_t pid = 0;

		if (field_integer(json_object_array_get_idx(list, i), 1,
			PID_MAX, &here, &pid, faults))
			target->pids[target->n_pids++] = (int)pid;
	}
	sort_pids(target);
}

static int
compare_hostnames(const void *a, const void *b)
{
	return strcasecmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names compare without regard to case, so {"db1": .., "DB1": ..} is one
 * host asked for twice. */
static void
refuse_twins(const struct profiling_request *r, const struct place *at,
    struct faults *faults)
{
	const char **names = mem_alloc(r->n_targets, sizeof *names);

	for (size_t i = 0; i < r->n_targets; i++)
		names[i] = r->targets[i].hostname;
	qsort(names, r->n_targets, sizeof *names, compare_hostnames);
	for (size_t i = 1; i < r->n_targets; i++)
		if (strcasecmp(names[i - 1], names[i]) == 0) {
			struct place here = { at, names[i], 0 };

			fault_add(faults, &here, FAULT_VALUE,
			    "names the same host as \"%s\": host names "
			    "compare without regard to case",
			    names[i - 1]);
		}
	free(names);
}

static void
read_targets(struct json_object *hosts, const struct place *at, void *request,
    struct faults *faults)
{
	struct profiling_request *r = request;
	struct json_object_iter it;
	size_t n = (size_t)json_object_object_length(hosts);

	if (n > REQUEST_HOSTS_MAX) {
		fault_add(faults, at, FAULT_VALUE,
		    "%zu hosts: at most %d in one request", n,
		    REQUEST_HOSTS_MAX);
		return;
	}
	r->targets = mem_alloc(n, sizeof *r->targets);
	json_object_object_foreachC(hosts, it)
	{
		struct place here = { at, it.key, 0 };
		struct target *target = &r->targets[r->n_targets++];

		target->hostname = it.key;
		(void)field_name(
		    it.key, strlen(it.key), "a host name", &here, faults);
		read_pids(it.val, &here, target, faults);
	}
	refuse_twins(r, at, faults);
}

static void
check_args(struct json_object *args, const struct place *at, void *request,
    struct faults *faults)
{
	(void)request;
	additional_args_check(args, at, faults);
}

/* What the members must be together; only asked when each is right. */
static void
check_stop(const struct profiling_request *r, const struct place *body,
    struct faults *faults)
{
	struct place root = { body, "__root__", 0 };
	size_t with_pids = 0;

	for (size_t i = 0; i < r->n_targets; i++)
		with_pids += r->targets[i].n_pids > 0;
	if (r->stop_level == STOP_HOST && with_pids > 0)
		fault_add(faults, &root, FAULT_VALUE,
		    "No PIDs should be provided when request_type is "
		    "\"stop\" and stop_level is \"host\"");
	else if (r->stop_level == STOP_PROCESS && with_pids == 0)
		fault_add(faults, &root, FAULT_VALUE,
		    "At least one PID must be provided when request_type is "
		    "\"stop\" and stop_level is \"process\"");
	else if (r->n_targets == 0)
		fault_add(
		    faults, &root, FAULT_VALUE, "a stop needs target_hosts");
	else if (r->stop_level == STOP_PROCESS && with_pids < r->n_targets)
		fault_add(faults, &root, FAULT_VALUE,
		    "a process-level stop needs pids for every host that "
		    "it names");
}

static void
check_start(const struct profiling_request *r, const struct place *body,
    struct faults *faults)
{
	struct place at = { body, "duration", 0 };
	int64_t interval = perfspect_interval(r->additional_args);

	if (perfspect_enabled(r->additional_args) &&
	    r->duration != FIELD_NULL && r->duration < interval)
		fault_add(faults, &at, FAULT_VALUE,
		    "PerfSpect needs a duration of at least its interval, "
		    "%lld s",
		    (long long)interval);
}

void
request_init(struct profiling_request *r)
{
	memset(r, 0, sizeof *r);
	r->duration = DURATION_DEFAULT;
	r->frequency = FREQUENCY_DEFAULT;
	r->stop_level = STOP_PROCESS;
	r->expires_in = FIELD_NULL;
}

#define AT(member) offsetof(struct profiling_request, member)

static const struct field request_fields[] = {
	{ .name = "service_name",
	    .kind = FIELD_NAME,
	    .flags = FIELD_REQUIRED,
	    .offset = AT(service_name) },
	{ .name = "request_type",
	    .kind = FIELD_WORD,
	    .flags = FIELD_REQUIRED,
	    .offset = AT(type),
	    .words = request_type_names,
	    .message = "request_type must be \"start\" or \"stop\"" },
	{ .name = "continuous",
	    .kind = FIELD_BOOLEAN,
	    .flags = FIELD_NULLABLE,
	    .offset = AT(continuous) },
	{ .name = "duration",
	    .kind = FIELD_INTEGER,
	    .flags = FIELD_NULLABLE,
	    .offset = AT(duration),
	    .min = 1,
	    .max = FIELD_INT32_MAX,
	    .message = "Duration must be a positive integer (seconds)" },
	{ .name = "frequency",
	    .kind = FIELD_INTEGER,
	    .flags = FIELD_NULLABLE,
	    .offset = AT(frequency),
	    .min = 1,
	    .max = FIELD_INT32_MAX,
	    .message = "Frequency must be a positive integer (Hz)" },
	{ .name = "profiling_mode",
	    .kind = FIELD_WORD,
	    .flags = FIELD_LOOSE,
	    .offset = AT(mode),
	    .words = profiling_mode_names,
	    .message = "profiling_mode must be \"cpu\", \"allocation\", "
		       "or \"none\"" },
	{ .name = "target_hosts",
	    .kind = FIELD_OBJECT,
	    .flags = FIELD_NULLABLE,
	    .offset = AT(target_hosts),
	    .check = read_targets },
	{ .name = "stop_level",
	    .kind = FIELD_WORD,
	    .flags = FIELD_LOOSE,
	    .offset = AT(stop_level),
	    .words = stop_level_names,
	    .message = "stop_level must be \"process\" or \"host\"" },
	{ .name = "additional_args",
	    .kind = FIELD_OBJECT,
	    .flags = FIELD_NULLABLE,
	    .offset = AT(additional_args),
	    .check = check_args },
	{ .name = "expires_in",
	    .kind = FIELD_INTEGER,
	    .flags = FIELD_NULLABLE,
	    .offset = AT(expires_in),
	    .min = 1,
	    .max = EXPIRES_IN_MAX },
};

bool
request_read(struct json_object *body, struct profiling_request *r,
    struct faults *faults)
{
	struct place at = { NULL, "body", 0 };

	request_init(r);
	if (!body_read(request_fields,
		sizeof request_fields / sizeof *request_fields, body, r,
		faults))
		return false;
	if (r->type == REQUEST_STOP)
		check_stop(r, &at, faults);
	else
		check_start(r, &at, faults);
	return !faults->list;
}

void
request_free(struct profiling_request *r)
{
	for (size_t i = 0; i < r->n_targets; i++)
		free(r->targets[i].pids);
	free(r->targets);
	r->targets = NULL;
	r->n_targets = 0;
}
