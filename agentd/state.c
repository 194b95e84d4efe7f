#include "agentd/state.h"

#include "core/clock.h"
#include "core/log.h"
#include "core/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of this layout; a file with a higher number is a newer agent's. */
#define SCHEMA_VERSION 1
/*
 * Done commands that are kept.  The server offers none again once it has
 * seen the id, so ten times what a heartbeat carries is far more than enough.
 */
#define KEEP_COMMANDS "10000"
/* The lock is ours alone: whoever reads the file by hand is soon gone. */
#define BUSY_MS 5000

struct state {
	sqlite3 *db;
	int lock;
	char agent_id[UUID_TEXT];
};

/* One row per command ever taken; one per report still to be delivered. */
static const char schema[] =
    "BEGIN IMMEDIATE;"
    "CREATE TABLE agent (only INTEGER PRIMARY KEY CHECK (only = 1),"
    " agent_id TEXT NOT NULL) STRICT;"
    "CREATE TABLE commands (number INTEGER PRIMARY KEY AUTOINCREMENT,"
    " command_id TEXT NOT NULL UNIQUE,"
    " phase TEXT NOT NULL CHECK"
    " (phase IN ('accepted', 'installing', 'running', 'done')),"
    " received_ms INTEGER NOT NULL) STRICT;"
    "CREATE INDEX commands_phase ON commands (phase, number);"
    "CREATE TABLE reports (number INTEGER PRIMARY KEY AUTOINCREMENT,"
    " body TEXT NOT NULL CHECK (json_valid(body)),"
    " attempts INTEGER NOT NULL DEFAULT 0) STRICT;"
    "PRAGMA user_version = 1;"
    "COMMIT";

enum statement {
	ACCEPT,
	ADVANCE,
	AGENT_ID,
	AGENT_MAKE,
	IDS_ALL,
	IDS_DONE,
	KNOWS,
	PRUNE,
	REPORT_ADD,
	REPORT_DROP,
	REPORT_NEXT,
	REPORT_POSTPONE,
	UNFINISHED,
	LAYOUT_VERSION,
	STATEMENT__MAX
};

static const char *const sql[STATEMENT__MAX] = {
	[ACCEPT] = "INSERT INTO commands (command_id, phase, received_ms)"
		   " VALUES (?1, 'accepted', ?2)",
	[ADVANCE] = "UPDATE commands SET phase = ?2 WHERE command_id = ?1",
	[AGENT_ID] = "SELECT agent_id FROM agent",
	[AGENT_MAKE] = "INSERT INTO agent VALUES (1, ?1)",
	[IDS_ALL] =
	    "SELECT command_id FROM commands ORDER BY number DESC LIMIT ?1",
	[IDS_DONE] = "SELECT command_id FROM commands WHERE phase = 'done'"
		     " ORDER BY number DESC LIMIT ?1",
	[KNOWS] = "SELECT 1 FROM commands WHERE command_id = ?1",
	[PRUNE] = "DELETE FROM commands WHERE phase = 'done' AND number <="
		  " (SELECT max(number) FROM commands) - " KEEP_COMMANDS,
	[REPORT_ADD] = "INSERT INTO reports (body) VALUES (?1)",
	[REPORT_DROP] = "DELETE FROM reports WHERE number = ?1",
	[REPORT_NEXT] = "SELECT number, body FROM reports"
			" ORDER BY attempts, number LIMIT 1",
	[REPORT_POSTPONE] =
	    "UPDATE reports SET attempts = attempts + 1 WHERE number = ?1",
	[UNFINISHED] = "SELECT command_id, received_ms FROM commands"
		       " WHERE phase <> 'done' ORDER BY number LIMIT 1",
	[LAYOUT_VERSION] = "PRAGMA user_version",
};

static const char *const phase_words[] = {
	[STATE_ACCEPTED] = "accepted",
	[STATE_INSTALLING] = "installing",
	[STATE_RUNNING] = "running",
	[STATE_DONE] = "done",
};

const char *
state_phase_word(enum state_phase phase)
{
	return phase_words[phase];
}

static int
failed(struct state *s)
{
	log_error("state: %s", sqlite3_errmsg(s->db));
	return -1;
}

static sqlite3_stmt *
prepare(struct state *s, enum statement which)
{
	sqlite3_stmt *q = NULL;

	if (sqlite3_prepare_v2(s->db, sql[which], -1, &q, NULL) != SQLITE_OK)
		(void)failed(s);
	return q;
}

/* Runs a statement that gives no row, with its parameters bound. */
static int
finish_write(struct state *s, sqlite3_stmt *q)
{
	int r = sqlite3_step(q);

	(void)sqlite3_finalize(q);
	return r == SQLITE_DONE ? 0 : failed(s);
}

