#include "agentd/profiler.h"

#include "agentd/gprofiler.h"
#include "agentd/host_settings.h"
#include "agentd/metrics.h"
#include "agentd/workspace.h"
#include "core/buf.h"
#include "core/log.h"
#include "core/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

/* What is kept of the profiler's output. */
#define LOG_BYTES_MAX (1024 * 1024)

#define MIB (1024ULL * 1024ULL)

unsigned
profiler_needs(const struct options *o, const struct session *s)
{
	struct reason ignored;
	char *program;

	if (!s->enable_perfspect)
		return NEEDS_GPROFILER;
	/* with no profiler wanted gProfiler would only start PerfSpect */
	if (s->mode && strcmp(s->mode, "none") == 0)
		return NEEDS_PERFSPECT;
	program = gprofiler_find(o->gprofiler_path, &ignored);
	free(program);
	return program ? NEEDS_GPROFILER | NEEDS_PERFSPECT : NEEDS_PERFSPECT;
}

void
profiler_init(struct profiler *p, const struct run_env *env,
    const struct command *command)
{
	*p = (struct profiler) { .env = env,
		.command = command,
		.needs = profiler_needs(env->options, &command->session) };
	p->directory =
	    mem_fmt("%s/runs/%s", env->options->state_dir, command->id);
	p->results = mem_fmt("%s/results", p->directory);
}

/* --- before a part ------------------------------------------------------- */

static int
make_directory(const char *path, struct reason *why)
{
	if (mkdir(path, 0700) && errno != EEXIST)
		return reason_set(why, "%s: %s", path, strerror(errno));
	return 0;
}

static int
make_directories(const struct profiler *p, struct reason *why)
{
	char *runs = mem_fmt("%s/runs", p->env->options->state_dir);
	int result = make_directory(runs, why) ||
			     make_directory(p->directory, why) ||
			     make_directory(p->results, why)
			 ? -1
			 : 0;

	free(runs);
	return result;
}

/* A profiler that fills the disk harms the host that it is to help. */
static int
check_space(const struct options *o, struct reason *why)
{
	struct statvfs fs;
	unsigned long long free_mib;

	if (statvfs(o->state_dir, &fs))
		return reason_set(
		    why, "%s: %s", o->state_dir, strerror(errno));
	free_mib = (unsigned long long)fs.f_bavail * fs.f_frsize / MIB;
	if (free_mib >= (unsigned long long)o->min_free)
		return 0;
	return reason_set(why,
	    "the disk of %s has %llu MiB free, a run needs %ld (min-free)",
	    o->state_dir, free_mib, o->min_free);
}

/* PerfSpect's own tools are run from there. */
static int
make_tempdir(struct profiler *p, struct reason *why)
{
	p->tempdir = workspace_make(workspace_tmpdir(), why);
	return p->tempdir ? 0 : -1;
}

static int
prepare(struct profiler *p, struct reason *why)
{
	const struct options *o = p->env->options;

	if (check_space(o, why) || make_directories(p, why))
		return -1;
	if (!p->measures)
		return 0;
	if (p->parts > 0)
		metrics_set_aside(p->results, p->parts);
	if (make_tempdir(p, why))
		return -1;
	return host_settings_note(o->host_root, o->state_dir, why);
}

/* --- its command line ---------------------------------------------------- */

static char *
in_directory(const struct profiler *p, const char *name)
{
	return mem_fmt("%s/%s", p->directory, name);
}

/* gProfiler itself has no way to pass PerfSpect's flags on; a program that
 * does is where programs can be run. */
static char *
perfspect_for_gprofiler(
    const struct profiler *p, const char *perfspect, struct reason *why)
{
	const struct session *s = &p->command->session;
	char *wrapper;

	if (!s->perfspect_args)
		return mem_copy(perfspect);
	wrapper = mem_fmt("%s/perfspect", p->tempdir);
	if (metrics_write_wrapper(wrapper, perfspect, s, why) == 0)
		return wrapper;
	free(wrapper);
	return NULL;
}

static int
fill_gprofiler(struct profiler *p, const struct session *s,
    struct gprofiler_paths *paths, const char *config, struct reason *why)
{
	const struct options *o = p->env->options;

	if (o->server_host) {
		paths->config = config;
		if (gprofiler_write_config(config, o, p->env->token, why))
			return -1;
	}
	return gprofiler_args(s, paths, &p->args, why);
}

static int
make_gprofiler_args(struct profiler *p, const struct session *s,
    const char *perfspect, struct reason *why)
{
	char *program = gprofiler_find(p->env->options->gprofiler_path, why);
	char *config = in_directory(p, "gprofiler.conf");
	char *beside = NULL;
	int result = -1;

	if (p->measures && program)
		beside = perfspect_for_gprofiler(p, perfspect, why);
	if (program && (beside || !p->measures)) {
		struct gprofiler_paths paths = { .program = program,
			.output = p->results,
			.perfspect = beside };

		result = fill_gprofiler(p, s, &paths, config, why);
	}
	free(beside);
	free(config);
	free(program);
	return result;
}

static int
make_args(struct profiler *p, long seconds, const char *perfspect,
    struct reason *why)
{
	struct session part = p->command->session; /* borrows all of it */
	struct metrics_paths paths = { perfspect, p->results, p->tempdir };

	args_free(&p->args);
	if (!(p->needs & NEEDS_GPROFILER)) {
		metrics_args(&part, &paths, seconds, &p->args);
		return 0;
	}
	if (seconds)
		part.duration = seconds;
	part.enable_perfspect = p->measures;
	return make_gprofiler_args(p, &part, perfspect, why);
}

