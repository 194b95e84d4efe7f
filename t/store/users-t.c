/* People: roles, passwords, sessions, and the wait after failed logins. */
#include "store/store.h"

#include "core/clock.h"
#include "store-helper.h"

#define HOUR_MS (3600 * 1000)

static struct user
user_of(struct box *box, const char *name)
{
	struct user user;

	ck_assert_int_eq(user_by_name(box->store, name, &user), 0);
	return user;
}

static void
add_user(struct box *box, const char *name, enum role role)
{
	ck_assert_int_eq(user_insert(box->store, name, role, "hash"), 0);
}

static void
add_line(void *context, const struct user *user)
{
	buf_fmt(context, "%s %s %s\n", user->name, role_names[user->role],
	    user->password_hash);
}

START_TEST(users_have_a_name_and_a_role)
{
	struct buf lines = BUF_INIT(1000);
	struct box box;
	struct user user;

	box_open(&box);
	add_user(&box, "vera", ROLE_VIEWER);
	add_user(&box, "Otto", ROLE_OPERATOR);
	add_user(&box, "admin", ROLE_ADMIN);
	ck_assert_int_eq(user_list(box.store, add_line, &lines), 0);
	ck_assert_str_eq(buf_text(&lines), "admin admin hash\n"
					   "Otto operator hash\n"
					   "vera viewer hash\n");
	user = user_of(&box, "OTTO");
	ck_assert_str_eq(user.name, "Otto");
	ck_assert_int_eq(user.role, ROLE_OPERATOR);
	user_free(&user);
	ck_assert_int_eq(
	    user_by_name(box.store, "nobody", &user), STORE_NOT_FOUND);
	buf_free(&lines);
	box_close(&box);
}
END_TEST

START_TEST(a_name_is_given_once)
{
	struct box box;

	box_open(&box);
	add_user(&box, "otto", ROLE_VIEWER);
	ck_assert_int_eq(
	    user_insert(box.store, "OTTO", ROLE_ADMIN, "x"), STORE_CONFLICT);
	rows_are(&box, "SELECT name, role FROM Users", "otto|viewer");
	box_close(&box);
}
END_TEST

START_TEST(the_last_admin_stays)
{
	struct box box;

	box_open(&box);
	add_user(&box, "admin", ROLE_ADMIN);
	add_user(&box, "otto", ROLE_OPERATOR);
	ck_assert_int_eq(user_delete(box.store, "admin"), STORE_CONFLICT);
	ck_assert_int_eq(user_delete(box.store, "ADMIN"), STORE_CONFLICT);
	ck_assert_int_eq(user_delete(box.store, "none"), STORE_NOT_FOUND);
	ck_assert_int_eq(user_delete(box.store, "otto"), 0);
	add_user(&box, "eve", ROLE_ADMIN);
	ck_assert_int_eq(user_delete(box.store, "admin"), 0);
	ck_assert_int_eq(user_delete(box.store, "eve"), STORE_CONFLICT);
	rows_are(&box, "SELECT name FROM Users", "eve");
	box_close(&box);
}
END_TEST

/* --- sessions ------------------------------------------------------------ */

static void
log_in(struct box *box, const char *secret, const char *name, int64_t for_ms)
{
	struct user user = user_of(box, name);
	unsigned char hash[SECRET_HASH_BYTES];

	secret_hash(secret, hash);
	ck_assert_int_eq(
	    session_insert(box->store, hash, user.id, clock_now_ms() + for_ms),
	    0);
	user_free(&user);
}

/* "" for nobody. */
static void
session_is_of(struct box *box, const char *secret, const char *name)
{
	unsigned char hash[SECRET_HASH_BYTES];
	struct user user;

	secret_hash(secret, hash);
	ck_assert_int_eq(session_user(box->store, hash, &user),
	    *name ? 0 : STORE_NOT_FOUND);
	ck_assert_str_eq(user.name ? user.name : "", name);
	user_free(&user);
}

