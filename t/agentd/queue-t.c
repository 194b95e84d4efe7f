/* Slots and stops, with a shell script as the profiler. */
#include "t/agentd/suite.h"

#include "agentd/queue.h"
#include "core/buf.h"
#include "core/clock.h"
#include "core/json.h"
#include "core/log.h"

#include <poll.h>
#include <string.h>

static char *directory, *state_dir, *script, *starts;
static struct options o;
static struct run_env env;
static struct queue *q;
static bool hold; /* give commands and let no time pass between them */
static struct buf log_lines = BUF_INIT(100000);

static void
set_up(void)
{
	static char name[] = "db01", service[] = "web", server[] = "http://x";
	static char nowhere[] = "/nonexistent";
	struct reason why;
	char *text;

	directory = suite_directory();
	state_dir = mem_fmt("%s/state", directory);
	script = mem_fmt("%s/gprofiler", directory);
	starts = mem_fmt("%s/starts", directory);
	/* one line of all arguments for each start */
	text =
	    mem_fmt("#!/bin/sh\necho \"$*\" >>%s\nexec sleep 1000\n", starts);
	suite_write(script, text, strlen(text), 0700);
	free(text);
	o = (struct options) { .host_name = name,
		.service_name = service,
		.api_server = server,
		.state_dir = state_dir,
		.gprofiler_path = script,
		.host_root = nowhere,
		.perfspect_data = nowhere };
	env = (struct run_env) { .options = &o, .token = "secret-token" };
	ck_assert_int_eq(state_open(state_dir, &env.state, &why), 0);
	hold = false;
	q = queue_new(&env);
	log_to_buf(&log_lines);
}

/* Lets the queue work until nothing is left. */
static void
run_dry(void)
{
	while (!queue_is_idle(q)) {
		(void)queue_tick(q, clock_mono_ms());
		(void)poll(NULL, 0, 10);
	}
}

static void
tear_down(void)
{
	queue_stop_all(q, "test ends", clock_mono_ms());
	run_dry();
	queue_free(q);
	state_close(env.state);
	log_to_buf(NULL);
	buf_free(&log_lines);
	free(state_dir);
	free(script);
	free(starts);
	suite_remove(directory);
}

/* Gives the queue a command whose id ends with these digits. */
static void
take(unsigned number, enum command_kind kind, const char *config)
{
	struct command *c = mem_alloc(1, sizeof *c);
	struct json_fault fault;

	(void)snprintf(
	    c->id, sizeof c->id, "00000000-0000-4000-8000-%012u", number);
	c->kind = kind;
	ck_assert_int_eq(
	    json_read(config, strlen(config), &c->config, &fault), 0);
	(void)!session_read(c->config, &c->session, &c->fault);
	ck_assert_int_eq(state_accept(env.state, c->id), 0);
	queue_take(q, c, clock_mono_ms());
	if (!hold)
		(void)queue_tick(q, clock_mono_ms());
}

#define START(number, config) take(number, COMMAND_START, config)
#define STOP(number, config) take(number, COMMAND_STOP, config)

/* The reports so far, «NUMBER STATUS REASON;» each; they are dropped. */
static char *
reports(void)
{
	struct buf text = BUF_INIT(10000);
	struct state_report r;
	struct json_fault fault;
	char *copy;

	while (state_next_report(env.state, &r) == STATE_THERE) {
		struct json_object *report;
		const char *error;

		ck_assert_int_eq(
		    json_read(r.text, strlen(r.text), &report, &fault), 0);
		error = json_member_text(report, "error_message");
		buf_fmt(&text, "%ld %s %s;",
		    strtol(
			json_member_text(report, "command_id") + 24, NULL, 10),
		    json_member_text(report, "status"), error ? error : "-");
		json_object_put(report);
		ck_assert_int_eq(state_drop_report(env.state, r.number), 0);
		free(r.text);
	}
	copy = mem_copy(buf_text(&text));
	buf_free(&text);
	return copy;
}

static void
expect(const char *want)
{
	char *text = reports();

	ck_assert_str_eq(text, want);
	free(text);
}

#define ID(number) "00000000-0000-4000-8000-0000000000" number
#define CONTINUOUS "{\"continuous\":true,\"duration\":60}"

static void
expect_in_hand(const char *want)
{
	struct json_object *in_hand = queue_in_hand(q);

	ck_assert_str_eq(json_text(in_hand), want);
	json_object_put(in_hand);
}

/* Lets the queue work until this is in hand. */
static void
run_until(const char *want)
{
	for (bool now = false; !now;) {
		struct json_object *in_hand = queue_in_hand(q);

		now = strcmp(json_text(in_hand), want) == 0;
		json_object_put(in_hand);
		(void)queue_tick(q, clock_mono_ms());
		(void)poll(NULL, 0, 10);
	}
}

