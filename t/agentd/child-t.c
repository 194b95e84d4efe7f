/* Child processes: their output, their end, and what they leave behind. */
#include "t/agentd/suite.h"

#include "agentd/child.h"
#include "agentd/perfspect.h"
#include "agentd/procs.h"
#include "core/clock.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* A mark of this process alone: the same test may run beside it. */
static char mark[32], entry[64];

static const struct child_patience patience = { 300, 300 };

static int
run_shell(void *script)
{
	char shell[] = "/bin/sh", flag[] = "-c";
	char *argv[] = { shell, flag, script, NULL };

	return child_exec(argv);
}

static void
start(struct child *c, const char *script, int log_fd, size_t log_max)
{
	static char copy[512];
	struct child_plan plan = { .body = run_shell,
		.context = copy,
		.mark = mark,
		.log_fd = log_fd,
		.log_max = log_max };
	struct reason why;

	(void)snprintf(copy, sizeof copy, "%s", script);
	ck_assert_int_eq(child_start(c, &plan, &why), 0);
}

/* One wait and one tick; true once it is over. */
static bool
turn(struct child *c)
{
	struct pollfd wait[CHILD_FDS];
	int fds[CHILD_FDS];
	size_t n = child_fds(c, fds);
	int64_t next = child_next_ms(c) - clock_mono_ms();

	for (size_t i = 0; i < n; i++)
		wait[i] = (struct pollfd) { fds[i], POLLIN, 0 };
	(void)poll(wait, n, next < 0 ? 0 : next > 1000 ? 1000 : (int)next);
	return child_tick(c, clock_mono_ms());
}

static void
finish(struct child *c)
{
	while (!turn(c))
		;
}

static void
wait_for_line(struct child *c, const char *line)
{
	while (strcmp(c->last, line) != 0)
		ck_assert(!turn(c));
}

static int
marked(void)
{
	return procs_signal(0, entry, 0);
}

static void
wait_for_marked(int n)
{
	while (marked() < n)
		(void)poll(NULL, 0, 10);
}

START_TEST(status_and_last_line_are_kept)
{
	struct child c;
	char text[64];

	start(&c, "echo one; echo 'the reason' >&2; echo '  '; exit 3", -1, 0);
	finish(&c);
	child_describe(c.status, text);
	ck_assert_str_eq(text, "exited with status 3");
	ck_assert_str_eq(c.last, "the reason");
	start(&c, "printf 'no end of line'", -1, 0);
	finish(&c);
	ck_assert_int_eq(c.status, 0);
	ck_assert_str_eq(c.last, "no end of line");
}
END_TEST

START_TEST(the_environment_is_plain)
{
	struct child c;

	(void)setenv("LC_ALL", "de_DE.UTF-8", 1);
	start(&c, "read x; echo \"$LC_ALL $TZ ${x:-nothing}\"", -1, 0);
	finish(&c);
	ck_assert_str_eq(c.last, "C UTC nothing");
	/* ls itself opens 3, the directory: there is nothing of ours */
	start(&c, "exec ls /proc/self/fd", -1, 0);
	finish(&c);
	ck_assert_str_eq(c.last, "3");
	/* nobody can be asked for a password */
	start(&c, "if true </dev/tty; then echo asks; else echo alone; fi", -1,
	    0);
	finish(&c);
	ck_assert_str_eq(c.last, "alone");
}
END_TEST

START_TEST(output_is_capped)
{
	char *directory = suite_directory();
	char *path = mem_fmt("%s/log", directory);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct child c;
	struct stat st;

	start(&c, "head -c 300000 /dev/zero | tr '\\0' x; echo; echo end", fd,
	    1000);
	finish(&c);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_gt(st.st_size, 1000);
	ck_assert_int_lt(st.st_size, 1100);
	ck_assert_str_eq(c.last, "end"); /* still followed */
	free(path);
	suite_remove(directory);
}
END_TEST

START_TEST(one_that_ignores_signals_is_killed)
{
	struct child c;
	char text[64];

	start(&c, "trap '' INT TERM; echo ready; while :; do sleep 0.05; done",
	    -1, 0);
	wait_for_line(&c, "ready");
	child_end(&c, &patience, clock_mono_ms());
	finish(&c);
	child_describe(c.status, text);
	ck_assert_str_eq(text, "was killed by SIGKILL");
}
END_TEST

