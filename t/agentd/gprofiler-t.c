/* The mapping of combined_config to gProfiler's command line. */
#include "t/agentd/suite.h"

#include "agentd/gprofiler.h"
#include "core/buf.h"
#include "core/json.h"
#include "core/log.h"

#include <string.h>
#include <unistd.h>

static struct json_object *
config_of(const char *text)
{
	struct json_object *config;
	struct json_fault fault;

	ck_assert_int_eq(json_read(text, strlen(text), &config, &fault), 0);
	return config;
}

/* The command line for a config, joined by blanks; "!" and the reason. */
static char *
line_for(const char *text, const char *upload)
{
	struct json_object *config = config_of(text);
	struct gprofiler_paths paths = { "/usr/bin/gprofiler", "/out",
		"/tmp/perfspect/perfspect", upload };
	struct buf line = BUF_INIT(4096);
	struct args args = { 0 };
	struct session s;
	struct reason why;
	char *copy;

	if (session_read(config, &s, &why) ||
	    gprofiler_args(&s, &paths, &args, &why))
		buf_fmt(&line, "!%s", why.text);
	else
		for (size_t i = 0; i < args.n; i++)
			buf_fmt(&line, "%s%s", i ? " " : "", args.v[i]);
	copy = mem_copy(buf_text(&line));
	buf_free(&line);
	args_free(&args);
	session_free(&s);
	json_object_put(config);
	return copy;
}

struct pair {
	const char *config, *line;
};

#define BEGIN "/usr/bin/gprofiler -o /out"
#define PROCS " --max-processes-runtime-profiler"
#define PERF                                                                  \
	" --skip-system-profilers-above 600 --perf-max-docker-containers 2"
#define NO_PERF "\"perf\":\"disabled\""
#define OFF " --perf-mode disabled"

static const struct pair pairs[] = {
	{ "{}", BEGIN PROCS " 10" PERF },
	{ "{\"duration\":null,\"frequency\":null,\"pids\":null}",
	    BEGIN PROCS " 10" PERF },
	/* the document's own example */
	{ "{\"duration\":60,\"frequency\":11,\"continuous\":true,"
	  "\"command_type\":\"start\",\"profiling_mode\":\"cpu\","
	  "\"enable_perfspect\":true}",
	    BEGIN " -d 60 -f 11 --mode cpu -c" PROCS
		  " 10 --enable-hw-metrics-collection"
		  " --perfspect-path=/tmp/perfspect/perfspect"
		  " --perfspect-duration 60" PERF },
	{ "{\"enable_perfspect\":true}",
	    BEGIN PROCS " 10 --enable-hw-metrics-collection"
			" --perfspect-path=/tmp/perfspect/perfspect"
			" --perfspect-duration 60" PERF },
	{ "{\"enable_perfspect\":false,\"unknown\":[1]}",
	    BEGIN PROCS " 10" PERF },
	{ "{\"profiling_mode\":\"allocation\",\"pids\":[1,22,333]}",
	    BEGIN " --mode allocation --pids 1,22,333" PROCS " 10" PERF },
	{ "{\"pids\":[]}", BEGIN PROCS " 10" PERF },
	{ "{\"profiling_mode\":\"none\",\"max_processes\":0}",
	    BEGIN " --mode none" PROCS " 0" PERF },
	{ "{\"profiler_configs\":{\"perf\":\"enabled_restricted\"}}",
	    BEGIN PROCS " 10" PERF },
	{ "{\"profiler_configs\":{\"perf\":\"enabled_aggressive\"}}",
	    BEGIN PROCS " 10 --skip-system-profilers-above 1500"
			" --perf-max-docker-containers 50" },
	{ "{\"profiler_configs\":{" NO_PERF "}}", BEGIN PROCS " 10" OFF },
	{ "{\"profiler_configs\":{" NO_PERF
	  ",\"async_profiler\":\"disabled\"}}",
	    BEGIN PROCS " 10" OFF " --java-mode disabled" },
	{ "{\"profiler_configs\":{" NO_PERF
	  ",\"async_profiler\":\"enabled\"}}",
	    BEGIN PROCS " 10" OFF " --java-async-profiler-mode cpu" },
	{ "{\"profiler_configs\":{" NO_PERF
	  ",\"async_profiler\":\"enabled_wall\"}}",
	    BEGIN PROCS " 10" OFF " --java-async-profiler-mode itimer" },
	{ "{\"profiler_configs\":{" NO_PERF
	  ",\"phpspy\":\"disabled\",\"rbspy\":\"disabled\","
	  "\"dotnet_trace\":\"disabled\",\"nodejs_perf\":\"disabled\"}}",
	    BEGIN PROCS " 10" OFF " --php-mode disabled --ruby-mode disabled"
			" --dotnet-mode disabled --nodejs-mode disabled" },
	{ "{\"profiler_configs\":{" NO_PERF
	  ",\"phpspy\":\"enabled\",\"rbspy\":\"enabled\","
	  "\"dotnet_trace\":\"enabled\",\"nodejs_perf\":\"enabled\"}}",
	    BEGIN PROCS " 10" OFF " --php-mode phpspy --ruby-mode rbspy"
			" --dotnet-mode dotnet-trace --nodejs-mode perf" },
	{ "{\"profiler_configs\":{" NO_PERF
	  ",\"pyspy\":\"enabled_fallback\",\"pyperf\":\"disabled\"}}",
	    BEGIN PROCS " 10" OFF " --python-mode auto" },
	{ "{\"profiler_configs\":{" NO_PERF
	  ",\"pyspy\":\"enabled\",\"pyperf\":\"enabled\"}}",
	    BEGIN PROCS " 10" OFF " --python-mode pyspy" },
	{ "{\"profiler_configs\":{" NO_PERF
	  ",\"pyspy\":\"disabled\",\"pyperf\":\"enabled\"}}",
	    BEGIN PROCS " 10" OFF " --python-mode pyperf"
			" --python-skip-pyperf-profiler-above 1500" },
	{ "{\"profiler_configs\":{" NO_PERF
	  ",\"pyspy\":\"disabled\",\"pyperf\":\"disabled\"}}",
	    BEGIN PROCS " 10" OFF " --python-mode disabled" },
	{ "{\"profiler_configs\":{" NO_PERF ",\"new\":\"on\"}}",
	    BEGIN PROCS " 10" OFF },
};

