#include "agentd/queue.h"

#include "core/log.h"
#include "core/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A report that could not be written is tried again by itself. */
#define RETRY_MS 5000

enum slot { SLOT_CONTINUOUS, SLOT_AD_HOC, SLOT__MAX };

/* Commands in the order in which they came. */
struct line {
	struct command *of[QUEUE_WAITING_MAX];
	size_t n;
};

/* A stop, and the runs that it waits for. */
struct stop {
	struct command *command;
	char waits_for[SLOT__MAX][UUID_TEXT]; /* "" when not */
};

struct queue {
	const struct run_env *env;
	struct run *running[SLOT__MAX];
	struct line waiting[SLOT__MAX]; /* continuous: one at most */
	struct stop stops[QUEUE_STOPS_MAX];
	size_t n_stops;
	struct {
		char id[UUID_TEXT];
		const char *status;
		struct reason error;
	} unwritten[2 * QUEUE_WAITING_MAX + QUEUE_STOPS_MAX];
	size_t n_unwritten; /* reports that the state could not take */
	int64_t retry_ms;
	bool changed;
};

struct queue *
queue_new(const struct run_env *env)
{
	struct queue *q = mem_alloc(1, sizeof *q);

	q->env = env;
	return q;
}

void
queue_free(struct queue *q)
{
	if (!q)
		return;
	for (size_t s = 0; s < SLOT__MAX; s++) {
		run_free(q->running[s]);
		for (size_t i = 0; i < q->waiting[s].n; i++)
			command_free(q->waiting[s].of[i]);
	}
	for (size_t i = 0; i < q->n_stops; i++)
		command_free(q->stops[i].command);
	free(q);
}

/* --- reports of what did not run ----------------------------------------- */

/*
 * Should the disk be full, the report waits in memory; should the agent be
 * killed meanwhile, the command is reported as cut off.
 */
static void
keep_report(
    struct queue *q, const char *id, const char *status, const char *error)
{
	size_t max = sizeof q->unwritten / sizeof *q->unwritten;

	if (q->n_unwritten == max)
		return;
	memcpy(q->unwritten[q->n_unwritten].id, id, UUID_TEXT);
	q->unwritten[q->n_unwritten].status = status;
	reason_set(
	    &q->unwritten[q->n_unwritten].error, "%s", error ? error : "");
	q->n_unwritten++;
}

/* Reports a command and frees it. */
static void
dismiss(
    struct queue *q, struct command *c, const char *status, const char *error)
{
	if (run_report_only(q->env, c->id, status, error, 0))
		keep_report(q, c->id, status, error);
	command_free(c);
	q->changed = true;
}

static void
retry_reports(struct queue *q, int64_t now)
{
	if (now < q->retry_ms)
		return;
	while (q->n_unwritten) {
		size_t i = q->n_unwritten - 1;
		const char *error = q->unwritten[i].error.text;

		if (run_report_only(q->env, q->unwritten[i].id,
			q->unwritten[i].status, *error ? error : NULL, 0))
			break;
		q->n_unwritten--;
		q->changed = true;
	}
	q->retry_ms = now + RETRY_MS;
}

/* --- waiting ------------------------------------------------------------- */

static enum slot
slot_of(const struct command *c)
{
	return c->session.continuous ? SLOT_CONTINUOUS : SLOT_AD_HOC;
}

static struct command *
take_first(struct line *line)
{
	struct command *c = line->of[0];

	line->n--;
	memmove(line->of, line->of + 1, line->n * sizeof *line->of);
	return c;
}

static void
displace(struct queue *q, struct line *line, size_t i, const char *why)
{
	struct command *c = line->of[i];

	line->n--;
	memmove(
	    line->of + i, line->of + i + 1, (line->n - i) * sizeof *line->of);
	dismiss(q, c, "stopped", why);
}

/*
 * Whether a start takes the place of an earlier one in its slot: each
 * continuous one does, and so does what a process-level stop left of it.
 */
static bool
replaces(const struct command *c, const struct command *earlier)
{
	if (slot_of(c) == SLOT_CONTINUOUS)
		return true;
	return c->session.is_rest && earlier->session.n_pids > 0 &&
	       session_is_part(&c->session, &earlier->session);
}

/* In front of the line, or at its end. */
static void
put_in_line(struct queue *q, struct command *c, bool in_front)
{
	struct line *line = &q->waiting[slot_of(c)];
	size_t place = in_front ? 0 : line->n;
	struct reason why;

	if (line->n == QUEUE_WAITING_MAX) {
		reason_set(&why, "%d commands wait on this host already",
		    (int)line->n);
		dismiss(q, c, "failed", why.text);
		return;
	}
	memmove(line->of + place + 1, line->of + place,
	    (line->n - place) * sizeof *line->of);
	line->of[place] = c;
	line->n++;
}

