/* Result files in the store: whole or not at all, and for how long. */
#include "store/results.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "core/clock.h"
#include "store-helper.h"
#include "store/settings.h"

#define START START_HOSTS "{'h':null}"
#define NOBODY "00000000-0000-4000-8000-000000000000"
#define HOUR_MS (3600 * 1000LL)
#define DAY_MS (24 * HOUR_MS)
#define KIB 1024

/* A box with a command that host h was given. */
struct shelf {
	struct box box;
	char id[UUID_TEXT];
};

static void
shelf_open(struct shelf *s)
{
	struct offer offer;

	box_open(&s->box);
	(void)asked(&s->box, START);
	beat(&s->box, "h", "", &offer);
	memcpy(s->id, offer.command_id, UUID_TEXT);
	offer_free(&offer);
}

static char *
path_of(const struct shelf *s, const char *name)
{
	return mem_fmt(
	    "%s/results/%s%s%s", s->box.dir, s->id, *name ? "/" : "", name);
}

static void
shelf_close(struct shelf *s)
{
	char *command = mem_fmt("rm -rf '%s/results'", s->box.dir);

	ck_assert_int_eq(system(command), 0);
	free(command);
	box_close(&s->box);
}

/* --- putting and looking ------------------------------------------------- */

static void
count(void *context, const struct result_file *file)
{
	(void)file;
	++*(int *)context;
}

static int
put_as(struct shelf *s, const struct result_upload *upload, bool *is_new)
{
	int visits = 0,
	    result = result_put(s->box.store, upload, is_new, count, &visits);

	ck_assert_int_eq(visits, result == 0);
	return result;
}

/* A file of so many bytes of one letter. */
static int
put(struct shelf *s, const char *name, char letter, size_t len)
{
	char *bytes = mem_alloc(len + 1, 1);
	struct result_upload upload = { s->id, "h", NULL, name, bytes, len };
	bool is_new;
	int result;

	memset(bytes, letter, len);
	result = put_as(s, &upload, &is_new);
	free(bytes);
	return result;
}

/* The whole of what is under a path, by find(1). */
static void
files_are(const struct shelf *s, const char *expected)
{
	char *command = mem_fmt("cd '%s' && { find results -type f "
				"-printf '%%f\\n' | sort | tr '\\n' ' '; } "
				"2>/dev/null",
	    s->box.dir);
	FILE *out = popen(command, "re");
	char found[1000] = "";

	ck_assert_ptr_nonnull(out);
	(void)!fread(found, 1, sizeof found - 1, out);
	(void)pclose(out);
	ck_assert_str_eq(found, expected);
	free(command);
}

START_TEST(a_file_is_whole_and_noted)
{
	struct buf b = BUF_INIT(100);
	struct shelf s;

	shelf_open(&s);
	ck_assert_int_eq(put(&s, "a", 'x', 3), 0);
	rows_are(&s.box, "SELECT name, bytes, sha256 FROM ResultFiles",
	    "a|3|cd2eb0837c9b4c962c22d2ff8b5441b7b45805887f051d39bf133b583baf6"
	    "860");
	ck_assert_int_eq(result_read(s.box.store, s.id, "a", &b), 0);
	ck_assert_str_eq(buf_text(&b), "xxx");
	ck_assert_int_eq(put(&s, "a", 'y', 2), 0);
	buf_clear(&b);
	ck_assert_int_eq(result_read(s.box.store, s.id, "a", &b), 0);
	ck_assert_str_eq(buf_text(&b), "yy");
	rows_are(
	    &s.box, "SELECT count(*), sum(bytes) FROM ResultFiles", "1|2");
	files_are(&s, "a ");
	buf_free(&b);
	shelf_close(&s);
}
END_TEST

