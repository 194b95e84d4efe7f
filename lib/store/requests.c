/*
 * ProfilingRequests: carrying out what a user asked for.
 *
 * The rules are those of the design: a start merges into a pending start of
 * its kind; a host-level stop withdraws what has not begun and sends a stop;
 * a process-level stop takes processes out of what waits or runs.
 */
#include "store/commands.h"

#include "core/clock.h"
#include "core/log.h"
#include "core/mem.h"
#include "store/settings.h"

#include <stdlib.h>
#include <string.h>

static const char insert_request[] =
    "INSERT INTO ProfilingRequests (request_id, service_name, request_type,"
    " continuous, duration, frequency, profiling_mode, target_hostnames,"
    " pids, host_pids, stop_level, additional_args, expires_in, created_by,"
    " created_from, created_at, status)"
    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14,"
    " ?15, ?16, 'cancelled')"; /* until it has commands */
static const char select_active[] =
    "SELECT hostname FROM HostHeartbeats"
    " WHERE service_name = ? AND last_seen >= ? AND status <> 'offline'"
    " ORDER BY hostname LIMIT ?";

/* A request while it is carried out. */
struct work {
	struct store *s;
	const struct profiling_request *request;
	struct submission *out;
	int64_t now_ms, expires_ms;
};

/* --- one command --------------------------------------------------------- */

/* Whether the host at work has it already: a host has at most one pending
 * command of a kind, so that only the last few can be its own. */
static bool
is_noted(const struct submission *out, const char *command_id)
{
	size_t i = out->n_commands;

	for (int kind = 0; i > 0 && kind <= KIND_CONTINUOUS; kind++)
		if (strcmp(out->command_ids[--i], command_id) == 0)
			return true;
	return false;
}

static void
note_command(struct work *w, const char *command_id)
{
	struct submission *out = w->out;

	if (is_noted(out, command_id))
		return;
	out->command_ids = mem_grow(
	    out->command_ids, out->n_commands + 1, sizeof *out->command_ids);
	memcpy(out->command_ids[out->n_commands++], command_id, UUID_TEXT);
}

/* The host's pending command of a kind; one that has waited too long is given
 * up first, since what is asked now must not revive it. */
static int
pending_in_time(struct work *w, const char *hostname, enum command_kind kind,
    struct command *pending)
{
	int result = command_pending(
	    w->s, hostname, w->request->service_name, kind, pending);

	if (result != 0)
		return result;
	result = command_expire(w->s, pending, w->now_ms);
	if (result == 0 && !command_state_is_end(pending->state))
		return 0;
	json_object_put(pending->config);
	return result == 0 ? STORE_NOT_FOUND : result;
}

/*
 * Puts a config where the host will find it: by `merge` into the pending
 * command of the kind, or into a new command, whose id goes to id.
 */
static int
put_command(struct work *w, const char *hostname, enum command_kind kind,
    struct json_object *config,
    struct json_object *(*merge)(
	struct json_object *pending, struct json_object *later),
    char id[UUID_TEXT])
{
	struct new_command new = { .hostname = hostname,
		.service_name = w->request->service_name,
		.type = kind == KIND_STOP ? REQUEST_STOP : REQUEST_START,
		.config = config,
		.created_ms = w->now_ms,
		.expires_ms = w->expires_ms };
	struct command pending;
	int result = pending_in_time(w, hostname, kind, &pending);

	if (result == STORE_NOT_FOUND) {
		result = command_insert(w->s, &new, id);
	} else if (result == 0) {
		struct json_object *merged = merge(pending.config, config);

		memcpy(id, pending.command_id, UUID_TEXT);
		result =
		    command_reconfigure(w->s, &pending, merged, w->expires_ms);
		json_object_put(merged);
		json_object_put(pending.config);
	}
	if (result == 0)
		result = command_link(
		    w->s, id, COMMAND_PENDING, w->out->request_id);
	if (result == 0)
		note_command(w, id);
	return result;
}

/* --- start --------------------------------------------------------------- */

static int
start_host(struct work *w, const struct target *target)
{
	struct json_object *config = command_start_config(w->request, target);
	char id[UUID_TEXT];
	int result = put_command(w, target->hostname,
	    command_start_kind(w->request), config, command_merge_configs, id);

	json_object_put(config);
	return result;
}

/* --- stop ---------------------------------------------------------------- */

/* Takes the config. */
static int
send_stop(struct work *w, const char *hostname, struct json_object *config)
{
	char id[UUID_TEXT];
	int result = put_command(
	    w, hostname, KIND_STOP, config, command_merge_stops, id);

	json_object_put(config);
	return result;
}