#define HAND(number, state)                                                   \
	"{\"command_id\":\"" ID(number) "\",\"state\":\"" state "\"}"

START_TEST(a_stop_of_nothing_is_completed_at_once)
{
	STOP(1, "{\"stop_level\":\"host\"}");
	ck_assert(queue_is_idle(q));
	expect("1 completed -;");
}
END_TEST

/* How often a profiler was started with these words in its arguments. */
static int
count_starts(const char *words)
{
	FILE *f = fopen(starts, "re");
	char line[1000];
	int n = 0;

	while (f && fgets(line, sizeof line, f))
		n += strstr(line, words) != NULL;
	if (f)
		(void)fclose(f);
	return n;
}

/* Lets the queue work until so many starts had these words. */
static void
run_until_started(const char *words, int n)
{
	while (count_starts(words) < n) {
		(void)queue_tick(q, clock_mono_ms());
		(void)poll(NULL, 0, 10);
	}
}

static bool
was_logged(const char *text)
{
	return strstr(buf_text(&log_lines), text) != NULL;
}

START_TEST(an_ad_hoc_run_pauses_a_continuous_one)
{
	START(11, CONTINUOUS);
	run_until_started(" -c ", 1);
	START(12, "{\"frequency\":12}");
	ck_assert_int_eq(count_starts("-f 12"), 0);
	START(13, "{\"frequency\":13}");
	run_until("[" HAND("11", "running") "," HAND("12", "running") "," HAND(
	    "13", "accepted") "]");
	run_until_started("-f 12", 1);
	ck_assert(was_logged(ID("11") ": paused for " ID("12")));
	ck_assert(!was_logged(ID("11") ": goes on"));
	STOP(14, "{\"pids\":[1],\"stop_level\":\"process\"}");
	expect("14 failed " ID(
	    "12") " profiles the whole host: no single "
		  "process can be taken out of it; stop the host to end it;");
	/* nothing but a stop of the host ends them here */
	STOP(15, "{\"stop_level\":\"host\"}");
	run_dry();
	ck_assert_int_eq(count_starts(" -c "), 1);
}
END_TEST

START_TEST(a_paused_run_goes_on_after_the_last_that_waits)
{
	START(11, CONTINUOUS);
	run_until_started(" -c ", 1);
	START(12, "{\"pids\":[12]}");
	START(13, "{\"pids\":[13]}");
	run_until_started("--pids 12", 1);
	STOP(22, "{\"pids\":[12],\"stop_level\":\"process\"}");
	run_until_started("--pids 13", 1);
	ck_assert_int_eq(count_starts(" -c "), 1);
	STOP(23, "{\"pids\":[13],\"stop_level\":\"process\"}");
	run_until_started(" -c ", 2);
	expect("12 stopped stopped by " ID("22") ";22 completed -;"
						 "13 stopped stopped by " ID(
						     "23") ";23 completed -;");
	expect_in_hand("[" HAND("11", "running") "]");
	ck_assert(was_logged(ID("11") ": goes on"));
}
END_TEST

START_TEST(a_paused_run_can_be_stopped)
{
	START(11, CONTINUOUS);
	run_until_started(" -c ", 1);
	START(12, "{}");
	run_until_started("--max", 2);
	STOP(13, "{\"stop_level\":\"host\"}");
	run_until("[]");
	expect("11 stopped stopped by " ID("13") ";12 stopped stopped by " ID(
	    "13") ";13 completed -;");
	ck_assert_int_eq(count_starts("--max"), 2);
}
END_TEST

START_TEST(a_continuous_start_waits_for_an_ad_hoc_run)
{
	START(11, "{\"pids\":[5]}");
	run_until_started("--pids 5", 1);
	START(12, CONTINUOUS);
	expect_in_hand(
	    "[" HAND("12", "accepted") "," HAND("11", "running") "]");
	STOP(13, "{\"pids\":[5],\"stop_level\":\"process\"}");
	run_until_started(" -c ", 1);
	expect("11 stopped stopped by " ID("13") ";13 completed -;");
}
END_TEST

START_TEST(a_stop_ends_all_and_comes_last)
{
	char *text;

	START(11, CONTINUOUS);
	START(12, "{}");
	hold = true;
	START(13, "{}");
	STOP(14, "{\"stop_level\":\"host\"}");
	run_dry();
	text = reports(); /* which of those ends first is not promised */
	for (unsigned i = 11; i <= 13; i++) {
		char *one = mem_fmt("%u stopped stopped by " ID("14") ";", i);

		ck_assert_ptr_nonnull(strstr(text, one));
		free(one);
	}
	ck_assert_ptr_nonnull(strstr(text, ";14 completed -;"));
	free(text);
}
END_TEST

