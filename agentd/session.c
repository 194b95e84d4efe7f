#include "agentd/session.h"

#include "core/json.h"
#include "core/mem.h"
#include "core/perfspect_args.h"
#include "core/request.h"

#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* 30 days: longer is a mistake in the unit. */
#define DURATION_MAX 2592000
/* Above the kernel's perf_event_max_sample_rate on any host. */
#define FREQUENCY_MAX 100000
#define MAX_PROCESSES_MAX 1000

/* One member of the config. */
struct member {
	const char *key;
	enum { MEMBER_INTEGER, MEMBER_BOOLEAN } kind;
	size_t offset;
	long min, max;
};

static const struct member members[] = {
	{ "duration", MEMBER_INTEGER, offsetof(struct session, duration), 1,
	    DURATION_MAX },
	{ "frequency", MEMBER_INTEGER, offsetof(struct session, frequency), 1,
	    FREQUENCY_MAX },
	{ "max_processes", MEMBER_INTEGER,
	    offsetof(struct session, max_processes), 0, MAX_PROCESSES_MAX },
	{ "continuous", MEMBER_BOOLEAN, offsetof(struct session, continuous),
	    0, 0 },
	{ "enable_perfspect", MEMBER_BOOLEAN,
	    offsetof(struct session, enable_perfspect), 0, 0 },
};

/* Of limits, where the config has it. */
static const struct member limits[] = {
	{ "cpu_percent", MEMBER_INTEGER, offsetof(struct session, cpu_percent),
	    1, LIMIT_CPU_PERCENT_MAX },
	{ "memory_mib", MEMBER_INTEGER, offsetof(struct session, memory_mib),
	    LIMIT_MEMORY_MIB_MIN, LIMIT_MEMORY_MIB_MAX },
};

static const char *const modes[] = { "cpu", "allocation", "none" };

/* An absent or null member leaves the default. */
static int
read_member(struct json_object *config, const struct member *m,
    struct session *s, struct reason *why)
{
	struct json_object *value = json_member(config, m->key);
	char *to = (char *)s + m->offset;
	int64_t n;

	if (!value)
		return 0;
	if (m->kind == MEMBER_BOOLEAN) {
		if (!json_object_is_type(value, json_type_boolean))
			return reason_set(
			    why, "%s must be true or false", m->key);
		*(bool *)(void *)to = json_object_get_boolean(value);
		return 0;
	}
	n = json_object_get_int64(value);
	if (!json_object_is_type(value, json_type_int) || n < m->min ||
	    n > m->max)
		return reason_set(why,
		    "%s must be a whole number from %ld to %ld, not %.60s",
		    m->key, m->min, m->max, json_text(value));
	*(long *)(void *)to = (long)n;
	return 0;
}

static int
read_mode(struct json_object *config, struct session *s, struct reason *why)
{
	struct json_object *value = json_member(config, "profiling_mode");
	const char *text = json_member_text(config, "profiling_mode");

	if (!value)
		return 0;
	for (size_t i = 0; text && i < sizeof modes / sizeof *modes; i++)
		if (strcmp(text, modes[i]) == 0)
			s->mode = modes[i];
	if (s->mode)
		return 0;
	return reason_set(why,
	    "profiling_mode must be cpu, allocation or none, not %.60s",
	    json_text(value));
}

static int
read_pids(struct json_object *config, struct session *s, struct reason *why)
{
	struct json_object *value = json_member(config, "pids");
	size_t n;

	if (!value)
		return 0;
	if (!json_object_is_type(value, json_type_array))
		return reason_set(why, "pids must be a list");
	n = json_object_array_length(value);
	if (n > SESSION_PIDS_MAX)
		return reason_set(why, "pids names %zu processes, %d at most",
		    n, SESSION_PIDS_MAX);
	if (n == 0)
		return 0;
	s->pids = mem_alloc(n, sizeof *s->pids);
	for (; s->n_pids < n; s->n_pids++) {
		struct json_object *pid =
		    json_object_array_get_idx(value, s->n_pids);
		int64_t number = json_object_get_int64(pid);

		if (!json_object_is_type(pid, json_type_int) || number < 1 ||
		    number > INT_MAX)
			return reason_set(why,
			    "pids must be process ids, not %.60s",
			    json_text(pid));
		s->pids[s->n_pids] = (long)number;
	}
	return 0;
}

