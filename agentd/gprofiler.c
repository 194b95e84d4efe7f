#include "agentd/gprofiler.h"

#include "core/buf.h"
#include "core/json.h"
#include "core/log.h"
#include "core/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The most that one setting adds. */
#define EXTRA_ARGS 4
/* An upload configuration: three short lines. */
#define CONFIG_MAX 8192

/* What a setting of one profiler adds to the command line. */
struct setting {
	const char *profiler, *value;
	const char *args[EXTRA_ARGS];
};

static const struct setting settings[] = {
	{ "perf", "enabled_restricted",
	    { "--skip-system-profilers-above", "600",
		"--perf-max-docker-containers", "2" } },
	{ "perf", "enabled_aggressive",
	    { "--skip-system-profilers-above", "1500",
		"--perf-max-docker-containers", "50" } },
	{ "perf", "disabled", { "--perf-mode", "disabled" } },
	{ "async_profiler", "disabled", { "--java-mode", "disabled" } },
	{ "async_profiler", "enabled",
	    { "--java-async-profiler-mode", "cpu" } },
	{ "async_profiler", "enabled_wall",
	    { "--java-async-profiler-mode", "itimer" } },
	{ "phpspy", "enabled", { "--php-mode", "phpspy" } },
	{ "phpspy", "disabled", { "--php-mode", "disabled" } },
	{ "rbspy", "enabled", { "--ruby-mode", "rbspy" } },
	{ "rbspy", "disabled", { "--ruby-mode", "disabled" } },
	{ "dotnet_trace", "enabled", { "--dotnet-mode", "dotnet-trace" } },
	{ "dotnet_trace", "disabled", { "--dotnet-mode", "disabled" } },
	{ "nodejs_perf", "enabled", { "--nodejs-mode", "perf" } },
	{ "nodejs_perf", "disabled", { "--nodejs-mode", "disabled" } },
};

/* Each profiler that has settings, with the one that holds when it is not
 * mentioned: perf alone is held back by default. */
static const struct {
	const char *profiler, *unless_given;
} profilers[] = {
	{ "perf", "enabled_restricted" },
	{ "async_profiler", NULL },
	{ "phpspy", NULL },
	{ "rbspy", NULL },
	{ "dotnet_trace", NULL },
	{ "nodejs_perf", NULL },
};

/* Python has two profilers, which decide together; NULL is either one. */
static const struct {
	const char *pyspy, *pyperf;
	const char *args[EXTRA_ARGS];
} python[] = {
	{ "enabled_fallback", NULL, { "--python-mode", "auto" } },
	{ "enabled", NULL, { "--python-mode", "pyspy" } },
	{ "disabled", "enabled",
	    { "--python-mode", "pyperf", "--python-skip-pyperf-profiler-above",
		"1500" } },
	{ "disabled", "disabled", { "--python-mode", "disabled" } },
};
#define PYSPY_DEFAULT "enabled_fallback"
#define PYPERF_DEFAULT "enabled"

static void
add_extra(struct args *args, const char *const extra[EXTRA_ARGS])
{
	for (size_t i = 0; i < EXTRA_ARGS && extra[i]; i++)
		args_add(args, "%s", extra[i]);
}

/* A profiler's setting, or the fall-back; NULL with a reason for a fault. */
static int
read_setting(struct json_object *configs, const char *profiler,
    const char *fallback, const char **value, struct reason *why)
{
	struct json_object *member = json_member(configs, profiler);

	*value = member ? json_member_text(configs, profiler) : fallback;
	if (member && !*value)
		return reason_set(
		    why, "profiler_configs.%s must be a text", profiler);
	return 0;
}

static int
add_profiler(const struct session *s, const char *profiler,
    const char *fallback, struct args *args, struct reason *why)
{
	const char *value;

	if (read_setting(s->profilers, profiler, fallback, &value, why))
		return -1;
	if (!value)
		return 0;
	for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
		if (strcmp(settings[i].profiler, profiler) == 0 &&
		    strcmp(settings[i].value, value) == 0) {
			add_extra(args, settings[i].args);
			return 0;
		}
	return reason_set(why,
	    "profiler_configs.%s: \"%.60s\" is not a known setting", profiler,
	    value);
}

