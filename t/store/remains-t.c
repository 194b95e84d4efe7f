/*
 * What remains of starts after stops of single processes, where several
 * starts, commands in flight and late reports meet.
 */
#include "store/store.h"

#include "store-helper.h"

#define CONTINUOUS ",'continuous':true"

/* A start that the agent has shown as running. */
static void
run_start(struct box *box, const char *members, char id[UUID_TEXT])
{
	struct offer offer;

	(void)asked(box, members);
	beat(box, "h", "", &offer);
	strcpy(id, offer.command_id);
	offer_free(&offer);
	shows_state(box, id, "running");
}

/* Kinds and pids of what waits, in order. */
static void
waiting_are(const struct box *box, const char *expected)
{
	rows_are(box,
	    "SELECT kind || ' ' || coalesce(combined_config ->> 'pids', '-')"
	    " FROM ProfilingCommands WHERE status = 'pending' ORDER BY id",
	    expected);
}

/* A rest that was completed stands for its start, whose own report is late:
 * a stop of another process must not bring the first one back. */
START_TEST(a_late_report_does_not_bring_back_what_was_stopped)
{
	struct box box;
	char old[UUID_TEXT], rest[UUID_TEXT];
	struct offer offer;

	box_open(&box);
	run_start(&box, START_HOSTS "{'h':[1,2,3]}", old);
	(void)asked(&box, STOP_HOSTS "{'h':[1]}");
	beat(&box, "h", "", &offer);
	strcpy(rest, offer.command_id);
	offer_free(&offer);
	ck_assert_int_eq(done(&box, rest, "completed"), REFUSAL_NONE);
	(void)asked(&box, STOP_HOSTS "{'h':[2]}");
	commands_are(&box, "running adhoc, completed adhoc, pending stop");
	waiting_are(&box, "stop [2]");
	box_close(&box);
}
END_TEST

/* A rest stands for the start that it comes from, not for every older one. */
START_TEST(another_start_of_the_kind_is_still_reduced)
{
	struct box box;
	char a[UUID_TEXT], b[UUID_TEXT];

	box_open(&box);
	run_start(&box, START_HOSTS "{'h':[1,2]}", a);
	run_start(&box, START_HOSTS "{'h':[3,4]}", b);
	(void)asked(&box, STOP_HOSTS "{'h':[1]}");
	waiting_are(&box, "adhoc [2]");
	(void)asked(&box, STOP_HOSTS "{'h':[3]}");
	waiting_are(&box, "adhoc [2,4]");
	box_close(&box);
}
END_TEST

/* The ad hoc run of 1 and 2 goes on at the agent until it is stopped, though
 * only its rest, which waited, was emptied. */
START_TEST(what_runs_is_stopped_when_its_rest_is_emptied)
{
	struct box box;
	char id[UUID_TEXT];

	box_open(&box);
	run_start(&box, START_HOSTS "{'h':[1,2]}", id);
	(void)asked(&box, START_HOSTS "{'h':[2,3]}" CONTINUOUS);
	(void)asked(&box, STOP_HOSTS "{'h':[1]}");
	waiting_are(&box, "continuous [2,3]\nadhoc [2]");
	(void)asked(&box, STOP_HOSTS "{'h':[2]}");
	commands_are(&box, "running adhoc, superseded continuous,"
			   " cancelled adhoc, pending continuous,"
			   " pending stop");
	waiting_are(&box, "continuous [3]\nstop [1,2]");
	box_close(&box);
}
END_TEST

/* The same for one that was handed out and not shown: it may be running. */
START_TEST(what_may_run_is_stopped_when_its_rest_is_emptied)
{
	struct box box;
	struct offer offer;

	box_open(&box);
	(void)asked(&box, START_HOSTS "{'h':[1,2]}");
	beat(&box, "h", "", &offer);
	offer_free(&offer);
	(void)asked(&box, START_HOSTS "{'h':[9]}" CONTINUOUS);
	(void)asked(&box, STOP_HOSTS "{'h':[1]}");
	(void)asked(&box, STOP_HOSTS "{'h':[2]}");
	waiting_are(&box, "continuous [9]\nstop [1,2]");
	box_close(&box);
}
END_TEST

START_TEST(what_never_left_needs_no_stop)
{
	struct box box;

	box_open(&box);
	(void)asked(&box, START_HOSTS "{'h':[1,2]}");
	(void)asked(&box, START_HOSTS "{'h':[2,9]}" CONTINUOUS);
	(void)asked(&box, STOP_HOSTS "{'h':[1]}");
	(void)asked(&box, STOP_HOSTS "{'h':[2]}");
	waiting_are(&box, "continuous [9]");
	box_close(&box);
}
END_TEST