static void
take_start(struct queue *q, struct command *c, int64_t now)
{
	struct run *running = q->running[slot_of(c)];
	struct line *line = &q->waiting[slot_of(c)];
	bool ends = running && replaces(c, run_command(running));
	struct reason why;

	reason_set(&why, "replaced by %s", c->id);
	if (ends)
		run_end(running, why.text, false, now);
	for (size_t i = line->n; i-- > 0;)
		if (replaces(c, line->of[i]))
			displace(q, line, i, why.text);
	put_in_line(q, c, ends);
}

/* --- stops --------------------------------------------------------------- */

static void
stop_waiting(struct queue *q, const struct command *stop, const char *why)
{
	for (size_t s = 0; s < SLOT__MAX; s++) {
		struct line old = q->waiting[s], *line = &q->waiting[s];

		line->n = 0;
		for (size_t i = 0; i < old.n; i++) {
			struct command *c = old.of[i];
			enum session_cut cut =
			    session_cut(&c->session, &stop->session);

			if (cut == SESSION_NARROWED)
				session_narrow(&c->session, &stop->session);
			if (cut == SESSION_ENDED)
				dismiss(q, c, "stopped", why);
			else
				line->of[line->n++] = c;
		}
	}
}

/* What a stop has met among the runs. */
struct met {
	size_t ending; /* for these it waits */
	size_t narrowed;
	const struct command *undivided; /* one of these, or NULL */
};

static void
stop_run(struct stop *stop, enum slot s, struct run *r, const char *why,
    struct met *met, int64_t now)
{
	const struct command *start = run_command(r);

	switch (session_cut(&start->session, &stop->command->session)) {
	case SESSION_UNTOUCHED:
		break;
	case SESSION_NARROWED:
		run_narrow(r, stop->command, now);
		met->narrowed++;
		break;
	case SESSION_UNDIVIDED:
		met->undivided = start;
		break;
	case SESSION_ENDED:
		run_end(r, why, false, now);
		memcpy(stop->waits_for[s], start->id, UUID_TEXT);
		met->ending++;
		break;
	}
}

/* Nothing was to be stopped, or nothing could be. */
static void
finish_stop(struct queue *q, struct command *c, const struct met *met)
{
	struct reason why;

	if (met->narrowed || !met->undivided) {
		dismiss(q, c, "completed", NULL);
		return;
	}
	reason_set(&why,
	    "%s profiles the whole host: no single process can be taken out "
	    "of it; stop the host to end it",
	    met->undivided->id);
	dismiss(q, c, "failed", why.text);
}

static void
take_stop(struct queue *q, struct command *c, int64_t now)
{
	struct stop stop = { .command = c };
	struct met met = { 0 };
	struct reason why;

	if (q->n_stops == QUEUE_STOPS_MAX) {
		dismiss(q, c, "failed", "too many stops are under way");
		return;
	}
	reason_set(&why, "stopped by %s", c->id);
	stop_waiting(q, c, why.text);
	for (enum slot s = 0; s < SLOT__MAX; s++)
		if (q->running[s])
			stop_run(&stop, s, q->running[s], why.text, &met, now);
	if (met.ending)
		q->stops[q->n_stops++] = stop;
	else
		finish_stop(q, c, &met);
}

/* The run in a slot is over: stops that waited only for it are done. */
static void
release_stops(struct queue *q, const char *run_id)
{
	size_t kept = 0;

	for (size_t i = 0; i < q->n_stops; i++) {
		struct stop *stop = &q->stops[i];
		bool waits = false;

		for (size_t s = 0; s < SLOT__MAX; s++) {
			if (strcmp(stop->waits_for[s], run_id) == 0)
				stop->waits_for[s][0] = '\0';
			waits |= stop->waits_for[s][0] != '\0';
		}
		if (waits)
			q->stops[kept++] = *stop;
		else
			dismiss(q, stop->command, "completed", NULL);
	}
	q->n_stops = kept;
}

/* --- from outside -------------------------------------------------------- */

void
queue_take(struct queue *q, struct command *c, int64_t now)
{
	q->changed = true;
	if (c->fault.text[0])
		dismiss(q, c, "failed", c->fault.text);
	else if (c->kind == COMMAND_STOP)
		take_stop(q, c, now);
	else
		take_start(q, c, now);
}

static void
tick_run(struct queue *q, enum slot s, int64_t now)
{
	struct run *r = q->running[s];

	if (r && run_tick(r, now, &q->changed)) {
		q->running[s] = NULL;
		release_stops(q, run_command(r)->id);
		run_free(r);
	}
}