/* Does a statement with a text and, when it takes one, a second text. */
static int
write_texts(
    struct state *s, enum statement which, const char *one, const char *two)
{
	sqlite3_stmt *q = prepare(s, which);

	if (!q)
		return -1;
	if (one)
		sqlite3_bind_text(q, 1, one, -1, SQLITE_STATIC);
	if (two)
		sqlite3_bind_text(q, 2, two, -1, SQLITE_STATIC);
	return finish_write(s, q);
}

static int
write_number(struct state *s, enum statement which, int64_t number)
{
	sqlite3_stmt *q = prepare(s, which);

	if (!q)
		return -1;
	sqlite3_bind_int64(q, 1, number);
	return finish_write(s, q);
}

static int
execute(struct state *s, const char *text)
{
	return sqlite3_exec(s->db, text, NULL, NULL, NULL) == SQLITE_OK
		   ? 0
		   : failed(s);
}

/* --- opening ------------------------------------------------------------- */

static int
make_directory(const char *directory, struct reason *why)
{
	struct stat st;

	if (mkdir(directory, 0700) && errno != EEXIST)
		return reason_set(
		    why, "state directory %s: %s", directory, strerror(errno));
	if (lstat(directory, &st))
		return reason_set(
		    why, "state directory %s: %s", directory, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return reason_set(
		    why, "state directory %s: not a directory", directory);
	if (st.st_uid != geteuid())
		return reason_set(why,
		    "state directory %s belongs to user %ld, not to %ld",
		    directory, (long)st.st_uid, (long)geteuid());
	if ((st.st_mode & 0777) != 0700 && chmod(directory, 0700))
		return reason_set(
		    why, "state directory %s: %s", directory, strerror(errno));
	return 0;
}

/* The lock goes with the open file: however the agent ends, it is free. */
static int
take_lock(struct state *s, const char *directory, struct reason *why)
{
	char *path = mem_fmt("%s/lock", directory);

	s->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	free(path);
	if (s->lock < 0)
		return reason_set(
		    why, "%s/lock: %s", directory, strerror(errno));
	if (flock(s->lock, LOCK_EX | LOCK_NB) == 0)
		return 0;
	if (errno == EWOULDBLOCK)
		return reason_set(why,
		    "another agent runs with the state directory %s",
		    directory);
	return reason_set(why, "%s/lock: %s", directory, strerror(errno));
}

/* A number from a query of one row, or -1. */
static int64_t
query_number(struct state *s, enum statement which)
{
	sqlite3_stmt *q = prepare(s, which);
	int64_t n = -1;

	if (q && sqlite3_step(q) == SQLITE_ROW)
		n = sqlite3_column_int64(q, 0);
	(void)sqlite3_finalize(q);
	return n;
}

static int
make_schema(struct state *s, struct reason *why)
{
	int64_t version = query_number(s, LAYOUT_VERSION);

	if (version > SCHEMA_VERSION)
		return reason_set(why,
		    "the state file is of a newer agent (layout %lld, this "
		    "one knows %d)",
		    (long long)version, SCHEMA_VERSION);
	if (version < 0 || (version == 0 && execute(s, schema)))
		return reason_set(
		    why, "state file: %s", sqlite3_errmsg(s->db));
	return 0;
}

static int
load_agent_id(struct state *s)
{
	sqlite3_stmt *q = prepare(s, AGENT_ID);
	int r = q ? sqlite3_step(q) : SQLITE_ERROR;

	if (r == SQLITE_ROW)
		(void)snprintf(s->agent_id, sizeof s->agent_id, "%s",
		    (const char *)sqlite3_column_text(q, 0));
	(void)sqlite3_finalize(q);
	if (r == SQLITE_ROW)
		return 0;
	if (r != SQLITE_DONE)
		return failed(s);
	uuid_make(s->agent_id);
	return write_texts(s, AGENT_MAKE, s->agent_id, NULL);
}

static int
open_file(struct state *s, const char *directory, struct reason *why)
{
	char *path = mem_fmt("%s/agent.db", directory);
	int r = sqlite3_open_v2(path, &s->db,
	    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOFOLLOW,
	    NULL);

	if (r != SQLITE_OK) {
		reason_set(why, "%s: %s", path, sqlite3_errmsg(s->db));
		free(path);
		return -1;
	}
	free(path);
	(void)sqlite3_busy_timeout(s->db, BUSY_MS);
	if (execute(s, "PRAGMA journal_mode = WAL;"
		       "PRAGMA synchronous = FULL;"
		       "PRAGMA journal_size_limit = 1048576"))
		return reason_set(
		    why, "state file: %s", sqlite3_errmsg(s->db));
	if (make_schema(s, why))
		return -1;
	if (load_agent_id(s) || write_texts(s, PRUNE, NULL, NULL))
		return reason_set(
		    why, "state file: %s", sqlite3_errmsg(s->db));
	return 0;
}

int
state_open(const char *directory, struct state **state, struct reason *why)
{
	struct state *s = mem_alloc(1, sizeof *s);

	s->lock = -1;
	if (make_directory(directory, why) || take_lock(s, directory, why) ||
	    open_file(s, directory, why)) {
		state_close(s);
		return -1;
	}
	*state = s;
	return 0;
}

void
state_close(struct state *s)
{
	if (!s)
		return;
	(void)sqlite3_close(s->db);
	if (s->lock >= 0)
		close(s->lock);
	free(s);
}

const char *
state_agent_id(const struct state *s)
{
	return s->agent_id;
}

/* --- commands ------------------------------------------------------------ */

int
state_knows(struct state *s, const char *command_id)
{
	sqlite3_stmt *q = prepare(s, KNOWS);
	int r;

	if (!q)
		return -1;
	sqlite3_bind_text(q, 1, command_id, -1, SQLITE_STATIC);
	r = sqlite3_step(q);
	(void)sqlite3_finalize(q);
	if (r != SQLITE_ROW && r != SQLITE_DONE)
		return failed(s);
	return r == SQLITE_ROW ? STATE_THERE : STATE_ABSENT;
}

int
state_accept(struct state *s, const char *command_id)
{
	sqlite3_stmt *q = prepare(s, ACCEPT);

	if (!q)
		return -1;
	sqlite3_bind_text(q, 1, command_id, -1, SQLITE_STATIC);
	sqlite3_bind_int64(q, 2, clock_now_ms());
	if (finish_write(s, q))
		return -1;
	/* the oldest goes as a new one comes; it is logged if it does not */
	(void)!write_texts(s, PRUNE, NULL, NULL);
	return 0;
}

int
state_advance(struct state *s, const char *command_id, enum state_phase phase)
{
	return write_texts(s, ADVANCE, command_id, phase_words[phase]);
}

int
state_finish(struct state *s, const char *command_id, const char *report)
{
	if (execute(s, "BEGIN IMMEDIATE"))
		return -1;
	if (state_advance(s, command_id, STATE_DONE) == 0 &&
	    write_texts(s, REPORT_ADD, report, NULL) == 0 &&
	    execute(s, "COMMIT") == 0)
		return 0;
	if (!sqlite3_get_autocommit(s->db))
		(void)execute(s, "ROLLBACK");
	return -1;
}

int
state_unfinished(
    struct state *s, char command_id[UUID_TEXT], int64_t *received_ms)
{
	sqlite3_stmt *q = prepare(s, UNFINISHED);
	int r = q ? sqlite3_step(q) : SQLITE_ERROR;

	if (r == SQLITE_ROW) {
		(void)snprintf(command_id, UUID_TEXT, "%s",
		    (const char *)sqlite3_column_text(q, 0));
		*received_ms = sqlite3_column_int64(q, 1);
	}
	(void)sqlite3_finalize(q);
	if (r != SQLITE_ROW && r != SQLITE_DONE)
		return failed(s);
	return r == SQLITE_ROW ? STATE_THERE : STATE_ABSENT;
}

struct json_object *
state_ids(struct state *s, bool done)
{
	sqlite3_stmt *q = prepare(s, done ? IDS_DONE : IDS_ALL);
	struct json_object *ids = json_object_new_array();

	if (!q)
		return ids;
	sqlite3_bind_int(q, 1, STATE_IDS_MAX);
	while (sqlite3_step(q) == SQLITE_ROW)
		json_object_array_add(
		    ids, json_object_new_string(
			     (const char *)sqlite3_column_text(q, 0)));
	(void)sqlite3_finalize(q);
	return ids;
}

/* --- reports ------------------------------------------------------------- */

int
state_next_report(struct state *s, struct state_report *report)
{
	sqlite3_stmt *q = prepare(s, REPORT_NEXT);
	int r = q ? sqlite3_step(q) : SQLITE_ERROR;

	if (r == SQLITE_ROW) {
		report->number = sqlite3_column_int64(q, 0);
		report->text =
		    mem_copy((const char *)sqlite3_column_text(q, 1));
	}
	(void)sqlite3_finalize(q);
	if (r != SQLITE_ROW && r != SQLITE_DONE)
		return failed(s);
	return r == SQLITE_ROW ? STATE_THERE : STATE_ABSENT;
}

int
state_drop_report(struct state *s, int64_t number)
{
	return write_number(s, REPORT_DROP, number);
}

int
state_postpone_report(struct state *s, int64_t number)
{
	return write_number(s, REPORT_POSTPONE, number);
}
