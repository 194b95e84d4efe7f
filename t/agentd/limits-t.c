/* Limits of a run, in a directory that plays the cgroup file system. */
#include "t/agentd/suite.h"

#include "agentd/limits.h"
#include "core/buf.h"
#include "core/log.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define RUN "run-11111111-1111-4111-8111-111111111111"
#define ID "11111111-1111-4111-8111-111111111111"

static char *directory;
static struct options o;
static struct session s;
static struct limits l;
static struct reason why;
static struct buf log_lines = BUF_INIT(10000);

static void
set_up(void)
{
	directory = suite_directory();
	o = (struct options) { .cgroup = directory };
	s = (struct session) { 0 };
	log_to_buf(&log_lines);
}

static void
tear_down(void)
{
	log_to_buf(NULL);
	buf_free(&log_lines);
	suite_remove(directory);
}

/* An empty file, as the kernel makes them in a new cgroup. */
static void
make_file(const char *name)
{
	char *path = mem_fmt("%s/%s", directory, name);

	suite_write(path, "", 0, 0600);
	free(path);
}

static void
expect_file(const char *name, const char *want)
{
	suite_expect(directory, name, want);
}

static void
make_run(void)
{
	static const char *const files[] = { "memory.max", "memory.swap.max",
		"memory.oom.group", "cpu.max", "pids.max", "cgroup.procs",
		"cgroup.kill", "memory.events" };
	char *run = mem_fmt("%s/" RUN, directory);

	ck_assert_int_eq(mkdir(run, 0700), 0);
	free(run);
	for (size_t i = 0; i < SUITE_N(files); i++) {
		char *name = mem_fmt(RUN "/%s", files[i]);

		make_file(name);
		free(name);
	}
}

START_TEST(the_smaller_limit_holds)
{
	static const struct {
		long request, agent, want;
	} cases[] = { { 0, 0, 0 }, { 100, 0, 100 }, { 0, 200, 200 },
		{ 100, 200, 100 }, { 300, 200, 200 } };

	for (size_t i = 0; i < SUITE_N(cases); i++) {
		s.memory_mib = s.cpu_percent = cases[i].request;
		o.memory_limit = o.cpu_limit = cases[i].agent;
		limits_begin(&l, &o, &s, NULL, ID);
		ck_assert_int_eq(l.memory_mib, cases[i].want);
		ck_assert_int_eq(l.cpu_percent, cases[i].want);
		ck_assert_ptr_null(l.cgroup);
		limits_end(&l);
	}
}
END_TEST

START_TEST(a_cgroup_gets_them)
{
	char *parent;

	make_file("cgroup.subtree_control");
	make_run();
	parent = limits_find_cgroup(&o, &why);
	ck_assert_str_eq(parent, directory);
	expect_file("cgroup.subtree_control", "+cpu +memory +pids");
	/* a run that an earlier agent left is ended */
	expect_file(RUN "/cgroup.kill", "1");
	s.memory_mib = 512;
	s.cpu_percent = 150;
	limits_begin(&l, &o, &s, parent, ID);
	ck_assert_ptr_nonnull(l.cgroup);
	expect_file(RUN "/memory.max", "536870912");
	expect_file(RUN "/memory.swap.max", "0");
	expect_file(RUN "/memory.oom.group", "1");
	expect_file(RUN "/cpu.max", "150000 100000");
	expect_file(RUN "/pids.max", "4096");
	limits_end(&l);
	ck_assert_ptr_null(l.cgroup);
	free(parent);
}
END_TEST

START_TEST(a_cgroup_that_cannot_be_made_is_done_without)
{
	ck_assert_ptr_null(limits_find_cgroup(&o, &why));
	ck_assert_ptr_nonnull(
	    strstr(why.text, "cpu, memory and pids cannot be switched on"));
	s.memory_mib = 512;
	limits_begin(&l, &o, &s, "/nonexistent", ID);
	ck_assert_ptr_null(l.cgroup);
	ck_assert_int_eq(l.memory_mib, 512);
	ck_assert_ptr_nonnull(strstr(buf_text(&log_lines),
	    "/nonexistent/" RUN ": No such file or directory; the run is "
	    "limited without it"));
}
END_TEST

START_TEST(the_kernel_says_that_memory_was_exceeded)
{
	char *events = mem_fmt("%s/" RUN "/memory.events", directory);
	static const char none[] = "low 0\nmax 7\noom 0\noom_kill 0\n";
	static const char some[] = "low 0\nmax 7\noom 1\noom_kill 3\n";

	make_run();
	s.memory_mib = 100;
	limits_begin(&l, &o, &s, directory, ID);
	suite_write(events, none, sizeof none - 1, 0600);
	/* what the program says is no proof where the kernel counts */
	ck_assert(!limits_exceeded(&l, "MemoryError", &why));
	suite_write(events, some, sizeof some - 1, 0600);
	ck_assert(limits_exceeded(&l, "", &why));
	ck_assert_str_eq(why.text,
	    "the run exceeded its memory limit of 100 MiB (limits.memory_mib "
	    "of the request, memory-limit of the agent)");
	limits_end(&l);
	free(events);
}
END_TEST

START_TEST(without_a_cgroup_its_last_words_say_so)
{
	s.memory_mib = 100;
	limits_begin(&l, &o, &s, NULL, ID);
	ck_assert(!limits_exceeded(&l, "no perf on this host", &why));
	ck_assert(limits_exceeded(&l, "numpy: MemoryError", &why));
	ck_assert_ptr_nonnull(strstr(why.text, "100 MiB: numpy: MemoryError"));
	l.memory_mib = 0;
	ck_assert(!limits_exceeded(&l, "MemoryError", &why));
	limits_end(&l);
}
END_TEST

/* What a child sees of its limits: its niceness, or 99 for a wrong limit. */
static int
enter_in_a_child(rlim_t want)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		struct rlimit data, core;

		if (limits_enter(&l, &why))
			_exit(98);
		getrlimit(RLIMIT_DATA, &data);
		getrlimit(RLIMIT_CORE, &core);
		_exit(data.rlim_cur == want && core.rlim_max == 0
			  ? getpriority(PRIO_PROCESS, 0)
			  : 99);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* QEMU passes over RLIMIT_DATA, which would limit QEMU: see qemu-user's
 * setrlimit().  The rest can be tried. */
static rlim_t
limit_of(long memory_mib)
{
	if (!getenv("CONSPECT_EMULATED"))
		return (rlim_t)memory_mib * 1024 * 1024;
	puts("# not tried here: RLIMIT_DATA, which QEMU passes over");
	return RLIM_INFINITY;
}

START_TEST(the_child_is_limited)
{
	s.memory_mib = 4096;
	limits_begin(&l, &o, &s, NULL, ID);
	ck_assert_int_eq(enter_in_a_child(limit_of(4096)), 10);
	limits_end(&l);
	make_run();
	limits_begin(&l, &o, &s, directory, ID);
	ck_assert_int_eq(enter_in_a_child(RLIM_INFINITY), 10);
	expect_file(RUN "/cgroup.procs", "0"); /* that is: the writer */
	limits_end(&l);
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = { the_smaller_limit_holds,
		a_cgroup_gets_them,
		a_cgroup_that_cannot_be_made_is_done_without,
		the_kernel_says_that_memory_was_exceeded,
		without_a_cgroup_its_last_words_say_so, the_child_is_limited };

	return suite_run_with(
	    "limits", tests, SUITE_N(tests), set_up, tear_down);
}