START_TEST(what_is_not_taken_leaves_nothing)
{
	struct shelf s;
	bool is_new;

	shelf_open(&s);
	ck_assert_int_eq(
	    put_as(&s,
		&(struct result_upload) { NOBODY, "h", NULL, "a", "x", 1 },
		&is_new),
	    STORE_NOT_FOUND);
	ck_assert_int_eq(
	    put_as(&s,
		&(struct result_upload) { s.id, "g", NULL, "a", "x", 1 },
		&is_new),
	    STORE_NOT_FOUND);
	ck_assert_int_eq(
	    put_as(&s, &(struct result_upload) { s.id, "h", "t", "a", "x", 1 },
		&is_new),
	    STORE_NOT_FOUND);
	box_run(&s.box, "UPDATE ProfilingCommands SET sent_at = NULL");
	ck_assert_int_eq(put(&s, "a", 'x', 1), STORE_NOT_FOUND);
	rows_are(&s.box, "SELECT count(*) FROM ResultFiles", "0");
	files_are(&s, "");
	shelf_close(&s);
}
END_TEST

START_TEST(new_and_replaced_are_told_apart)
{
	struct shelf s;
	bool is_new = false;

	shelf_open(&s);
	ck_assert_int_eq(
	    put_as(&s, &(struct result_upload) { s.id, "H", "s", "a", "x", 1 },
		&is_new),
	    0);
	ck_assert(is_new);
	ck_assert_int_eq(
	    put_as(&s, &(struct result_upload) { s.id, "h", "s", "a", "x", 1 },
		&is_new),
	    0);
	ck_assert(!is_new);
	shelf_close(&s);
}
END_TEST

START_TEST(a_file_that_somebody_removed_is_not_found)
{
	struct buf b = BUF_INIT(100);
	struct shelf s;
	char *path;

	shelf_open(&s);
	path = path_of(&s, "a");
	ck_assert_int_eq(put(&s, "a", 'x', 1), 0);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(
	    result_read(s.box.store, s.id, "a", &b), STORE_NOT_FOUND);
	ck_assert_int_eq(
	    result_read(s.box.store, s.id, "b", &b), STORE_NOT_FOUND);
	free(path);
	buf_free(&b);
	shelf_close(&s);
}
END_TEST

/* --- kill -9 ------------------------------------------------------------- */

#define BIG (256 * KIB)

static void __attribute__((noreturn)) put_until_killed(struct shelf *s, int fd)
{
	s->box.store = open_at(s->box.path);
	for (char letter = 'a';; letter = letter == 'z' ? 'a' : letter + 1)
		if (put(s, "big", letter, BIG) != 0 || write(fd, "x", 1) != 1)
			_exit(1);
}

/* Whatever moment it is, a name holds one whole file. */
START_TEST(a_killed_server_leaves_whole_files)
{
	struct buf b = BUF_INIT(BIG + 1);
	struct shelf s;
	int ends[2];
	char told;
	pid_t pid;

	shelf_open(&s);
	store_close(s.box.store);
	for (int round = 0; round < 3; round++) {
		ck_assert_int_eq(pipe(ends), 0);
		pid = fork();
		if (pid == 0)
			put_until_killed(&s, ends[1]);
		(void)close(ends[1]);
		for (int i = 0; i <= round; i++)
			ck_assert_int_eq(read(ends[0], &told, 1), 1);
		ck_assert_int_eq(kill(pid, SIGKILL), 0);
		ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
		(void)close(ends[0]);
		s.box.store = open_at(s.box.path);
		buf_clear(&b);
		ck_assert_int_eq(result_read(s.box.store, s.id, "big", &b), 0);
		ck_assert_uint_eq(b.len, BIG);
		for (size_t i = 0; i < b.len; i++)
			ck_assert_int_eq(b.data[i], b.data[0]);
		store_close(s.box.store);
	}
	s.box.store = open_at(s.box.path);
	buf_free(&b);
	shelf_close(&s);
}
END_TEST

/* --- for how long -------------------------------------------------------- */

static int64_t
trimmed(struct shelf *s, int64_t now_ms)
{
	int64_t deleted = 0;

	ck_assert_int_eq(results_trim(s->box.store, now_ms, &deleted), 0);
	return deleted;
}

START_TEST(age_is_exact)
{
	struct shelf s;
	int64_t then;

	shelf_open(&s);
	ck_assert_int_eq(put(&s, "a", 'x', 1), 0);
	ck_assert(clock_parse("2026-01-01T00:00:00.000Z", &then));
	box_run(&s.box, "UPDATE ResultFiles SET"
			" received_at = '2026-01-01T00:00:00.000Z'");
	ck_assert_int_eq(trimmed(&s, then + 30 * DAY_MS), 0);
	files_are(&s, "a ");
	ck_assert_int_eq(trimmed(&s, then + 30 * DAY_MS + 1), 1);
	files_are(&s, "");
	rows_are(&s.box, "SELECT count(*) FROM ResultFiles", "0");
	shelf_close(&s);
}
END_TEST