static int
stop_host(
    struct work *w, const struct target *target, const struct commands *open)
{
	for (size_t i = 0; i < open->n; i++) {
		struct command *command = &open->list[i];

		/* what has begun, where this cannot happen, the stop ends;
		 * nor can it where the command has just expired */
		if (command->kind != KIND_STOP &&
		    command_move(w->s, command, EVENT_CANCEL, w->now_ms,
			"stopped before it began") != 0)
			return -1;
	}
	return send_stop(w, target->hostname, command_stop_host_config());
}

/* What a process-level stop finds among the starts of a host. */
struct findings {
	struct json_object
	    *stop;    /* owned: the stop that may have to be sent */
	bool touched; /* starts lose processes */
	bool remain;  /* a start with the remaining processes follows */
	bool emptied; /* what the agent may have in hand has none left */
	bool others;  /* there are starts that it does not touch */
	bool whole;   /* one of these is of the whole host */
};

/* What waits was asked for later than what remains of an older start. */
static struct json_object *
merge_rest(struct json_object *pending, struct json_object *rest)
{
	return command_merge_configs(rest, pending);
}

/* A start with what remains, for the same requests. */
static int
start_rest(struct work *w, const struct target *target,
    const struct command *command, struct json_object *rest)
{
	char id[UUID_TEXT];

	if (put_command(
		w, target->hostname, command->kind, rest, merge_rest, id) != 0)
		return -1;
	return command_link_as(w->s, id, COMMAND_PENDING, command->command_id);
}

/* Where a start has begun, neither event can happen: the agent ends it. */
static int
reduce_to(struct work *w, const struct target *target, struct command *command,
    struct json_object *rest, struct findings *found)
{
	found->remain = true;
	if (command_move(w->s, command, EVENT_SUPERSEDE, w->now_ms,
		"some of its processes were stopped") != 0)
		return -1;
	return start_rest(w, target, command, rest);
}

static int
empty_start(struct work *w, struct command *command, struct findings *found)
{
	/* what was handed out may be running, whatever we know */
	found->emptied |= command->state != COMMAND_PENDING;
	if (command_add_elders(w->s, command, &found->stop, &found->emptied) !=
	    0)
		return -1;
	return command_move(
	    w->s, command, EVENT_CANCEL, w->now_ms, "stopped before it began");
}

/* Takes the processes out of one start that holds some of them. */
static int
reduce_start(struct work *w, const struct target *target,
    struct command *command, struct findings *found)
{
	struct json_object *rest =
	    command_without_pids(command->config, target);
	int result;

	found->touched = true;
	result = rest ? reduce_to(w, target, command, rest, found)
		      : empty_start(w, command, found);
	json_object_put(rest);
	return result;
}

/*
 * One that a newer start stands for must not bring back what was stopped
 * before.  Newest first: what remains of an older one may merge into a newer
 * one only when that has been reduced itself.
 */
static int
reduce_starts(struct work *w, const struct target *target,
    const struct commands *open, struct findings *found)
{
	for (size_t i = open->n; i-- > 0;) {
		struct command *command = &open->list[i];
		bool settled;

		if (command->kind == KIND_STOP ||
		    command_state_is_end(command->state))
			continue;
		if (command_has_heir(w->s, command, &settled) != 0)
			return -1;
		if (settled)
			continue;
		if (command_has_pids(command->config, target)) {
			if (reduce_start(w, target, command, found) != 0)
				return -1;
			continue;
		}
		found->others = true;
		found->whole |= !json_member(command->config, "pids");
	}
	return 0;
}

static int
stop_processes(
    struct work *w, const struct target *target, const struct commands *open)
{
	struct findings found = { .stop =
				      command_stop_process_config(target) };
	int result = reduce_starts(w, target, open, &found);

	if (result == 0 && found.touched && !found.remain && !found.others) {
		json_object_put(found.stop);
		found.stop = command_stop_host_config();
	} else if (found.remain && !found.emptied && !found.whole) {
		json_object_put(found.stop);
		found.stop = NULL; /* the starts that follow say it all */
	}
	if (result == 0 && found.stop)
		return send_stop(w, target->hostname, found.stop);
	json_object_put(found.stop);
	return result;
}

/* --- the whole request --------------------------------------------------- */

static int
stop_on_host(struct work *w, const struct target *target)
{
	struct commands open;
	int result;

	if (commands_load(
		w->s, target->hostname, w->request->service_name, &open) != 0)
		return -1;
	result = 0;
	for (size_t i = 0; result == 0 && i < open.n; i++)
		result = command_expire(w->s, &open.list[i], w->now_ms);
	if (result == 0)
		result = w->request->stop_level == STOP_HOST
			     ? stop_host(w, target, &open)
			     : stop_processes(w, target, &open);
	commands_free(&open);
	return result;
}

