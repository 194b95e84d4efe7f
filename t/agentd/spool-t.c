/* What runs leave on the disk: noted, kept within bounds, removed. */
#include "t/agentd/suite.h"

#include "agentd/spool.h"
#include "core/buf.h"
#include "core/clock.h"
#include "core/log.h"

#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#define ONE "11111111-1111-4111-8111-111111111111"
#define TWO "22222222-2222-4222-8222-222222222222"
#define THREE "33333333-3333-4333-8333-333333333333"
#define KIB 1024
#define DAY 86400

static char *directory;
static struct options options;
static struct state *state;
static struct spool *spool;
static CURLM *multi;
static struct buf text;

static void
set_up(void)
{
	static char server[] = "http://127.0.0.1:1", host[] = "h";
	char *parent = suite_directory();

	directory = mem_fmt("%s/state", parent);
	free(parent);
	options = (struct options) { .state_dir = directory,
		.api_server = server,
		.host_name = host,
		.spool_max_mib = 1,
		.spool_max_days = 7,
		.keep_runs_days = 3 };
	multi = curl_multi_init();
	ck_assert_int_eq(mkdir(directory, 0700), 0);
	text = (struct buf)BUF_INIT(100000);
	log_to_buf(&text);
}

static void
tear_down(void)
{
	log_to_buf(NULL);
	buf_free(&text);
	spool_close(spool);
	state_close(state);
	(void)curl_multi_cleanup(multi);
	*strrchr(directory, '/') = '\0';
	suite_remove(directory);
}

/* --- making -------------------------------------------------------------- */

static char *
path_of(const char *id, const char *name)
{
	return mem_fmt("%s/runs/%s%s", directory, id, name);
}

static void
make(const char *path)
{
	ck_assert_int_eq(mkdir(path, 0700), 0);
}

/* A run that ended `age` seconds ago, with a file of so many bytes. */
static void
left(const char *id, long age, size_t bytes)
{
	struct timeval when[2] = { { .tv_sec = time(NULL) - age },
		{ .tv_sec = time(NULL) - age } };
	char *runs = mem_fmt("%s/runs", directory), *run = path_of(id, ""),
	     *results = path_of(id, "/results"),
	     *file = path_of(id, "/results/a.csv"),
	     *content = mem_alloc(bytes + 1, 1);

	(void)mkdir(runs, 0700);
	make(run);
	make(results);
	suite_write(file, content, bytes, 0600);
	ck_assert_int_eq(utimes(run, when), 0);
	free(runs);
	free(run);
	free(results);
	free(file);
	free(content);
}

static void
begin(void)
{
	struct reason why = { "" };

	ck_assert_msg(
	    state_open(directory, &state, &why) == 0, "%s", why.text);
	spool = spool_open(&options, state, multi, &why);
	ck_assert_msg(spool != NULL, "%s", why.text);
}

/* Steps until nothing is due for a while. */
static void
settle(void)
{
	int64_t now = clock_mono_ms();

	for (int i = 0; i < 1000 && spool_next_ms(spool, false) <= now; i++)
		spool_step(spool, "token", false, now);
	ck_assert_int_gt(spool_next_ms(spool, false), now);
}

/* --- looking ------------------------------------------------------------- */

static bool
is_there(const char *id)
{
	char *path = path_of(id, "");
	bool there = access(path, F_OK) == 0;

	free(path);
	return there;
}

/* Runs SQL on the state's file; gives the first column of its last row. */
static int64_t
sql(const char *query)
{
	char *path = mem_fmt("%s/agent.db", directory);
	sqlite3_stmt *stmt = NULL;
	sqlite3 *db = NULL;
	int64_t value = -1;

	ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
	(void)sqlite3_busy_timeout(db, 10000);
	for (const char *at = query; *at;) {
		ck_assert_msg(
		    sqlite3_prepare_v2(db, at, -1, &stmt, &at) == SQLITE_OK,
		    "%s", sqlite3_errmsg(db));
		while (sqlite3_step(stmt) == SQLITE_ROW)
			value = sqlite3_column_int64(stmt, 0);
		ck_assert_int_eq(sqlite3_finalize(stmt), SQLITE_OK);
	}
	(void)sqlite3_close(db);
	free(path);
	return value;
}

