#include "core/command.h"

#include <string.h>

const char *const command_state_names[] = { "pending", "sent", "accepted",
	"installing", "running", "completed", "failed", "stopped",
	"superseded", "cancelled", "expired", NULL };
const char *const command_kind_names[] = { "stop", "adhoc", "continuous",
	NULL };

/* Rows: from; columns: by.  NO is nowhere: the event cannot happen. */
#define NO (-1)
static const signed char transitions[N_COMMAND_STATES][N_COMMAND_EVENTS] = {
	/* clang-format off */
	/*                hand out       accept            install
	 *                run            complete          fail
	 *                stop           cancel            supersede
	 *                expire */
	[COMMAND_PENDING] = {
		COMMAND_SENT,    NO,                NO,
		NO,              NO,                NO,
		NO,              COMMAND_CANCELLED, COMMAND_SUPERSEDED,
		COMMAND_EXPIRED },
	[COMMAND_SENT] = {
		COMMAND_SENT,    COMMAND_ACCEPTED,  COMMAND_INSTALLING,
		COMMAND_RUNNING, COMMAND_COMPLETED, COMMAND_FAILED,
		COMMAND_STOPPED, COMMAND_CANCELLED, COMMAND_SUPERSEDED,
		COMMAND_EXPIRED },
	[COMMAND_ACCEPTED] = {
		NO,              COMMAND_ACCEPTED,  COMMAND_INSTALLING,
		COMMAND_RUNNING, COMMAND_COMPLETED, COMMAND_FAILED,
		COMMAND_STOPPED, NO,                NO,
		NO },
	[COMMAND_INSTALLING] = {
		NO,              NO,                COMMAND_INSTALLING,
		COMMAND_RUNNING, COMMAND_COMPLETED, COMMAND_FAILED,
		COMMAND_STOPPED, NO,                NO,
		NO },
	[COMMAND_RUNNING] = {
		NO,              NO,                NO,
		COMMAND_RUNNING, COMMAND_COMPLETED, COMMAND_FAILED,
		COMMAND_STOPPED, NO,                NO,
		NO },
	/* an end is an end; the same report again changes nothing */
	[COMMAND_COMPLETED] = { NO, NO, NO, NO, COMMAND_COMPLETED, NO, NO,
		NO, NO, NO },
	[COMMAND_FAILED] = { NO, NO, NO, NO, NO, COMMAND_FAILED, NO, NO, NO,
		NO },
	[COMMAND_STOPPED] = { NO, NO, NO, NO, NO, NO, COMMAND_STOPPED, NO, NO,
		NO },
	[COMMAND_SUPERSEDED] = { NO, NO, NO, NO, NO, NO, NO, NO, NO, NO },
	[COMMAND_CANCELLED] = { NO, NO, NO, NO, NO, NO, NO, NO, NO, NO },
	[COMMAND_EXPIRED] = { NO, NO, NO, NO, NO, NO, NO, NO, NO, NO },
	/* clang-format on */
};
#undef NO

int
command_next(enum command_state state, enum command_event event)
{
	return transitions[state][event];
}

int
command_state_of(const char *name)
{
	for (int i = 0; command_state_names[i]; i++)
		if (strcmp(command_state_names[i], name) == 0)
			return i;
	return -1;
}

bool
command_state_is_end(enum command_state state)
{
	return state >= COMMAND_COMPLETED;
}

enum command_kind
command_start_kind(const struct profiling_request *request)
{
	return request->continuous ? KIND_CONTINUOUS : KIND_ADHOC;
}

/* --- composing ----------------------------------------------------------- */

static void
set_pids(struct json_object *config, const struct target *target)
{
	struct json_object *pids = json_object_new_array();

	for (size_t i = 0; i < target->n_pids; i++)
		json_object_array_add(
		    pids, json_object_new_int(target->pids[i]));
	json_object_object_add(config, "pids", pids);
}

static void
add_members(struct json_object *to, struct json_object *from)
{
	struct json_object_iter it;

	json_object_object_foreachC(from, it)
	{
		json_object_object_add(to, it.key, json_object_get(it.val));
	}
}

struct json_object *
command_start_config(
    const struct profiling_request *request, const struct target *target)
{
	struct json_object *config = json_object_new_object();

	json_add_text(config, "command_type", "start");
	json_add_int(config, "duration", request->duration);
	json_add_int(config, "frequency", request->frequency);
	json_add_bool(config, "continuous", request->continuous);
	json_add_text(
	    config, "profiling_mode", profiling_mode_names[request->mode]);
	if (target->n_pids)
		set_pids(config, target);
	if (request->additional_args)
		add_members(config, request->additional_args);
	return config;
}