START_TEST(a_session_is_of_its_user_until_it_ends)
{
	unsigned char hash[SECRET_HASH_BYTES];
	struct box box;

	box_open(&box);
	add_user(&box, "admin", ROLE_ADMIN);
	add_user(&box, "otto", ROLE_OPERATOR);
	log_in(&box, "one", "admin", HOUR_MS);
	log_in(&box, "two", "otto", HOUR_MS);
	session_is_of(&box, "one", "admin");
	session_is_of(&box, "two", "otto");
	session_is_of(&box, "three", "");
	secret_hash("one", hash);
	ck_assert_int_eq(session_delete(box.store, hash), 0);
	ck_assert_int_eq(session_delete(box.store, hash), 0);
	session_is_of(&box, "one", "");
	session_is_of(&box, "two", "otto");
	box_close(&box);
}
END_TEST

START_TEST(sessions_expire_and_are_swept)
{
	struct box box;

	box_open(&box);
	add_user(&box, "otto", ROLE_OPERATOR);
	log_in(&box, "old", "otto", -1);
	session_is_of(&box, "old", "");
	log_in(&box, "new", "otto", HOUR_MS);
	session_is_of(&box, "new", "otto");
	rows_are(&box, "SELECT count(*) FROM Sessions", "1");
	box_close(&box);
}
END_TEST

START_TEST(the_sessions_of_a_deleted_user_end)
{
	struct box box;

	box_open(&box);
	add_user(&box, "otto", ROLE_OPERATOR);
	log_in(&box, "one", "otto", HOUR_MS);
	ck_assert_int_eq(user_delete(box.store, "otto"), 0);
	session_is_of(&box, "one", "");
	rows_are(&box, "SELECT count(*) FROM Sessions", "0");
	box_close(&box);
}
END_TEST

/* --- passwords ----------------------------------------------------------- */

START_TEST(a_new_password_ends_the_users_sessions)
{
	struct box box;
	struct user user;

	box_open(&box);
	add_user(&box, "otto", ROLE_OPERATOR);
	add_user(&box, "vera", ROLE_VIEWER);
	log_in(&box, "one", "otto", HOUR_MS);
	log_in(&box, "two", "otto", HOUR_MS);
	log_in(&box, "three", "vera", HOUR_MS);
	user = user_of(&box, "otto");
	ck_assert_int_eq(user_set_password(box.store, &user, "new"), 0);
	user_free(&user);
	session_is_of(&box, "one", "");
	session_is_of(&box, "two", "");
	session_is_of(&box, "three", "vera");
	rows_are(&box,
	    "SELECT name, password_hash, changed_at >= created_at"
	    " FROM Users ORDER BY name",
	    "otto|new|1\nvera|hash|1");
	box_close(&box);
}
END_TEST

START_TEST(a_user_that_is_gone_gets_no_password)
{
	struct box box;
	struct user user;

	box_open(&box);
	add_user(&box, "otto", ROLE_OPERATOR);
	user = user_of(&box, "otto");
	ck_assert_int_eq(user_delete(box.store, "otto"), 0);
	ck_assert_int_eq(
	    user_set_password(box.store, &user, "new"), STORE_NOT_FOUND);
	user_free(&user);
	box_close(&box);
}
END_TEST

/* The file whose password is no longer true. */
START_TEST(the_initial_password_goes_with_the_admins_own)
{
	struct box box;
	struct user otto, admin;
	char *file;

	box_open(&box);
	file = mem_fmt("%s/initial-password", box.dir);
	(void)fclose(fopen(file, "w"));
	add_user(&box, "admin", ROLE_ADMIN);
	add_user(&box, "otto", ROLE_ADMIN);
	otto = user_of(&box, "otto");
	admin = user_of(&box, "admin");
	ck_assert_int_eq(user_set_password(box.store, &otto, "new"), 0);
	ck_assert_int_eq(access(file, F_OK), 0);
	ck_assert_int_eq(user_set_password(box.store, &admin, "new"), 0);
	ck_assert_int_eq(access(file, F_OK), -1);
	ck_assert_int_eq(user_set_password(box.store, &admin, "newer"), 0);
	user_free(&otto);
	user_free(&admin);
	free(file);
	box_close(&box);
}
END_TEST

/* --- failed logins ------------------------------------------------------- */

static int64_t failed_from, failed_to; /* when the last failure was noted */

static void
fail_login(struct box *box, int times)
{
	while (times-- > 0) {
		failed_from = clock_now_ms();
		ck_assert_int_eq(
		    login_failed(box->store, "otto", "192.0.2.1"), 0);
		failed_to = clock_now_ms();
	}
}

