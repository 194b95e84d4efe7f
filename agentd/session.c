#include "agentd/session.h"

#include "core/json.h"
#include "core/mem.h"

#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* 30 days: longer is a mistake in the unit. */
#define DURATION_MAX 2592000
/* Above the kernel's perf_event_max_sample_rate on any host. */
#define FREQUENCY_MAX 100000
#define MAX_PROCESSES_MAX 1000
/* A run with PerfSpect is at least one of its intervals long. */
#define PERFSPECT_DURATION_MIN 5

/* One member of the config. */
struct field {
	const char *key;
	enum { FIELD_INTEGER, FIELD_BOOLEAN } kind;
	size_t offset;
	long min, max;
};

static const struct field fields[] = {
	{ "duration", FIELD_INTEGER, offsetof(struct session, duration), 1,
	    DURATION_MAX },
	{ "frequency", FIELD_INTEGER, offsetof(struct session, frequency), 1,
	    FREQUENCY_MAX },
	{ "max_processes", FIELD_INTEGER,
	    offsetof(struct session, max_processes), 0, MAX_PROCESSES_MAX },
	{ "continuous", FIELD_BOOLEAN, offsetof(struct session, continuous), 0,
	    0 },
	{ "enable_perfspect", FIELD_BOOLEAN,
	    offsetof(struct session, enable_perfspect), 0, 0 },
};

static const char *const modes[] = { "cpu", "allocation", "none" };

/* An absent or null member leaves the default. */
static int
read_field(struct json_object *config, const struct field *f,
    struct session *s, struct reason *why)
{
	struct json_object *value = json_member(config, f->key);
	char *to = (char *)s + f->offset;
	int64_t n;

	if (!value)
		return 0;
	if (f->kind == FIELD_BOOLEAN) {
		if (!json_object_is_type(value, json_type_boolean))
			return reason_set(
			    why, "%s must be true or false", f->key);
		*(bool *)(void *)to = json_object_get_boolean(value);
		return 0;
	}
	n = json_object_get_int64(value);
	if (!json_object_is_type(value, json_type_int) || n < f->min ||
	    n > f->max)
		return reason_set(why,
		    "%s must be a whole number from %ld to %ld, not %.60s",
		    f->key, f->min, f->max, json_text(value));
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
read_rest(struct json_object *config, struct session *s, struct reason *why)
{
	const char *level = json_member_text(config, "stop_level");

	s->is_rest = level && strcmp(level, "process") == 0;
	s->whole_host_stop = !s->is_rest;
	s->profilers = json_member(config, "profiler_configs");
	if (s->profilers &&
	    !json_object_is_type(s->profilers, json_type_object))
		return reason_set(why, "profiler_configs must be an object");
	if (s->enable_perfspect && s->duration &&
	    s->duration < PERFSPECT_DURATION_MIN)
		return reason_set(why,
		    "PerfSpect needs a duration of at least %d seconds, not "
		    "%ld",
		    PERFSPECT_DURATION_MIN, s->duration);
	return 0;
}

int
session_read(struct json_object *config, struct session *s, struct reason *why)
{
	*s = (struct session) { .max_processes =
				    SESSION_MAX_PROCESSES_DEFAULT };
	if (!json_object_is_type(config, json_type_object))
		return reason_set(why, "combined_config must be an object");
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
		if (read_field(config, &fields[i], s, why))
			return -1;
	if (read_mode(config, s, why) || read_pids(config, s, why))
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
session_covered(const struct session *running, const struct session *stop)
{
	for (size_t i = 0; i < running->n_pids; i++)
		if (!names(stop, running->pids[i]))
			return false;
	return true;
}