/* --- starting ------------------------------------------------------------ */

static int
open_log(const struct profiler *p, struct reason *why)
{
	char *path = in_directory(p, "output.log");
	int fd = open(path,
	    O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		reason_set(why, "%s: %s", path, strerror(errno));
	free(path);
	return fd;
}

/* All parts of a run share one log and its bound. */
static size_t
log_room(int fd)
{
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || st.st_size >= LOG_BYTES_MAX)
		return 0;
	return LOG_BYTES_MAX - (size_t)st.st_size;
}

/* In the child. */
static int
run_program(void *context)
{
	const struct profiler *p = context;
	struct reason why;

	if (limits_enter(&p->limits, &why)) {
		dprintf(STDERR_FILENO, "%s\n", why.text);
		return EXIT_FAILURE;
	}
	return child_exec(p->args.v);
}

static void
log_arguments(const struct profiler *p)
{
	struct buf line = BUF_INIT(1500);

	for (size_t i = 0; i < p->args.n; i++)
		buf_fmt(&line, " %s", p->args.v[i]);
	log_info("command %s: starting%s", p->command->id, buf_text(&line));
	buf_free(&line);
}

static int
start_child(struct profiler *p, struct reason *why)
{
	struct child_plan plan = { .body = run_program,
		.context = p,
		.mark = p->command->id,
		.directory = p->directory,
		.log_fd = open_log(p, why) };

	if (plan.log_fd < 0)
		return -1;
	plan.log_max = log_room(plan.log_fd);
	limits_begin(&p->limits, p->env->options, &p->command->session,
	    p->env->cgroup, p->command->id);
	p->part_began = time(NULL);
	log_arguments(p);
	return child_start(&p->child, &plan, why);
}

int
profiler_start(struct profiler *p, long seconds, const char *perfspect,
    struct reason *why)
{
	/* with gProfiler PerfSpect measures once, at the beginning */
	p->measures = (p->needs & NEEDS_PERFSPECT) &&
		      (!(p->needs & NEEDS_GPROFILER) || !p->has_metrics);
	if (prepare(p, why) || make_args(p, seconds, perfspect, why) ||
	    start_child(p, why))
		return -1;
	p->parts++;
	return 0;
}

/* --- after a part -------------------------------------------------------- */

/* They hold the token. */
static void
remove_upload_settings(const struct profiler *p)
{
	char *path = in_directory(p, "gprofiler.conf");

	(void)unlink(path);
	free(path);
}

static bool
is_empty(const char *directory)
{
	DIR *dir = opendir(directory);
	struct dirent *e;
	int n = 0;

	while (dir && (e = readdir(dir)) && n < 3)
		n++;
	if (dir)
		(void)closedir(dir);
	return n <= 2; /* . and .. */
}

bool
profiler_has_results(const struct profiler *p)
{
	return !is_empty(p->results);
}

static void
take_metrics(struct profiler *p)
{
	enum metrics_found found;

	if (p->needs & NEEDS_GPROFILER)
		metrics_collect(p->env->options->perfspect_data, p->results,
		    p->part_began);
	found = metrics_finish(p->results);
	p->has_metrics |= found != METRICS_NONE;
	p->restored = found == METRICS_RESTORED;
}

/* The last line of what PerfSpect logged into its working directory, or the
 * end of that line. */
static void
last_of_log(const struct profiler *p, char line[CHILD_LINE_BYTES])
{
	char *path = in_directory(p, "perfspect.log"), *end;
	FILE *log = fopen(path, "re");
	size_t n = 0;

	if (log && fseek(log, -(CHILD_LINE_BYTES - 1), SEEK_END))
		rewind(log); /* it is shorter */
	if (log) {
		n = fread(line, 1, CHILD_LINE_BYTES - 1, log);
		(void)fclose(log);
	}
	while (n && (line[n - 1] == '\n' || line[n - 1] == '\r'))
		n--;
	line[n] = '\0';
	end = strrchr(line, '\n');
	if (end)
		memmove(line, end + 1, strlen(end));
	free(path);
}

/* PerfSpect has a fault in which it ends with 0 and leaves nothing. */
static int
check_metrics(const struct profiler *p, struct reason *why)
{
	char line[CHILD_LINE_BYTES];

	if (!p->measures || p->has_metrics)
		return 0;
	last_of_log(p, line);
	return reason_set(why, "PerfSpect left no results%s%s",
	    line[0] ? "; the last it logged: " : "", line);
}

static int
judge(const struct profiler *p, struct reason *why)
{
	const char *said = p->child.last;
	char how[64];

	if (p->child.status == 0)
		return check_metrics(p, why);
	if (limits_exceeded(&p->limits, said, why))
		return -1;
	child_describe(p->child.status, how);
	if (said[0])
		return reason_set(why, "%s", said);
	return reason_set(why, "%s %s",
	    p->needs & NEEDS_GPROFILER ? "gprofiler" : "perfspect", how);
}

int
profiler_finish(struct profiler *p, struct reason *why)
{
	const struct options *o = p->env->options;
	int result = 0;

	if (p->measures) {
		host_settings_put_back(o->host_root, o->state_dir);
		if (p->child.stage == CHILD_OVER)
			take_metrics(p);
	}
	if (p->child.stage == CHILD_OVER)
		result = judge(p, why);
	limits_end(&p->limits);
	workspace_remove(p->tempdir);
	p->tempdir = NULL;
	remove_upload_settings(p);
	return result;
}

void
profiler_free(struct profiler *p)
{
	args_free(&p->args);
	free(p->directory);
	free(p->results);
}
