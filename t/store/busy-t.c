/* What must not happen: a locked, full or read-only database. */
#include "store/store.h"

#include <pwd.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "store-helper.h"

#define START START_HOSTS "{'h':null}"

/* Waits for the busy time-out once. */
START_TEST(a_lock_that_is_held_for_long_is_busy)
{
	struct buf log = BUF_INIT(10000);
	struct box box;
	struct submission out;
	int64_t begun;

	box_open(&box);
	box_run(&box, "BEGIN IMMEDIATE");
	begun = clock_mono_ms();
	log_to_buf(&log);
	ck_assert_int_eq(submit(&box, START, &out), -1);
	log_to_buf(NULL);
	submission_free(&out);
	ck_assert_int_eq(store_failure(box.store), STORE_BUSY);
	ck_assert_ptr_nonnull(strstr(buf_text(&log), "database is locked"));
	buf_free(&log);
	ck_assert_int_lt(clock_mono_ms() - begun, 60000);
	box_run(&box, "ROLLBACK");
	(void)asked(&box, START);
	commands_are(&box, "pending adhoc");
	box_close(&box);
}
END_TEST

/* Two programs write at once: both succeed. */
START_TEST(a_lock_that_is_let_go_is_waited_for)
{
	struct box box;
	pid_t child;
	int status, ready[2];
	char c = 0;

	box_open(&box);
	ck_assert_int_eq(pipe(ready), 0);
	child = fork();
	if (child == 0) {
		sqlite3 *db;

		if (sqlite3_open(box.path, &db) != SQLITE_OK ||
		    sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) !=
			SQLITE_OK ||
		    write(ready[1], &c, 1) != 1)
			_exit(1);
		(void)usleep(300000);
		_exit(0); /* as a program that was killed */
	}
	ck_assert_int_eq(read(ready[0], &c, 1), 1);
	(void)asked(&box, START);
	commands_are(&box, "pending adhoc");
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	(void)close(ready[0]);
	(void)close(ready[1]);
	box_close(&box);
}
END_TEST

START_TEST(reads_go_on_while_another_writes)
{
	struct box box;
	struct user user;

	box_open(&box);
	ck_assert_int_eq(
	    user_insert(box.store, "otto", ROLE_VIEWER, "hash"), 0);
	box_run(&box, "BEGIN IMMEDIATE");
	ck_assert_int_eq(user_by_name(box.store, "otto", &user), 0);
	user_free(&user);
	box_run(&box, "ROLLBACK");
	box_close(&box);
}
END_TEST

/* More rows than a few pages hold. */
static int
submit_many(struct box *box)
{
	struct buf hosts = BUF_INIT(1000000);
	struct submission out;
	int result;

	buf_str(&hosts, START_HOSTS "{");
	for (int i = 0; i < 2000; i++)
		buf_fmt(&hosts, "%s'h%d':null", i ? "," : "", i);
	buf_str(&hosts, "}");
	result = submit(box, buf_text(&hosts), &out);
	submission_free(&out);
	buf_free(&hosts);
	return result;
}

/* In the child: files may grow to what they are and a little more. */
static int
fill_the_disk(struct box *box)
{
	struct rlimit limit = { 200000, 200000 };
	struct user user;

	(void)signal(SIGXFSZ, SIG_IGN);
	if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
		return 2;
	if (submit_many(box) != -1 || store_failure(box->store) != STORE_FULL)
		return 3;
	/* reads go on */
	return user_by_name(box->store, "otto", &user) == STORE_NOT_FOUND ? 0
									  : 4;
}

START_TEST(a_full_disk_is_said_and_nothing_is_lost)
{
	struct box box;
	int status;
	pid_t child;

	box_open(&box);
	(void)asked(&box, START);
	store_close(box.store);
	box.store = NULL;
	child = fork();
	if (child == 0) {
		box.store = open_at(box.path);
		status = fill_the_disk(&box);
		_exit(status);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_msg(status == 0, "status %d", status >> 8);
	rows_are(&box, "PRAGMA integrity_check", "ok");
	commands_are(&box, "pending adhoc");
	all_is_counted(&box);
	/* with room again */
	box.store = open_at(box.path);
	ck_assert_int_eq(submit_many(&box), 0);
	rows_are(&box, "SELECT count(*) FROM ProfilingCommands", "2001");
	box_close(&box);
}
END_TEST

/* In the child: as nobody, whom the permissions bind. */
static int
write_as_nobody(struct box *box)
{
	const struct passwd *nobody = getpwnam("nobody");
	struct submission out;
	struct user user;

	if (geteuid() == 0 && (!nobody || setgid(nobody->pw_gid) != 0 ||
				  setuid(nobody->pw_uid) != 0))
		return 2;
	box->store = open_at(box->path);
	if (submit(box, START, &out) != -1 ||
	    store_failure(box->store) != STORE_READONLY)
		return 3;
	submission_free(&out);
	/* reads go on */
	if (user_by_name(box->store, "otto", &user) != 0)
		return 4;
	user_free(&user);
	store_close(box->store);
	return 0;
}

/* A file that may only be read, in a directory that may be written. */
START_TEST(a_read_only_database_is_said)
{
	struct box box;
	int status;
	pid_t child;

	box_open(&box);
	ck_assert_int_eq(
	    user_insert(box.store, "otto", ROLE_VIEWER, "hash"), 0);
	store_close(box.store);
	(void)sqlite3_close(box.eye);
	ck_assert_int_eq(chmod(box.path, 0444), 0);
	ck_assert_int_eq(chmod(box.dir, 0777), 0);
	child = fork();
	if (child == 0)
		_exit(write_as_nobody(&box));
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_msg(status == 0, "status %d", status >> 8);
	box.store = NULL;
	box.eye = NULL;
	box_close(&box);
}
END_TEST

HARNESS_MAIN("busy", a_lock_that_is_held_for_long_is_busy,
    a_lock_that_is_let_go_is_waited_for, reads_go_on_while_another_writes,
    a_full_disk_is_said_and_nothing_is_lost, a_read_only_database_is_said)
