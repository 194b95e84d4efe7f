/* Stops: of whole hosts, and of some processes of what waits or runs. */
#include "store/store.h"

#include "store-helper.h"

#define ADHOC                                                                 \
	"'command_type':'start','duration':60,'frequency':11,"                \
	"'continuous':false,'profiling_mode':'cpu'"
#define CONTINUOUS                                                            \
	"'command_type':'start','duration':60,'frequency':11,"                \
	"'continuous':true,'profiling_mode':'cpu'"
#define HOST "{'stop_level':'host'}"
#define REST(pids) "{" ADHOC ",'pids':" pids ",'stop_level':'process'}"

/* A start that the agent was given. */
static void
start_sent(struct box *box, const char *pids, char id[UUID_TEXT])
{
	char *members = mem_fmt(START_HOSTS "{'h':%s}", pids),
	     *config = mem_fmt("{" ADHOC ",'pids':%s}", pids);

	(void)asked(box, members);
	strcpy(id, given(box, "", "start", config));
	free(members);
	free(config);
}

static void
start_running(struct box *box, const char *pids, char id[UUID_TEXT])
{
	start_sent(box, pids, id);
	shows_state(box, id, "running");
}

/* --- hosts --------------------------------------------------------------- */

START_TEST(a_host_stop_cancels_what_waits_or_was_sent)
{
	struct box box;

	box_open(&box);
	(void)asked(&box, START_HOSTS "{'h':null,'other':null}");
	(void)given(&box, "", "start", "{" ADHOC "}");
	(void)asked(&box, START_HOSTS "{'h':null},'continuous':true");
	(void)asked(&box, STOP_HOST);
	commands_are(&box, "cancelled adhoc, pending adhoc,"
			   " cancelled continuous, pending stop");
	rows_are(&box,
	    "SELECT DISTINCT reason, ended_at IS NOT NULL"
	    " FROM ProfilingCommands WHERE status = 'cancelled'",
	    "stopped before it began|1");
	(void)given(&box, "", "stop", HOST);
	box_close(&box);
}
END_TEST

START_TEST(a_host_stop_leaves_what_the_agent_has_in_hand)
{
	struct box box;
	char id[UUID_TEXT];

	box_open(&box);
	start_running(&box, "[1]", id);
	(void)asked(&box, STOP_HOST);
	commands_are(&box, "running adhoc, pending stop");
	(void)given_after(&box, id, "stop", HOST);
	ck_assert_int_eq(done(&box, id, "stopped"), REFUSAL_NONE);
	commands_are(&box, "stopped adhoc, sent stop");
	box_close(&box);
}
END_TEST

START_TEST(a_host_stop_is_of_its_service)
{
	struct box box;

	box_open(&box);
	(void)asked(&box, START_HOSTS "{'h':null},'service_name':'t'");
	(void)asked(&box, STOP_HOST);
	commands_are(&box, "pending adhoc, pending stop");
	box_close(&box);
}
END_TEST

START_TEST(stop_then_start_reach_the_host_stop_first)
{
	struct box box;
	char stop[UUID_TEXT], start[UUID_TEXT];

	box_open(&box);
	(void)asked(&box, START_HOSTS "{'h':[1]}");
	strcpy(stop, asked(&box, STOP_HOST));
	strcpy(start, asked(&box, START_HOSTS "{'h':[2]}"));
	ck_assert_str_eq(given(&box, "", "stop", HOST), stop);
	ck_assert_str_eq(
	    given_after(&box, stop, "start", "{" ADHOC ",'pids':[2]}"), start);
	commands_are(&box, "cancelled adhoc, accepted stop, sent adhoc");
	box_close(&box);
}
END_TEST

START_TEST(two_stops_that_wait_are_one)
{
	struct box box;
	char id[UUID_TEXT];

	box_open(&box);
	strcpy(id, asked(&box, STOP_HOSTS "{'h':[2,1]}"));
	ck_assert_str_eq(id, asked(&box, STOP_HOSTS "{'h':[2,9]}"));
	rows_are(&box,
	    "SELECT combined_config ->> 'pids'"
	    " FROM ProfilingCommands",
	    "[1,2,9]");
	ck_assert_str_eq(id, asked(&box, STOP_HOST));
	ck_assert_str_eq(id, asked(&box, STOP_HOSTS "{'h':[4]}"));
	(void)given(&box, "", "stop", HOST);
	box_close(&box);
}
END_TEST

/* --- processes ----------------------------------------------------------- */

START_TEST(without_a_start_the_processes_are_named)
{
	struct box box;

	box_open(&box);
	(void)asked(&box, STOP_HOSTS "{'h':[2,1]}");
	(void)given(&box, "", "stop", "{'pids':[1,2],'stop_level':'process'}");
	box_close(&box);
}
END_TEST

