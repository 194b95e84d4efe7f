/* A command's config: what is taken, what is refused, what a stop cuts. */
#include "t/agentd/suite.h"

#include "agentd/metrics.h"
#include "agentd/session.h"
#include "core/json.h"

#include <string.h>

static struct json_object *config;
static struct session s;
static struct reason why;

/* Reads a config, with ' for ". */
static int
read_config(const char *text)
{
	char *json = mem_copy(text);
	struct json_fault fault;
	int result;

	for (char *at = json; *at; at++)
		if (*at == '\'')
			*at = '"';
	ck_assert_int_eq(json_read(json, strlen(json), &config, &fault), 0);
	free(json);
	why.text[0] = '\0';
	result = session_read(config, &s, &why);
	return result;
}

static void
forget(void)
{
	session_free(&s);
	json_object_put(config);
	config = NULL;
}

static void
refused(const char *text, const char *reason)
{
	ck_assert_int_eq(read_config(text), -1);
	ck_assert_str_eq(why.text, reason);
	forget();
}

START_TEST(each_member_is_read)
{
	ck_assert_int_eq(
	    read_config("{'duration':30,'frequency':11,'continuous':true,"
			"'profiling_mode':'none','enable_perfspect':true,"
			"'pids':[7,5],'max_processes':0,"
			"'limits':{'cpu_percent':150,'memory_mib':512},"
			"'perfspect_args':{'interval':2},'unknown':[]}"),
	    0);
	ck_assert_int_eq(s.duration, 30);
	ck_assert_int_eq(s.frequency, 11);
	ck_assert_str_eq(s.mode, "none");
	ck_assert(s.continuous && s.enable_perfspect);
	ck_assert_int_eq(s.max_processes, 0);
	ck_assert_uint_eq(s.n_pids, 2);
	ck_assert_int_eq(s.pids[0], 7);
	ck_assert_int_eq(s.cpu_percent, 150);
	ck_assert_int_eq(s.memory_mib, 512);
	ck_assert_int_eq(session_perfspect_least(&s), 2);
	forget();
}
END_TEST

START_TEST(what_root_must_not_run_is_refused)
{
	static const char *const flags[] = { "--", "-", "output", "tempdir",
		"target", "targets", "key", "user", "port", "eventfile",
		"metricfile", "input", "prometheus-server",
		"prometheus-server-addr", "noupdate", "duration" };

	for (size_t i = 0; i < SUITE_N(flags); i++) {
		char *text =
		    mem_fmt("{'perfspect_args':{'%s':'x'}}", flags[i]);
		char *want = mem_fmt("perfspect_args.%s: this PerfSpect flag "
				     "may not be set by a request: ",
		    flags[i]);

		ck_assert_int_eq(read_config(text), -1);
		ck_assert_int_eq(strncmp(why.text, want, strlen(want)), 0);
		forget();
		free(text);
		free(want);
	}
	refused("{'perfspect_args':'--count 1'}",
	    "perfspect_args: value is not a valid dict");
	refused("{'perfspect_args':{'metrics':'--output=/etc'}}",
	    "perfspect_args.metrics: must not begin with '-'");
	refused("{'perfspect_args':{'pids':'1;reboot'}}",
	    "perfspect_args.pids: \"1;reboot\" is not a value of --pids");
	refused("{'limits':{'memory_mib':1}}",
	    "memory_mib must be a whole number from 64 to 1048576, not 1");
	refused("{'limits':[]}", "limits must be an object");
	refused("{'enable_perfspect':true,'duration':3}",
	    "PerfSpect needs a duration of at least 5 seconds, not 3");
	refused("{'enable_perfspect':true,'duration':9,"
		"'perfspect_args':{'interval':10}}",
	    "PerfSpect needs a duration of at least 10 seconds, not 9");
}
END_TEST

/* --- PerfSpect's command line -------------------------------------------- */

static void
expect_args(long seconds, const char *want)
{
	static const struct metrics_paths paths = { "/tmp/perfspect/perfspect",
		"/results", "/scratch" };
	struct args args = { 0 };
	char *line = mem_copy("");

	metrics_args(&s, &paths, seconds, &args);
	for (size_t i = 0; i < args.n; i++) {
		char *longer = mem_fmt("%s[%s]", line, args.v[i]);

		free(line);
		line = longer;
	}
	ck_assert_str_eq(line, want);
	free(line);
	args_free(&args);
}

