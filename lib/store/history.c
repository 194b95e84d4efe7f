#include "store/history.h"

#include "store/db.h"

#include <stdio.h>

#define SELECT_REQUESTS                                                       \
	"SELECT r.request_id, r.service_name, r.request_type, r.status,"      \
	" r.continuous, r.duration, r.frequency, r.profiling_mode,"           \
	" r.stop_level, r.target_hostnames, r.host_pids, r.additional_args,"  \
	" r.expires_in, r.created_by, r.created_from, r.created_at,"          \
	" r.n_commands, r.n_waiting, r.n_open, r.n_failed, r.n_done"          \
	" FROM ProfilingRequests r"

#define FILTERED                                                              \
	" WHERE (?1 IS NULL OR r.service_name = ?1)"                          \
	" AND (?2 IS NULL OR r.status = ?2)"                                  \
	" AND (?3 IS NULL OR r.request_type = ?3)"                            \
	" AND (?4 IS NULL OR r.created_by = ?4 COLLATE NOCASE)"               \
	" AND (?5 IS NULL OR EXISTS (SELECT 1"                                \
	"  FROM json_each(r.target_hostnames)"                                \
	"  WHERE value = ?5 COLLATE NOCASE))"

static const char select_requests[] =
    SELECT_REQUESTS FILTERED " ORDER BY r.created_at DESC, r.id DESC"
			     " LIMIT ?6 OFFSET ?7";
static const char count_requests[] =
    "SELECT count(*) FROM ProfilingRequests r" FILTERED;
static const char select_request[] = SELECT_REQUESTS " WHERE r.request_id = ?";
static const char select_waits_until[] =
    "SELECT max(c.expires_at) FROM CommandRequests l"
    " JOIN ProfilingCommands c ON c.command_id = l.command_id"
    " WHERE l.request_id = ? AND c.status = 'pending'";
static const char select_of_command[] =
    SELECT_REQUESTS " JOIN CommandRequests l ON l.request_id = r.request_id"
		    " WHERE l.command_id = ? ORDER BY r.id";

#define SELECT_COMMANDS                                                       \
	"SELECT c.command_id, c.hostname, c.service_name, c.command_type,"    \
	" c.kind, c.status, c.reason, c.combined_config, c.created_at,"       \
	" c.expires_at, c.sent_at, c.accepted_at, c.ended_at,"                \
	" e.started_at, e.execution_time, e.exit_status,"                     \
	" e.error_message, e.results_path, e.perfspect_version,"              \
	" e.arguments, e.partial"                                             \
	" FROM ProfilingCommands c"                                           \
	" LEFT JOIN ProfilingExecutions e ON e.command_id = c.command_id"

static const char select_command[] = SELECT_COMMANDS " WHERE c.command_id = ?";
static const char select_of_request[] =
    SELECT_COMMANDS " JOIN CommandRequests l ON l.command_id = c.command_id"
		    " WHERE l.request_id = ? ORDER BY c.id";
static const char select_of_host[] =
    SELECT_COMMANDS " WHERE c.hostname = ? ORDER BY c.id DESC LIMIT ?";

/* --- requests ------------------------------------------------------------ */

static void
request_load(sqlite3_stmt *stmt, struct request_record *r)
{
	int i = 0;

	r->request_id = db_text(stmt, i++);
	r->service_name = db_text(stmt, i++);
	r->request_type = db_text(stmt, i++);
	r->status = db_text(stmt, i++);
	r->continuous = db_int(stmt, i++) == 1;
	r->duration = db_int(stmt, i++);
	r->frequency = db_int(stmt, i++);
	r->profiling_mode = db_text(stmt, i++);
	r->stop_level = db_text(stmt, i++);
	r->target_hostnames = db_text(stmt, i++);
	r->host_pids = db_text(stmt, i++);
	r->additional_args = db_text(stmt, i++);
	r->expires_in = db_int(stmt, i++);
	r->created_by = db_text(stmt, i++);
	r->created_from = db_text(stmt, i++);
	r->created_at = db_text(stmt, i++);
	r->n_commands = db_int(stmt, i++);
	r->n_waiting = db_int(stmt, i++);
	r->n_open = db_int(stmt, i++);
	r->n_failed = db_int(stmt, i++);
	r->n_done = db_int(stmt, i++);
}

/* Visits the rows; STORE_NOT_FOUND where there is none. */
static int
visit_requests(
    struct store *s, sqlite3_stmt *stmt, request_visitor *visit, void *context)
{
	int result = STORE_NOT_FOUND, row;

