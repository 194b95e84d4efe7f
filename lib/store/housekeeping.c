#include "store/housekeeping.h"

#include "core/clock.h"
#include "store/commands.h"
#include "store/results.h"
#include "store/settings.h"

#include <string.h>

/* Rows in one transaction: a few milliseconds of the write lock. */
#define BATCH 500

#define DAY_MS (24 * 3600 * 1000LL)

static const char select_overdue[] =
    "SELECT command_id, status FROM ProfilingCommands"
    " WHERE status IN ('pending', 'sent') AND expires_at <= ? LIMIT ?";
static const char delete_old[] =
    "DELETE FROM ProfilingCommands WHERE id IN (SELECT id"
    " FROM ProfilingCommands WHERE ended_at IS NOT NULL"
    " AND ended_at < ? ORDER BY ended_at LIMIT ?)";
/* the newest command that is one too many; thousands may have ended in the
 * same millisecond, and then the later made is the newer */
static const char select_surplus[] =
    "SELECT ended_at, id FROM ProfilingCommands WHERE ended_at IS NOT NULL"
    " ORDER BY ended_at DESC, id DESC LIMIT 1 OFFSET ?";
static const char delete_surplus[] =
    "DELETE FROM ProfilingCommands WHERE id IN (SELECT id"
    " FROM ProfilingCommands WHERE ended_at IS NOT NULL"
    " AND (ended_at, id) <= (?1, ?3) ORDER BY ended_at, id LIMIT ?2)";
static const char delete_requests[] =
    "DELETE FROM ProfilingRequests WHERE id IN (SELECT id"
    " FROM ProfilingRequests r WHERE created_at < ?1"
    " AND NOT EXISTS (SELECT 1 FROM CommandRequests l"
    "                 WHERE l.request_id = r.request_id)"
    " ORDER BY created_at LIMIT ?2)";
static const char delete_sessions[] =
    "DELETE FROM Sessions WHERE id IN (SELECT id FROM Sessions"
    " WHERE expires_at <= ? LIMIT ?)";

/* --- expiry -------------------------------------------------------------- */

/* Loads up to BATCH commands that are overdue. */
static int
load_overdue(struct store *s, const char *now, struct command *list, size_t *n)
{
	sqlite3_stmt *stmt =
	    db_query(s, select_overdue, "ti", now, (int64_t)BATCH);
	int row;

	*n = 0;
	if (!stmt)
		return -1;
	while ((row = db_step(s, stmt)) == 1) {
		struct command *command = &list[(*n)++];

		memset(command, 0, sizeof *command);
		(void)uuid_parse(db_text(stmt, 0), command->command_id);
		command->state =
		    (enum command_state)command_state_of(db_text(stmt, 1));
	}
	return row;
}

static int
expire_batch(struct store *s, int64_t now_ms, int64_t *done)
{
	struct command list[BATCH];
	char now[CLOCK_TEXT];
	size_t n;

	clock_format(now_ms, now);
	if (load_overdue(s, now, list, &n) != 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		list[i].expires_ms = now_ms;
		if (command_expire(s, &list[i], now_ms) != 0)
			return -1;
	}
	*done = (int64_t)n;
	return 0;
}

/* In one transaction each, until a batch is not full. */
static int
expire_all(struct store *s, int64_t now_ms, int64_t *total)
{
	int64_t n = BATCH;

	while (n == BATCH) {
		if (db_begin(s, DB_DURABLE) != 0 ||
		    db_end(s, expire_batch(s, now_ms, &n)) != 0)
			return -1;
		*total += n;
	}
	return 0;
}

/* --- deletion ------------------------------------------------------------ */

/* Runs a DELETE of at most BATCH rows up to a time (and an id, where it is not
 * 0 but the statement's third parameter) until it is done. */
static int
delete_all(struct store *s, const char *sql, const char *until, int64_t id,
    int64_t *total)
{
	int64_t n = BATCH;

	while (n == BATCH) {
		if (db_begin(s, DB_RELAXED) != 0 ||
		    db_end(s, db_run(s, sql, id ? "tii" : "ti", until,
				  (int64_t)BATCH, id)) != 0)
			return -1;
		n = db_changes(s);
		*total += n;
	}
	return 0;
}

static int
delete_by_age(struct store *s, int64_t now_ms, struct housekeeping *done)
{
	char until[CLOCK_TEXT], now[CLOCK_TEXT];
	int64_t days;

	if (setting_get(s, SETTING_KEEP_DAYS, &days) != 0)
		return -1;
	clock_format(now_ms, now);
	clock_format(now_ms - days * DAY_MS, until);
	if (delete_all(s, delete_old, until, 0, &done->deleted) != 0 ||
	    delete_all(s, delete_requests, until, 0, &done->requests) != 0)
		return -1;
	return delete_all(s, delete_sessions, now, 0, &done->sessions);
}

static int
delete_by_count(struct store *s, struct housekeeping *done)
{
	char until[CLOCK_TEXT] = "";
	sqlite3_stmt *stmt;
	int64_t keep, id;
	int row;

	if (setting_get(s, SETTING_KEEP_COMMANDS, &keep) != 0)
		return -1;
	stmt = db_query(s, select_surplus, "i", keep);
	if (!stmt)
		return -1;
	row = db_step(s, stmt);
	if (row != 1)
		return row;
	memcpy(until, db_text(stmt, 0), CLOCK_TEXT - 1);
	id = db_int(stmt, 1);
	(void)sqlite3_reset(stmt);
	return delete_all(s, delete_surplus, until, id, &done->deleted);
}

int
housekeep(struct store *s, bool tidy, struct housekeeping *done)
{
	int64_t now_ms = clock_now_ms();

	memset(done, 0, sizeof *done);
	if (expire_all(s, now_ms, &done->expired) != 0 ||
	    delete_by_age(s, now_ms, done) != 0 ||
	    delete_by_count(s, done) != 0 ||
	    results_trim(s, now_ms, &done->files) != 0 ||
	    (tidy && results_tidy(s, now_ms, &done->files) != 0))
		return -1;
	/* readers in the way are no failure: the next round tries again */
	return db_run(s, "PRAGMA wal_checkpoint(TRUNCATE)", "");
}
