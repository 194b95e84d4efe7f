#include "store/db.h"

#include "core/log.h"
#include "core/mem.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static enum store_failure
failure_of(int code)
{
	switch (code & 0xff) {
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return STORE_BUSY;
	case SQLITE_READONLY:
	case SQLITE_PERM:
		return STORE_READONLY;
	case SQLITE_FULL:
	case SQLITE_IOERR: /* a full disk shows as either */
		return STORE_FULL;
	case SQLITE_CANTOPEN:
		return STORE_MISSING;
	default:
		return STORE_FAULT;
	}
}

int
db_fail(struct store *s, const char *what)
{
	int code = sqlite3_extended_errcode(s->db);

	s->failure = failure_of(code);
	(void)reason_set(
	    &s->why, "database %s: %s", s->path, sqlite3_errmsg(s->db));
	log_error("%s (SQLite code %d), at: %.200s", s->why.text, code, what);
	return -1;
}

/* --- statements ---------------------------------------------------------- */

static sqlite3_stmt *
prepare(struct store *s, const char *sql)
{
	sqlite3_stmt *stmt = NULL;

	for (size_t i = 0; i < s->n_statements; i++)
		if (s->statements[i].sql == sql)
			return s->statements[i].stmt;
	if (s->n_statements == STATEMENTS_MAX) {
		log_error("more than %d statements: raise STATEMENTS_MAX",
		    STATEMENTS_MAX);
		abort();
	}
	if (sqlite3_prepare_v3(s->db, sql, -1, SQLITE_PREPARE_PERSISTENT,
		&stmt, NULL) != SQLITE_OK) {
		(void)db_fail(s, sql);
		return NULL;
	}
	s->statements[s->n_statements].sql = sql;
	s->statements[s->n_statements++].stmt = stmt;
	return stmt;
}

static int
bind_one(sqlite3_stmt *stmt, int i, char kind, va_list *ap)
{
	const char *text;
	int64_t number;

	switch (kind) {
	case 't':
		text = va_arg(*ap, const char *);
		return text ? sqlite3_bind_text(
				  stmt, i, text, -1, SQLITE_TRANSIENT)
			    : sqlite3_bind_null(stmt, i);
	case 'h':
		return sqlite3_bind_blob(stmt, i,
		    va_arg(*ap, const unsigned char *), SECRET_HASH_BYTES,
		    SQLITE_TRANSIENT);
	case 'i':
	case 'n':
		number = va_arg(*ap, int64_t);
		return kind == 'n' && number == FIELD_NULL
			   ? sqlite3_bind_null(stmt, i)
			   : sqlite3_bind_int64(stmt, i, number);
	default:
		abort(); /* a letter that db.h does not name */
	}
}

static sqlite3_stmt *
query(struct store *s, const char *sql, const char *format, va_list *ap)
{
	sqlite3_stmt *stmt = prepare(s, sql);

	if (!stmt)
		return NULL;
	(void)sqlite3_reset(stmt);
	for (int i = 0; format[i]; i++)
		if (bind_one(stmt, i + 1, format[i], ap) != SQLITE_OK) {
			(void)db_fail(s, sql);
			return NULL;
		}
	return stmt;
}

sqlite3_stmt *
db_query(struct store *s, const char *sql, const char *format, ...)
{
	sqlite3_stmt *stmt;
	va_list ap;

	va_start(ap, format);
	stmt = query(s, sql, format, &ap);
	va_end(ap);
	return stmt;
}

int
db_step(struct store *s, sqlite3_stmt *stmt)
{
	int code = sqlite3_step(stmt);

	if (code == SQLITE_ROW)
		return 1;
	if (code != SQLITE_DONE)
		(void)db_fail(s, sqlite3_sql(stmt));
	/* a statement that is not reset holds its locks */
	(void)sqlite3_reset(stmt);
	return code == SQLITE_DONE ? 0 : -1;
}

int
db_run(struct store *s, const char *sql, const char *format, ...)
{
	sqlite3_stmt *stmt;
	va_list ap;
	int n;

	va_start(ap, format);
	stmt = query(s, sql, format, &ap);
	va_end(ap);
	if (!stmt)
		return -1;
	while ((n = db_step(s, stmt)) > 0)
		;
	return n;
}

int
db_run_unique(struct store *s, const char *sql, const char *format, ...)
{
	sqlite3_stmt *stmt;
	va_list ap;
	int code;

	va_start(ap, format);
	stmt = query(s, sql, format, &ap);
	va_end(ap);
	if (!stmt)
		return -1;
	code = sqlite3_step(stmt);
	if (code != SQLITE_DONE &&
	    sqlite3_extended_errcode(s->db) == SQLITE_CONSTRAINT_UNIQUE)
		code = STORE_CONFLICT;
	else
		code = code == SQLITE_DONE ? 0 : db_fail(s, sql);
	(void)sqlite3_reset(stmt);
	return code;
}

int
db_changes(const struct store *s)
{
	return sqlite3_changes(s->db);
}

const char *
db_text(sqlite3_stmt *stmt, int column)
{
	return (const char *)sqlite3_column_text(stmt, column);
}

char *
db_copy(sqlite3_stmt *stmt, int column)
{
	return mem_copy(db_text(stmt, column));
}

int64_t
db_int(sqlite3_stmt *stmt, int column)
{
	return sqlite3_column_type(stmt, column) == SQLITE_NULL
		   ? FIELD_NULL
		   : sqlite3_column_int64(stmt, column);
}

/* --- transactions -------------------------------------------------------- */

/* SQLite takes the setting between transactions only. */
static int
set_durability(struct store *s, bool durable)
{
	if (s->durable == durable)
		return 0;
	s->durable = durable;
	return durable ? db_run(s, "PRAGMA synchronous = FULL", "")
		       : db_run(s, "PRAGMA synchronous = NORMAL", "");
}

int
db_begin_at(
    struct store *s, enum durability durability, const char *file, int line)
{
	if (s->depth > 0) {
		s->depth++;
		return 0;
	}
	if (set_durability(s, durability == DB_DURABLE) != 0 ||
	    db_run(s, "BEGIN IMMEDIATE", "") != 0)
		return -1;
	s->depth = 1;
	log_debug("transaction begun at %s:%d", file, line);
	return 0;
}

static int
roll_back(struct store *s)
{
	/* SQLite may have rolled back by itself, on a full disk for one */
	if (!sqlite3_get_autocommit(s->db))
		(void)db_run(s, "ROLLBACK", "");
	return -1;
}

int
db_end(struct store *s, int result)
{
	if (--s->depth > 0)
		return result;
	if (result < 0)
		return roll_back(s);
	if (db_run(s, "COMMIT", "") != 0)
		return roll_back(s);
	return result;
}
