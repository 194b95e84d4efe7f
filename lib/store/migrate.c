/*
 * Bringing a database to this program's schema.
 *
 * Each migration is one transaction that ends with its version in PRAGMA
 * user_version; the version is read again inside of it, since two programs
 * may start at once.
 *
 * A database without a version that has a table ProfilingRequests is one
 * from before Conspect counted versions, possibly without `continuous` or
 * `additional_args` (the feature's «Database Schema Mismatch»).  Its tables
 * are set aside, the schema is made, the rows are copied by the names of the
 * columns, all in one transaction.
 */
#include "store/db.h"

#include "core/log.h"
#include "core/mem.h"
#include "store/migrations.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "CSPT", so that file(1) and we know the file. */
#define SET_APPLICATION_ID "PRAGMA application_id = 0x43535054"

/* The tables that an older database may have, in the order in which their
 * foreign keys allow them to be filled. */
static const char *const adopted[] = { "ProfilingRequests",
	"ProfilingCommands", "HostHeartbeats", "ProfilingExecutions" };

int
store_schema_newest(void)
{
	return migrations[n_migrations - 1].version;
}

static int
one_int(struct store *s, const char *sql)
{
	sqlite3_stmt *stmt = db_query(s, sql, "");
	int value = -1;

	if (stmt && db_step(s, stmt) == 1) {
		value = sqlite3_column_int(stmt, 0);
		(void)sqlite3_reset(stmt);
	}
	return value;
}

int
store_schema_version(struct store *s)
{
	return one_int(s, "PRAGMA user_version");
}

/* Runs SQL that this file makes; 0, or -1 with the reason. */
static int
execute(struct store *s, const char *sql, const char *what, struct reason *why)
{
	if (sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK)
		return 0;
	(void)reason_set(
	    why, "database %s: %s: %s", s->path, what, sqlite3_errmsg(s->db));
	return db_fail(s, what);
}

/*
 * Runs the SQL that a query makes of a name: SQLite itself quotes names
 * (%w), so that nothing is pasted together in C.
 */
static int
execute_made(struct store *s, const char *query, const char *name,
    const char *what, struct reason *why)
{
	sqlite3_stmt *stmt = db_query(s, query, "t", name);
	char *sql;
	int result;

	if (!stmt || db_step(s, stmt) != 1) {
		*why = s->why;
		return -1;
	}
	sql = db_copy(stmt, 0);
	(void)sqlite3_reset(stmt);
	result = execute(s, sql, what, why);
	free(sql);
	return result;
}

static bool
has_table(struct store *s, const char *name)
{
	sqlite3_stmt *stmt = db_query(s,
	    "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?",
	    "t", name);
	bool found = stmt && db_step(s, stmt) == 1;

	if (stmt)
		(void)sqlite3_reset(stmt);
	return found;
}

/* --- adopting an older database ------------------------------------------ */

/* Whether the old table has columns that ours has not. */
static bool
has_more_columns(struct store *s, const char *table)
{
	sqlite3_stmt *stmt = db_query(s,
	    "SELECT 1 FROM pragma_table_info('Old' || ?1) old"
	    " WHERE NOT EXISTS (SELECT 1 FROM pragma_table_info(?1) new"
	    "                   WHERE new.name = old.name COLLATE NOCASE)",
	    "t", table);
	bool more = stmt && db_step(s, stmt) == 1;

	if (stmt)
		(void)sqlite3_reset(stmt);
	return more;
}

static const char make_set_aside[] =
    "SELECT format('ALTER TABLE \"%w\" RENAME TO \"Old%w\"', ?1, ?1)";
static const char make_drop_old[] =
    "SELECT format('DROP TABLE \"Old%w\"', ?1)";
