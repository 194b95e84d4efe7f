/* Opening: the file that is made, and what is refused with its reason. */
#include "store/store.h"

#include <pwd.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "store-helper.h"

START_TEST(a_new_database_is_for_owner_and_group)
{
	struct box box;
	struct stat st;
	mode_t old = umask(0);

	box_open(&box);
	(void)umask(old);
	ck_assert_int_eq(stat(box.path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0640);
	ck_assert_str_eq(store_path(box.store), box.path);
	rows_are(&box, "PRAGMA journal_mode", "wal");
	box_close(&box);
}
END_TEST

static void
open_fails(const char *path, enum store_failure kind, const char *reason)
{
	struct reason why = { "" };
	struct store *store;
	enum store_failure failure;

	ck_assert_int_eq(store_open(path, &store, &failure, &why), -1);
	ck_assert_ptr_null(store);
	ck_assert_int_eq(failure, kind);
	ck_assert_str_eq(why.text, reason);
}

START_TEST(a_newer_schema_is_refused)
{
	struct box box;
	char *reason;

	box_open(&box);
	box_run(&box, "PRAGMA user_version = 900");
	store_close(box.store);
	box.store = NULL;
	reason = mem_fmt("database %s has schema version 900, and this "
			 "program knows versions up to %d: install the newer "
			 "Conspect that made it",
	    box.path, store_schema_newest());
	open_fails(box.path, STORE_NEWER, reason);
	rows_are(&box, "PRAGMA user_version", "900");
	free(reason);
	box_close(&box);
}
END_TEST

START_TEST(a_missing_directory_is_named_with_the_user)
{
	const char *user = getpwuid(geteuid())->pw_name;
	char *reason = mem_fmt("database directory /nowhere/at/all: No such "
			       "file or directory (user %s)",
	    user);

	open_fails("/nowhere/at/all/conspect.db", STORE_MISSING, reason);
	free(reason);
}
END_TEST

/* In the child: as nobody, whom the permissions bind. */
static int
open_as_nobody(const char *path, const char *expected)
{
	const struct passwd *nobody = getpwnam("nobody");
	enum store_failure failure;
	struct reason why = { "" };
	struct store *store;

	if (geteuid() == 0 && (!nobody || setgid(nobody->pw_gid) != 0 ||
				  setuid(nobody->pw_uid) != 0))
		return 2;
	if (store_open(path, &store, &failure, &why) != -1 ||
	    failure != STORE_MISSING || strcmp(why.text, expected) != 0) {
		(void)fprintf(stderr, "# %s\n", why.text);
		return 1;
	}
	return 0;
}

static int
status_of(pid_t child)
{
	int status = -1;

	ck_assert_int_eq(waitpid(child, &status, 0), child);
	return status;
}

/* The file may be written by all, its directory may not. */
START_TEST(a_directory_that_may_not_be_written_is_named_with_the_user)
{
	const char *user =
	    geteuid() == 0 ? "nobody" : getpwuid(geteuid())->pw_name;
	struct box box;
	char *reason;
	pid_t child;

	box_open(&box);
	ck_assert_int_eq(chmod(box.path, 0666), 0);
	ck_assert_int_eq(chmod(box.dir, 0555), 0);
	reason = mem_fmt("database directory %s may not be written by user "
			 "%s: SQLite makes files beside the database, so a "
			 "writable file is not enough",
	    box.dir, user);
	child = fork();
	if (child == 0)
		_exit(open_as_nobody(box.path, reason));
	ck_assert_int_eq(status_of(child), 0);
	ck_assert_int_eq(chmod(box.dir, 0755), 0);
	free(reason);
	box_close(&box);
}
END_TEST

START_TEST(a_file_that_is_no_database_is_refused)
{
	struct box box;
	char *reason;
	FILE *file;

	box_place(&box);
	file = fopen(box.path, "w");
	ck_assert_ptr_nonnull(file);
	for (int i = 0; i < 1000; i++)
		(void)fputs("this is no database\n", file);
	(void)fclose(file);
	reason = mem_fmt("database %s: file is not a database", box.path);
	open_fails(box.path, STORE_FAULT, reason);
	free(reason);
	box_close(&box);
}
END_TEST

START_TEST(a_replaced_file_is_noticed)
{
	struct box box;
	struct reason why = { "" };
	char *aside, *reason;

	box_open(&box);
	ck_assert_int_eq(store_check(box.store, &why), 0);
	aside = mem_fmt("%s/aside", box.dir);
	reason = mem_fmt("database %s was replaced", box.path);
	ck_assert_int_eq(rename(box.path, aside), 0);
	ck_assert_int_eq(store_check(box.store, &why), -1);
	ck_assert_str_eq(why.text, reason);
	(void)fclose(fopen(box.path, "w"));
	ck_assert_int_eq(store_check(box.store, &why), -1);
	ck_assert_int_eq(rename(aside, box.path), 0);
	ck_assert_int_eq(store_check(box.store, &why), 0);
	free(reason);
	free(aside);
	box_close(&box);
}
END_TEST

START_TEST(a_schema_that_grew_is_noticed)
{
	struct box box;
	struct reason why = { "" };

	box_open(&box);
	box_run(&box, "PRAGMA user_version = 900");
	ck_assert_int_eq(store_check(box.store, &why), -1);
	ck_assert_ptr_nonnull(strstr(why.text, "schema version 900"));
	ck_assert_int_eq(store_failure(box.store), STORE_NEWER);
	box_close(&box);
}
END_TEST

/* In the child: opens when the gate does. */
static int
open_at_the_gate(const char *path, int gate)
{
	enum store_failure failure;
	struct reason why = { "" };
	struct store *store;
	char c;

	if (read(gate, &c, 1) != 0)
		return 2;
	if (store_open(path, &store, &failure, &why) != 0) {
		(void)fprintf(stderr, "# %s\n", why.text);
		return 1;
	}
	store_close(store);
	return 0;
}

static void
open_together(const char *path)
{
	enum { OPENERS = 6 };
	pid_t children[OPENERS];
	int gate[2];

	ck_assert_int_eq(pipe(gate), 0);
	for (int i = 0; i < OPENERS; i++) {
		children[i] = fork();
		if (children[i] == 0) {
			(void)close(gate[1]);
			_exit(open_at_the_gate(path, gate[0]));
		}
	}
	(void)close(gate[0]);
	(void)close(gate[1]);
	for (int i = 0; i < OPENERS; i++)
		ck_assert_int_eq(status_of(children[i]), 0);
}

START_TEST(programs_that_open_a_new_database_at_once_all_succeed)
{
	for (int round = 0; round < 10; round++) {
		struct box box;

		box_place(&box);
		open_together(box.path);
		box_look(&box);
		rows_are(&box, "SELECT count(*) FROM ProfilingRequests", "0");
		box_close(&box);
	}
}
END_TEST

START_TEST(closing_nothing_is_allowed)
{
	store_close(NULL);
}
END_TEST

HARNESS_MAIN("open", a_new_database_is_for_owner_and_group,
    a_newer_schema_is_refused, a_missing_directory_is_named_with_the_user,
    a_directory_that_may_not_be_written_is_named_with_the_user,
    a_file_that_is_no_database_is_refused, a_replaced_file_is_noticed,
    a_schema_that_grew_is_noticed,
    programs_that_open_a_new_database_at_once_all_succeed,
    closing_nothing_is_allowed)
