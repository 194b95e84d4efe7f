/* Completions: the ends of runs, said once or twice, and by whom. */
#include "store/store.h"

#include "store-helper.h"

#define ADHOC                                                                 \
	"{'command_type':'start','duration':60,'frequency':11,"               \
	"'continuous':false,'profiling_mode':'cpu'}"
#define START START_HOSTS "{'h':null}"
#define EXECUTIONS                                                            \
	"SELECT status, hostname, execution_time, exit_status,"               \
	" error_message, results_path, perfspect_version,"                    \
	" completed_at IS NOT NULL FROM ProfilingExecutions"

/* A command that host h was given. */
static void
sent(struct box *box, char id[UUID_TEXT])
{
	(void)asked(box, START);
	strcpy(id, given(box, "", "start", ADHOC));
}

START_TEST(each_end_is_kept_with_its_execution)
{
	static const struct {
		const char *status, *request;
	} list[] = { { "completed", "completed" }, { "failed", "failed" },
		{ "stopped", "completed" } };

	for (int i = 0; i < 3; i++) {
		struct box box;
		char id[UUID_TEXT], *expected;

		box_open(&box);
		sent(&box, id);
		ck_assert_int_eq(
		    done_with(&box, id, "H", list[i].status,
			",'execution_time':61,'exit_status':3,"
			"'error_message':'why','results_path':'/r',"
			"'perfspect_version':'3.0'",
			NULL),
		    REFUSAL_NONE);
		expected = mem_fmt("%s|H|61|3|why|/r|3.0|1", list[i].status);
		rows_are(&box, EXECUTIONS, expected);
		free(expected);
		expected = mem_fmt("%s|why|1", list[i].status);
		rows_are(&box,
		    "SELECT status, reason, ended_at IS NOT NULL"
		    " FROM ProfilingCommands",
		    expected);
		free(expected);
		rows_are(&box, "SELECT status FROM ProfilingRequests",
		    list[i].request);
		box_close(&box);
	}
}
END_TEST

START_TEST(what_really_ran_is_kept)
{
	struct box box;
	char id[UUID_TEXT];

	box_open(&box);
	sent(&box, id);
	ck_assert_int_eq(
	    done_with(&box, id, "h", "stopped",
		",'arguments':['gprofiler','-d','a b'],'partial':true", NULL),
	    REFUSAL_NONE);
	rows_are(&box, "SELECT arguments, partial FROM ProfilingExecutions",
	    "[\"gprofiler\",\"-d\",\"a b\"]|1");
	sent(&box, id);
	ck_assert_int_eq(done(&box, id, "completed"), REFUSAL_NONE);
	rows_are(&box,
	    "SELECT arguments, partial FROM ProfilingExecutions"
	    " WHERE status = 'completed'",
	    "null|0");
	box_close(&box);
}
END_TEST

START_TEST(a_run_that_was_seen_under_way_keeps_its_start)
{
	struct box box;
	char id[UUID_TEXT];

	box_open(&box);
	sent(&box, id);
	shows_state(&box, id, "running");
	box_run(&box, "UPDATE ProfilingExecutions SET"
		      " started_at = '2020-01-01T00:00:00.000Z'");
	ck_assert_int_eq(done(&box, id, "completed"), REFUSAL_NONE);
	rows_are(&box,
	    "SELECT status, started_at, completed_at > '2020-01-02',"
	    " execution_time FROM ProfilingExecutions",
	    "completed|2020-01-01T00:00:00.000Z|1|null");
	box_close(&box);
}
END_TEST

START_TEST(the_same_report_again_is_success_and_changes_nothing)
{
	struct box box;
	char id[UUID_TEXT], *before;
	static const char all[] =
	    "SELECT c.*, e.*, r.* FROM ProfilingCommands c"
	    " JOIN ProfilingExecutions e USING (command_id),"
	    " ProfilingRequests r";

	box_open(&box);
	sent(&box, id);
	ck_assert_int_eq(done_with(&box, id, "h", "failed",
			     ",'error_message':'first'", NULL),
	    REFUSAL_NONE);
	before = rows_of(&box, all);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(done_with(&box, id, "h", "failed",
				     ",'error_message':'again'", NULL),
		    REFUSAL_NONE);
	rows_are(&box, all, before);
	free(before);
	box_close(&box);
}
END_TEST

START_TEST(another_end_after_the_first_is_refused)
{
	struct box box;
	char id[UUID_TEXT];

	box_open(&box);
	sent(&box, id);
	ck_assert_int_eq(done(&box, id, "completed"), REFUSAL_NONE);
	ck_assert_int_eq(done(&box, id, "failed"), REFUSAL_ENDED);
	ck_assert_int_eq(done(&box, id, "stopped"), REFUSAL_ENDED);
	commands_are(&box, "completed adhoc");
	rows_are(&box, "SELECT status FROM ProfilingExecutions", "completed");
	box_close(&box);
}
END_TEST