static int
add_python(const struct session *s, struct args *args, struct reason *why)
{
	const char *pyspy, *pyperf;

	if (!json_member(s->profilers, "pyspy") &&
	    !json_member(s->profilers, "pyperf"))
		return 0;
	if (read_setting(s->profilers, "pyspy", PYSPY_DEFAULT, &pyspy, why) ||
	    read_setting(s->profilers, "pyperf", PYPERF_DEFAULT, &pyperf, why))
		return -1;
	if (strcmp(pyperf, "enabled") != 0 && strcmp(pyperf, "disabled") != 0)
		return reason_set(why,
		    "profiler_configs.pyperf: \"%.60s\" is not a known "
		    "setting",
		    pyperf);
	for (size_t i = 0; i < sizeof python / sizeof *python; i++)
		if (strcmp(python[i].pyspy, pyspy) == 0 &&
		    (!python[i].pyperf ||
			strcmp(python[i].pyperf, pyperf) == 0)) {
			add_extra(args, python[i].args);
			return 0;
		}
	return reason_set(why,
	    "profiler_configs.pyspy: \"%.60s\" is not a known setting", pyspy);
}

static bool
is_known(const char *profiler)
{
	for (size_t i = 0; i < sizeof profilers / sizeof *profilers; i++)
		if (strcmp(profilers[i].profiler, profiler) == 0)
			return true;
	return strcmp(profiler, "pyspy") == 0 ||
	       strcmp(profiler, "pyperf") == 0;
}

static int
add_profilers(const struct session *s, struct args *args, struct reason *why)
{
	struct json_object_iter i;

	if (s->profilers)
		json_object_object_foreachC(s->profilers, i)
		{
			if (!is_known(i.key))
				log_warn("profiler_configs.%s is not known "
					 "and was passed over",
				    i.key);
		}
	for (size_t k = 0; k < sizeof profilers / sizeof *profilers; k++)
		if (add_profiler(s, profilers[k].profiler,
			profilers[k].unless_given, args, why))
			return -1;
	return add_python(s, args, why);
}

/*
 * gProfiler wants one path after --perfspect-path and tests that it is an
 * executable file; it runs PerfSpect once, for the time given here.
 */
static void
add_perfspect(
    const struct session *s, const char *perfspect, struct args *args)
{
	args_add(args, "--enable-hw-metrics-collection");
	args_add(args, "--perfspect-path=%s", perfspect);
	args_add_number(args, "--perfspect-duration",
	    s->duration ? s->duration : SESSION_DURATION_DEFAULT);
}

int
gprofiler_args(const struct session *s, const struct gprofiler_paths *paths,
    struct args *args, struct reason *why)
{
	args_add(args, "%s", paths->program);
	if (paths->config) {
		args_add(args, "--config");
		args_add(args, "%s", paths->config);
	}
	args_add(args, "-o");
	args_add(args, "%s", paths->output);
	if (s->duration)
		args_add_number(args, "-d", s->duration);
	if (s->frequency)
		args_add_number(args, "-f", s->frequency);
	if (s->mode) {
		args_add(args, "--mode");
		args_add(args, "%s", s->mode);
	}
	if (s->n_pids)
		args_add_list(args, "--pids", s->pids, s->n_pids);
	if (s->continuous)
		args_add(args, "-c");
	args_add_number(
	    args, "--max-processes-runtime-profiler", s->max_processes);
	if (s->enable_perfspect)
		add_perfspect(s, paths->perfspect, args);
	return add_profilers(s, args, why);
}

static bool
is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	       access(path, X_OK) == 0;
}

static char *
find_in_path(const char *name)
{
	const char *at = getenv("PATH");

	while (at && *at) {
		size_t n = strcspn(at, ":");
		char *path = mem_fmt("%.*s/%s", (int)n, at, name);

		/* an empty entry would be the working directory: never */
		if (n && is_program(path))
			return path;
		free(path);
		at += n + (at[n] == ':');
	}
	return NULL;
}

char *
gprofiler_find(const char *name, struct reason *why)
{
	char *found = NULL;

	if (!strchr(name, '/'))
		found = find_in_path(name);
	else if (is_program(name))
		found = mem_copy(name);
	if (!found)
		reason_set(why,
		    "gProfiler was not found: \"%.400s\" is no program%s; "
		    "install it or set --gprofiler-path",
		    name, strchr(name, '/') ? "" : " in PATH");
	return found;
}

int
gprofiler_write_config(const char *path, const struct options *o,
    const char *token, struct reason *why)
{
	struct buf text = BUF_INIT(CONFIG_MAX);
	int fd = open(
	    path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	bool ok;

	if (fd < 0)
		return reason_set(why, "%s: %s", path, strerror(errno));
	buf_fmt(&text,
	    "upload-results = true\nservice-name = %s\nserver-host = %s\n"
	    "token = %s\n",
	    o->service_name, o->server_host, token);
	ok = write(fd, buf_text(&text), text.len) == (ssize_t)text.len;
	buf_free(&text);
	if (close(fd) || !ok)
		return reason_set(why, "%s: cannot be written", path);
	return 0;
}