static void
logged(const char *part)
{
	ck_assert_msg(strstr(buf_text(&text), part) != NULL, "%s\nlacks %s",
	    buf_text(&text), part);
}

/* --- what is noted ------------------------------------------------------- */

START_TEST(a_run_is_noted_once)
{
	struct state_result r;

	left(ONE, 60, 5);
	begin();
	settle();
	ck_assert_int_eq(state_next_result(state, &r), STATE_THERE);
	ck_assert_str_eq(r.command_id, ONE);
	ck_assert_str_eq(r.name, "a.csv");
	ck_assert_int_eq(r.bytes, 5);
	ck_assert_int_eq(state_drop_result(state, r.number), 0);
	free(r.name);
	spool_wake(spool);
	settle();
	ck_assert_int_eq(state_next_result(state, &r), STATE_ABSENT);
	spool_close(spool);
	state_close(state);
	begin();
	settle();
	ck_assert_int_eq(state_next_result(state, &r), STATE_ABSENT);
	ck_assert(is_there(ONE));
}
END_TEST

/* The end of a run and the order to look for its files are one. */
START_TEST(the_end_of_a_run_is_noted_with_its_report)
{
	begin();
	settle();
	ck_assert_int_eq(state_accept(state, ONE), 0);
	ck_assert_int_eq(state_accept(state, TWO), 0);
	left(ONE, 0, 5);
	ck_assert_int_eq(state_finish(state, ONE, "{}"), 0);
	ck_assert_int_eq(state_finish(state, TWO, "{}"), 0);
	ck_assert_int_eq(sql("SELECT count(*) FROM runs"), 2);
	spool_wake(spool);
	settle();
	ck_assert_int_eq(sql("SELECT count(*) FROM results"), 1);
	/* a stop has no directory, and leaves no row */
	ck_assert_int_eq(sql("SELECT count(*) FROM runs"), 1);
}
END_TEST

START_TEST(a_link_in_place_of_the_results_is_not_followed)
{
	char *results = path_of(TWO, "/results"), *target = path_of(ONE, "");

	left(ONE, 60, 5);
	left(TWO, 60, 5);
	tree_remove(results);
	ck_assert_int_eq(symlink(target, results), 0);
	begin();
	settle();
	ck_assert_int_eq(sql("SELECT count(*) FROM results"), 1);
	ck_assert_int_eq(sql("SELECT command_id = '" ONE "' FROM results"), 1);
	free(results);
	free(target);
}
END_TEST

static const char layout_1[] =
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
    "INSERT INTO agent VALUES (1, '" THREE "');"
    "INSERT INTO commands VALUES (7, '" ONE "', 'done', 1);"
    "INSERT INTO reports VALUES (9, '{\"n\":1}', 2);"
    "PRAGMA user_version = 1";

START_TEST(a_state_of_before_keeps_what_it_has)
{
	struct state_report report;

	(void)sql(layout_1);
	left(ONE, 60, 5);
	begin();
	settle();
	ck_assert_str_eq(state_agent_id(state), THREE);
	ck_assert_int_eq(state_knows(state, ONE), STATE_THERE);
	ck_assert_int_eq(state_next_report(state, &report), STATE_THERE);
	ck_assert_int_eq(report.number, 9);
	ck_assert_str_eq(report.text, "{\"n\":1}");
	free(report.text);
	ck_assert_int_eq(sql("PRAGMA user_version"), 2);
	/* what its runs left is delivered, too */
	ck_assert_int_eq(sql("SELECT command_id = '" ONE "' FROM results"), 1);
}
END_TEST

/* --- bounds -------------------------------------------------------------- */

START_TEST(too_much_loses_the_oldest_run)
{
	left(ONE, 300, 400 * KIB);
	left(TWO, 200, 400 * KIB);
	left(THREE, 100, 400 * KIB);
	(void)sql(layout_1);
	begin();
	settle();
	ck_assert(!is_there(ONE));
	ck_assert(is_there(TWO));
	ck_assert(is_there(THREE));
	ck_assert_int_eq(sql("SELECT count(*) FROM results"), 2);
	ck_assert_int_eq(
	    sql("SELECT count(*) FROM results WHERE command_id = '" ONE "'"),
	    0);
	logged("command " ONE ": 1 result files are removed before they "
	       "could be delivered (spool-max-mib is 1, ");
	/* the report on it goes last of all */
	ck_assert_int_eq(sql("SELECT count(*) FROM reports"), 1);
}
END_TEST