START_TEST(what_is_not_the_hosts_own_is_refused)
{
	struct box box;
	char id[UUID_TEXT];

	box_open(&box);
	strcpy(id, asked(&box, START));
	/* never handed out */
	ck_assert_int_eq(done(&box, id, "completed"), REFUSAL_UNKNOWN);
	(void)given(&box, "", "start", ADHOC);
	ck_assert_int_eq(done_with(&box, id, "other", "completed", "", NULL),
	    REFUSAL_UNKNOWN);
	ck_assert_int_eq(done_with(&box, id, "h.corp", "completed", "", NULL),
	    REFUSAL_UNKNOWN);
	/* a token of another service */
	ck_assert_int_eq(
	    done_with(&box, id, "h", "completed", "", "t"), REFUSAL_UNKNOWN);
	ck_assert_int_eq(
	    done(&box, "00000000-0000-4000-8000-000000000000", "completed"),
	    REFUSAL_UNKNOWN);
	commands_are(&box, "sent adhoc");
	rows_are(&box, EXECUTIONS, "");
	ck_assert_int_eq(
	    done_with(&box, id, "h", "completed", "", "s"), REFUSAL_NONE);
	box_close(&box);
}
END_TEST

START_TEST(a_command_that_was_cancelled_unsent_is_unknown)
{
	struct box box;
	char id[UUID_TEXT];

	box_open(&box);
	strcpy(id, asked(&box, START));
	(void)asked(&box, STOP_HOST);
	ck_assert_int_eq(done(&box, id, "completed"), REFUSAL_UNKNOWN);
	box_close(&box);
}
END_TEST

START_TEST(a_withdrawn_command_keeps_its_state_and_the_run_is_kept)
{
	struct box box;
	char id[UUID_TEXT];

	box_open(&box);
	sent(&box, id);
	(void)asked(&box, STOP_HOST);
	ck_assert_int_eq(
	    done_with(&box, id, "h", "completed", ",'execution_time':5", NULL),
	    REFUSAL_NONE);
	commands_are(&box, "cancelled adhoc, pending stop");
	rows_are(&box, EXECUTIONS, "completed|h|5|null|null|null|null|1");
	/* the first report counts */
	ck_assert_int_eq(
	    done_with(&box, id, "h", "failed", ",'execution_time':6", NULL),
	    REFUSAL_NONE);
	rows_are(&box, EXECUTIONS, "completed|h|5|null|null|null|null|1");
	rows_are(&box, "SELECT status FROM ProfilingRequests ORDER BY id",
	    "cancelled\npending");
	box_close(&box);
}
END_TEST

START_TEST(an_expired_command_that_ran_is_kept_likewise)
{
	struct box box;
	char id[UUID_TEXT];

	box_open(&box);
	sent(&box, id);
	box_run(&box, "UPDATE ProfilingCommands SET"
		      " expires_at = '2020-01-01T00:00:00.000Z'");
	(void)given(&box, "", "", "");
	ck_assert_int_eq(done(&box, id, "failed"), REFUSAL_NONE);
	commands_are(&box, "expired adhoc");
	rows_are(&box, EXECUTIONS, "failed|h|null|null|null|null|null|1");
	box_close(&box);
}
END_TEST

/* stop A, start B, then A's late completion */
START_TEST(a_late_completion_touches_its_own_row_only)
{
	struct box box;
	char a[UUID_TEXT], stop[UUID_TEXT], b[UUID_TEXT];

	box_open(&box);
	sent(&box, a);
	shows_state(&box, a, "running");
	(void)asked(&box, STOP_HOST);
	(void)asked(&box, START);
	strcpy(stop, given_after(&box, a, "stop", "{'stop_level':'host'}"));
	strcpy(b, given_after(&box, stop, "start", ADHOC));
	shows_state(&box, b, "running");
	ck_assert_int_eq(done(&box, a, "stopped"), REFUSAL_NONE);
	commands_are(&box, "stopped adhoc, accepted stop, running adhoc");
	rows_are(&box, "SELECT status FROM ProfilingRequests ORDER BY id",
	    "completed\nassigned\nassigned");
	rows_are(&box, "SELECT status FROM ProfilingExecutions ORDER BY id",
	    "stopped\nrunning");
	box_close(&box);
}
END_TEST

/* The original ended every request of the host. */
START_TEST(one_completion_changes_its_own_requests_only)
{
	struct box box;
	char id[UUID_TEXT];

	box_open(&box);
	(void)asked(&box, START_HOSTS "{'h':null,'g':null}");
	(void)asked(&box, START);
	(void)asked(&box, START ",'continuous':true");
	(void)asked(&box, START_HOSTS "{'g':null}");
	strcpy(id, given(&box, "", "start", ADHOC));
	ck_assert_int_eq(done(&box, id, "completed"), REFUSAL_NONE);
	rows_are(&box,
	    "SELECT status, n_commands, n_waiting, n_open, n_failed, n_done"
	    " FROM ProfilingRequests ORDER BY id",
	    "assigned|2|1|0|0|1\ncompleted|1|0|0|0|1\npending|1|1|0|0|0\n"
	    "pending|1|1|0|0|0");
	commands_are(
	    &box, "completed adhoc, pending adhoc, pending continuous");
	box_close(&box);
}
END_TEST

HARNESS_MAIN("completions", each_end_is_kept_with_its_execution,
    what_really_ran_is_kept, a_run_that_was_seen_under_way_keeps_its_start,
    the_same_report_again_is_success_and_changes_nothing,
    another_end_after_the_first_is_refused,
    what_is_not_the_hosts_own_is_refused,
    a_command_that_was_cancelled_unsent_is_unknown,
    a_withdrawn_command_keeps_its_state_and_the_run_is_kept,
    an_expired_command_that_ran_is_kept_likewise,
    a_late_completion_touches_its_own_row_only,
    one_completion_changes_its_own_requests_only)
