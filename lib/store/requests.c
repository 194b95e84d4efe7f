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
    " WHERE service_name = ? AND last_seen >= ? ORDER BY hostname LIMIT ?";
static const char select_summary[] =
    "SELECT service_name, request_type, status, n_commands,"
    " coalesce(additional_args ->> 'enable_perfspect', 0)"
    " FROM ProfilingRequests WHERE request_id = ?";

/* A request while it is carried out. */
struct work {
	struct store *s;
	const struct profiling_request *request;
	struct submission *out;
	int64_t now_ms, expires_ms;
};

/* --- one command ----------------------------------------------------------
 */

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
	int result = command_pending(
	    w->s, hostname, w->request->service_name, kind, &pending);

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

/* --- start ----------------------------------------------------------------
 */

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

/* --- stop -----------------------------------------------------------------
 */

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

/* Whether the agent may not have begun: it would begin after the stop. */
static bool
can_be_withdrawn(const struct command *command)
{
	return command->state == COMMAND_PENDING ||
	       command->state == COMMAND_SENT;
}

static int
withdraw(struct work *w, const struct command *command,
    enum command_state state, const char *why)
{
	return command_move(
	    w->s, command->command_id, command->state, state, w->now_ms, why);
}

static int
stop_host(
    struct work *w, const struct target *target, const struct commands *open)
{
	for (size_t i = 0; i < open->n; i++) {
		const struct command *command = &open->list[i];

		if (command->kind != KIND_STOP && can_be_withdrawn(command) &&
		    withdraw(w, command, COMMAND_CANCELLED,
			"stopped before it began") != 0)
			return -1;
	}
	return send_stop(w, target->hostname, command_stop_host_config());
}

/* What a process-level stop finds among the starts of a host. */
struct findings {
	bool remain;  /* a start with the remaining processes follows */
	bool emptied; /* one that the agent has in hand has none left */
	bool others;  /* there are starts that it does not touch */
	bool touched;
};

/* A start with what remains, for the same requests. */
static int
start_rest(struct work *w, const struct target *target,
    const struct command *command, struct json_object *rest)
{
	char id[UUID_TEXT];

	if (put_command(w, target->hostname, command->kind, rest,
		command_merge_configs, id) != 0)
		return -1;
	return command_link_as(w->s, id, COMMAND_PENDING, command->command_id);
}

/* Takes the processes out of one start that holds some of them. */
static int
reduce_start(struct work *w, const struct target *target,
    const struct command *command, struct findings *found)
{
	struct json_object *rest =
	    command_without_pids(command->config, target);
	int result = 0;

	found->touched = true;
	if (!can_be_withdrawn(command))
		found->emptied |= !rest;
	else if (rest)
		result = withdraw(w, command, COMMAND_SUPERSEDED,
		    "some of its processes were stopped");
	else
		result = withdraw(
		    w, command, COMMAND_CANCELLED, "stopped before it began");
	if (result == 0 && rest) {
		found->remain = true;
		result = start_rest(w, target, command, rest);
	}
	json_object_put(rest);
	return result;
}

/*
 * Newest first, since a start that a process-level stop left (it has
 * stop_level) stands for what remains of the older ones of its kind: these
 * must not bring back what was stopped before.
 */
static int
reduce_starts(struct work *w, const struct target *target,
    const struct commands *open, struct findings *found)
{
	bool settled[KIND_CONTINUOUS + 1] = { [KIND_STOP] = true };

	for (size_t i = open->n; i-- > 0;) {
		const struct command *command = &open->list[i];

		if (settled[command->kind])
			continue;
		if (!command_has_pids(command->config, target))
			found->others = true;
		else if (reduce_start(w, target, command, found) != 0)
			return -1;
		settled[command->kind] =
		    json_member(command->config, "stop_level") != NULL;
	}
	return 0;
}

static int
stop_processes(
    struct work *w, const struct target *target, const struct commands *open)
{
	struct findings found = { false, false, false, false };

	if (reduce_starts(w, target, open, &found) != 0)
		return -1;
	if (found.touched && !found.remain && !found.others)
		return send_stop(
		    w, target->hostname, command_stop_host_config());
	if (!found.remain || found.emptied)
		return send_stop(
		    w, target->hostname, command_stop_process_config(target));
	return 0;
}

/* --- the whole request ----------------------------------------------------
 */

static int
stop_on_host(struct work *w, const struct target *target)
{
	struct commands open;
	int result;

	if (commands_load(
		w->s, target->hostname, w->request->service_name, &open) != 0)
		return -1;
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
	int n = -1;

	clock_format(w->now_ms - ACTIVE_WINDOW_MS, since);
	stmt = db_query(w->s, select_active, "tti", w->request->service_name,
	    since, (int64_t)REQUEST_HOSTS_MAX);
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
carry_out(struct work *w, const struct author *author)
{
	const struct profiling_request *r = w->request;
	struct json_object *names =
	    r->n_targets ? named_hosts(r) : active_hosts(w);
	int result;

	if (!names)
		return -1;
	w->out->n_hosts = json_object_array_length(names);
	result = insert_row(w, names, author);
	for (size_t i = 0; result == 0 && i < json_object_array_length(names);
	     i++) {
		struct target whole = { .hostname = json_object_get_string(
					    json_object_array_get_idx(
						names, i)) };

		if (r->type == REQUEST_STOP)
			result = stop_on_host(w, &r->targets[i]);
		else
			result = start_host(
			    w, r->n_targets ? &r->targets[i] : &whole);
	}
	json_object_put(names);
	return result;
}

int
request_submit(struct store *s, const struct profiling_request *request,
    const struct author *author, struct submission *submission)
{
	int64_t now = clock_now_ms();
	struct work w = { .s = s,
		.request = request,
		.out = submission,
		.now_ms = now,
		.expires_ms = now + COMMAND_EXPIRY_MS };

	memset(submission, 0, sizeof *submission);
	submission->created_ms = now;
	uuid_make(submission->request_id);
	if (request->expires_in != FIELD_NULL)
		w.expires_ms = now + request->expires_in * 1000;
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

/* --- reading --------------------------------------------------------------
 */

void
request_summary_free(struct request_summary *summary)
{
	free(summary->service_name);
	free(summary->request_type);
	free(summary->status);
	memset(summary, 0, sizeof *summary);
}

int
request_summary(
    struct store *s, const char *request_id, struct request_summary *summary)
{
	sqlite3_stmt *stmt = db_query(s, select_summary, "t", request_id);
	int n;

	memset(summary, 0, sizeof *summary);
	if (!stmt)
		return -1;
	n = db_step(s, stmt);
	if (n != 1)
		return n < 0 ? -1 : STORE_NOT_FOUND;
	summary->service_name = db_copy(stmt, 0);
	summary->request_type = db_copy(stmt, 1);
	summary->status = db_copy(stmt, 2);
	summary->n_commands = db_int(stmt, 3);
	summary->perfspect = db_int(stmt, 4) == 1;
	(void)sqlite3_reset(stmt);
	return 0;
}
