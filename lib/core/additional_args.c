/*
 * additional_args of a request: what a user may pass on to the agent.
 *
 * The agent runs PerfSpect as root, so a PerfSpect flag that names a file,
 * opens a port, reaches another machine or runs a program (`--`) is not in
 * the table below and therefore refused.
 */
#include "core/request.h"

#include <string.h>

/* What combined_config gets from the request's own members. */
static const char *const reserved[] = { "command_type", "continuous",
	"duration", "frequency", "profiling_mode", "pids", "stop_level" };

/* gProfiler's bound on processes for runtime profilers; 0: no limit. */
#define MAX_PROCESSES_MAX 1000

/* Longest text value of a PerfSpect flag. */
#define PERFSPECT_TEXT_MAX 4096

/* PerfSpect's own default, seconds between two samples. */
#define PERFSPECT_INTERVAL 5

enum flag_kind { FLAG_INTEGER, FLAG_BOOLEAN, FLAG_TEXT, FLAG_WORD };

static const char *const scopes[] = { "system", "process", "cgroup", NULL };
static const char *const granularities[] = { "system", "socket", "cpu", NULL };

static const struct flag {
	const char *name;
	enum flag_kind kind;
	int64_t min, max;
	const char *const *words;
	const char *alphabet; /* FLAG_TEXT: only these, NULL: any but NUL */
} perfspect_flags[] = {
	{ "scope", FLAG_WORD, 0, 0, scopes, NULL },
	{ "pids", FLAG_TEXT, 0, 0, NULL, "0123456789," },
	{ "cids", FLAG_TEXT, 0, 0, NULL,
	    "0123456789abcdefABCDEF,/._-:"
	    "ghijklmnopqrstuvwxyzGHIJKLMNOPQRSTUVWXYZ" },
	{ "filter", FLAG_TEXT, 0, 0, NULL, NULL },
	{ "count", FLAG_INTEGER, 1, 1000, NULL, NULL },
	{ "refresh", FLAG_INTEGER, 1, 86400, NULL, NULL },
	{ "cpus", FLAG_TEXT, 0, 0, NULL, "0123456789,-" },
	{ "granularity", FLAG_WORD, 0, 0, granularities, NULL },
	{ "metrics", FLAG_TEXT, 0, 0, NULL, NULL },
	{ "interval", FLAG_INTEGER, 1, 3600, NULL, NULL },
	{ "muxinterval", FLAG_INTEGER, 1, 10000, NULL, NULL },
	{ "txnrate", FLAG_INTEGER, 1, 1000000000, NULL, NULL },
	{ "noroot", FLAG_BOOLEAN, 0, 0, NULL, NULL },
};

static bool
is_reserved(const char *key)
{
	for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
		if (strcmp(reserved[i], key) == 0)
			return true;
	return false;
}

static const struct flag *
find_flag(const char *name)
{
	for (size_t i = 0;
	     i < sizeof perfspect_flags / sizeof *perfspect_flags; i++)
		if (strcmp(perfspect_flags[i].name, name) == 0)
			return &perfspect_flags[i];
	return NULL;
}

static bool
is_word(const char *const *words, const char *text)
{
	for (; *words; words++)
		if (strcmp(*words, text) == 0)
			return true;
	return false;
}

/* A text must not begin with '-', or PerfSpect would read it as a flag. */
static void
check_text_flag(const struct flag *flag, struct json_object *value,
    const struct place *at, struct faults *faults)
{
	const char *text;
	size_t len;

	if (!json_object_is_type(value, json_type_string)) {
		fault_add(faults, at, "type_error.str", "str type expected");
		return;
	}
	text = json_object_get_string(value);
	len = (size_t)json_object_get_string_len(value);
	if (len == 0 || len > PERFSPECT_TEXT_MAX || strlen(text) != len)
		fault_add(faults, at, FAULT_VALUE,
		    "must be a text of 1 to %d bytes", PERFSPECT_TEXT_MAX);
	else if (*text == '-')
		fault_add(faults, at, FAULT_VALUE, "must not begin with '-'");
	else if (flag->words && !is_word(flag->words, text))
		fault_add(faults, at, FAULT_VALUE,
		    "\"%s\" is not a value of --%s", text, flag->name);
	else if (flag->alphabet && text[strspn(text, flag->alphabet)])
		fault_add(faults, at, FAULT_VALUE,
		    "\"%s\" is not a value of --%s", text, flag->name);
}