	if (!stmt)
		return -1;
	while ((row = db_step(s, stmt)) == 1) {
		struct request_record record;

		result = 0;
		request_load(stmt, &record);
		if (!visit(context, &record)) {
			(void)sqlite3_reset(stmt);
			return 0;
		}
	}
	return row < 0 ? -1 : result;
}

static int
none_is_fine(int result)
{
	return result == STORE_NOT_FOUND ? 0 : result;
}

int
request_list(struct store *s, const struct request_filter *f,
    request_visitor *visit, void *context, int64_t *total)
{
	sqlite3_stmt *stmt =
	    db_query(s, count_requests, "ttttt", f->service_name, f->status,
		f->request_type, f->created_by, f->hostname);

	if (!stmt || db_step(s, stmt) != 1)
		return -1;
	*total = db_int(stmt, 0);
	(void)sqlite3_reset(stmt);
	return none_is_fine(visit_requests(s,
	    db_query(s, select_requests, "tttttii", f->service_name, f->status,
		f->request_type, f->created_by, f->hostname, f->limit,
		f->offset),
	    visit, context));
}

int
request_by_id(struct store *s, const char *request_id, request_visitor *visit,
    void *context)
{
	return visit_requests(
	    s, db_query(s, select_request, "t", request_id), visit, context);
}

int
request_waits_until(
    struct store *s, const char *request_id, char until[CLOCK_TEXT])
{
	sqlite3_stmt *stmt = db_query(s, select_waits_until, "t", request_id);
	const char *text;

	if (!stmt || db_step(s, stmt) != 1)
		return -1;
	text = db_text(stmt, 0);
	if (text)
		(void)snprintf(until, CLOCK_TEXT, "%s", text);
	(void)sqlite3_reset(stmt);
	return text ? 0 : STORE_NOT_FOUND;
}

int
requests_of_command(struct store *s, const char *command_id,
    request_visitor *visit, void *context)
{
	return none_is_fine(visit_requests(s,
	    db_query(s, select_of_command, "t", command_id), visit, context));
}

/* --- commands ------------------------------------------------------------ */

static void
command_load(sqlite3_stmt *stmt, struct command_record *c)
{
	int i = 0;

	c->command_id = db_text(stmt, i++);
	c->hostname = db_text(stmt, i++);
	c->service_name = db_text(stmt, i++);
	c->command_type = db_text(stmt, i++);
	c->kind = db_text(stmt, i++);
	c->status = db_text(stmt, i++);
	c->reason = db_text(stmt, i++);
	c->combined_config = db_text(stmt, i++);
	c->created_at = db_text(stmt, i++);
	c->expires_at = db_text(stmt, i++);
	c->sent_at = db_text(stmt, i++);
	c->accepted_at = db_text(stmt, i++);
	c->ended_at = db_text(stmt, i++);
	c->started_at = db_text(stmt, i++);
	c->execution_time = db_int(stmt, i++);
	c->exit_status = db_int(stmt, i++);
	c->error_message = db_text(stmt, i++);
	c->results_path = db_text(stmt, i++);
	c->perfspect_version = db_text(stmt, i++);
	c->arguments = db_text(stmt, i++);
	c->partial = db_int(stmt, i++) == 1;
}

static int
visit_commands(
    struct store *s, sqlite3_stmt *stmt, command_visitor *visit, void *context)
{
	int result = STORE_NOT_FOUND, row;

	if (!stmt)
		return -1;
	while ((row = db_step(s, stmt)) == 1) {
		struct command_record record;

		result = 0;
		command_load(stmt, &record);
		if (!visit(context, &record)) {
			(void)sqlite3_reset(stmt);
			return 0;
		}
	}
	return row < 0 ? -1 : result;
}

int
command_by_id(struct store *s, const char *command_id, command_visitor *visit,
    void *context)
{
	return visit_commands(
	    s, db_query(s, select_command, "t", command_id), visit, context);
}

int
commands_of_request(struct store *s, const char *request_id,
    command_visitor *visit, void *context)
{
	return none_is_fine(visit_commands(s,
	    db_query(s, select_of_request, "t", request_id), visit, context));
}

int
commands_of_host(struct store *s, const char *hostname, int64_t limit,
    command_visitor *visit, void *context)
{
	return none_is_fine(visit_commands(s,
	    db_query(s, select_of_host, "ti", hostname, limit), visit,
	    context));
}