START_TEST(the_last_of_several_continuous_starts_wins)
{
	START(11, CONTINUOUS);
	hold = true;
	START(12, CONTINUOUS);
	START(13, CONTINUOUS);
	expect("12 stopped replaced by " ID("13") ";");
	run_until("[" HAND("13", "running") "]");
	expect("11 stopped replaced by " ID("12") ";");
}
END_TEST

START_TEST(a_start_after_a_stop_runs)
{
	START(11, CONTINUOUS);
	STOP(12, "{\"stop_level\":\"host\"}");
	START(13, CONTINUOUS);
	run_until("[" HAND("13", "running") "]");
	expect("11 stopped stopped by " ID("12") ";12 completed -;");
}
END_TEST

START_TEST(a_process_stop_leaves_the_others)
{
	START(11, "{\"pids\":[10,20,30]}");
	run_until_started("--pids 10,20,30", 1);
	STOP(12, "{\"pids\":[99],\"stop_level\":\"process\"}");
	expect("12 completed -;");
	START(13, "{\"pids\":[10,40]}");
	STOP(14, "{\"pids\":[10],\"stop_level\":\"process\"}");
	expect("14 completed -;");
	run_until_started("--pids 20,30", 1);
	expect("");
	STOP(15, "{\"pids\":[20,30],\"stop_level\":\"process\"}");
	run_until_started("--pids 40", 1);
	expect("11 stopped stopped by " ID("15") ";15 completed -;");
	ck_assert_int_eq(count_starts("--pids"), 3);
}
END_TEST

START_TEST(a_process_stop_cannot_divide_a_run_of_the_whole_host)
{
	START(11, CONTINUOUS);
	run_until_started(" -c ", 1);
	STOP(12, "{\"pids\":[10],\"stop_level\":\"process\"}");
	expect("12 failed " ID(
	    "11") " profiles the whole host: no single "
		  "process can be taken out of it; stop the host to end it;");
	expect_in_hand("[" HAND("11", "running") "]");
	ck_assert_int_eq(count_starts(""), 1);
}
END_TEST

START_TEST(a_full_disk_begins_no_run)
{
	char *text, *want;

	o.min_free = 1024L * 1024 * 1024;
	START(11, "{}");
	run_until("[]");
	text = reports();
	want = mem_fmt("11 failed the disk of %s has ", state_dir);
	ck_assert_int_eq(strncmp(text, want, strlen(want)), 0);
	ck_assert_ptr_nonnull(
	    strstr(text, " MiB free, a run needs 1073741824 (min-free);"));
	free(text);
	free(want);
	ck_assert_int_eq(count_starts(""), 0);
}
END_TEST

START_TEST(what_a_process_stop_left_replaces_its_start_only)
{
	START(11, "{\"pids\":[10,20]}");
	START(12, "{\"pids\":[30]}");
	START(13, "{\"pids\":[20],\"stop_level\":\"process\"}");
	run_until("[" HAND("13", "running") "," HAND("12", "accepted") "]");
	expect("11 stopped replaced by " ID("13") ";");
	START(14, "{\"pids\":[40,50]}");
	START(15, "{\"pids\":[50],\"stop_level\":\"process\"}");
	expect_in_hand("[" HAND("13", "running") "," HAND(
	    "12", "accepted") "," HAND("15", "accepted") "]");
	expect("14 stopped replaced by " ID("15") ";");
}
END_TEST

START_TEST(the_line_is_bounded)
{
	for (unsigned i = 0; i <= QUEUE_WAITING_MAX; i++)
		START(20 + i, "{}");
	expect("");
	START(99, "{}");
	expect("99 failed 16 commands wait on this host already;");
}
END_TEST

START_TEST(a_faulty_command_is_reported)
{
	START(11, "{\"duration\":0}");
	expect("11 failed duration must be a whole number from 1 to 2592000, "
	       "not 0;");
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = { a_stop_of_nothing_is_completed_at_once,
		an_ad_hoc_run_pauses_a_continuous_one,
		a_paused_run_goes_on_after_the_last_that_waits,
		a_paused_run_can_be_stopped,
		a_continuous_start_waits_for_an_ad_hoc_run,
		a_stop_ends_all_and_comes_last,
		the_last_of_several_continuous_starts_wins,
		a_start_after_a_stop_runs, a_process_stop_leaves_the_others,
		a_process_stop_cannot_divide_a_run_of_the_whole_host,
		a_full_disk_begins_no_run,
		what_a_process_stop_left_replaces_its_start_only,
		the_line_is_bounded, a_faulty_command_is_reported };

	return suite_run_with(
	    "queue", tests, SUITE_N(tests), set_up, tear_down);
}
