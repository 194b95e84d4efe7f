/* Housekeeping: expiry, retention by age and by count, the log. */
#include "store/housekeeping.h"

#include <sys/stat.h>

#include "store-helper.h"
#include "store/settings.h"

#define OLD "'2001-01-01T00:00:00.000Z'"

/* The time of so many days ago, as SQL. */
#define DAYS_AGO(n) "strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-" n " days')"

/* Values from 1 to n, a text. */
#define SERIES(n)                                                             \
	"WITH RECURSIVE series(value) AS (SELECT 1 UNION ALL"                 \
	" SELECT value + 1 FROM series WHERE value < " n ") "

/* A round, and what it did: "expired deleted requests sessions". */
static void
round_is(struct box *box, const char *expected)
{
	struct housekeeping work;
	char *text;

	ck_assert_int_eq(housekeep(box->store, true, &work), 0);
	text = mem_fmt("%d %d %d %d", (int)work.expired, (int)work.deleted,
	    (int)work.requests, (int)work.sessions);
	ck_assert_str_eq(text, expected);
	free(text);
	rows_are(box, "PRAGMA foreign_key_check", "");
}

/* A command that the agent was given and has ended. */
static void
end_one(struct box *box, const char *members)
{
	struct offer offer;

	(void)asked(box, members);
	beat(box, "h", "", &offer);
	ck_assert_int_eq(
	    done(box, offer.command_id, "completed"), REFUSAL_NONE);
	offer_free(&offer);
}

START_TEST(a_round_with_nothing_to_do)
{
	struct box box;

	box_open(&box);
	round_is(&box, "0 0 0 0");
	box_close(&box);
}
END_TEST

/* --- expiry -------------------------------------------------------------- */

START_TEST(what_no_host_took_expires)
{
	struct offer offer;
	struct box box;

	box_open(&box);
	(void)asked(&box, START_HOSTS "{'a':null,'h':null}");
	beat(&box, "h", "", &offer);
	offer_free(&offer);
	round_is(&box, "0 0 0 0");
	box_run(&box, "UPDATE ProfilingCommands SET expires_at = " OLD);
	round_is(&box, "2 0 0 0");
	all_is_counted(&box);
	rows_are(&box,
	    "SELECT DISTINCT status, reason, ended_at IS NOT NULL"
	    " FROM ProfilingCommands",
	    "expired|the host did not take it in time|1");
	rows_are(&box, "SELECT status FROM ProfilingRequests", "cancelled");
	round_is(&box, "0 0 0 0");
	box_close(&box);
}
END_TEST

START_TEST(what_the_agent_has_does_not_expire)
{
	struct offer offer;
	struct box box;

	box_open(&box);
	(void)asked(&box, START_HOSTS "{'h':null}");
	beat(&box, "h", "", &offer);
	shows_state(&box, offer.command_id, "accepted");
	offer_free(&offer);
	box_run(&box, "UPDATE ProfilingCommands SET expires_at = " OLD);
	round_is(&box, "0 0 0 0");
	commands_are(&box, "accepted adhoc");
	box_close(&box);
}
END_TEST

/* More than one transaction takes at a time. */
START_TEST(thousands_expire_in_one_round)
{
	struct box box;

	box_open(&box);
	box_run(&box,
	    SERIES(
		"1200") "INSERT INTO ProfilingCommands (command_id, hostname,"
			" service_name, command_type, combined_config, "
			"expires_at)"
			" SELECT format('00000000-0000-4000-8000-%012d', "
			"value),"
			" 'h' || value, 's', 'start', '{}', " OLD
			" FROM series");
	round_is(&box, "1200 0 0 0");
	box_close(&box);
}
END_TEST

/* --- retention ----------------------------------------------------------- */