/* The columns that both tables have, times brought to our form. */
static const char make_copy[] =
    "SELECT format('INSERT INTO \"%w\" (%s) SELECT %s FROM \"Old%w\"', ?1,"
    " group_concat(format('\"%w\"', new.name)),"
    " group_concat(format(iif(new.name LIKE '%\\_at' ESCAPE '\\'"
    "   OR new.name IN ('heartbeat_timestamp', 'last_seen'),"
    "   'strftime(''%%Y-%%m-%%dT%%H:%%M:%%fZ'', \"%w\")', '\"%w\"'),"
    "   new.name)), ?1)"
    " FROM pragma_table_info(?1) new"
    " JOIN pragma_table_info('Old' || ?1) old"
    "   ON old.name = new.name COLLATE NOCASE";
static const char make_version[] =
    "SELECT format('PRAGMA user_version = %d', ?1)";

static int
set_aside(struct store *s, struct reason *why)
{
	for (size_t i = 0; i < sizeof adopted / sizeof *adopted; i++)
		if (has_table(s, adopted[i]) &&
		    execute_made(s, make_set_aside, adopted[i],
			"setting the old tables aside", why) != 0)
			return -1;
	return 0;
}

static int
copy_rows(struct store *s, const char *table, struct reason *why)
{
	if (execute_made(s, make_copy, table,
		"copying the rows of an older database", why) != 0)
		return -1;
	if (has_more_columns(s, table)) {
		log_warn("database %s: table %s had columns that Conspect "
			 "does not use: all of it is kept as Old%s",
		    s->path, table, table);
		return 0;
	}
	return execute_made(
	    s, make_drop_old, table, "dropping an old table", why);
}

static int
take_over(struct store *s, struct reason *why)
{
	for (size_t i = 0; i < sizeof adopted / sizeof *adopted; i++) {
		char *old = mem_fmt("Old%s", adopted[i]);
		bool there = has_table(s, old);

		free(old);
		if (there && copy_rows(s, adopted[i], why) != 0)
			return -1;
	}
	return 0;
}

/* --- migrating ----------------------------------------------------------- */

static int
apply(struct store *s, const struct migration *m, struct reason *why)
{
	bool older =
	    m->version == migrations[0].version && has_table(s, adopted[0]);
	char version[16];

	if (older && set_aside(s, why) != 0)
		return -1;
	if (execute(s, m->sql, m->name, why) != 0)
		return -1;
	if (older && take_over(s, why) != 0)
		return -1;
	(void)snprintf(version, sizeof version, "%d", m->version);
	if (execute_made(s, make_version, version, m->name, why) != 0)
		return -1;
	return execute(s, SET_APPLICATION_ID, m->name, why);
}

static int
apply_in_transaction(
    struct store *s, const struct migration *m, struct reason *why)
{
	bool todo;

	if (db_begin(s, DB_DURABLE) != 0) {
		*why = s->why;
		return -1;
	}
	/* another program may have done it since */
	todo = store_schema_version(s) < m->version;
	if (db_end(s, todo ? apply(s, m, why) : 0) == 0) {
		if (todo)
			log_info("database %s: applied migration %s", s->path,
			    m->name);
		return 0;
	}
	if (!why->text[0])
		*why = s->why;
	return -1;
}

int
db_check_version(struct store *s, struct reason *why)
{
	int version = store_schema_version(s);

	if (version < 0) {
		*why = s->why;
		return -1;
	}
	if (version <= store_schema_newest())
		return 0;
	s->failure = STORE_NEWER;
	return reason_set(why,
	    "database %s has schema version %d, and this program knows "
	    "versions up to %d: install the newer Conspect that made it",
	    s->path, version, store_schema_newest());
}

int
db_migrate(struct store *s, struct reason *why)
{
	int version;

	why->text[0] = '\0';
	if (db_check_version(s, why) != 0)
		return -1;
	version = store_schema_version(s);
	for (size_t i = 0; i < n_migrations; i++)
		if (migrations[i].version > version &&
		    apply_in_transaction(s, &migrations[i], why) != 0)
			return -1;
	return 0;
}