START_TEST(size_takes_the_oldest_first)
{
	struct shelf s;
	int64_t now = clock_now_ms();

	shelf_open(&s);
	ck_assert_int_eq(
	    setting_set(s.box.store, SETTING_RESULTS_KEEP_MIB, 1), 0);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(put(&s, (const char[]) { (char)('d' - i), 0 },
				     'x', 256 * KIB),
		    0);
	/* all at once: then the one that was there first is the older */
	box_run(&s.box, "UPDATE ResultFiles SET"
			" received_at = (SELECT max(received_at)"
			" FROM ResultFiles)");
	ck_assert_int_eq(trimmed(&s, now), 0);
	ck_assert_int_eq(put(&s, "e", 'x', 1), 0);
	ck_assert_int_eq(trimmed(&s, now), 1);
	files_are(&s, "a b c e ");
	rows_are(
	    &s.box, "SELECT name FROM ResultFiles ORDER BY id", "c\nb\na\ne");
	shelf_close(&s);
}
END_TEST

/* More than one transaction takes. */
START_TEST(many_go_in_one_round)
{
	struct shelf s;
	char name[16];

	shelf_open(&s);
	for (int i = 0; i < 51; i++) {
		(void)snprintf(name, sizeof name, "%02d", i);
		ck_assert_int_eq(put(&s, name, 'x', 1), 0);
	}
	ck_assert_int_eq(trimmed(&s, clock_now_ms() + 31 * DAY_MS), 51);
	files_are(&s, "");
	shelf_close(&s);
}
END_TEST

START_TEST(what_has_no_row_goes_after_an_hour)
{
	int64_t now = clock_now_ms(), deleted = 0;
	struct shelf s;
	char *directory;

	shelf_open(&s);
	directory = path_of(&s, "");
	ck_assert_int_eq(put(&s, "kept", 'x', 1), 0);
	ck_assert_int_eq(put(&s, "gone", 'x', 1), 0);
	box_run(&s.box, "DELETE FROM ResultFiles WHERE name = 'gone'");
	ck_assert_int_eq(
	    results_tidy(s.box.store, now + HOUR_MS / 2, &deleted), 0);
	ck_assert_int_eq(deleted, 0);
	files_are(&s, "gone kept ");
	ck_assert_int_eq(
	    results_tidy(s.box.store, now + 2 * HOUR_MS, &deleted), 0);
	ck_assert_int_eq(deleted, 1);
	files_are(&s, "kept ");
	/* with its command all of it goes, the directory too */
	box_run(&s.box, "PRAGMA foreign_keys = ON;"
			"DELETE FROM ProfilingCommands");
	rows_are(&s.box, "SELECT count(*) FROM ResultFiles", "0");
	ck_assert_int_eq(
	    results_tidy(s.box.store, now + 2 * HOUR_MS, &deleted), 0);
	files_are(&s, "");
	ck_assert_int_eq(
	    results_tidy(s.box.store, now + 2 * HOUR_MS, &deleted), 0);
	ck_assert_int_ne(access(directory, F_OK), 0);
	free(directory);
	shelf_close(&s);
}
END_TEST

START_TEST(without_a_directory_there_is_nothing_to_do)
{
	int64_t deleted = 0;
	struct shelf s;

	shelf_open(&s);
	ck_assert_int_eq(trimmed(&s, clock_now_ms()), 0);
	ck_assert_int_eq(
	    results_tidy(s.box.store, clock_now_ms(), &deleted), 0);
	ck_assert_int_eq(deleted, 0);
	shelf_close(&s);
}
END_TEST

HARNESS_MAIN("results", a_file_is_whole_and_noted,
    what_is_not_taken_leaves_nothing, new_and_replaced_are_told_apart,
    a_file_that_somebody_removed_is_not_found,
    a_killed_server_leaves_whole_files, age_is_exact,
    size_takes_the_oldest_first, many_go_in_one_round,
    what_has_no_row_goes_after_an_hour,
    without_a_directory_there_is_nothing_to_do)