static const struct pair faults[] = {
	{ "[]", "!combined_config must be an object" },
	{ "{\"duration\":0}", "!duration must be a whole number from 1 to "
			      "2592000, not 0" },
	{ "{\"duration\":\"60\"}", "!duration must be a whole number from 1 "
				   "to 2592000, not \"60\"" },
	{ "{\"duration\":1.5}", "!duration must be a whole number from 1 to "
				"2592000, not 1.5" },
	{ "{\"frequency\":-1}", "!frequency must be a whole number from 1 to "
				"100000, not -1" },
	{ "{\"max_processes\":1001}", "!max_processes must be a whole number "
				      "from 0 to 1000, not 1001" },
	{ "{\"enable_perfspect\":\"yes\"}",
	    "!enable_perfspect must be true or false" },
	{ "{\"enable_perfspect\":true,\"duration\":3}",
	    "!PerfSpect needs a duration of at least 5 seconds, not 3" },
	{ "{\"profiling_mode\":\"--help\"}",
	    "!profiling_mode must be cpu, allocation or none, not "
	    "\"--help\"" },
	{ "{\"pids\":7}", "!pids must be a list" },
	{ "{\"pids\":[7,\"8\"]}", "!pids must be process ids, not \"8\"" },
	{ "{\"pids\":[0]}", "!pids must be process ids, not 0" },
	{ "{\"pids\":[2147483648]}",
	    "!pids must be process ids, not 2147483648" },
	{ "{\"profiler_configs\":[]}", "!profiler_configs must be an object" },
	{ "{\"profiler_configs\":{\"perf\":\"on\"}}",
	    "!profiler_configs.perf: \"on\" is not a known setting" },
	{ "{\"profiler_configs\":{\"rbspy\":true}}",
	    "!profiler_configs.rbspy must be a text" },
	{ "{\"profiler_configs\":{\"pyperf\":\"maybe\"}}",
	    "!profiler_configs.pyperf: \"maybe\" is not a known setting" },
	{ "{\"profiler_configs\":{\"pyspy\":\"maybe\"}}",
	    "!profiler_configs.pyspy: \"maybe\" is not a known setting" },
};

