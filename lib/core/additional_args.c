/*
 * additional_args of a request: what a user may pass on to the agent.
 */
#include "core/perfspect_args.h"
#include "core/request.h"

#include <string.h>

/* What combined_config gets from the request's own members. */
static const char *const reserved[] = { "command_type", "continuous",
	"duration", "frequency", "profiling_mode", "pids", "stop_level" };

/* gProfiler's bound on processes for runtime profilers; 0: no limit. */
#define MAX_PROCESSES_MAX 1000

static bool
is_reserved(const char *key)
{
	for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
		if (strcmp(reserved[i], key) == 0)
			return true;
	return false;
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

/* The agent's own maximum holds as well: see conspect-agentd(8). */
static void
check_limits(
    struct json_object *limits, const struct place *at, struct faults *faults)
{
	struct json_object_iter it;

	if (!json_object_is_type(limits, json_type_object)) {
		fault_add(faults, at, FAULT_DICT, MSG_DICT);
		return;
	}
	json_object_object_foreachC(limits, it)
	{
		struct place here = { at, it.key, 0 };
		int64_t number;

		if (strcmp(it.key, "cpu_percent") == 0)
			(void)field_integer(it.val, 1, LIMIT_CPU_PERCENT_MAX,
			    &here, &number, faults);
		else if (strcmp(it.key, "memory_mib") == 0)
			(void)field_integer(it.val, LIMIT_MEMORY_MIB_MIN,
			    LIMIT_MEMORY_MIB_MAX, &here, &number, faults);
		else
			fault_add(faults, &here, FAULT_VALUE,
			    "limits has cpu_percent and memory_mib only");
	}
}

static const struct known {
	const char *key;
	void (*check)(struct json_object *value, const struct place *at,
	    struct faults *faults);
} known[] = {
	{ "enable_perfspect", check_enable_perfspect },
	{ "perfspect_args", perfspect_args_check },
	{ "profiler_configs", check_profiler_configs },
	{ "max_processes", check_max_processes },
	{ "limits", check_limits },
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
	return perfspect_args_interval(json_member(args, "perfspect_args"));
}

bool
perfspect_enabled(struct json_object *args)
{
	return json_member_bool(args, "enable_perfspect", false);
}
