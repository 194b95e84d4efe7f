#include "agentd/run.h"

#include "agentd/child.h"
#include "agentd/gprofiler.h"
#include "agentd/install.h"
#include "agentd/wire.h"
#include "core/clock.h"
#include "core/log.h"
#include "core/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* gProfiler starts its profilers before, and writes its files after, the
 * session's own time. */
#define GRACE_MS 120000
/* What is kept of the profiler's output. */
#define LOG_BYTES_MAX (1024 * 1024)
/* A report that cannot be written (a full disk) is tried again. */
#define REPORT_RETRY_MS 5000

/* A profiler writes its results after SIGINT; a host that shuts down does
 * not wait so long. */
static const struct child_patience patience = { 20000, 5000 };
static const struct child_patience hurried = { 3000, 2000 };

struct run {
	const struct run_env *env;
	struct command *command;
	enum state_phase phase;
	struct install install;
	struct child child;
	int64_t began_ms, deadline_ms;
	int64_t report_ms; /* when the report may be written, again */
	char *directory, *results;
	char perfspect_version[PERFSPECT_VERSION_BYTES];
	const char *status;  /* set once it has ended; a constant */
	struct reason error; /* "" for none */
	struct reason stop;  /* why it was ended, "" when it was not */
	bool out_of_time;
};

/* --- ends ---------------------------------------------------------------- */

