#include "store/commands.h"

#include "core/clock.h"
#include "core/mem.h"

#include <stdlib.h>
#include <string.h>

/* The text must be that of the index OpenCommands for SQLite to use it. */
static const char select_open[] =
    "SELECT command_id, status, command_type, combined_config, expires_at"
    " FROM ProfilingCommands"
    " WHERE hostname = ? AND service_name = ?"
    " AND status IN ('pending', 'sent', 'accepted', 'installing', 'running')"
    " ORDER BY id";
static const char select_pending[] =
    "SELECT command_id, status, command_type, combined_config, expires_at"
    " FROM ProfilingCommands"
    " WHERE hostname = ? AND service_name = ? AND kind = ?"
    " AND status = 'pending'";
static const char insert_command[] =
    "INSERT INTO ProfilingCommands (command_id, hostname, service_name,"
    " command_type, combined_config, created_at, expires_at)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)";
static const char update_config[] =
    "UPDATE ProfilingCommands SET combined_config = ?2, expires_at = ?3"
    " WHERE command_id = ?1 AND status = 'pending'";
static const char update_state[] =
    "UPDATE ProfilingCommands SET status = ?2, reason = ?3,"
    " sent_at = iif(?4, coalesce(sent_at, ?7), sent_at),"
    " accepted_at = iif(?5, coalesce(accepted_at, ?7), accepted_at),"
    " ended_at = iif(?6, ?7, NULL)"
    " WHERE command_id = ?1";
static const char insert_link[] =
    "INSERT OR IGNORE INTO CommandRequests (command_id, request_id)"
    " VALUES (?, ?)";
static const char select_links[] =
    "SELECT request_id FROM CommandRequests WHERE command_id = ?";

/* The command ?1 as c, others of its host and kind as o that serve one of its
 * requests.  Found by host, since a request may have thousands of commands. */
#define FROM_RELATED                                                          \
	" FROM ProfilingCommands c JOIN ProfilingCommands o"                  \
	" ON o.service_name = c.service_name AND o.hostname = c.hostname"     \
	" AND o.kind = c.kind WHERE c.command_id = ?1 AND EXISTS (SELECT 1"   \
	"  FROM CommandRequests l JOIN CommandRequests m"                     \
	"  ON m.command_id = o.command_id AND m.request_id = l.request_id"    \
	"  WHERE l.command_id = c.command_id)"
static const char select_heir[] =
    "SELECT 1" FROM_RELATED " AND o.id > c.id"
    " AND o.status NOT IN ('superseded', 'expired') LIMIT 1";
static const char select_elders[] =
    "SELECT o.combined_config" FROM_RELATED " AND o.id < c.id"
    " AND o.sent_at IS NOT NULL AND o.combined_config ->> 'pids' IS NOT NULL"
    " AND NOT EXISTS (SELECT 1 FROM ProfilingExecutions e"
    "  WHERE e.command_id = o.command_id AND e.completed_at IS NOT NULL)"
    " ORDER BY o.id";

/* The numbers of requests, and the status that follows from them. */
#define COUNT_CHANGES                                                         \
	" n_commands = n_commands + ?2, n_waiting = n_waiting + ?3,"          \
	" n_open = n_open + ?4, n_failed = n_failed + ?5,"                    \
	" n_done = n_done + ?6, status = CASE"                                \
	" WHEN n_waiting + ?3 > 0 AND n_waiting + ?3 = n_commands + ?2"       \
	" THEN 'pending'"                                                     \
	" WHEN n_waiting + ?3 + n_open + ?4 > 0 THEN 'assigned'"              \
	" WHEN n_failed + ?5 > 0 THEN 'failed'"                               \
	" WHEN n_done + ?6 > 0 THEN 'completed'"                              \
	" ELSE 'cancelled' END"
static const char count_request[] =
    "UPDATE ProfilingRequests SET" COUNT_CHANGES " WHERE request_id = ?1";
static const char count_requests[] =
    "UPDATE ProfilingRequests SET" COUNT_CHANGES " WHERE request_id IN"
    " (SELECT request_id FROM CommandRequests WHERE command_id = ?1)";