/* --- side by side, or one after the other -------------------------------- */

/* What the first in a line needs, 0 without one. */
static unsigned
first_needs(const struct queue *q, enum slot s)
{
	const struct line *line = &q->waiting[s];

	return line->n ? profiler_needs(q->env->options, &line->of[0]->session)
		       : 0;
}

static void
begin_first(struct queue *q, enum slot s, int64_t now)
{
	q->running[s] = run_start(q->env, take_first(&q->waiting[s]), now);
	q->changed = true;
}

/* The continuous run gives way to ad-hoc ones that need what it needs. */
static void
begin_ad_hoc(struct queue *q, int64_t now)
{
	struct run *continuous = q->running[SLOT_CONTINUOUS];
	struct line *line = &q->waiting[SLOT_AD_HOC];
	struct reason why;

	if (q->running[SLOT_AD_HOC] || line->n == 0)
		return;
	if (continuous &&
	    (run_needs(continuous) & first_needs(q, SLOT_AD_HOC))) {
		reason_set(&why, "for %s", line->of[0]->id);
		run_pause(continuous, why.text, now);
		if (!run_is_paused(continuous))
			return;
	}
	begin_first(q, SLOT_AD_HOC, now);
}

/* It begins, or goes on, once no ad-hoc run is in its way. */
static void
begin_continuous(struct queue *q, int64_t now)
{
	struct run *continuous = q->running[SLOT_CONTINUOUS];
	struct run *ad_hoc = q->running[SLOT_AD_HOC];
	unsigned taken =
	    ad_hoc ? run_needs(ad_hoc) : first_needs(q, SLOT_AD_HOC);

	if (continuous && !(run_needs(continuous) & taken))
		run_resume(continuous, now);
	else if (!continuous && q->waiting[SLOT_CONTINUOUS].n &&
		 !(first_needs(q, SLOT_CONTINUOUS) & taken))
		begin_first(q, SLOT_CONTINUOUS, now);
}

bool
queue_tick(struct queue *q, int64_t now)
{
	bool changed;

	for (enum slot s = 0; s < SLOT__MAX; s++)
		tick_run(q, s, now);
	begin_ad_hoc(q, now);
	begin_continuous(q, now);
	if (q->n_unwritten)
		retry_reports(q, now);
	changed = q->changed;
	q->changed = false;
	return changed;
}

void
queue_stop_all(struct queue *q, const char *reason, int64_t now)
{
	for (size_t s = 0; s < SLOT__MAX; s++) {
		while (q->waiting[s].n)
			dismiss(
			    q, take_first(&q->waiting[s]), "stopped", reason);
		if (q->running[s])
			run_end(q->running[s], reason, true, now);
	}
}

bool
queue_is_idle(const struct queue *q)
{
	for (size_t s = 0; s < SLOT__MAX; s++)
		if (q->running[s] || q->waiting[s].n)
			return false;
	return q->n_stops == 0 && q->n_unwritten == 0;
}

static void
add_in_hand(struct json_object *to, const char *id, enum state_phase phase)
{
	struct json_object *one = json_object_new_object();

	json_object_object_add(one, "command_id", json_object_new_string(id));
	json_object_object_add(
	    one, "state", json_object_new_string(state_phase_word(phase)));
	json_object_array_add(to, one);
}

struct json_object *
queue_in_hand(const struct queue *q)
{
	struct json_object *to = json_object_new_array();

	for (size_t s = 0; s < SLOT__MAX; s++) {
		const struct run *r = q->running[s];

		if (r)
			add_in_hand(to, run_command(r)->id, run_phase(r));
		for (size_t i = 0; i < q->waiting[s].n; i++)
			add_in_hand(
			    to, q->waiting[s].of[i]->id, STATE_ACCEPTED);
	}
	for (size_t i = 0; i < q->n_stops; i++)
		add_in_hand(to, q->stops[i].command->id, STATE_ACCEPTED);
	return to;
}

size_t
queue_fds(const struct queue *q, int fds[QUEUE_FDS])
{
	size_t n = 0;

	for (size_t s = 0; s < SLOT__MAX; s++)
		if (q->running[s])
			n += run_fds(q->running[s], fds + n);
	return n;
}

int64_t
queue_next_ms(const struct queue *q)
{
	int64_t next = q->n_unwritten ? q->retry_ms : INT64_MAX;

	/* what waits begins when a run ends: queue_tick() has seen to the
	 * rest */
	for (size_t s = 0; s < SLOT__MAX; s++) {
		int64_t at =
		    q->running[s] ? run_next_ms(q->running[s]) : INT64_MAX;

		if (at < next)
			next = at;
	}
	return next;
}
