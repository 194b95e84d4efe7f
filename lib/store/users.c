/* Users, Sessions and LoginFailures. */
#include "store/db.h"

#include "core/clock.h"
#include "core/log.h"
#include "core/mem.h"

#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

const char *const role_names[] = { "viewer", "operator", "admin", NULL };

static const char insert_user[] =
    "INSERT INTO Users (name, role, password_hash, created_at, changed_at)"
    " VALUES (?1, ?2, ?3, ?4, ?4)";
static const char select_user[] =
    "SELECT id, name, role, password_hash, changed_at"
    " FROM Users WHERE name = ?";
static const char select_users[] =
    "SELECT id, name, role, password_hash, changed_at"
    " FROM Users ORDER BY name";
static const char update_password[] =
    "UPDATE Users SET password_hash = ?2, changed_at = ?3 WHERE id = ?1";
static const char delete_user[] = "DELETE FROM Users WHERE name = ?";
static const char count_other_admins[] =
    "SELECT count(*) FROM Users WHERE role = 'admin' AND name <> ?";
static const char insert_session[] =
    "INSERT INTO Sessions (token_hash, user_id, created_at, expires_at)"
    " VALUES (?, ?, ?, ?)";
static const char select_session[] =
    "SELECT u.id, u.name, u.role, u.password_hash, u.changed_at"
    " FROM Sessions s JOIN Users u ON u.id = s.user_id"
    " WHERE s.token_hash = ? AND s.expires_at > ?";
static const char delete_session[] =
    "DELETE FROM Sessions WHERE token_hash = ?";
static const char delete_old_sessions[] =
    "DELETE FROM Sessions WHERE expires_at <= ?";
static const char delete_user_sessions[] =
    "DELETE FROM Sessions WHERE user_id = ?";
static const char select_failures[] =
    "SELECT count, last_at FROM LoginFailures"
    " WHERE account = ? AND address = ?";
static const char count_failure[] =
    "INSERT INTO LoginFailures (account, address, count, last_at)"
    " VALUES (?1, ?2, 1, ?3) ON CONFLICT (account, address)"
    " DO UPDATE SET count = count + 1, last_at = excluded.last_at";
static const char delete_failures[] =
    "DELETE FROM LoginFailures WHERE account = ? AND address = ?";
static const char delete_old_failures[] =
    "DELETE FROM LoginFailures WHERE last_at <= ?";

/* Failures are forgotten after this long without another. */
#define FAILURES_KEPT_MS (24 * 3600 * 1000LL)

/* --- users --------------------------------------------------------------- */

void
user_free(struct user *user)
{
	free(user->name);
	free(user->password_hash);
	free(user->changed_at);
	memset(user, 0, sizeof *user);
}

static enum role
role_of(const char *name)
{
	int role = ROLE_VIEWER;

	/* the table's CHECK allows no other names */
	for (int i = 0; role_names[i]; i++)
		if (strcmp(role_names[i], name) == 0)
			role = i;
	return (enum role)role;
}

static void
user_load(sqlite3_stmt *stmt, struct user *user)
{
	user->id = db_int(stmt, 0);
	user->name = db_copy(stmt, 1);
	user->role = role_of(db_text(stmt, 2));
	user->password_hash = db_copy(stmt, 3);
	user->changed_at = db_copy(stmt, 4);
}

/* Loads the one row of a query. */
static int
user_only(struct store *s, sqlite3_stmt *stmt, struct user *user)
{
	int n;

	memset(user, 0, sizeof *user);
	if (!stmt)
		return -1;
	n = db_step(s, stmt);
	if (n != 1)
		return n < 0 ? -1 : STORE_NOT_FOUND;
	user_load(stmt, user);
	(void)sqlite3_reset(stmt);
	return 0;
}

int
user_insert(struct store *s, const char *name, enum role role,
    const char *password_hash)
{
	char now[CLOCK_TEXT];

	clock_format(clock_now_ms(), now);
	if (db_begin(s, DB_DURABLE) != 0)
		return -1;
	return db_end(s, db_run_unique(s, insert_user, "tttt", name,
			     role_names[role], password_hash, now));
}

int
user_by_name(struct store *s, const char *name, struct user *user)
{
	return user_only(s, db_query(s, select_user, "t", name), user);
}

static void
forget_initial_password(struct store *s, const struct user *user)
{
	char *copy, *file;

	if (strcasecmp(user->name, INITIAL_USER) != 0)
		return;
	copy = mem_copy(s->path);
	file = mem_fmt("%s/" INITIAL_PASSWORD_FILE, dirname(copy));
	if (unlink(file) != 0 && errno != ENOENT)
		log_warn("%s: %s: remove it, its password is no longer true",
		    file, strerror(errno));
	free(file);
	free(copy);
}

int
user_set_password(
    struct store *s, const struct user *user, const char *password_hash)
{
	char now[CLOCK_TEXT];
	int result;

	clock_format(clock_now_ms(), now);
	if (db_begin(s, DB_DURABLE) != 0)
		return -1;
	result =
	    db_run(s, update_password, "itt", user->id, password_hash, now);
	if (result == 0 && db_changes(s) == 0)
		result = STORE_NOT_FOUND;
	else if (result == 0)
		result = db_run(s, delete_user_sessions, "i", user->id);
	result = db_end(s, result);
	if (result == 0)
		forget_initial_password(s, user);
	return result;
}