START_TEST(what_ended_long_ago_is_deleted)
{
	struct box box;

	box_open(&box);
	end_one(&box, START_HOSTS "{'h':null}");
	box_run(&box, "UPDATE ProfilingRequests SET created_at = " OLD);
	box_run(
	    &box, "UPDATE ProfilingCommands SET ended_at = " DAYS_AGO("89"));
	round_is(&box, "0 0 0 0");
	box_run(
	    &box, "UPDATE ProfilingCommands SET ended_at = " DAYS_AGO("91"));
	round_is(&box, "0 1 1 0");
	rows_are(&box,
	    "SELECT (SELECT count(*) FROM ProfilingCommands),"
	    " (SELECT count(*) FROM ProfilingExecutions),"
	    " (SELECT count(*) FROM CommandRequests),"
	    " (SELECT count(*) FROM ProfilingRequests),"
	    " (SELECT count(*) FROM HostHeartbeats)",
	    "0|0|0|0|1");
	box_close(&box);
}
END_TEST

START_TEST(keep_days_says_how_long)
{
	struct box box;

	box_open(&box);
	end_one(&box, START_HOSTS "{'h':null}");
	box_run(
	    &box, "UPDATE ProfilingCommands SET ended_at = " DAYS_AGO("3"));
	ck_assert_int_eq(setting_set(box.store, SETTING_KEEP_DAYS, 4), 0);
	round_is(&box, "0 0 0 0");
	ck_assert_int_eq(setting_set(box.store, SETTING_KEEP_DAYS, 2), 0);
	/* the request is young: it stays, with its numbers */
	round_is(&box, "0 1 0 0");
	rows_are(&box, "SELECT status, n_done FROM ProfilingRequests",
	    "completed|1");
	box_close(&box);
}
END_TEST

START_TEST(what_has_not_ended_is_not_deleted)
{
	struct box box;

	box_open(&box);
	(void)asked(&box, START_HOSTS "{'h':null},'expires_in':2592000");
	box_run(&box, "UPDATE ProfilingCommands SET created_at = " OLD);
	box_run(&box, "UPDATE ProfilingRequests SET created_at = " OLD);
	round_is(&box, "0 0 0 0");
	commands_are(&box, "pending adhoc");
	box_close(&box);
}
END_TEST

/* A request goes with its last command, not before, and only when it is old
 * itself. */
START_TEST(a_request_goes_with_its_last_command)
{
	struct box box;

	box_open(&box);
	end_one(&box, START_HOSTS "{'a':null,'h':null}");
	box_run(&box, "UPDATE ProfilingRequests SET created_at = " OLD);
	box_run(&box, "UPDATE ProfilingCommands SET ended_at = " OLD
		      " WHERE ended_at IS NOT NULL");
	round_is(&box, "0 1 0 0");
	commands_are(&box, "pending adhoc");
	box_run(&box, "UPDATE ProfilingCommands SET expires_at = " OLD);
	round_is(&box, "1 0 0 0");
	box_run(&box, "UPDATE ProfilingCommands SET ended_at = " OLD);
	round_is(&box, "0 1 1 0");
	box_close(&box);
}
END_TEST

/* One that found no host never had a command: it is kept as long. */
START_TEST(a_request_without_commands_is_kept_as_long)
{
	struct box box;

	box_open(&box);
	(void)asked(&box, "'request_type':'start'");
	round_is(&box, "0 0 0 0");
	box_run(&box, "UPDATE ProfilingRequests SET created_at = " OLD);
	round_is(&box, "0 0 1 0");
	box_close(&box);
}
END_TEST

/* Ended commands 1 to n; a higher number ended later, so many of them in one
 * millisecond. */
static void
fill(const struct box *box, int n, int at_once)
{
	char *sql = mem_fmt(
	    SERIES("%d") "INSERT INTO ProfilingCommands (id, command_id, "
			 "hostname,"
			 " service_name, command_type, combined_config, "
			 "status, ended_at)"
			 " SELECT value, "
			 "format('00000000-0000-4000-8000-%%012d', value),"
			 " 'h', 's', 'start', '{}', 'completed',"
			 " strftime('%%Y-%%m-%%dT%%H:%%M:%%fZ', 'now',"
			 " format('-%%d seconds', 5000 - value / %d))"
			 " FROM series",
	    n, at_once);

	box_run(box, sql);
	free(sql);
}