START_TEST(sigint_comes_first)
{
	struct child c;

	start(&c,
	    "trap 'echo got INT; exit 7' INT; echo ready; "
	    "while :; do sleep 0.05; done",
	    -1, 0);
	wait_for_line(&c, "ready");
	child_end(&c, &patience, clock_mono_ms());
	finish(&c);
	ck_assert_str_eq(c.last, "got INT");
	ck_assert_int_eq(WEXITSTATUS(c.status), 7);
}
END_TEST

START_TEST(grandchildren_end_as_well)
{
	struct child c;

	/* one in the group, one in a session of its own that ignores TERM */
	start(&c,
	    "sleep 1000 & "
	    "setsid sh -c \"trap '' TERM; echo ready; sleep 1000; :\" & "
	    "sleep 1000",
	    -1, 0);
	wait_for_line(&c, "ready");
	wait_for_marked(5);
	child_end(&c, &patience, clock_mono_ms());
	finish(&c);
	ck_assert_int_eq(marked(), 0);
}
END_TEST

START_TEST(marked_processes_of_a_dead_agent_are_found)
{
	struct child c;

	start(&c, "setsid sleep 1000 & echo ready; sleep 1000", -1, 0);
	wait_for_line(&c, "ready");
	wait_for_marked(3);
	ck_assert_int_eq(child_kill_marked("test-mark-"), 0);
	ck_assert_int_eq(child_kill_marked(mark), 3);
	finish(&c);
}
END_TEST

START_TEST(one_that_becomes_another_program_is_found)
{
	struct child c;
	char text[64];

	/* it is in execve() for most of its life */
	start(&c, "s='exec sh -c \"$s\"'; export s; echo ready; eval \"$s\"",
	    -1, 0);
	wait_for_line(&c, "ready");
	for (int i = 0; i < 300; i++)
		ck_assert_int_eq(marked(), 1);
	ck_assert_int_eq(child_kill_marked(mark), 1);
	ck_assert_int_eq(marked(), 0);
	finish(&c);
	child_describe(c.status, text);
	ck_assert_str_eq(text, "was killed by SIGKILL");
}
END_TEST

/* Starts n processes with the environment, in a session of their own, as user
 * uid, and waits until they are what they shall be. */
static void
start_sleepers(pid_t *pids, size_t n, char *const *environment, uid_t uid)
{
	char sleep[] = "/bin/sleep", seconds[] = "1000";
	char *argv[] = { sleep, seconds, NULL };
	int ends[2];
	char byte;

	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	for (size_t i = 0; i < n; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			(void)setsid();
			if (setuid(uid) == 0)
				(void)execve(sleep, argv, environment);
			_exit(1);
		}
	}
	close(ends[1]);
	ck_assert_int_eq(read(ends[0], &byte, 1), 0); /* all are executed */
	close(ends[0]);
}

static void
end_sleepers(const pid_t *pids, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int status;

		(void)kill(pids[i], SIGKILL);
		ck_assert_int_eq(waitpid(pids[i], &status, 0), pids[i]);
		ck_assert_int_eq(WTERMSIG(status), SIGKILL);
	}
}

/* Reading another user's environment can be made to take for ever, and a
 * mark there was put there by hand. */
START_TEST(what_another_user_marks_is_none_of_ours)
{
	char *environment[] = { entry, NULL };
	pid_t pid;

	if (geteuid() != 0)
		return;
	start_sleepers(&pid, 1, environment, 65534);
	ck_assert_int_eq(marked(), 0);
	ck_assert_int_eq(child_kill_marked(mark), 0);
	end_sleepers(&pid, 1);
	start_sleepers(&pid, 1, environment, 0);
	ck_assert_int_eq(marked(), 1);
	end_sleepers(&pid, 1);
}
END_TEST