static int64_t
not_below_0(int64_t ms)
{
	return ms > 0 ? ms : 0;
}

/* The wait ends ms after the last failure. */
static void
wait_is(struct box *box, const char *account, const char *address, int64_t ms)
{
	int64_t wait = -1, from = clock_now_ms();

	ck_assert_int_eq(login_wait(box->store, account, address, &wait), 0);
	if (ms == 0)
		ck_assert_int_eq(wait, 0);
	ck_assert_int_ge(wait, not_below_0(failed_from + ms - clock_now_ms()));
	ck_assert_int_le(wait, not_below_0(failed_to + ms - from));
}

START_TEST(the_wait_doubles_after_the_free_tries)
{
	struct box box;

	box_open(&box);
	wait_is(&box, "otto", "192.0.2.1", 0);
	fail_login(&box, LOGIN_FREE_TRIES - 1);
	wait_is(&box, "otto", "192.0.2.1", 0);
	for (int64_t ms = 1000; ms < LOGIN_WAIT_MAX_MS; ms *= 2) {
		fail_login(&box, 1);
		wait_is(&box, "OTTO", "192.0.2.1", ms);
	}
	fail_login(&box, 1);
	wait_is(&box, "otto", "192.0.2.1", LOGIN_WAIT_MAX_MS);
	box_run(&box, "UPDATE LoginFailures SET count = 2000000000");
	wait_is(&box, "otto", "192.0.2.1", LOGIN_WAIT_MAX_MS);
	box_close(&box);
}
END_TEST

START_TEST(others_do_not_wait)
{
	struct box box;

	box_open(&box);
	fail_login(&box, LOGIN_FREE_TRIES + 3);
	wait_is(&box, "otto", "192.0.2.1", 8000);
	wait_is(&box, "otto", "192.0.2.2", 0);
	wait_is(&box, "vera", "192.0.2.1", 0);
	box_close(&box);
}
END_TEST

START_TEST(a_login_that_succeeds_begins_anew)
{
	struct box box;

	box_open(&box);
	fail_login(&box, LOGIN_FREE_TRIES + 3);
	ck_assert_int_eq(login_succeeded(box.store, "Otto", "192.0.2.1"), 0);
	wait_is(&box, "otto", "192.0.2.1", 0);
	fail_login(&box, LOGIN_FREE_TRIES - 1);
	wait_is(&box, "otto", "192.0.2.1", 0);
	box_close(&box);
}
END_TEST

START_TEST(a_wait_passes_and_a_clock_set_back_locks_nobody_out)
{
	struct box box;
	int64_t wait;

	box_open(&box);
	fail_login(&box, LOGIN_FREE_TRIES);
	box_run(&box, "UPDATE LoginFailures SET last_at ="
		      " strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-2 seconds')");
	wait_is(&box, "otto", "192.0.2.1", 0);
	box_run(&box, "UPDATE LoginFailures SET"
		      " last_at = '2999-01-01T00:00:00.000Z'");
	ck_assert_int_eq(login_wait(box.store, "otto", "192.0.2.1", &wait), 0);
	ck_assert_int_eq(wait, LOGIN_WAIT_MAX_MS);
	box_close(&box);
}
END_TEST

START_TEST(old_failures_are_forgotten)
{
	struct box box;

	box_open(&box);
	fail_login(&box, LOGIN_FREE_TRIES);
	box_run(&box, "UPDATE LoginFailures SET"
		      " last_at = '2020-01-01T00:00:00.000Z'");
	fail_login(&box, 1);
	rows_are(&box, "SELECT count FROM LoginFailures", "1");
	box_close(&box);
}
END_TEST

HARNESS_MAIN("users", users_have_a_name_and_a_role, a_name_is_given_once,
    the_last_admin_stays, a_session_is_of_its_user_until_it_ends,
    sessions_expire_and_are_swept, the_sessions_of_a_deleted_user_end,
    a_new_password_ends_the_users_sessions,
    a_user_that_is_gone_gets_no_password,
    the_initial_password_goes_with_the_admins_own,
    the_wait_doubles_after_the_free_tries, others_do_not_wait,
    a_login_that_succeeds_begins_anew,
    a_wait_passes_and_a_clock_set_back_locks_nobody_out,
    old_failures_are_forgotten)