/* --- loading ------------------------------------------------------------- */

static enum command_kind
kind_of(const char *type, struct json_object *config)
{
	if (strcmp(type, "stop") == 0)
		return KIND_STOP;
	return json_member_bool(config, "continuous", false) ? KIND_CONTINUOUS
							     : KIND_ADHOC;
}

static void
command_load(sqlite3_stmt *stmt, struct command *command)
{
	const char *config = db_text(stmt, 3), *expires = db_text(stmt, 4);

	(void)uuid_parse(db_text(stmt, 0), command->command_id);
	command->state =
	    (enum command_state)command_state_of(db_text(stmt, 1));
	command->config = json_tokener_parse(config);
	command->kind = kind_of(db_text(stmt, 2), command->config);
	command->expires_ms = FIELD_NULL;
	if (expires)
		(void)clock_parse(expires, &command->expires_ms);
}

int
commands_load(struct store *s, const char *hostname, const char *service_name,
    struct commands *commands)
{
	sqlite3_stmt *stmt =
	    db_query(s, select_open, "tt", hostname, service_name);
	int n;

	commands->list = NULL;
	commands->n = 0;
	if (!stmt)
		return -1;
	while ((n = db_step(s, stmt)) == 1) {
		commands->list = mem_grow(
		    commands->list, commands->n + 1, sizeof *commands->list);
		command_load(stmt, &commands->list[commands->n++]);
	}
	if (n < 0)
		commands_free(commands);
	return n;
}

void
commands_free(struct commands *commands)
{
	for (size_t i = 0; i < commands->n; i++)
		json_object_put(commands->list[i].config);
	free(commands->list);
	commands->list = NULL;
	commands->n = 0;
}

int
command_pending(struct store *s, const char *hostname,
    const char *service_name, enum command_kind kind, struct command *command)
{
	sqlite3_stmt *stmt = db_query(s, select_pending, "ttt", hostname,
	    service_name, command_kind_names[kind]);
	int n;

	if (!stmt)
		return -1;
	n = db_step(s, stmt);
	if (n != 1)
		return n < 0 ? -1 : STORE_NOT_FOUND;
	command_load(stmt, command);
	(void)sqlite3_reset(stmt);
	return 0;
}

/* --- numbers of requests ------------------------------------------------- */

/* What a command in some state adds to its requests' numbers. */
struct tally {
	int64_t waiting, open, failed, done;
};

static struct tally
tally_of(enum command_state state)
{
	struct tally t = { 0, 0, 0, 0 };

	switch (state) {
	case COMMAND_PENDING:
		t.waiting = 1;
		break;
	case COMMAND_SENT:
	case COMMAND_ACCEPTED:
	case COMMAND_INSTALLING:
	case COMMAND_RUNNING:
		t.open = 1;
		break;
	case COMMAND_FAILED:
		t.failed = 1;
		break;
	case COMMAND_COMPLETED:
	case COMMAND_STOPPED:
		t.done = 1;
		break;
	case COMMAND_SUPERSEDED:
	case COMMAND_CANCELLED:
	case COMMAND_EXPIRED:
		break;
	}
	return t;
}

static int
count_move(struct store *s, const char *command_id, enum command_state from,
    enum command_state to)
{
	struct tally a = tally_of(from), b = tally_of(to);

	if (memcmp(&a, &b, sizeof a) == 0)
		return 0;
	return db_run(s, count_requests, "tiiiii", command_id, (int64_t)0,
	    b.waiting - a.waiting, b.open - a.open, b.failed - a.failed,
	    b.done - a.done);
}

int
command_link(struct store *s, const char *command_id, enum command_state state,
    const char *request_id)
{
	struct tally t = tally_of(state);

	if (db_run(s, insert_link, "tt", command_id, request_id) != 0)
		return -1;
	if (db_changes(s) == 0) /* it serves that request already */
		return 0;
	return db_run(s, count_request, "tiiiii", request_id, (int64_t)1,
	    t.waiting, t.open, t.failed, t.done);
}