struct json_object *
command_stop_host_config(void)
{
	struct json_object *config = json_object_new_object();

	json_add_text(config, "stop_level", "host");
	return config;
}

struct json_object *
command_stop_process_config(const struct target *target)
{
	struct json_object *config = json_object_new_object();

	set_pids(config, target);
	json_add_text(config, "stop_level", "process");
	return config;
}

/* --- merging ------------------------------------------------------------- */

static bool
holds(struct json_object *pids, int pid)
{
	for (size_t i = 0; i < json_object_array_length(pids); i++)
		if (json_object_get_int(json_object_array_get_idx(pids, i)) ==
		    pid)
			return true;
	return false;
}

static int
by_number(const void *a, const void *b)
{
	int64_t x = json_object_get_int64(*(struct json_object *const *)a),
		y = json_object_get_int64(*(struct json_object *const *)b);

	return (x > y) - (x < y);
}

/* NULL, the whole host, wins. */
static struct json_object *
union_of_pids(struct json_object *a, struct json_object *b)
{
	struct json_object *all;

	if (!a || !b)
		return NULL;
	all = json_object_new_array();
	for (int side = 0; side < 2; side++) {
		struct json_object *pids = side ? b : a;

		for (size_t i = 0; i < json_object_array_length(pids); i++) {
			struct json_object *pid =
			    json_object_array_get_idx(pids, i);

			if (!holds(all, json_object_get_int(pid)))
				json_object_array_add(
				    all, json_object_get(pid));
		}
	}
	json_object_array_sort(all, by_number);
	return all;
}

/* The larger of two integers; `null_wins` says what a null counts as. */
static struct json_object *
larger(struct json_object *a, struct json_object *b, bool null_wins)
{
	if (!a || !b)
		return json_object_get(null_wins ? NULL : a ? a : b);
	return json_object_get(
	    json_object_get_int64(a) > json_object_get_int64(b) ? a : b);
}

struct json_object *
command_merge_configs(struct json_object *pending, struct json_object *later)
{
	struct json_object *merged = json_object_new_object(), *pids;

	add_members(merged, pending);
	add_members(merged, later);
	/* no duration: until stopped, so longest; no frequency: the
	 * profiler's own, which any number that was asked for overrides */
	json_object_object_add(merged, "duration",
	    larger(json_member(pending, "duration"),
		json_member(later, "duration"), true));
	json_object_object_add(merged, "frequency",
	    larger(json_member(pending, "frequency"),
		json_member(later, "frequency"), false));
	pids = union_of_pids(
	    json_member(pending, "pids"), json_member(later, "pids"));
	if (pids)
		json_object_object_add(merged, "pids", pids);
	else
		json_object_object_del(merged, "pids");
	return merged;
}

struct json_object *
command_merge_stops(struct json_object *pending, struct json_object *later)
{
	struct json_object *merged,
	    *pids = union_of_pids(
		json_member(pending, "pids"), json_member(later, "pids"));

	if (!pids)
		return command_stop_host_config();
	merged = json_object_new_object();
	json_object_object_add(merged, "pids", pids);
	json_add_text(merged, "stop_level", "process");
	return merged;
}

/* --- stopping some processes --------------------------------------------- */

static bool
is_target(const struct target *target, struct json_object *pid)
{
	for (size_t i = 0; i < target->n_pids; i++)
		if (target->pids[i] == json_object_get_int(pid))
			return true;
	return false;
}

bool
command_has_pids(struct json_object *start, const struct target *target)
{
	struct json_object *pids = json_member(start, "pids");

	for (size_t i = 0; pids && i < json_object_array_length(pids); i++)
		if (is_target(target, json_object_array_get_idx(pids, i)))
			return true;
	return false;
}

struct json_object *
command_without_pids(struct json_object *start, const struct target *target)
{
	struct json_object *pids = json_member(start, "pids"), *rest,
			   *left = json_object_new_array();

	for (size_t i = 0; pids && i < json_object_array_length(pids); i++) {
		struct json_object *pid = json_object_array_get_idx(pids, i);

		if (!is_target(target, pid))
			json_object_array_add(left, json_object_get(pid));
	}
	if (json_object_array_length(left) == 0) {
		json_object_put(left);
		return NULL;
	}
	rest = json_object_new_object();
	add_members(rest, start);
	json_object_object_add(rest, "pids", left);
	json_add_text(rest, "stop_level", "process");
	return rest;
}
