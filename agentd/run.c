#include "agentd/run.h"

#include "agentd/install.h"
#include "agentd/wire.h"
#include "core/clock.h"
#include "core/log.h"
#include "core/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* gProfiler starts its profilers before, and writes its files after, the
 * session's own time. */
#define GRACE_MS 120000
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
	struct profiler profiler;
	bool paused;         /* no part may begin */
	bool part_runs;      /* one is under way, or being ended */
	bool part_ends;      /* it was told to, and the run goes on after it */
	int64_t began_ms;    /* the run */
	int64_t part_ms;     /* the newest part */
	int64_t profiled_ms; /* by the parts before it */
	int64_t deadline_ms; /* of the newest part */
	int64_t report_ms;   /* when the report may be written, again */
	char perfspect_version[PERFSPECT_VERSION_BYTES];
	const char *status;  /* set once it has ended; a constant */
	struct reason error; /* "" for none */
	struct reason stop;  /* why it was ended, "" when it was not */
	bool out_of_time;
	bool partial; /* PerfSpect measured for less than it was asked to */
};

/* --- ends ---------------------------------------------------------------- */

static void
ended(struct run *r, const char *status, const char *what, const char *text)
{
	r->status = status;
	r->report_ms = 0;
	reason_set(&r->error, "%s%s", what, text);
}

static int
exit_status(const struct child *c)
{
	return c->stage == CHILD_OVER && WIFEXITED(c->status)
		   ? WEXITSTATUS(c->status)
		   : -1;
}