START_TEST(the_newest_are_kept)
{
	struct box box;

	box_open(&box);
	fill(&box, 2600, 1);
	round_is(&box, "0 0 0 0");
	ck_assert_int_eq(
	    setting_set(box.store, SETTING_KEEP_COMMANDS, 1000), 0);
	round_is(&box, "0 1600 0 0");
	rows_are(&box,
	    "SELECT min(id), max(id), count(*) FROM ProfilingCommands",
	    "1601|2600|1000");
	round_is(&box, "0 0 0 0");
	box_close(&box);
}
END_TEST

/* A stop of thousands of hosts ends thousands of commands at once: those at
 * the limit are not deleted with the rest of their moment. */
START_TEST(as_many_are_kept_when_many_end_at_once)
{
	struct box box;

	box_open(&box);
	fill(&box, 2600, 100000);
	ck_assert_int_eq(
	    setting_set(box.store, SETTING_KEEP_COMMANDS, 1000), 0);
	round_is(&box, "0 1600 0 0");
	rows_are(&box,
	    "SELECT min(id), max(id), count(*) FROM ProfilingCommands",
	    "1601|2600|1000");
	box_close(&box);
}
END_TEST

START_TEST(logins_that_expired_are_deleted)
{
	const unsigned char one[SECRET_HASH_BYTES] = { 1 },
			    two[SECRET_HASH_BYTES] = { 2 };
	struct user user;
	struct box box;

	box_open(&box);
	ck_assert_int_eq(user_insert(box.store, "ada", ROLE_ADMIN, "hash"), 0);
	ck_assert_int_eq(user_by_name(box.store, "ada", &user), 0);
	ck_assert_int_eq(
	    session_insert(box.store, one, user.id, clock_now_ms() + 100000),
	    0);
	ck_assert_int_eq(
	    session_insert(box.store, two, user.id, clock_now_ms() + 100000),
	    0);
	user_free(&user);
	box_run(&box, "UPDATE Sessions SET expires_at = " OLD " WHERE id = 1");
	round_is(&box, "0 0 0 1");
	rows_are(&box, "SELECT count(*) FROM Sessions", "1");
	box_close(&box);
}
END_TEST

/* --- the log ------------------------------------------------------------- */

static off_t
log_size(const struct box *box)
{
	char *path = mem_fmt("%s-wal", box->path);
	struct stat st;

	ck_assert_int_eq(stat(path, &st), 0);
	free(path);
	return st.st_size;
}

START_TEST(the_write_ahead_log_is_cut)
{
	struct box box;

	box_open(&box);
	fill(&box, 500, 1);
	ck_assert_int_gt(log_size(&box), 0);
	round_is(&box, "0 0 0 0");
	ck_assert_int_eq(log_size(&box), 0);
	box_close(&box);
}
END_TEST

/* A long reader is in the way: the round succeeds, the next one cuts. */
START_TEST(a_reader_in_the_way_is_no_failure)
{
	struct box box;
	off_t size;

	box_open(&box);
	fill(&box, 500, 1);
	box_run(&box, "BEGIN");
	rows_are(&box, "SELECT count(*) FROM ProfilingCommands", "500");
	(void)asked(&box, START_HOSTS "{'h':null}");
	size = log_size(&box);
	round_is(&box, "0 0 0 0");
	ck_assert_int_ge(log_size(&box), size);
	box_run(&box, "COMMIT");
	round_is(&box, "0 0 0 0");
	ck_assert_int_eq(log_size(&box), 0);
	box_close(&box);
}
END_TEST

HARNESS_MAIN("housekeeping", a_round_with_nothing_to_do,
    what_no_host_took_expires, what_the_agent_has_does_not_expire,
    thousands_expire_in_one_round, what_ended_long_ago_is_deleted,
    keep_days_says_how_long, what_has_not_ended_is_not_deleted,
    a_request_goes_with_its_last_command,
    a_request_without_commands_is_kept_as_long, the_newest_are_kept,
    as_many_are_kept_when_many_end_at_once, logins_that_expired_are_deleted,
    the_write_ahead_log_is_cut, a_reader_in_the_way_is_no_failure)