#define COMMON(seconds)                                                       \
	"[/tmp/perfspect/perfspect][metrics][--duration][" seconds            \
	"][--output][/results][--tempdir][/scratch][--noupdate]"

START_TEST(perfspect_alone_has_its_own_line)
{
	ck_assert_int_eq(read_config("{}"), 0);
	expect_args(60, COMMON("60"));
	forget();
	ck_assert_int_eq(read_config("{'pids':[10,20]}"), 0);
	expect_args(0, COMMON("0") "[--scope][process][--pids][10,20]");
	forget();
	ck_assert_int_eq(
	    read_config("{'pids':[10],'perfspect_args':{'noroot':true,"
			"'metrics':'\\'a b\\',CPI','scope':'system',"
			"'interval':'2','count':3.0,'granularity':'cpu'}}"
		/* the quotes above end up as \" in the JSON */),
	    0);
	expect_args(5,
	    COMMON("5") "[--scope][system][--count][3][--granularity][cpu]"
			"[--metrics][\"a b\",CPI][--interval][2][--noroot]");
	forget();
}
END_TEST

START_TEST(the_wrapper_keeps_each_word_whole)
{
	char *directory = suite_directory();
	char *echo = mem_fmt("%s/it's", directory);
	char *wrapper = mem_fmt("%s/perfspect", directory);
	char *command = mem_fmt("%s a 'b c'", wrapper), line[200] = "";
	static const char script[] =
	    "#!/bin/sh\nfor a; do printf '[%s]' \"$a\"; done\n";
	FILE *out;

	suite_write(echo, script, sizeof script - 1, 0700);
	ck_assert_int_eq(
	    read_config("{'perfspect_args':{'filter':'$(id) `id` it\\u0027s "
			"*;','noroot':true}}"),
	    0);
	ck_assert_int_eq(metrics_write_wrapper(wrapper, echo, &s, &why), 0);
	out = popen(command, "re");
	ck_assert_ptr_nonnull(out);
	ck_assert_ptr_nonnull(fgets(line, sizeof line, out));
	ck_assert_int_eq(pclose(out), 0);
	ck_assert_str_eq(
	    line, "[a][b c][--filter][$(id) `id` it's *;][--noroot]");
	forget();
	free(echo);
	free(wrapper);
	free(command);
	suite_remove(directory);
}
END_TEST

/* --- stops --------------------------------------------------------------- */

static struct session
with_pids(long *pids, size_t n)
{
	return (struct session) { .pids = pids, .n_pids = n };
}

START_TEST(a_stop_cuts_what_it_names)
{
	long three[] = { 10, 20, 30 }, ten[] = { 30, 10 }, other[] = { 40 };
	struct session start = with_pids(three, 3), stop = with_pids(ten, 2),
		       none = with_pids(other, 1), host = { 0 },
		       whole = { .whole_host_stop = true };

	ck_assert_int_eq(session_cut(&start, &stop), SESSION_NARROWED);
	ck_assert_int_eq(session_cut(&start, &start), SESSION_ENDED);
	ck_assert_int_eq(session_cut(&start, &none), SESSION_UNTOUCHED);
	ck_assert_int_eq(session_cut(&host, &stop), SESSION_UNDIVIDED);
	ck_assert_int_eq(session_cut(&host, &whole), SESSION_ENDED);
	ck_assert_int_eq(session_cut(&start, &whole), SESSION_ENDED);
	ck_assert(session_is_part(&stop, &start));
	ck_assert(!session_is_part(&start, &stop));
	session_narrow(&start, &stop);
	ck_assert_uint_eq(start.n_pids, 1);
	ck_assert_int_eq(start.pids[0], 20);
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = { each_member_is_read,
		what_root_must_not_run_is_refused,
		perfspect_alone_has_its_own_line,
		the_wrapper_keeps_each_word_whole, a_stop_cuts_what_it_names };

	return suite_run("session", tests, SUITE_N(tests));
}