/* The active hosts of the service, as an array of names. */
static struct json_object *
active_hosts(struct work *w)
{
	char since[CLOCK_TEXT];
	struct json_object *names = json_object_new_array();
	sqlite3_stmt *stmt;
	int64_t window;
	int n = -1;

	if (setting_get(w->s, SETTING_ACTIVE_WINDOW, &window) != 0) {
		json_object_put(names);
		return NULL;
	}
	clock_format(w->now_ms - window * 1000, since);
	/* one more than the limit shows that it is passed */
	stmt = db_query(w->s, select_active, "tti", w->request->service_name,
	    since, w->out->hosts_max + 1);
	while (stmt && (n = db_step(w->s, stmt)) == 1)
		json_object_array_add(
		    names, json_object_new_string(db_text(stmt, 0)));
	if (n == 0)
		return names;
	json_object_put(names);
	return NULL;
}

static struct json_object *
named_hosts(const struct profiling_request *r)
{
	struct json_object *names = json_object_new_array();

	for (size_t i = 0; i < r->n_targets; i++)
		json_object_array_add(
		    names, json_object_new_string(r->targets[i].hostname));
	return names;
}

/* All pids of the request, as the feature's table has them. */
static struct json_object *
all_pids(const struct profiling_request *r)
{
	struct json_object *pids = NULL;

	for (size_t i = 0; i < r->n_targets; i++)
		for (size_t j = 0; j < r->targets[i].n_pids; j++) {
			if (!pids)
				pids = json_object_new_array();
			json_object_array_add(
			    pids, json_object_new_int(r->targets[i].pids[j]));
		}
	return pids;
}

static int
insert_row(
    struct work *w, struct json_object *hostnames, const struct author *author)
{
	const struct profiling_request *r = w->request;
	struct json_object *pids = all_pids(r);
	char created[CLOCK_TEXT];
	int result;

	clock_format(w->now_ms, created);
	result = db_run(w->s, insert_request, "tttinnttttttnttt",
	    w->out->request_id, r->service_name, request_type_names[r->type],
	    (int64_t)r->continuous, r->duration, r->frequency,
	    profiling_mode_names[r->mode], json_text(hostnames),
	    pids ? json_text(pids) : NULL,
	    r->target_hosts ? json_text(r->target_hosts) : NULL,
	    stop_level_names[r->stop_level],
	    r->additional_args ? json_text(r->additional_args) : NULL,
	    r->expires_in, author->user, author->address, created);
	json_object_put(pids);
	return result;
}

static int
do_hosts(struct work *w, struct json_object *names)
{
	const struct profiling_request *r = w->request;
	int result = 0;

	for (size_t i = 0; result == 0 && i < w->out->n_hosts; i++) {
		struct target whole = { .hostname = json_object_get_string(
					    json_object_array_get_idx(
						names, i)) };

		if (r->type == REQUEST_STOP)
			result = stop_on_host(w, &r->targets[i]);
		else
			result = start_host(
			    w, r->n_targets ? &r->targets[i] : &whole);
	}
	return result;
}

/* What the settings say: how long it waits, how many hosts it may name. */
static int
apply_settings(struct work *w)
{
	int64_t expiry;

	if (setting_get(w->s, SETTING_COMMAND_EXPIRY, &expiry) != 0 ||
	    setting_get(w->s, SETTING_REQUEST_HOSTS, &w->out->hosts_max) != 0)
		return -1;
	if (w->request->expires_in != FIELD_NULL)
		expiry = w->request->expires_in;
	w->expires_ms = w->now_ms + expiry * 1000;
	return 0;
}

static int
carry_out(struct work *w, const struct author *author)
{
	const struct profiling_request *r = w->request;
	struct json_object *names;
	int result;

	if (apply_settings(w) != 0)
		return -1;
	names = r->n_targets ? named_hosts(r) : active_hosts(w);
	if (!names)
		return -1;
	w->out->n_hosts = json_object_array_length(names);
	if ((int64_t)w->out->n_hosts > w->out->hosts_max)
		result = STORE_TOO_MANY;
	else
		result = insert_row(w, names, author);
	if (result == 0)
		result = do_hosts(w, names);
	json_object_put(names);
	return result;
}

int
request_submit(struct store *s, const struct profiling_request *request,
    const struct author *author, struct submission *submission)
{
	struct work w = { .s = s,
		.request = request,
		.out = submission,
		.now_ms = clock_now_ms() };

	memset(submission, 0, sizeof *submission);
	submission->created_ms = w.now_ms;
	uuid_make(submission->request_id);
	if (db_begin(s, DB_DURABLE) != 0)
		return -1;
	return db_end(s, carry_out(&w, author));
}

void
submission_free(struct submission *submission)
{
	free(submission->command_ids);
	submission->command_ids = NULL;
	submission->n_commands = 0;
}
