/*
 * SQLite for the files of lib/store, and for nobody else.
 *
 * Statements are prepared once per connection and found again by the address
 * of their text, so each must be a constant.  Parameters are bound, never
 * formatted: `format` has one letter a parameter,
 *
 *   t  const char *, NULL for null     i  int64_t
 *   n  int64_t, FIELD_NULL for null    h  const unsigned char *, a hash
 */
#ifndef CONSPECT_STORE_DB_H
#define CONSPECT_STORE_DB_H

#include <sqlite3.h>

#include <sys/types.h>

#include "store/store.h"

/* Statements that one connection keeps; see db_query(). */
#define STATEMENTS_MAX 128

struct store {
	sqlite3 *db;
	char *path;
	dev_t device; /* of the file that was opened */
	ino_t inode;
	int64_t waits_since; /* for a lock, by clock_mono_ms() */
	int depth;           /* of nested transactions */
	bool durable;        /* what PRAGMA synchronous is at */
	enum store_failure failure;
	struct reason why;
	struct {
		const char *sql;
		sqlite3_stmt *stmt;
	} statements[STATEMENTS_MAX];
	size_t n_statements;
};

/* How much a commit must survive. */
enum durability {
	DB_RELAXED, /* a crash of the program: heartbeats, which come again */
	DB_DURABLE, /* loss of power: what people asked and agents reported */
};

/* Notes and logs the connection's error as that of `what`; returns -1. */
int db_fail(struct store *s, const char *what);

/* The statement with its parameters bound, ready to step, or NULL. */
sqlite3_stmt *db_query(
    struct store *s, const char *sql, const char *format, ...);

/* 1 for a row, 0 at the end, -1 failed. */
int db_step(struct store *s, sqlite3_stmt *stmt);

/* Runs a statement that gives no rows; 0, or -1 failed. */
int db_run(struct store *s, const char *sql, const char *format, ...);

/* As db_run(), and STORE_CONFLICT where a UNIQUE constraint forbids it. */
int db_run_unique(struct store *s, const char *sql, const char *format, ...);

/* Rows that the last db_run() changed. */
int db_changes(const struct store *s);

/* A column's text, copied (NULL for null), or borrowed until the next step. */
char *db_copy(sqlite3_stmt *stmt, int column);
const char *db_text(sqlite3_stmt *stmt, int column);

/* A column's integer, FIELD_NULL for null. */
int64_t db_int(sqlite3_stmt *stmt, int column);

/*
 * Transactions, taken at once as writers (BEGIN IMMEDIATE) and nesting by
 * count.  db_end(s, result) commits when result is 0 or positive, rolls back
 * when it is negative, and returns what is to be returned: whoever nests
 * hands an inner failure to its own db_end().
 */
#define db_begin(s, durability)                                               \
	db_begin_at((s), (durability), __FILE__, __LINE__)
int db_begin_at(struct store *s, enum durability durability, const char *file,
    int line) __attribute__((warn_unused_result));
int db_end(struct store *s, int result) __attribute__((warn_unused_result));

/* Whether this program knows the file's schema; 0, or -1 with the reason. */
int db_check_version(struct store *s, struct reason *why);

/* Brings the schema up to date; 0, or -1 with the reason. */
int db_migrate(struct store *s, struct reason *why);

#endif