int
command_link_as(struct store *s, const char *command_id,
    enum command_state state, const char *other_command_id)
{
	sqlite3_stmt *stmt = db_query(s, select_links, "t", other_command_id);
	char(*ids)[UUID_TEXT] = NULL;
	size_t count = 0;
	int n;

	if (!stmt)
		return -1;
	while ((n = db_step(s, stmt)) == 1) {
		ids = mem_grow(ids, count + 1, sizeof *ids);
		(void)uuid_parse(db_text(stmt, 0), ids[count++]);
	}
	for (size_t i = 0; n == 0 && i < count; i++)
		n = command_link(s, command_id, state, ids[i]);
	free(ids);
	return n;
}

/* --- changing ------------------------------------------------------------ */

static const char *
expiry_text(int64_t expires_ms, char text[CLOCK_TEXT])
{
	if (expires_ms == FIELD_NULL)
		return NULL;
	clock_format(expires_ms, text);
	return text;
}

int
command_insert(struct store *s, const struct new_command *command,
    char command_id[UUID_TEXT])
{
	char created[CLOCK_TEXT], expires[CLOCK_TEXT];

	uuid_make(command_id);
	clock_format(command->created_ms, created);
	return db_run(s, insert_command, "ttttttt", command_id,
	    command->hostname, command->service_name,
	    request_type_names[command->type], json_text(command->config),
	    created, expiry_text(command->expires_ms, expires));
}

int
command_reconfigure(struct store *s, const struct command *command,
    struct json_object *config, int64_t expires_ms)
{
	char expires[CLOCK_TEXT];

	if (command->expires_ms == FIELD_NULL ||
	    command->expires_ms > expires_ms)
		expires_ms = command->expires_ms;
	return db_run(s, update_config, "ttt", command->command_id,
	    json_text(config), expiry_text(expires_ms, expires));
}

int
command_move(struct store *s, struct command *command,
    enum command_event event, int64_t now_ms, const char *why)
{
	int next = command_next(command->state, event);
	enum command_state from = command->state;
	char now[CLOCK_TEXT];
	bool shown;

	if (next < 0 || next == (int)from)
		return 0;
	command->state = (enum command_state)next;
	shown = from == COMMAND_SENT && next >= COMMAND_ACCEPTED &&
		next <= COMMAND_RUNNING;
	clock_format(now_ms, now);
	if (db_run(s, update_state, "tttiiit", command->command_id,
		command_state_names[next], why,
		(int64_t)(next == COMMAND_SENT), (int64_t)shown,
		(int64_t)command_state_is_end(command->state), now) != 0)
		return -1;
	return count_move(s, command->command_id, from, command->state);
}

int
command_expire(struct store *s, struct command *command, int64_t now_ms)
{
	if (command->expires_ms == FIELD_NULL || command->expires_ms > now_ms)
		return 0;
	return command_move(s, command, EVENT_EXPIRE, now_ms,
	    "the host did not take it in time");
}

/* --- what stands for what ------------------------------------------------ */

int
command_has_heir(struct store *s, const struct command *command, bool *has)
{
	sqlite3_stmt *stmt =
	    db_query(s, select_heir, "t", command->command_id);
	int n = stmt ? db_step(s, stmt) : -1;

	*has = n == 1;
	if (n == 1)
		(void)sqlite3_reset(stmt);
	return n < 0 ? -1 : 0;
}

int
command_add_elders(struct store *s, const struct command *command,
    struct json_object **stop, bool *any)
{
	sqlite3_stmt *stmt =
	    db_query(s, select_elders, "t", command->command_id);
	int n = -1;

	while (stmt && (n = db_step(s, stmt)) == 1) {
		struct json_object *elder =
				       json_tokener_parse(db_text(stmt, 0)),
				   *both = command_merge_stops(*stop, elder);

		json_object_put(elder);
		json_object_put(*stop);
		*stop = both;
		*any = true;
	}
	return n;
}