static int
delete_if_not_last(struct store *s, const char *name)
{
	struct user user;
	sqlite3_stmt *stmt;
	int result = user_by_name(s, name, &user);
	bool last;

	if (result != 0)
		return result;
	stmt = db_query(s, count_other_admins, "t", name);
	if (!stmt || db_step(s, stmt) != 1) {
		user_free(&user);
		return -1;
	}
	last = user.role == ROLE_ADMIN && db_int(stmt, 0) == 0;
	(void)sqlite3_reset(stmt);
	user_free(&user);
	return last ? STORE_CONFLICT : db_run(s, delete_user, "t", name);
}

int
user_delete(struct store *s, const char *name)
{
	if (db_begin(s, DB_DURABLE) != 0)
		return -1;
	return db_end(s, delete_if_not_last(s, name));
}

int
user_list(struct store *s,
    void (*each)(void *context, const struct user *user), void *context)
{
	sqlite3_stmt *stmt = db_query(s, select_users, "");
	int n;

	if (!stmt)
		return -1;
	while ((n = db_step(s, stmt)) == 1) {
		struct user user;

		user_load(stmt, &user);
		each(context, &user);
		user_free(&user);
	}
	return n;
}

/* --- sessions ------------------------------------------------------------ */

int
session_insert(struct store *s, const unsigned char hash[SECRET_HASH_BYTES],
    int64_t user_id, int64_t expires_ms)
{
	char now[CLOCK_TEXT], expires[CLOCK_TEXT];
	int result;

	clock_format(clock_now_ms(), now);
	clock_format(expires_ms, expires);
	if (db_begin(s, DB_DURABLE) != 0)
		return -1;
	/* a login is rare enough to sweep at */
	result = db_run(s, delete_old_sessions, "t", now);
	if (result == 0)
		result = db_run(
		    s, insert_session, "hitt", hash, user_id, now, expires);
	return db_end(s, result);
}

int
session_user(struct store *s, const unsigned char hash[SECRET_HASH_BYTES],
    struct user *user)
{
	char now[CLOCK_TEXT];

	clock_format(clock_now_ms(), now);
	return user_only(
	    s, db_query(s, select_session, "ht", hash, now), user);
}

int
session_delete(struct store *s, const unsigned char hash[SECRET_HASH_BYTES])
{
	if (db_begin(s, DB_DURABLE) != 0)
		return -1;
	return db_end(s, db_run(s, delete_session, "h", hash));
}

/* --- failed logins --------------------------------------------------------
 */

static int64_t
wait_after(int64_t failures)
{
	int64_t wait = 1000;

	if (failures < LOGIN_FREE_TRIES)
		return 0;
	while (failures-- > LOGIN_FREE_TRIES && wait < LOGIN_WAIT_MAX_MS)
		wait *= 2;
	return wait < LOGIN_WAIT_MAX_MS ? wait : LOGIN_WAIT_MAX_MS;
}

int
login_wait(struct store *s, const char *account, const char *address,
    int64_t *wait_ms)
{
	sqlite3_stmt *stmt =
	    db_query(s, select_failures, "tt", account, address);
	int64_t last, now = clock_now_ms();
	int n;

	*wait_ms = 0;
	if (!stmt)
		return -1;
	n = db_step(s, stmt);
	if (n != 1)
		return n;
	if (clock_parse(db_text(stmt, 1), &last)) {
		int64_t until = last + wait_after(db_int(stmt, 0));

		*wait_ms = until > now ? until - now : 0;
	}
	(void)sqlite3_reset(stmt);
	/* a clock that was set back must not lock anyone out for long */
	if (*wait_ms > LOGIN_WAIT_MAX_MS)
		*wait_ms = LOGIN_WAIT_MAX_MS;
	return 0;
}

int
login_failed(struct store *s, const char *account, const char *address)
{
	char now[CLOCK_TEXT], old[CLOCK_TEXT];
	int result;

	clock_format(clock_now_ms(), now);
	clock_format(clock_now_ms() - FAILURES_KEPT_MS, old);
	if (db_begin(s, DB_RELAXED) != 0)
		return -1;
	result = db_run(s, delete_old_failures, "t", old);
	if (result == 0)
		result =
		    db_run(s, count_failure, "ttt", account, address, now);
	return db_end(s, result);
}

/* 1 or 0, or -1 failed. */
static int
has_failures(struct store *s, const char *account, const char *address)
{
	sqlite3_stmt *stmt =
	    db_query(s, select_failures, "tt", account, address);
	int n = stmt ? db_step(s, stmt) : -1;

	if (n == 1)
		(void)sqlite3_reset(stmt);
	return n;
}

int
login_succeeded(struct store *s, const char *account, const char *address)
{
	/* each request by HTTP Basic comes here: mostly only to read */
	int n = has_failures(s, account, address);

	if (n != 1)
		return n;
	if (db_begin(s, DB_RELAXED) != 0)
		return -1;
	return db_end(s, db_run(s, delete_failures, "tt", account, address));
}