/* Each pause is a switch to another process. */
START_TEST(one_without_an_environment_is_not_waited_for)
{
	enum { MANY = 50 };
	char *environment[] = { NULL };
	struct rusage before, after;
	pid_t pids[MANY];

	start_sleepers(pids, MANY, environment, geteuid());
	(void)getrusage(RUSAGE_SELF, &before);
	ck_assert_int_eq(marked(), 0);
	(void)getrusage(RUSAGE_SELF, &after);
	ck_assert_int_lt(after.ru_nvcsw - before.ru_nvcsw, 5 * MANY);
	end_sleepers(pids, MANY);
}
END_TEST

START_TEST(what_cannot_be_run_says_so)
{
	char *directory = suite_directory();
	struct child_plan plan = { .body = run_shell,
		.context = directory,
		.directory = "/nonexistent/d",
		.log_fd = -1 };
	struct reason why;
	struct child c;

	ck_assert_int_eq(child_start(&c, &plan, &why), 0);
	finish(&c);
	ck_assert_int_eq(WEXITSTATUS(c.status), 127);
	ck_assert_str_eq(c.last, "/nonexistent/d: No such file or directory");
	suite_remove(directory);
}
END_TEST

static const char *
version_of(const char *script, char version[PERFSPECT_VERSION_BYTES])
{
	static struct reason why;
	char *directory = suite_directory();
	char *path = mem_fmt("%s/perfspect", directory);

	why.text[0] = '\0';
	suite_write(path, script, strlen(script), 0700);
	ck_assert_int_eq(perfspect_version(path, directory, version, &why),
	    why.text[0] ? -1 : 0);
	free(path);
	suite_remove(directory);
	return why.text;
}

START_TEST(a_version_is_read)
{
	char version[PERFSPECT_VERSION_BYTES];

	ck_assert_str_eq(
	    version_of("#!/bin/sh\n[ \"$*\" = --version ] && "
		       "echo perfspect version 3.17.1_2026-08-07_c399daa0\n",
		version),
	    "");
	ck_assert_str_eq(version, "3.17.1_2026-08-07_c399daa0");
	ck_assert_ptr_nonnull(
	    strstr(version_of("#!/bin/sh\necho hello\n", version),
		"--version answered \"hello\" and no version"));
	ck_assert_ptr_nonnull(
	    strstr(version_of("#!/bin/sh\necho broken >&2; exit 4\n", version),
		"--version exited with status 4: broken"));
	/* valgrind cannot come back from an execve() that fails so */
	if (!getenv("CONSPECT_VALGRIND"))
		ck_assert_ptr_nonnull(
		    strstr(version_of("#!/nonexistent/shell\n", version),
			"cannot be run by user"));
}
END_TEST

START_TEST(what_is_no_version_is_refused)
{
	static const char *const wrong[] = { "", "perfspect version",
		"perfspect version ", "PerfSpect version 3", "3.17.1",
		"perfspect version 3.17.1 beta", "perfspect version 3\t",
		"perfspect version 3\x1b[2J", "perfspect version 3\xc3\xa9" };
	char line[200] = "perfspect version ";
	char version[PERFSPECT_VERSION_BYTES] = "untouched";
	size_t n = strlen(line);

	for (size_t i = 0; i < SUITE_N(wrong); i++)
		ck_assert_msg(!perfspect_read_version(wrong[i], version),
		    "\"%s\" is taken", wrong[i]);
	memset(line + n, '3', PERFSPECT_VERSION_BYTES);
	ck_assert(!perfspect_read_version(line, version));
	ck_assert_str_eq(version, "untouched");
	line[n + PERFSPECT_VERSION_BYTES - 1] = '\0';
	ck_assert(perfspect_read_version(line, version));
	ck_assert_str_eq(version, line + n);
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = { status_and_last_line_are_kept,
		the_environment_is_plain, output_is_capped,
		one_that_ignores_signals_is_killed, sigint_comes_first,
		grandchildren_end_as_well,
		marked_processes_of_a_dead_agent_are_found,
		what_another_user_marks_is_none_of_ours,
		one_without_an_environment_is_not_waited_for,
		one_that_becomes_another_program_is_found,
		what_cannot_be_run_says_so, a_version_is_read,
		what_is_no_version_is_refused };

	(void)snprintf(mark, sizeof mark, "test-mark-%ld", (long)getpid());
	(void)snprintf(entry, sizeof entry, CHILD_MARK "=%s", mark);
	return suite_run("child", tests, SUITE_N(tests));
}