static void
ended(struct run *r, const char *status, const char *what, const char *text)
{
	r->status = status;
	r->report_ms = 0;
	reason_set(&r->error, "%s%s", what, text);
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

static int
exit_status(const struct run *r)
{
	return r->child.stage == CHILD_OVER && WIFEXITED(r->child.status)
		   ? WEXITSTATUS(r->child.status)
		   : -1;
}

/* Writes the report; phase is STATE_DONE once it is on the disk. */
static void
write_report(struct run *r, int64_t now)
{
	struct wire_report report = { .command_id = r->command->id,
		.host_name = r->env->options->host_name,
		.status = r->status,
		.seconds = (long)((now - r->began_ms) / 1000),
		.error = r->error.text[0] ? r->error.text : NULL,
		.exit_status = exit_status(r) };
	char *text;

	if (r->results && !is_empty(r->results))
		report.results_path = r->results;
	if (r->perfspect_version[0])
		report.perfspect_version = r->perfspect_version;
	text = wire_report_text(&report);
	if (state_finish(r->env->state, r->command->id, text) == 0) {
		r->phase = STATE_DONE;
		log_info("command %s: %s after %ld s%s%s", r->command->id,
		    r->status, report.seconds, r->error.text[0] ? ": " : "",
		    r->error.text);
	} else {
		r->report_ms = now + REPORT_RETRY_MS;
	}
	free(text);
}

/* The profiler has ended: what does that mean? */
static void
judge(struct run *r)
{
	const char *said = r->child.last;
	char how[64];

	child_describe(r->child.status, how);
	if (r->stop.text[0])
		ended(r, "stopped", "", r->stop.text);
	else if (r->out_of_time)
		ended(r, "failed", "",
		    "the profiler did not end in time and was ended");
	else if (r->child.status == 0)
		ended(r, "completed", "", "");
	else if (said[0])
		ended(r, "failed", "", said);
	else
		ended(r, "failed", "gprofiler ", how);
}

/* --- the profiler -------------------------------------------------------- */

static int
advance(struct run *r, enum state_phase phase)
{
	if (state_advance(r->env->state, r->command->id, phase)) {
		ended(r, "failed", "",
		    "the agent's state directory cannot be written");
		return -1;
	}
	r->phase = phase;
	return 0;
}

static int
make_directory(const char *path, struct reason *why)
{
	if (mkdir(path, 0700) && errno != EEXIST)
		return reason_set(why, "%s: %s", path, strerror(errno));
	return 0;
}

/* STATE/runs/COMMAND_ID, with the profiler's results in one of its own. */
static int
make_directories(struct run *r, struct reason *why)
{
	char *runs = mem_fmt("%s/runs", r->env->options->state_dir);
	int result;

	r->directory = mem_fmt("%s/%s", runs, r->command->id);
	r->results = mem_fmt("%s/results", r->directory);
	result = make_directory(runs, why) ||
			 make_directory(r->directory, why) ||
			 make_directory(r->results, why)
		     ? -1
		     : 0;
	free(runs);
	return result;
}

static int
open_log(const struct run *r, struct reason *why)
{
	char *path = mem_fmt("%s/output.log", r->directory);
	int fd = open(
	    path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		reason_set(why, "%s: %s", path, strerror(errno));
	free(path);
	return fd;
}

static int
run_program(void *context)
{
	return child_exec(context);
}

static void
log_arguments(const struct run *r, const struct args *args)
{
	struct buf line = BUF_INIT(1500);

	for (size_t i = 0; i < args->n; i++)
		buf_fmt(&line, " %s", args->v[i]);
	log_info("command %s: starting%s", r->command->id, buf_text(&line));
	buf_free(&line);
}

static int
start_child(struct run *r, const struct args *args, struct reason *why)
{
	struct child_plan plan = { .body = run_program,
		.context = args->v,
		.mark = r->command->id,
		.directory = r->directory,
		.log_fd = open_log(r, why),
		.log_max = LOG_BYTES_MAX };

	if (plan.log_fd < 0)
		return -1;
	log_arguments(r, args);
	return child_start(&r->child, &plan, why);
}

static int
start_with_config(
    struct run *r, const char *program, const char *config, struct reason *why)
{
	const struct options *o = r->env->options;
	struct gprofiler_paths paths = { .program = program,
		.output = r->results,
		.perfspect = r->install.program,
		.config = o->server_host ? config : NULL };
	struct args args = { 0 };
	int result = -1;

	if ((!paths.config ||
		gprofiler_write_config(config, o, r->env->token, why) == 0) &&
	    gprofiler_args(&r->command->session, &paths, &args, why) == 0)
		result = start_child(r, &args, why);
	args_free(&args);
	return result;
}

static int
start_profiler(struct run *r, struct reason *why)
{
	char *program, *config;
	int result;

	if (make_directories(r, why))
		return -1;
	program = gprofiler_find(r->env->options->gprofiler_path, why);
	if (!program)
		return -1;
	config = mem_fmt("%s/gprofiler.conf", r->directory);
	result = start_with_config(r, program, config, why);
	free(config);
	free(program);
	return result;
}

static void
begin_profiler(struct run *r, int64_t now)
{
	const struct session *s = &r->command->session;
	long seconds = s->duration ? s->duration : SESSION_DURATION_DEFAULT;
	struct reason why;

	if (advance(r, STATE_RUNNING))
		return;
	/* a continuous session's duration is that of each of its parts */
	r->deadline_ms =
	    s->continuous ? INT64_MAX : now + seconds * 1000 + GRACE_MS;
	r->began_ms = now;
	if (start_profiler(r, &why))
		ended(r, "failed", "", why.text);
}

/* --- the installation ---------------------------------------------------- */

static void
begin_install(struct run *r, int64_t now)
{
	struct reason why;

	if (advance(r, STATE_INSTALLING))
		return;
	if (install_start(&r->install, r->command, r->env->options, now, &why))
		ended(r, "failed",
		    "PerfSpect could not be installed: ", why.text);
}

static void
after_install(struct run *r, int64_t now)
{
	struct reason why;

	if (r->stop.text[0]) {
		ended(r, "stopped", "", r->stop.text);
	} else if (install_result(&r->install, r->perfspect_version, &why)) {
		ended(r, "failed",
		    "PerfSpect could not be installed: ", why.text);
	} else {
		log_info("command %s: PerfSpect %s is at %s", r->command->id,
		    r->perfspect_version, r->install.program);
		begin_profiler(r, now);
	}
}

/* --- from outside -------------------------------------------------------- */

struct run *
run_start(const struct run_env *env, struct command *command, int64_t now)
{
	struct run *r = mem_alloc(1, sizeof *r);

	r->env = env;
	r->command = command;
	r->phase = STATE_ACCEPTED;
	r->began_ms = now;
	r->deadline_ms = INT64_MAX;
	if (command->session.enable_perfspect)
		begin_install(r, now);
	else
		begin_profiler(r, now);
	return r;
}

static void
check_deadline(struct run *r, int64_t now)
{
	if (now < r->deadline_ms)
		return;
	r->deadline_ms = INT64_MAX;
	r->out_of_time = true;
	child_end(&r->child, &patience, now);
}

bool
run_tick(struct run *r, int64_t now, bool *changed)
{
	enum state_phase before = r->phase;

	if (!r->status && r->phase == STATE_INSTALLING) {
		if (install_tick(&r->install, now))
			after_install(r, now);
	} else if (!r->status) {
		check_deadline(r, now);
		if (child_tick(&r->child, now))
			judge(r);
	}
	if (r->status && r->phase != STATE_DONE && now >= r->report_ms)
		write_report(r, now);
	*changed |= r->phase != before;
	return r->phase == STATE_DONE;
}

void
run_end(struct run *r, const char *reason, bool hurry, int64_t now)
{
	if (!r->stop.text[0])
		reason_set(&r->stop, "%s", reason);
	if (r->status)
		return;
	if (r->phase == STATE_INSTALLING)
		child_kill(&r->install.child, now);
	else
		child_end(&r->child, hurry ? &hurried : &patience, now);
}

const struct command *
run_command(const struct run *r)
{
	return r->command;
}

enum state_phase
run_phase(const struct run *r)
{
	return r->phase;
}

size_t
run_fds(const struct run *r, int fds[RUN_FDS])
{
	if (r->status)
		return 0;
	return child_fds(
	    r->phase == STATE_INSTALLING ? &r->install.child : &r->child, fds);
}

int64_t
run_next_ms(const struct run *r)
{
	int64_t next;

	if (r->status)
		return r->report_ms;
	if (r->phase == STATE_INSTALLING)
		return install_next_ms(&r->install);
	next = child_next_ms(&r->child);
	return next < r->deadline_ms ? next : r->deadline_ms;
}

/* The upload settings hold the token: they go with the run. */
static void
remove_config(const struct run *r)
{
	char *path;

	if (!r->directory)
		return;
	path = mem_fmt("%s/gprofiler.conf", r->directory);
	(void)unlink(path);
	free(path);
}

void
run_free(struct run *r)
{
	if (!r)
		return;
	remove_config(r);
	install_free(&r->install);
	command_free(r->command);
	free(r->directory);
	free(r->results);
	free(r);
}

int
run_report_only(const struct run_env *env, const char *command_id,
    const char *status, const char *error, int64_t seconds)
{
	struct wire_report report = { .command_id = command_id,
		.host_name = env->options->host_name,
		.status = status,
		.seconds = (long)seconds,
		.error = error,
		.exit_status = -1 };
	char *text = wire_report_text(&report);
	int result = state_finish(env->state, command_id, text);

	free(text);
	if (result == 0)
		log_info("command %s: %s%s%s", command_id, status,
		    error ? ": " : "", error ? error : "");
	return result;
}
