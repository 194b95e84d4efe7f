/* What outlives the agent, also one that is killed. */
#include "t/agentd/suite.h"

#include "agentd/procs.h"
#include "agentd/state.h"
#include "core/buf.h"
#include "core/json.h"
#include "core/log.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/wait.h>
#include <unistd.h>

#define ONE "11111111-1111-4111-8111-111111111111"
#define TWO "22222222-2222-4222-8222-222222222222"

static char *directory;
static struct state *s;
static struct reason why;

static void
set_up(void)
{
	char *parent = suite_directory();

	directory = mem_fmt("%s/state", parent);
	free(parent);
	ck_assert_int_eq(state_open(directory, &s, &why), 0);
}

static void
tear_down(void)
{
	state_close(s);
	*strrchr(directory, '/') = '\0';
	suite_remove(directory);
}

static void
reopen(void)
{
	state_close(s);
	ck_assert_int_eq(state_open(directory, &s, &why), 0);
}

START_TEST(the_directory_is_private)
{
	struct stat st;

	ck_assert_int_eq(stat(directory, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0700);
	state_close(s);
	ck_assert_int_eq(chmod(directory, 0755), 0);
	ck_assert_int_eq(state_open(directory, &s, &why), 0);
	ck_assert_int_eq(stat(directory, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0700);
}
END_TEST

START_TEST(one_agent_at_a_time)
{
	struct state *second = NULL;
	char *want = mem_fmt(
	    "another agent runs with the state directory %s: stop it, or "
	    "set another --state-dir",
	    directory);

	ck_assert_int_eq(state_open(directory, &second, &why), -1);
	ck_assert_str_eq(why.text, want);
	ck_assert_ptr_null(second);
	free(want);
}
END_TEST

/* Returns once the parent, having opened it, waits: it found the lock held. */
static void
await_a_try(int opened)
{
	struct inotify_event event;
	struct buf stat = BUF_INIT(1000);
	char parent[24];

	(void)snprintf(parent, sizeof parent, "%ld", (long)getppid());
	if (read(opened, &event, sizeof event) != sizeof event)
		_exit(1);
	do {
		stat.len = 0;
		(void)procs_read("", parent, "stat", &stat);
	} while (!stat.data || !strstr(stat.data, ") S "));
	buf_free(&stat);
}

/*
 * What a killed agent had just forked holds the lock until it has closed its
 * descriptors.  This one lets go once the lock was found held.
 */
static void __attribute__((noreturn)) hold_lock(const char *path, int told)
{
	int fd = open(path, O_RDWR), opened = inotify_init();

	if (fd < 0 || flock(fd, LOCK_EX) ||
	    inotify_add_watch(opened, path, IN_OPEN) < 0 ||
	    write(told, "l", 1) != 1)
		_exit(1);
	await_a_try(opened);
	_exit(0);
}

START_TEST(the_lock_of_one_that_was_killed_is_waited_for)
{
	char path[PATH_MAX], step;
	int told[2], status;
	pid_t pid;

	state_close(s);
	(void)snprintf(path, sizeof path, "%s/lock", directory);
	ck_assert_int_eq(pipe(told), 0);
	pid = fork();
	if (pid == 0)
		hold_lock(path, told[1]);
	ck_assert_int_eq(read(told[0], &step, 1), 1);
	ck_assert_int_eq(state_open(directory, &s, &why), 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	close(told[0]);
	close(told[1]);
}
END_TEST

START_TEST(the_agent_keeps_its_id)
{
	char id[UUID_TEXT], parsed[UUID_TEXT];

	(void)snprintf(id, sizeof id, "%s", state_agent_id(s));
	ck_assert(uuid_parse(id, parsed));
	reopen();
	ck_assert_str_eq(state_agent_id(s), id);
}
END_TEST

START_TEST(an_id_is_known_once_accepted)
{
	struct buf log = BUF_INIT(1000);

	ck_assert_int_eq(state_knows(s, ONE), STATE_ABSENT);
	ck_assert_int_eq(state_accept(s, ONE), 0);
	ck_assert_int_eq(state_knows(s, ONE), STATE_THERE);
	reopen();
	ck_assert_int_eq(state_knows(s, ONE), STATE_THERE);
	log_to_buf(&log);
	ck_assert_int_eq(state_accept(s, ONE), -1);
	log_to_buf(NULL);
	ck_assert_ptr_nonnull(strstr(buf_text(&log), "UNIQUE"));
	buf_free(&log);
}
END_TEST

START_TEST(what_is_unfinished_is_found_again)
{
	char id[UUID_TEXT] = "";
	int64_t received = 0;

	ck_assert_int_eq(state_unfinished(s, id, &received), STATE_ABSENT);
	ck_assert_int_eq(state_accept(s, ONE), 0);
	ck_assert_int_eq(state_accept(s, TWO), 0);
	ck_assert_int_eq(state_advance(s, ONE, STATE_RUNNING), 0);
	reopen();
	ck_assert_int_eq(state_unfinished(s, id, &received), STATE_THERE);
	ck_assert_str_eq(id, ONE);
	ck_assert_int_gt(received, 0);
	ck_assert_int_eq(state_finish(s, ONE, "{\"n\":1}"), 0);
	ck_assert_int_eq(state_unfinished(s, id, &received), STATE_THERE);
	ck_assert_str_eq(id, TWO);
	ck_assert_int_eq(state_finish(s, TWO, "{\"n\":2}"), 0);
	ck_assert_int_eq(state_unfinished(s, id, &received), STATE_ABSENT);
}
END_TEST

START_TEST(reports_wait_for_the_server)
{
	struct state_report report, other;

	ck_assert_int_eq(state_next_report(s, &report), STATE_ABSENT);
	ck_assert_int_eq(state_accept(s, ONE), 0);
	ck_assert_int_eq(state_accept(s, TWO), 0);
	ck_assert_int_eq(state_finish(s, ONE, "{\"n\":1}"), 0);
	ck_assert_int_eq(state_finish(s, TWO, "{\"n\":2}"), 0);
	reopen();
	ck_assert_int_eq(state_next_report(s, &report), STATE_THERE);
	ck_assert_str_eq(report.text, "{\"n\":1}");
	/* one that fails lets the next one go first */
	ck_assert_int_eq(state_postpone_report(s, report.number), 0);
	ck_assert_int_eq(state_next_report(s, &other), STATE_THERE);
	ck_assert_str_eq(other.text, "{\"n\":2}");
	ck_assert_int_eq(state_drop_report(s, other.number), 0);
	free(other.text);
	ck_assert_int_eq(state_next_report(s, &other), STATE_THERE);
	ck_assert_int_eq(other.number, report.number);
	ck_assert_int_eq(state_drop_report(s, other.number), 0);
	free(other.text);
	free(report.text);
	ck_assert_int_eq(state_next_report(s, &report), STATE_ABSENT);
}
END_TEST

START_TEST(ids_come_newest_first_and_bounded)
{
	struct json_object *all, *done;
	char id[UUID_TEXT];

	for (int i = 0; i < STATE_IDS_MAX + 5; i++) {
		(void)snprintf(id, sizeof id,
		    "%08x-0000-4000-8000-000000000000", (unsigned)i);
		ck_assert_int_eq(state_accept(s, id), 0);
	}
	ck_assert_int_eq(
	    state_finish(s, "00000003-0000-4000-8000-000000000000", "{}"), 0);
	all = state_ids(s, false);
	done = state_ids(s, true);
	ck_assert_uint_eq(json_object_array_length(all), STATE_IDS_MAX);
	ck_assert_str_eq(
	    json_object_get_string(json_object_array_get_idx(all, 0)), id);
	ck_assert_str_eq(
	    json_text(done), "[\"00000003-0000-4000-8000-000000000000\"]");
	json_object_put(all);
	json_object_put(done);
}
END_TEST

/* Accepts and finishes without end, telling each step that is on disk. */
static void __attribute__((noreturn)) write_until_killed(int tell)
{
	struct state *mine;
	struct reason reason;

	if (state_open(directory, &mine, &reason))
		_exit(1);
	for (unsigned i = 0;; i++) {
		char id[UUID_TEXT];

		(void)snprintf(
		    id, sizeof id, "%08x-0000-4000-8000-000000000000", i);
		if (state_accept(mine, id))
			_exit(1);
		(void)!write(tell, "a", 1);
		if (state_finish(mine, id, "{}"))
			_exit(1);
		(void)!write(tell, "f", 1);
	}
}

static void
count_steps(int fd, unsigned *accepted, unsigned *finished)
{
	char step;

	while (read(fd, &step, 1) == 1)
		*(step == 'a' ? accepted : finished) += 1;
}

static unsigned
count_reports(void)
{
	struct state_report report;
	unsigned n = 0;

	while (state_next_report(s, &report) == STATE_THERE) {
		ck_assert_int_eq(state_drop_report(s, report.number), 0);
		free(report.text);
		n++;
	}
	return n;
}

START_TEST(nothing_told_is_lost_by_kill_9)
{
	unsigned accepted = 0, finished = 0, reports, known = 0;
	char step, id[UUID_TEXT];
	int ends[2];
	pid_t pid;

	state_close(s);
	ck_assert_int_eq(pipe(ends), 0);
	pid = fork();
	if (pid == 0)
		write_until_killed(ends[1]);
	close(ends[1]);
	for (int i = 0; i < 41; i++) {
		ck_assert_int_eq(read(ends[0], &step, 1), 1);
		*(step == 'a' ? &accepted : &finished) += 1;
	}
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	count_steps(ends[0], &accepted, &finished);
	close(ends[0]);
	ck_assert_int_eq(state_open(directory, &s, &why), 0);
	reports = count_reports();
	for (;; known++) {
		(void)snprintf(
		    id, sizeof id, "%08x-0000-4000-8000-000000000000", known);
		if (state_knows(s, id) != STATE_THERE)
			break;
	}
	/* one step may be on the disk and not told yet */
	ck_assert_uint_ge(known, accepted);
	ck_assert_uint_le(known, accepted + 1);
	ck_assert_uint_ge(reports, finished);
	ck_assert_uint_le(reports, finished + 1);
}
END_TEST

/* Changes the file behind the agent's back. */
static void
run_sql(const char *sql)
{
	char *command = mem_fmt("python3 -c \"import sqlite3;"
				"c=sqlite3.connect('%s/agent.db');"
				"c.execute(\\\"%s\\\");c.commit()\"",
	    directory, sql);

	ck_assert_int_eq(system(command), 0);
	free(command);
}

START_TEST(the_oldest_done_ones_are_forgotten)
{
	ck_assert_int_eq(state_accept(s, ONE), 0);
	ck_assert_int_eq(state_accept(s, TWO), 0);
	ck_assert_int_eq(state_finish(s, TWO, "{}"), 0);
	run_sql("WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL"
		" SELECT i + 1 FROM n WHERE i < 9999)"
		" INSERT INTO commands (command_id, phase, received_ms)"
		" SELECT printf('%08x', i), 'done', 0 FROM n");
	ck_assert_int_eq(state_knows(s, TWO), STATE_THERE);
	ck_assert_int_eq(
	    state_accept(s, "33333333-3333-4333-8333-333333333333"), 0);
	ck_assert_int_eq(state_knows(s, TWO), STATE_ABSENT);
	ck_assert_int_eq(state_knows(s, "00000001"), STATE_THERE);
	/* it is older still, but not done */
	ck_assert_int_eq(state_knows(s, ONE), STATE_THERE);
}
END_TEST

START_TEST(a_newer_layout_is_refused)
{
	run_sql("PRAGMA user_version=9");
	state_close(s);
	s = NULL;
	ck_assert_int_eq(state_open(directory, &s, &why), -1);
	ck_assert_str_eq(why.text,
	    "the state file is of a newer agent (layout 9, this one knows "
	    "2)");
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = { the_directory_is_private,
		one_agent_at_a_time,
		the_lock_of_one_that_was_killed_is_waited_for,
		the_agent_keeps_its_id, an_id_is_known_once_accepted,
		what_is_unfinished_is_found_again, reports_wait_for_the_server,
		ids_come_newest_first_and_bounded,
		nothing_told_is_lost_by_kill_9,
		the_oldest_done_ones_are_forgotten,
		a_newer_layout_is_refused };

	return suite_run_with(
	    "state", tests, SUITE_N(tests), set_up, tear_down);
}