static void
check_pairs(const struct pair *p, size_t n)
{
	struct buf log = BUF_INIT(4096);

	log_to_buf(&log);
	for (size_t i = 0; i < n; i++) {
		char *line = line_for(p[i].config, NULL);

		ck_assert_str_eq(line, p[i].line);
		free(line);
	}
	log_to_buf(NULL);
	buf_free(&log);
}

START_TEST(each_setting_has_its_arguments)
{
	check_pairs(pairs, SUITE_N(pairs));
}
END_TEST

START_TEST(a_wrong_value_is_named)
{
	check_pairs(faults, SUITE_N(faults));
}
END_TEST

START_TEST(upload_settings_come_from_a_file)
{
	char *line = line_for("{\"duration\":9}", "/run/gprofiler.conf");

	ck_assert_str_eq(line,
	    "/usr/bin/gprofiler --config /run/gprofiler.conf -o /out "
	    "-d 9" PROCS " 10" PERF);
	free(line);
}
END_TEST

START_TEST(the_perfspect_path_is_one_argument)
{
	struct json_object *config =
	    config_of("{\"enable_perfspect\":true,\"duration\":7}");
	struct gprofiler_paths paths = { "g", "/o", "/a b/perfspect", NULL };
	struct args args = { 0 };
	struct session s;
	struct reason why;
	size_t found = 0;

	ck_assert_int_eq(session_read(config, &s, &why), 0);
	ck_assert_int_eq(gprofiler_args(&s, &paths, &args, &why), 0);
	for (size_t i = 0; i < args.n; i++)
		found +=
		    strcmp(args.v[i], "--perfspect-path=/a b/perfspect") == 0;
	ck_assert_uint_eq(found, 1);
	ck_assert_ptr_null(args.v[args.n]);
	args_free(&args);
	session_free(&s);
	json_object_put(config);
}
END_TEST

START_TEST(the_secret_file_is_private)
{
	char *directory = suite_directory();
	char *path = mem_fmt("%s/g.conf", directory), text[256] = "";
	char server[] = "https://s.example", service[] = "web";
	struct options o = { .server_host = server, .service_name = service };
	struct reason why;
	struct stat st;
	FILE *f;

	ck_assert_int_eq(
	    gprofiler_write_config(path, &o, "secret-token", &why), 0);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0600);
	f = fopen(path, "re");
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_gt(fread(text, 1, sizeof text - 1, f), 0);
	(void)fclose(f);
	ck_assert_str_eq(text,
	    "upload-results = true\nservice-name = web\n"
	    "server-host = https://s.example\ntoken = secret-token\n");
	/* never into a file that is there already */
	ck_assert_int_eq(gprofiler_write_config(path, &o, "x", &why), -1);
	free(path);
	suite_remove(directory);
}
END_TEST

START_TEST(the_program_is_looked_up)
{
	char *directory = suite_directory(), *found;
	char *path = mem_fmt("%s/gp", directory);
	struct reason why;

	suite_write(path, "#!/bin/sh\n", 10, 0700);
	(void)setenv("PATH", directory, 1);
	found = gprofiler_find("gp", &why);
	ck_assert_str_eq(found, path);
	free(found);
	found = gprofiler_find(path, &why);
	ck_assert_str_eq(found, path);
	free(found);
	ck_assert_ptr_null(gprofiler_find("gprofiler", &why));
	ck_assert_str_eq(why.text,
	    "gProfiler was not found: \"gprofiler\" is no program in PATH; "
	    "install it or set --gprofiler-path");
	ck_assert_ptr_null(gprofiler_find(directory, &why));
	free(path);
	suite_remove(directory);
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = { each_setting_has_its_arguments,
		a_wrong_value_is_named, upload_settings_come_from_a_file,
		the_perfspect_path_is_one_argument, the_secret_file_is_private,
		the_program_is_looked_up };

	return suite_run("gprofiler", tests, SUITE_N(tests));
}
