/* ProfilingExecutions: the ends of runs. */
#include "store/commands.h"

#include "core/clock.h"

#include <string.h>
#include <strings.h>

static const char select_command[] =
    "SELECT status, hostname, service_name, sent_at"
    " FROM ProfilingCommands WHERE command_id = ?";
static const char end_execution[] =
    "INSERT INTO ProfilingExecutions (command_id, hostname, status,"
    " started_at, completed_at, execution_time, exit_status, error_message,"
    " results_path, perfspect_version, arguments, partial)"
    " VALUES (?1, ?2, ?3, ?4, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)"
    " ON CONFLICT (command_id) DO UPDATE SET status = excluded.status,"
    " completed_at = excluded.completed_at,"
    " execution_time = excluded.execution_time,"
    " exit_status = excluded.exit_status,"
    " error_message = excluded.error_message,"
    " results_path = excluded.results_path,"
    " perfspect_version = excluded.perfspect_version,"
    " arguments = excluded.arguments, partial = excluded.partial"
    " WHERE completed_at IS NULL";

/* The command's state, where it is one that this report may be about. */
static int
find_command(struct store *s, const struct completion *c,
    const char *service_name, enum command_state *state)
{
	sqlite3_stmt *stmt = db_query(s, select_command, "t", c->command_id);
	bool ours;
	int n;

	if (!stmt)
		return -1;
	n = db_step(s, stmt);
	if (n != 1)
		return n < 0 ? -1 : STORE_NOT_FOUND;
	*state = (enum command_state)command_state_of(db_text(stmt, 0));
	ours =
	    strcasecmp(db_text(stmt, 1), c->hostname) == 0 &&
	    (!service_name || strcmp(db_text(stmt, 2), service_name) == 0) &&
	    db_text(stmt, 3) != NULL; /* it was handed out */
	(void)sqlite3_reset(stmt);
	return ours ? 0 : STORE_NOT_FOUND;
}

static int
note_end(struct store *s, const struct completion *c, int64_t now_ms)
{
	char now[CLOCK_TEXT];

	clock_format(now_ms, now);
	return db_run(s, end_execution, "ttttnntttti", c->command_id,
	    c->hostname, command_state_names[c->state], now, c->execution_time,
	    c->exit_status, c->error_message, c->results_path,
	    c->perfspect_version,
	    c->arguments ? json_text(c->arguments) : NULL,
	    (int64_t)c->partial);
}

/* A command that was withdrawn after it was handed out keeps its state;
 * what the agent did with it is kept as its execution. */
static bool
was_withdrawn(enum command_state state)
{
	return state == COMMAND_SUPERSEDED || state == COMMAND_CANCELLED ||
	       state == COMMAND_EXPIRED;
}

static enum command_event
event_of(const struct completion *c)
{
	return c->state == COMMAND_COMPLETED ? EVENT_COMPLETE
	       : c->state == COMMAND_FAILED  ? EVENT_FAIL
					     : EVENT_STOP;
}

static int
take(struct store *s, const struct completion *c, const char *service_name,
    enum refusal *refusal, enum command_state *state)
{
	int64_t now = clock_now_ms();
	struct command command = { .expires_ms = FIELD_NULL };
	int result = find_command(s, c, service_name, state), next;

	if (result == STORE_NOT_FOUND) {
		*refusal = REFUSAL_UNKNOWN;
		return 0;
	}
	if (result != 0)
		return result;
	next = command_next(*state, event_of(c));
	if (next == (int)*state) /* said before */
		return 0;
	if (next < 0 && !was_withdrawn(*state)) {
		*refusal = REFUSAL_ENDED;
		return 0;
	}
	memcpy(command.command_id, c->command_id, UUID_TEXT);
	command.state = *state;
	if (command_move(s, &command, event_of(c), now, c->error_message) != 0)
		return -1;
	return note_end(s, c, now);
}

int
completion_take(struct store *s, const struct completion *completion,
    const char *service_name, enum refusal *refusal, enum command_state *state)
{
	*refusal = REFUSAL_NONE;
	if (db_begin(s, DB_DURABLE) != 0)
		return -1;
	return db_end(s, take(s, completion, service_name, refusal, state));
}
