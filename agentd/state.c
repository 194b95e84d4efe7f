#include "agentd/state.h"

#include "core/clock.h"
#include "core/log.h"
#include "core/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of this layout; a file with a higher number is a newer agent's. */
#define SCHEMA_VERSION 2
/*
 * Done commands that are kept.  The server offers none again once it has
 * seen the id, so ten times what a heartbeat carries is far more than enough.
 */
#define KEEP_COMMANDS "10000"
/* KiB of its pages in memory, as SQLite wants it.  Its default is 2 MiB, which
 * the agent would come to hold in the course of its life. */
#define CACHE_SIZE "-256"
/* The lock is ours alone: whoever reads the file by hand is soon gone. */
#define BUSY_MS 5000
/*
 * How often the lock is tried, and the wait between.  A child that an agent
 * had just forked when it was killed holds its lock until it closes what it
 * has from it: at once, or when a busy host lets it go on, so three seconds.
 */
#define LOCK_TRIES 60
#define LOCK_WAIT_MS 50

struct state {
	sqlite3 *db;
	int lock;
	char agent_id[UUID_TEXT];
};

/*
 * What brings a file from the layout of its place here to the next.  First:
 * one row per command ever taken; one per report still to be delivered.
 * Second: one row per run that is on the disk; one per file of it that is
 * still to be delivered.
 */
static const char *const layouts[SCHEMA_VERSION] = {
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
	"COMMIT",
	"BEGIN IMMEDIATE;"
	"ALTER TABLE reports ADD COLUMN written_ms INTEGER NOT NULL DEFAULT 0;"
	"UPDATE reports SET written_ms = unixepoch() * 1000;"
	"CREATE TABLE runs (command_id TEXT NOT NULL PRIMARY KEY,"
	" ended_ms INTEGER NOT NULL,"
	" collected INTEGER NOT NULL DEFAULT 0 CHECK (collected IN (0, 1)),"
	" bytes INTEGER NOT NULL DEFAULT 0) STRICT;"
	"CREATE TABLE results (number INTEGER PRIMARY KEY AUTOINCREMENT,"
	" command_id TEXT NOT NULL, name TEXT NOT NULL,"
	" bytes INTEGER NOT NULL, attempts INTEGER NOT NULL DEFAULT 0,"
	" UNIQUE (command_id, name)) STRICT;"
	"PRAGMA user_version = 2;"
	"COMMIT",
};

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
	REPORTS_TRIM,
	RESULT_ADD,
	RESULT_DROP,
	RESULT_NEXT,
	RESULT_POSTPONE,
	RESULTS_FORGET,
	RUN_ADD,
	RUN_COLLECTED,
	RUN_FORGET,
	RUN_NEXT,
	RUN_SURPLUS,
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
	[REPORT_ADD] =
	    "INSERT INTO reports (body, written_ms) VALUES (?1, ?2)",
	[REPORT_DROP] = "DELETE FROM reports WHERE number = ?1",
	[REPORT_NEXT] = "SELECT number, body FROM reports"
			" ORDER BY attempts, number LIMIT 1",
	[REPORT_POSTPONE] =
	    "UPDATE reports SET attempts = attempts + 1 WHERE number = ?1",
	[REPORTS_TRIM] = "DELETE FROM reports WHERE written_ms < ?1 OR number"
			 " <= (SELECT number FROM reports ORDER BY number DESC"
			 " LIMIT 1 OFFSET ?2)",
	[RESULT_ADD] = "INSERT OR REPLACE INTO results"
		       " (command_id, name, bytes) VALUES (?1, ?2, ?3)",
	[RESULT_DROP] = "DELETE FROM results WHERE number = ?1",
	[RESULT_NEXT] = "SELECT number, command_id, name, bytes FROM results"
			" ORDER BY attempts, number LIMIT 1",
	[RESULT_POSTPONE] =
	    "UPDATE results SET attempts = attempts + 1 WHERE number = ?1",
	[RESULTS_FORGET] = "DELETE FROM results WHERE command_id = ?1",
	[RUN_ADD] = "INSERT OR IGNORE INTO runs (command_id, ended_ms)"
		    " VALUES (?1, ?2)",
	[RUN_COLLECTED] = "UPDATE runs SET collected = 1, bytes = ?2"
			  " WHERE command_id = ?1",
	[RUN_FORGET] = "DELETE FROM runs WHERE command_id = ?1",
	[RUN_NEXT] = "SELECT command_id FROM runs WHERE NOT collected"
		     " ORDER BY ended_ms LIMIT 1",
	[RUN_SURPLUS] = "SELECT command_id, (SELECT count(*) FROM results f"
			"  WHERE f.command_id = r.command_id) AS n FROM runs r"
			" WHERE collected AND (ended_ms < ?2"
			"  OR (n = 0 AND ended_ms < ?1)"
			"  OR ((SELECT sum(bytes) FROM runs) > ?3"
			"   AND (n = 0 OR (SELECT count(*) FROM runs) > 1)))"
			" ORDER BY n > 0, ended_ms LIMIT 1",
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