START_TEST(what_was_delivered_goes_before_what_was_not)
{
	options.spool_max_mib = 2;
	left(ONE, 300, 600 * KIB);
	left(TWO, 200, 600 * KIB);
	left(THREE, 100, 600 * KIB);
	begin();
	settle();
	(void)sql("DELETE FROM results WHERE command_id = '" TWO "'");
	options.spool_max_mib = 1;
	spool_wake(spool);
	settle();
	ck_assert(!is_there(TWO));
	/* one more had to go: the older one */
	ck_assert(!is_there(ONE));
	ck_assert(is_there(THREE));
	logged("command " TWO ": its files are removed");
	logged("command " ONE ": 1 result files are removed before");
}
END_TEST

/* It takes the room already: that it is delivered is what it is for. */
START_TEST(one_large_run_stays_until_it_is_delivered)
{
	left(ONE, 300, 400 * KIB);
	left(TWO, 200, 1400 * KIB);
	begin();
	settle();
	ck_assert(!is_there(ONE));
	ck_assert(is_there(TWO));
	ck_assert_int_eq(sql("SELECT count(*) FROM results"), 1);
	(void)sql("DELETE FROM results");
	spool_wake(spool);
	settle();
	ck_assert(!is_there(TWO));
}
END_TEST

START_TEST(exactly_as_much_as_may_be_stays)
{
	left(ONE, 300, 512 * KIB);
	left(TWO, 200, 512 * KIB);
	begin();
	settle();
	ck_assert(is_there(ONE));
	ck_assert(is_there(TWO));
}
END_TEST

START_TEST(age_ends_what_is_not_delivered)
{
	left(ONE, 7 * DAY + 60, 5);
	left(TWO, 7 * DAY - 60, 5);
	begin();
	settle();
	ck_assert(!is_there(ONE));
	ck_assert(is_there(TWO));
	ck_assert_int_eq(sql("SELECT count(*) FROM runs"), 1);
}
END_TEST

START_TEST(what_is_delivered_goes_sooner)
{
	left(ONE, 3 * DAY + 60, 5);
	left(TWO, 3 * DAY - 60, 5);
	left(THREE, 3 * DAY + 60, 5);
	begin();
	settle();
	(void)sql("DELETE FROM results WHERE command_id <> '" THREE "'");
	spool_wake(spool);
	settle();
	ck_assert(!is_there(ONE));
	ck_assert(is_there(TWO));
	ck_assert(is_there(THREE));
}
END_TEST

/* --- reports ------------------------------------------------------------- */

START_TEST(reports_are_bounded_by_number)
{
	begin();
	(void)sql("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL"
		  " SELECT i + 1 FROM n WHERE i < 10005)"
		  " INSERT INTO reports (body, written_ms)"
		  " SELECT i, unixepoch() * 1000 FROM n");
	settle();
	ck_assert_int_eq(sql("SELECT count(*) FROM reports"), 10000);
	ck_assert_int_eq(sql("SELECT min(body + 0) FROM reports"), 6);
	logged("5 reports are dropped, the oldest");
}
END_TEST

START_TEST(reports_are_bounded_by_age)
{
	begin();
	(void)sql("INSERT INTO reports (body, written_ms) VALUES"
		  " (1, (unixepoch() - 30 * 86400 - 60) * 1000),"
		  " (2, (unixepoch() - 30 * 86400 + 60) * 1000)");
	settle();
	ck_assert_int_eq(sql("SELECT count(*) FROM reports"), 1);
	ck_assert_int_eq(sql("SELECT body FROM reports"), 2);
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = { a_run_is_noted_once,
		the_end_of_a_run_is_noted_with_its_report,
		a_link_in_place_of_the_results_is_not_followed,
		a_state_of_before_keeps_what_it_has,
		too_much_loses_the_oldest_run,
		what_was_delivered_goes_before_what_was_not,
		one_large_run_stays_until_it_is_delivered,
		exactly_as_much_as_may_be_stays,
		age_ends_what_is_not_delivered, what_is_delivered_goes_sooner,
		reports_are_bounded_by_number, reports_are_bounded_by_age };

	return suite_run_with(
	    "spool", tests, SUITE_N(tests), set_up, tear_down);
}