static void
check_flag(const struct flag *flag, struct json_object *value,
    const struct place *at, struct faults *faults)
{
	int64_t number;

	if (flag->kind == FLAG_INTEGER)
		(void)field_integer(
		    value, flag->min, flag->max, at, &number, faults);
	else if (flag->kind != FLAG_BOOLEAN)
		check_text_flag(flag, value, at, faults);
	else if (!json_object_is_type(value, json_type_boolean))
		fault_add(faults, at, FAULT_BOOLEAN, MSG_BOOLEAN);
}

static void
check_perfspect_args(
    struct json_object *args, const struct place *at, struct faults *faults)
{
	struct json_object_iter it;

	if (!json_object_is_type(args, json_type_object)) {
		fault_add(faults, at, FAULT_DICT, MSG_DICT);
		return;
	}
	json_object_object_foreachC(args, it)
	{
		struct place here = { at, it.key, 0 };
		const struct flag *flag = find_flag(it.key);

		if (flag)
			check_flag(flag, it.val, &here, faults);
		else
			fault_add(faults, &here, FAULT_VALUE,
			    "this PerfSpect flag may not be set by a "
			    "request: allowed are scope, pids, cids, filter, "
			    "count, refresh, cpus, granularity, metrics, "
			    "interval, muxinterval, txnrate, noroot");
	}
}

static void
check_enable_perfspect(
    struct json_object *value, const struct place *at, struct faults *faults)
{
	if (!json_object_is_type(value, json_type_boolean))
		fault_add(faults, at, FAULT_BOOLEAN,
		    "enable_perfspect must be true or false");
}

static void
check_max_processes(
    struct json_object *value, const struct place *at, struct faults *faults)
{
	int64_t number;

	(void)field_integer(value, 0, MAX_PROCESSES_MAX, at, &number, faults);
}

/* gProfiler's profilers, each with a word for its mode; the agent maps what
 * it knows, so that a newer gProfiler's profilers pass. */
static void
check_profiler_configs(
    struct json_object *configs, const struct place *at, struct faults *faults)
{
	struct json_object_iter it;

	if (!json_object_is_type(configs, json_type_object)) {
		fault_add(faults, at, FAULT_DICT, MSG_DICT);
		return;
	}
	json_object_object_foreachC(configs, it)
	{
		struct place here = { at, it.key, 0 };

		if (!json_object_is_type(it.val, json_type_string))
			fault_add(faults, &here, "type_error.str",
			    "str type expected");
	}
}

static const struct known {
	const char *key;
	void (*check)(struct json_object *value, const struct place *at,
	    struct faults *faults);
} known[] = {
	{ "enable_perfspect", check_enable_perfspect },
	{ "perfspect_args", check_perfspect_args },
	{ "profiler_configs", check_profiler_configs },
	{ "max_processes", check_max_processes },
};

static void
check_known(const char *key, struct json_object *value, const struct place *at,
    struct faults *faults)
{
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strcmp(known[i].key, key) == 0)
			known[i].check(value, at, faults);
}

void
additional_args_check(
    struct json_object *args, const struct place *at, struct faults *faults)
{
	struct json_object_iter it;

	json_object_object_foreachC(args, it)
	{
		struct place here = { at, it.key, 0 };

		if (is_reserved(it.key))
			fault_add(faults, &here, FAULT_VALUE,
			    "%s is set by the request itself and may not "
			    "stand in additional_args",
			    it.key);
		else
			check_known(it.key, it.val, &here, faults);
	}
}

int64_t
perfspect_interval(struct json_object *args)
{
	struct json_object *flags = json_member(args, "perfspect_args"),
			   *interval = json_member(flags, "interval");

	/* "5" was accepted as a number: json-c reads it as one */
	return interval ? json_object_get_int64(interval) : PERFSPECT_INTERVAL;
}

bool
perfspect_enabled(struct json_object *args)
{
	return json_member_bool(args, "enable_perfspect", false);
}