/* Steps to the one row of a query, with its parameters bound; the caller
 * finalizes it.  A state_found, or -1, logged; q may be NULL: then it was. */
static int
find(struct state *s, sqlite3_stmt *q)
{
	int r = q ? sqlite3_step(q) : SQLITE_ERROR;

	if (r != SQLITE_ROW && r != SQLITE_DONE)
		return q ? failed(s) : -1;
	return r == SQLITE_ROW ? STATE_THERE : STATE_ABSENT;
}

/* Runs a statement that gives no row, with its parameters bound. */
static int
finish_write(struct state *s, sqlite3_stmt *q)
{
	int r = sqlite3_step(q);

	(void)sqlite3_finalize(q);
	return r == SQLITE_DONE ? 0 : failed(s);
}

/* Does a statement with a text and a number. */
static int
write_text_number(
    struct state *s, enum statement which, const char *text, int64_t number)
{
	sqlite3_stmt *q = prepare(s, which);

	if (!q)
		return -1;
	sqlite3_bind_text(q, 1, text, -1, SQLITE_STATIC);
	sqlite3_bind_int64(q, 2, number);
	return finish_write(s, q);
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

static int
lock_patiently(int fd)
{
	for (int tries = 1; flock(fd, LOCK_EX | LOCK_NB); tries++) {
		if (errno != EWOULDBLOCK || tries == LOCK_TRIES)
			return -1;
		(void)poll(NULL, 0, LOCK_WAIT_MS);
	}
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
	if (lock_patiently(s->lock) == 0)
		return 0;
	if (errno == EWOULDBLOCK)
		return reason_set(why,
		    "another agent runs with the state directory %s: stop "
		    "it, or set another --state-dir",
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
	while (version >= 0 && version < SCHEMA_VERSION &&
	       execute(s, layouts[version]) == 0)
		version++;
	if (version == SCHEMA_VERSION)
		return 0;
	return reason_set(why, "state file: %s", sqlite3_errmsg(s->db));
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
	if (execute(s, "PRAGMA cache_size = " CACHE_SIZE ";"
		       "PRAGMA journal_mode = WAL;"
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

/* As find(), and reads a command's id from the row's column `at`. */
static int
find_command(
    struct state *s, sqlite3_stmt *q, int at, char command_id[UUID_TEXT])
{
	int found = find(s, q);

	if (found == STATE_THERE)
		(void)snprintf(command_id, UUID_TEXT, "%s",
		    (const char *)sqlite3_column_text(q, at));
	return found;
}

int
state_knows(struct state *s, const char *command_id)
{
	sqlite3_stmt *q = prepare(s, KNOWS);
	int found;

	if (q)
		sqlite3_bind_text(q, 1, command_id, -1, SQLITE_STATIC);
	found = find(s, q);
	(void)sqlite3_finalize(q);
	return found;
}

int
state_accept(struct state *s, const char *command_id)
{
	if (write_text_number(s, ACCEPT, command_id, clock_now_ms()))
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

/* Ends a transaction that was begun: commits where all of it was done. */
static int
commit(struct state *s, bool done)
{
	if (done && execute(s, "COMMIT") == 0)
		return 0;
	if (!sqlite3_get_autocommit(s->db))
		(void)execute(s, "ROLLBACK");
	return -1;
}

int
state_finish(struct state *s, const char *command_id, const char *report)
{
	int64_t now = clock_now_ms();

	if (execute(s, "BEGIN IMMEDIATE"))
		return -1;
	return commit(
	    s, state_advance(s, command_id, STATE_DONE) == 0 &&
		   write_text_number(s, REPORT_ADD, report, now) == 0 &&
		   write_text_number(s, RUN_ADD, command_id, now) == 0);
}

int
state_unfinished(
    struct state *s, char command_id[UUID_TEXT], int64_t *received_ms)
{
	sqlite3_stmt *q = prepare(s, UNFINISHED);
	int found = find_command(s, q, 0, command_id);

	if (found == STATE_THERE)
		*received_ms = sqlite3_column_int64(q, 1);
	(void)sqlite3_finalize(q);
	return found;
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
	int found = find(s, q);

	if (found == STATE_THERE) {
		report->number = sqlite3_column_int64(q, 0);
		report->text =
		    mem_copy((const char *)sqlite3_column_text(q, 1));
	}
	(void)sqlite3_finalize(q);
	return found;
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

int
state_trim_reports(struct state *s, int64_t now_ms, int *n)
{
	sqlite3_stmt *q = prepare(s, REPORTS_TRIM);

	*n = 0;
	if (!q)
		return -1;
	sqlite3_bind_int64(q, 1, now_ms - STATE_REPORT_MS);
	sqlite3_bind_int64(q, 2, STATE_REPORTS_MAX);
	if (finish_write(s, q))
		return -1;
	*n = sqlite3_changes(s->db);
	return 0;
}

/* --- runs and their files ------------------------------------------------ */

int
state_adopt_run(struct state *s, const char *command_id, int64_t ended_ms)
{
	return write_text_number(s, RUN_ADD, command_id, ended_ms);
}

int
state_next_run(struct state *s, char command_id[UUID_TEXT])
{
	sqlite3_stmt *q = prepare(s, RUN_NEXT);
	int found = find_command(s, q, 0, command_id);

	(void)sqlite3_finalize(q);
	return found;
}

static int
add_result(
    struct state *s, const char *command_id, const struct state_result *file)
{
	sqlite3_stmt *q = prepare(s, RESULT_ADD);

	if (!q)
		return -1;
	sqlite3_bind_text(q, 1, command_id, -1, SQLITE_STATIC);
	sqlite3_bind_text(q, 2, file->name, -1, SQLITE_STATIC);
	sqlite3_bind_int64(q, 3, file->bytes);
	return finish_write(s, q);
}

int
state_collect_run(struct state *s, const char *command_id,
    const struct state_result *files, size_t n, int64_t bytes)
{
	bool done = true;

	if (execute(s, "BEGIN IMMEDIATE"))
		return -1;
	for (size_t i = 0; done && i < n; i++)
		done = add_result(s, command_id, &files[i]) == 0;
	return commit(s, done && write_text_number(s, RUN_COLLECTED,
				     command_id, bytes) == 0);
}

int
state_surplus_run(struct state *s, const struct state_bounds *bounds,
    char command_id[UUID_TEXT], int *left)
{
	sqlite3_stmt *q = prepare(s, RUN_SURPLUS);
	int found;

	*left = 0;
	if (!q)
		return -1;
	sqlite3_bind_int64(q, 1, bounds->delivered_ms);
	sqlite3_bind_int64(q, 2, bounds->oldest_ms);
	sqlite3_bind_int64(q, 3, bounds->bytes);
	found = find_command(s, q, 0, command_id);
	if (found == STATE_THERE)
		*left = sqlite3_column_int(q, 1);
	(void)sqlite3_finalize(q);
	return found;
}

int
state_forget_run(struct state *s, const char *command_id)
{
	if (execute(s, "BEGIN IMMEDIATE"))
		return -1;
	return commit(
	    s, write_texts(s, RESULTS_FORGET, command_id, NULL) == 0 &&
		   write_texts(s, RUN_FORGET, command_id, NULL) == 0);
}

int
state_next_result(struct state *s, struct state_result *result)
{
	sqlite3_stmt *q = prepare(s, RESULT_NEXT);
	int found = find_command(s, q, 1, result->command_id);

	if (found == STATE_THERE) {
		result->number = sqlite3_column_int64(q, 0);
		result->name =
		    mem_copy((const char *)sqlite3_column_text(q, 2));
		result->bytes = sqlite3_column_int64(q, 3);
	}
	(void)sqlite3_finalize(q);
	return found;
}

int
state_drop_result(struct state *s, int64_t number)
{
	return write_number(s, RESULT_DROP, number);
}

int
state_postpone_result(struct state *s, int64_t number)
{
	return write_number(s, RESULT_POSTPONE, number);
}