START_TEST(what_remains_of_a_start_that_was_sent_follows_it)
{
	struct box box;
	char id[UUID_TEXT];

	box_open(&box);
	start_sent(&box, "[1,2,3]", id);
	(void)asked(&box, STOP_HOSTS "{'h':[2]}");
	commands_are(&box, "superseded adhoc, pending adhoc");
	(void)given(&box, "", "start", REST("[1,3]"));
	/* the first request is served by what remains */
	rows_are(&box,
	    "SELECT r.request_type, r.status, r.n_commands"
	    " FROM ProfilingRequests r ORDER BY id",
	    "start|assigned|2\nstop|assigned|1");
	box_close(&box);
}
END_TEST

START_TEST(what_remains_of_a_running_start_follows_it)
{
	struct box box;
	char id[UUID_TEXT];

	box_open(&box);
	start_running(&box, "[10,20]", id);
	(void)asked(&box, STOP_HOSTS "{'h':[10]}");
	commands_are(&box, "running adhoc, pending adhoc");
	(void)given_after(&box, id, "start", REST("[20]"));
	box_close(&box);
}
END_TEST

START_TEST(a_pending_start_loses_the_processes)
{
	struct box box;

	box_open(&box);
	(void)asked(&box, START_HOSTS "{'h':[10,20]}");
	(void)asked(&box, STOP_HOSTS "{'h':[10,99]}");
	commands_are(&box, "superseded adhoc, pending adhoc");
	(void)given(&box, "", "start", REST("[20]"));
	box_close(&box);
}
END_TEST

START_TEST(where_none_remain_the_host_is_stopped)
{
	struct box box;
	char id[UUID_TEXT];

	box_open(&box);
	start_running(&box, "[1,2]", id);
	(void)asked(&box, STOP_HOSTS "{'h':[1,2,3]}");
	commands_are(&box, "running adhoc, pending stop");
	(void)given_after(&box, id, "stop", HOST);
	box_close(&box);
}
END_TEST

START_TEST(where_none_remain_of_what_waits_the_host_is_stopped)
{
	struct box box;

	box_open(&box);
	(void)asked(&box, START_HOSTS "{'h':[1,2]}");
	(void)asked(&box, STOP_HOSTS "{'h':[1,2]}");
	commands_are(&box, "cancelled adhoc, pending stop");
	(void)given(&box, "", "stop", HOST);
	(void)given(&box, "", "stop", HOST);
	box_close(&box);
}
END_TEST

START_TEST(on_a_whole_host_run_the_processes_are_named)
{
	struct box box;
	char id[UUID_TEXT];

	box_open(&box);
	(void)asked(&box, START_HOSTS "{'h':null}");
	strcpy(id, given(&box, "", "start", "{" ADHOC "}"));
	shows_state(&box, id, "running");
	(void)asked(&box, STOP_HOSTS "{'h':[5]}");
	commands_are(&box, "running adhoc, pending stop");
	(void)given_after(
	    &box, id, "stop", "{'pids':[5],'stop_level':'process'}");
	box_close(&box);
}
END_TEST

/* The original lost one of the two. */
START_TEST(successive_stops_of_distinct_pids_leave_the_rest)
{
	struct box box;
	char id[UUID_TEXT];

	box_open(&box);
	start_running(&box, "[10,20,30]", id);
	(void)asked(&box, STOP_HOSTS "{'h':[10]}");
	(void)asked(&box, STOP_HOSTS "{'h':[20]}");
	commands_are(&box, "running adhoc, superseded adhoc, pending adhoc");
	(void)given_after(&box, id, "start", REST("[30]"));
	(void)asked(&box, STOP_HOSTS "{'h':[30]}");
	(void)given_after(&box, id, "stop", HOST);
	box_close(&box);
}
END_TEST

START_TEST(successive_stops_after_the_rest_was_sent)
{
	struct box box;
	char id[UUID_TEXT], rest[UUID_TEXT];

	box_open(&box);
	start_running(&box, "[10,20,30]", id);
	(void)asked(&box, STOP_HOSTS "{'h':[10]}");
	strcpy(rest, given_after(&box, id, "start", REST("[20,30]")));
	(void)asked(&box, STOP_HOSTS "{'h':[20]}");
	(void)given_after(&box, id, "start", REST("[30]"));
	commands_are(&box, "running adhoc, superseded adhoc, sent adhoc");
	/* the agent had begun the rest all the same */
	ck_assert_int_eq(done(&box, rest, "completed"), REFUSAL_NONE);
	commands_are(&box, "running adhoc, superseded adhoc, sent adhoc");
	box_close(&box);
}
END_TEST

START_TEST(stopping_the_same_pid_twice_changes_nothing_more)
{
	struct box box;
	char id[UUID_TEXT];

	box_open(&box);
	start_running(&box, "[10,20]", id);
	(void)asked(&box, STOP_HOSTS "{'h':[10]}");
	(void)asked(&box, STOP_HOSTS "{'h':[10]}");
	rows_are(&box,
	    "SELECT combined_config ->> 'pids' FROM ProfilingCommands"
	    " WHERE status = 'pending' AND kind = 'adhoc'",
	    "[20]");
	box_close(&box);
}
END_TEST