/* Writes the report; phase is STATE_DONE once it is on the disk. */
static void
write_report(struct run *r, int64_t now)
{
	const struct profiler *p = &r->profiler;
	struct wire_report report = { .command_id = r->command->id,
		.host_name = r->env->options->host_name,
		.status = r->status,
		.seconds = (long)((now - r->began_ms) / 1000),
		.error = r->error.text[0] ? r->error.text : NULL,
		.exit_status = exit_status(&p->child),
		.arguments = p->args.v,
		.partial = r->partial && p->has_metrics };
	char *text;

	if (profiler_has_results(p))
		report.results_path = p->results;
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

/* --- parts --------------------------------------------------------------- */

/* Seconds that the session has in all. */
static long
duration(const struct run *r)
{
	const struct session *s = &r->command->session;

	return s->duration ? s->duration : SESSION_DURATION_DEFAULT;
}

/* Seconds for the next part, 0 when it runs until it is ended. */
static long
seconds_left(const struct run *r)
{
	if (r->command->session.continuous)
		return 0;
	return duration(r) - (long)(r->profiled_ms / 1000);
}

/* Too little for one more part, after some time was profiled. */
static bool
is_complete(const struct run *r)
{
	const struct session *s = &r->command->session;
	long least = s->enable_perfspect ? session_perfspect_least(s) : 1;

	return !s->continuous && r->profiler.parts > 0 &&
	       seconds_left(r) < least;
}

static void
begin_part(struct run *r, int64_t now)
{
	struct profiler *p = &r->profiler;
	long seconds = seconds_left(r);
	struct reason why, ignored;

	/* a continuous session's duration is that of each of its profiles */
	r->deadline_ms = seconds ? now + seconds * 1000 + GRACE_MS : INT64_MAX;
	r->part_ms = now;
	if (profiler_start(p, seconds,
		r->command->session.enable_perfspect ? r->install.program
						     : NULL,
		&why) == 0) {
		r->part_runs = true;
		return;
	}
	(void)!profiler_finish(p, &ignored);
	ended(r, "failed", "", why.text);
}

/*
 * Whether PerfSpect had less time in this part than it was asked to measure
 * for.  Alone and in a continuous session it measures until it is ended.
 */
static bool
was_cut_short(const struct run *r, int64_t now)
{
	const struct profiler *p = &r->profiler;
	bool ended_by_us = r->stop.text[0] || r->part_ends || r->out_of_time;

	if (!p->measures || p->restored || !ended_by_us)
		return p->measures && p->restored;
	if (r->command->session.continuous && !(p->needs & NEEDS_GPROFILER))
		return false;
	return now - r->part_ms < duration(r) * 1000;
}

/* The last part is over: what does that mean for the run? */
static void
judge(struct run *r, int verdict, const char *why)
{
	if (r->stop.text[0]) {
		ended(r, "stopped", "", r->stop.text);
	} else if (r->out_of_time) {
		ended(r, "failed", "",
		    "the profiler did not end in time and was ended");
	} else if (verdict) {
		ended(r, "failed", "", why);
	} else {
		ended(r, "completed", "", "");
	}
}

static void
part_over(struct run *r, int64_t now)
{
	struct reason why = { "" };
	int verdict = profiler_finish(&r->profiler, &why);
	bool goes_on = r->part_ends && !r->stop.text[0] && !r->out_of_time;

	r->partial |= was_cut_short(r, now);
	r->part_runs = false;
	r->part_ends = false;
	r->profiled_ms += now - r->part_ms;
	r->deadline_ms = INT64_MAX;
	if (!goes_on || is_complete(r))
		judge(r, goes_on ? 0 : verdict, why.text);
	else if (!r->paused)
		begin_part(r, now);
}

static void
end_part(struct run *r, const struct child_patience *how, int64_t now)
{
	if (r->part_runs)
		child_end(&r->profiler.child, how, now);
}

static void
check_deadline(struct run *r, int64_t now)
{
	if (now < r->deadline_ms)
		return;
	r->deadline_ms = INT64_MAX;
	r->out_of_time = true;
	end_part(r, &patience, now);
}

static void
begin_profiling(struct run *r, int64_t now)
{
	if (advance(r, STATE_RUNNING) == 0 && !r->paused)
		begin_part(r, now);
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
		begin_profiling(r, now);
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
	profiler_init(&r->profiler, env, command);
	if (command->session.enable_perfspect)
		begin_install(r, now);
	else
		begin_profiling(r, now);
	return r;
}

bool
run_tick(struct run *r, int64_t now, bool *changed)
{
	enum state_phase before = r->phase;

	if (!r->status && r->phase == STATE_INSTALLING) {
		if (install_tick(&r->install, now))
			after_install(r, now);
	} else if (!r->status && r->part_runs) {
		check_deadline(r, now);
		if (child_tick(&r->profiler.child, now))
			part_over(r, now);
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
	else if (r->part_runs)
		end_part(r, hurry ? &hurried : &patience, now);
	else
		ended(r, "stopped", "", r->stop.text);
}

void
run_pause(struct run *r, const char *reason, int64_t now)
{
	if (r->paused || r->status)
		return;
	log_info("command %s: paused %s", r->command->id, reason);
	r->paused = true;
	r->part_ends |= r->part_runs;
	end_part(r, &patience, now);
}

void
run_resume(struct run *r, int64_t now)
{
	if (!r->paused)
		return;
	r->paused = false;
	if (r->status)
		return;
	log_info("command %s: goes on", r->command->id);
	if (r->phase == STATE_RUNNING && !r->part_runs)
		begin_part(r, now);
}

bool
run_is_paused(const struct run *r)
{
	return r->status || (r->paused && !r->part_runs);
}

void
run_narrow(struct run *r, const struct command *stop, int64_t now)
{
	session_narrow(&r->command->session, &stop->session);
	log_info("command %s: goes on with %zu processes after stop %s",
	    r->command->id, r->command->session.n_pids, stop->id);
	r->part_ends |= r->part_runs;
	end_part(r, &patience, now);
}

unsigned
run_needs(const struct run *r)
{
	return r->profiler.needs;
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
	if (r->phase == STATE_INSTALLING)
		return child_fds(&r->install.child, fds);
	return r->part_runs ? child_fds(&r->profiler.child, fds) : 0;
}

int64_t
run_next_ms(const struct run *r)
{
	int64_t next;

	if (r->status)
		return r->report_ms;
	if (r->phase == STATE_INSTALLING)
		return install_next_ms(&r->install);
	if (!r->part_runs)
		return INT64_MAX;
	next = child_next_ms(&r->profiler.child);
	return next < r->deadline_ms ? next : r->deadline_ms;
}

void
run_free(struct run *r)
{
	if (!r)
		return;
	install_free(&r->install);
	profiler_free(&r->profiler);
	command_free(r->command);
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