static int
read_limits(struct json_object *config, struct session *s, struct reason *why)
{
	struct json_object *object = json_member(config, "limits");

	if (!object)
		return 0;
	if (!json_object_is_type(object, json_type_object))
		return reason_set(why, "limits must be an object");
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
		if (read_member(object, &limits[i], s, why))
			return -1;
	return 0;
}

/*
 * The first fault of a list, as one line.  Its place begins with "body",
 * which no command has.
 */
static int
first_fault(struct faults *faults, struct reason *why)
{
	struct json_object *fault = json_object_array_get_idx(faults->list, 0);
	struct json_object *loc = json_member(fault, "loc");
	const char *msg = json_member_text(fault, "msg");
	size_t n = json_object_array_length(loc);

	return reason_set(why, "perfspect_args%s%s: %s", n > 1 ? "." : "",
	    n > 1
		? json_object_get_string(json_object_array_get_idx(loc, n - 1))
		: "",
	    msg);
}

/* The server has checked these; whoever speaks for it may not have. */
static int
read_perfspect(
    struct json_object *config, struct session *s, struct reason *why)
{
	struct place at = { NULL, "perfspect_args", 0 };
	struct faults faults = { 0 };
	int result = 0;
	long least;

	s->perfspect_args = json_member(config, at.key);
	if (s->perfspect_args)
		perfspect_args_check(s->perfspect_args, &at, &faults);
	if (faults.list)
		result = first_fault(&faults, why);
	faults_free(&faults);
	if (result)
		return result;
	least = session_perfspect_least(s);
	if (s->enable_perfspect && s->duration && s->duration < least)
		return reason_set(why,
		    "PerfSpect needs a duration of at least %ld seconds, not "
		    "%ld",
		    least, s->duration);
	return 0;
}

static int
read_rest(struct json_object *config, struct session *s, struct reason *why)
{
	const char *level = json_member_text(config, "stop_level");

	s->is_rest = level && strcmp(level, "process") == 0;
	s->whole_host_stop = !s->is_rest;
	s->profilers = json_member(config, "profiler_configs");
	if (s->profilers &&
	    !json_object_is_type(s->profilers, json_type_object))
		return reason_set(why, "profiler_configs must be an object");
	return read_perfspect(config, s, why);
}

int
session_read(struct json_object *config, struct session *s, struct reason *why)
{
	*s = (struct session) { .max_processes =
				    SESSION_MAX_PROCESSES_DEFAULT };
	if (!json_object_is_type(config, json_type_object))
		return reason_set(why, "combined_config must be an object");
	for (size_t i = 0; i < sizeof members / sizeof *members; i++)
		if (read_member(config, &members[i], s, why))
			return -1;
	if (read_mode(config, s, why) || read_pids(config, s, why) ||
	    read_limits(config, s, why))
		return -1;
	return read_rest(config, s, why);
}

void
session_free(struct session *s)
{
	free(s->pids);
	*s = (struct session) { 0 };
}

static bool
names(const struct session *s, long pid)
{
	for (size_t i = 0; i < s->n_pids; i++)
		if (s->pids[i] == pid)
			return true;
	return false;
}

bool
session_is_part(const struct session *part, const struct session *whole)
{
	for (size_t i = 0; i < part->n_pids; i++)
		if (!names(whole, part->pids[i]))
			return false;
	return true;
}

enum session_cut
session_cut(const struct session *start, const struct session *stop)
{
	if (stop->whole_host_stop)
		return SESSION_ENDED;
	if (start->n_pids == 0)
		return SESSION_UNDIVIDED;
	if (session_is_part(start, stop))
		return SESSION_ENDED;
	for (size_t i = 0; i < start->n_pids; i++)
		if (names(stop, start->pids[i]))
			return SESSION_NARROWED;
	return SESSION_UNTOUCHED;
}

void
session_narrow(struct session *start, const struct session *stop)
{
	size_t kept = 0;

	for (size_t i = 0; i < start->n_pids; i++)
		if (!names(stop, start->pids[i]))
			start->pids[kept++] = start->pids[i];
	start->n_pids = kept;
}

long
session_perfspect_least(const struct session *s)
{
	return (long)perfspect_args_interval(s->perfspect_args);
}