START_TEST(both_kinds_lose_the_processes)
{
	struct box box;
	struct submission out;

	box_open(&box);
	(void)asked(&box, START_HOSTS "{'h':[1,2]}");
	(void)asked(&box, START_HOSTS "{'h':[1,3]},'continuous':true");
	ck_assert_int_eq(submit(&box, STOP_HOSTS "{'h':[1]}", &out), 0);
	ck_assert_uint_eq(out.n_hosts, 1);
	ck_assert_uint_eq(out.n_commands, 2);
	submission_free(&out);
	all_is_counted(&box);
	commands_are(&box, "superseded adhoc, superseded continuous,"
			   " pending continuous, pending adhoc");
	(void)given(&box, "", "start", REST("[2]"));
	box_close(&box);
}
END_TEST

/* The ad hoc run is emptied, the continuous one goes on with the rest. */
START_TEST(one_kind_emptied_and_one_reduced)
{
	struct box box;
	char id[UUID_TEXT], stop[UUID_TEXT];

	box_open(&box);
	start_running(&box, "[1]", id);
	(void)asked(&box, START_HOSTS "{'h':[1,2]},'continuous':true");
	(void)asked(&box, STOP_HOSTS "{'h':[1]}");
	strcpy(stop, given_after(&box, id, "stop",
			 "{'pids':[1],'stop_level':'process'}"));
	(void)given_after(&box, stop, "start",
	    "{" CONTINUOUS ",'pids':[2],'stop_level':'process'}");
	box_close(&box);
}
END_TEST

START_TEST(a_run_that_is_not_meant_is_left_alone)
{
	struct box box;
	char id[UUID_TEXT];

	box_open(&box);
	start_running(&box, "[1]", id);
	(void)asked(&box, START_HOSTS "{'h':[7]},'continuous':true");
	(void)asked(&box, STOP_HOSTS "{'h':[1]}");
	commands_are(&box, "running adhoc, pending continuous, pending stop");
	(void)given_after(
	    &box, id, "stop", "{'pids':[1],'stop_level':'process'}");
	box_close(&box);
}
END_TEST

/* A running start and a pending one of its kind, both reduced: what remains
 * is one command, and it is named once. */
START_TEST(what_remains_of_two_is_one_command)
{
	struct box box;
	struct submission out;
	char id[UUID_TEXT];

	box_open(&box);
	start_running(&box, "[1,2]", id);
	(void)asked(&box, START_HOSTS "{'h':[1,3]}");
	ck_assert_int_eq(submit(&box, STOP_HOSTS "{'h':[1]}", &out), 0);
	ck_assert_uint_eq(out.n_commands, 1);
	submission_free(&out);
	all_is_counted(&box);
	commands_are(&box, "running adhoc, superseded adhoc, pending adhoc");
	(void)given_after(&box, id, "start", REST("[2,3]"));
	box_close(&box);
}
END_TEST

START_TEST(a_finished_run_is_not_changed)
{
	struct box box;
	char id[UUID_TEXT];

	box_open(&box);
	start_running(&box, "[1,2]", id);
	ck_assert_int_eq(done(&box, id, "completed"), REFUSAL_NONE);
	(void)asked(&box, STOP_HOSTS "{'h':[1]}");
	commands_are(&box, "completed adhoc, pending stop");
	(void)given_after(
	    &box, id, "stop", "{'pids':[1],'stop_level':'process'}");
	box_close(&box);
}
END_TEST

START_TEST(each_host_of_a_stop_has_its_own_processes)
{
	struct box box;

	box_open(&box);
	(void)asked(&box, START_HOSTS "{'a':[1,2],'b':[3,4]}");
	(void)asked(&box, STOP_HOSTS "{'a':[1],'b':[3,4]}");
	rows_are(&box,
	    "SELECT hostname, kind, combined_config ->> 'pids'"
	    " FROM ProfilingCommands WHERE status = 'pending' ORDER BY id",
	    "a|adhoc|[2]\nb|stop|null");
	box_close(&box);
}
END_TEST

HARNESS_MAIN("stops", a_host_stop_cancels_what_waits_or_was_sent,
    a_host_stop_leaves_what_the_agent_has_in_hand,
    a_host_stop_is_of_its_service, stop_then_start_reach_the_host_stop_first,
    two_stops_that_wait_are_one, without_a_start_the_processes_are_named,
    what_remains_of_a_start_that_was_sent_follows_it,
    what_remains_of_a_running_start_follows_it,
    a_pending_start_loses_the_processes, where_none_remain_the_host_is_stopped,
    where_none_remain_of_what_waits_the_host_is_stopped,
    on_a_whole_host_run_the_processes_are_named,
    successive_stops_of_distinct_pids_leave_the_rest,
    successive_stops_after_the_rest_was_sent,
    stopping_the_same_pid_twice_changes_nothing_more,
    both_kinds_lose_the_processes, one_kind_emptied_and_one_reduced,
    a_run_that_is_not_meant_is_left_alone, what_remains_of_two_is_one_command,
    a_finished_run_is_not_changed, each_host_of_a_stop_has_its_own_processes)