/* On a whole-host run a stop names the processes, whatever else remains. */
START_TEST(a_whole_host_run_beside_a_rest_is_told)
{
	struct box box;
	char id[UUID_TEXT];

	box_open(&box);
	run_start(&box, START_HOSTS "{'h':null}" CONTINUOUS, id);
	(void)asked(&box, START_HOSTS "{'h':[1,2]}");
	(void)asked(&box, STOP_HOSTS "{'h':[1]}");
	commands_are(&box, "running continuous, superseded adhoc,"
			   " pending adhoc, pending stop");
	waiting_are(&box, "adhoc [2]\nstop [1]");
	box_close(&box);
}
END_TEST

/* A rest of an older start merges into one that was asked for since: the
 * later mode and arguments are those of the latter. */
START_TEST(a_rest_does_not_override_what_was_asked_for_since)
{
	struct box box;
	char id[UUID_TEXT];

	box_open(&box);
	run_start(&box,
	    START_HOSTS "{'h':[1,2]},'duration':90,"
			"'additional_args':{'a':1,'b':1}",
	    id);
	(void)asked(&box,
	    START_HOSTS "{'h':[7]},'profiling_mode':'allocation',"
			"'additional_args':{'a':2}");
	(void)asked(&box, STOP_HOSTS "{'h':[1]}");
	(void)given_after(&box, id, "start",
	    "{'command_type':'start','duration':90,'frequency':11,"
	    "'continuous':false,'profiling_mode':'allocation',"
	    "'pids':[2,7],'a':2,'b':1,'stop_level':'process'}");
	box_close(&box);
}
END_TEST

/* What no host took never happened: the start is what the agent has. */
START_TEST(a_rest_that_expired_stands_for_nothing)
{
	struct box box;
	char id[UUID_TEXT];

	box_open(&box);
	run_start(&box, START_HOSTS "{'h':[1,2,3]}", id);
	(void)asked(&box, STOP_HOSTS "{'h':[1]}");
	box_run(&box, "UPDATE ProfilingCommands SET expires_at ="
		      " '2001-01-01T00:00:00.000Z' WHERE status = 'pending'");
	shows_state(&box, id, "running");
	commands_are(&box, "running adhoc, expired adhoc");
	(void)asked(&box, STOP_HOSTS "{'h':[2]}");
	waiting_are(&box, "adhoc [1,3]");
	box_close(&box);
}
END_TEST

#define OVERDUE                                                               \
	"UPDATE ProfilingCommands SET expires_at = "                          \
	"'2001-01-01T00:00:00.000Z'"

/* A host was off for too long; what is asked now is not what it missed. */
START_TEST(nothing_revives_what_has_waited_too_long)
{
	struct box box;

	box_open(&box);
	(void)asked(&box, START_HOSTS "{'h':[1,2]}");
	box_run(&box, OVERDUE);
	(void)asked(&box, START_HOSTS "{'h':[3,4]}");
	commands_are(&box, "expired adhoc, pending adhoc");
	waiting_are(&box, "adhoc [3,4]");
	box_run(&box, OVERDUE);
	(void)asked(&box, STOP_HOSTS "{'h':[3]}");
	commands_are(&box, "expired adhoc, expired adhoc, pending stop");
	waiting_are(&box, "stop [3]");
	box_close(&box);
}
END_TEST

/* A stop of two processes one after the other, of a run of both. */
START_TEST(a_host_stop_follows_when_the_last_rest_is_emptied)
{
	struct box box;
	char id[UUID_TEXT];

	box_open(&box);
	run_start(&box, START_HOSTS "{'h':[1,2]}", id);
	(void)asked(&box, STOP_HOSTS "{'h':[1]}");
	(void)asked(&box, STOP_HOSTS "{'h':[2]}");
	commands_are(&box, "running adhoc, cancelled adhoc, pending stop");
	waiting_are(&box, "stop -");
	box_close(&box);
}
END_TEST

HARNESS_MAIN("remains", a_late_report_does_not_bring_back_what_was_stopped,
    another_start_of_the_kind_is_still_reduced,
    what_runs_is_stopped_when_its_rest_is_emptied,
    what_may_run_is_stopped_when_its_rest_is_emptied,
    what_never_left_needs_no_stop, a_whole_host_run_beside_a_rest_is_told,
    a_rest_does_not_override_what_was_asked_for_since,
    a_rest_that_expired_stands_for_nothing,
    nothing_revives_what_has_waited_too_long,
    a_host_stop_follows_when_the_last_rest_is_emptied)
