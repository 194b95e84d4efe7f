#include "agentd/loop.h"

#include "agentd/child.h"
#include "agentd/footprint.h"
#include "agentd/host_settings.h"
#include "agentd/http.h"
#include "agentd/limits.h"
#include "agentd/notify.h"
#include "agentd/pace.h"
#include "agentd/preflight_watch.h"
#include "agentd/queue.h"
#include "agentd/spool.h"
#include "agentd/token.h"
#include "agentd/wire.h"
#include "core/clock.h"
#include "core/json.h"
#include "core/log.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* With nothing to wait for, look around after this. */
#define WAIT_MAX_MS 60000
/* From SIGTERM on: for the runs to end, then for the reports to go out, then
 * for a last heartbeat. */
#define END_RUNS_MS 12000
#define END_REPORTS_MS 4000
#define END_OFFLINE_MS 2000
/* Reports that fail are tried again from this base on. */
#define REPORT_BASE_MS 2000

enum ending { GOING_ON, ENDING_RUNS, ENDING_REPORTS, ENDING_OFFLINE, ENDED };

struct loop {
	const struct options *options;
	struct state *state;
	char *token;
	struct run_env env;
	struct queue *queue;
	struct preflight_watch preflight;
	struct notify notify; /* the service manager */
	struct spool *spool;
	CURLM *multi;
	struct http_post heartbeat, completion;
	struct pace beat, report_pace;
	int64_t interval_ms;
	int64_t report_number; /* of the report under way */
	bool reports_waiting;  /* the state may hold some */
	bool report_refused;   /* the last one, by an answer of 4xx */
	bool news;             /* since the heartbeat under way was made */
	int signals;           /* signalfd */
	enum ending ending;
	bool said_offline;  /* the last heartbeat is under way or gone */
	int64_t give_up_ms; /* in this stage of the ending */
};

/* The state may hold a report: no need to wait for the next look at it, but
 * failures are waited out. */
static void
expect_reports(struct loop *l, int64_t now)
{
	l->reports_waiting = true;
	if (!l->report_pace.failures)
		l->report_pace.next_ms = now;
}

/* --- heartbeat ----------------------------------------------------------- */

static void
send_heartbeat(struct loop *l, int64_t now)
{
	struct wire_moment moment = { .active = !queue_is_idle(l->queue),
		.offline = l->ending == ENDING_OFFLINE,
		.in_hand = queue_in_hand(l->queue),
		.preflight = l->preflight.result };
	struct json_object *object =
	    wire_heartbeat(l->options, l->state, &moment);
	struct reason why;
	size_t room;
	char *body = wire_text_with_room(object, &room);

	json_object_put(object);
	l->news = false;
	l->said_offline = moment.offline;
	pace_began(&l->beat, now);
	if (http_send(&l->heartbeat, l->token, body, room, &why))
		pace_failed(&l->beat, l->interval_ms, 0, &why, now);
}

/*
 * An id that was seen before is not looked at again; one that cannot be
 * written down is not acted upon, and will be offered again.
 */
static void
take_command(struct loop *l, struct command *c, int64_t now)
{
	if (l->ending != GOING_ON ||
	    state_knows(l->state, c->id) != STATE_ABSENT ||
	    state_accept(l->state, c->id)) {
		command_free(c);
		return;
	}
	log_info("command %s: %s", c->id,
	    c->kind == COMMAND_STOP ? "stop" : "start");
	queue_take(l->queue, c, now);
	l->news = true;
	expect_reports(l, now);
}

static int
read_heartbeat_reply(struct loop *l, int64_t now, struct reason *why)
{
	struct wire_reply reply;

	if (wire_read_reply(buf_text(&l->heartbeat.reply),
		l->heartbeat.reply.len, l->options->api_server, &reply, why))
		return -1;
	l->interval_ms =
	    1000 * (int64_t)(reply.interval ? reply.interval
					    : l->options->heartbeat_interval);
	if (reply.command)
		take_command(l, reply.command, now);
	return 0;
}

/* An agent at rest is a small one: what a heartbeat needs comes back with the
 * next one. */
static void
settle(struct loop *l)
{
	if (queue_is_idle(l->queue) && !l->reports_waiting)
		footprint_reduce();
}

static void
heartbeat_done(struct loop *l, struct http_result *result, int64_t now)
{
	if (result->ok && read_heartbeat_reply(l, now, &result->why) == 0) {
		pace_succeeded(&l->beat, l->interval_ms, now);
		settle(l);
	} else {
		pace_failed(&l->beat, l->interval_ms,
		    (int64_t)result->retry_after * 1000, &result->why, now);
	}
}

/* --- reports ------------------------------------------------------------- */

static void
send_report(struct loop *l, int64_t now)
{
	struct state_report report;
	struct reason why;
	int found = state_next_report(l->state, &report);

	pace_began(&l->report_pace, now);
	if (found != STATE_THERE) {
		l->reports_waiting = found != STATE_ABSENT;
		l->report_pace.next_ms = now + REPORT_BASE_MS;
		return;
	}
	l->report_number = report.number;
	if (http_send(&l->completion, l->token, report.text, 0, &why))
		pace_failed(&l->report_pace, REPORT_BASE_MS, 0, &why, now);
}

static void
report_done(struct loop *l, struct http_result *result, int64_t now)
{
	int verdict = -1;

	if (result->ok)
		verdict = wire_read_verdict(buf_text(&l->completion.reply),
		    l->completion.reply.len, &result->why);
	l->report_refused = result->status >= 400 && result->status < 500;
	if (verdict < 0) {
		(void)!state_postpone_report(l->state, l->report_number);
		pace_failed(&l->report_pace, REPORT_BASE_MS,
		    (int64_t)result->retry_after * 1000, &result->why, now);
		return;
	}
	if (verdict == WIRE_REFUSED)
		log_warn(
		    "the server does not take a report: %s", result->why.text);
	if (state_drop_report(l->state, l->report_number)) {
		l->report_pace.next_ms = now + REPORT_BASE_MS;
		return;
	}
	pace_again(&l->report_pace, now);
}

/* Result files come after all reports, unless it is the report that the
 * server does not like. */
static bool
may_spool(const struct loop *l)
{
	return l->ending == GOING_ON &&
	       (!l->reports_waiting || l->report_refused);
}

/* --- what waits ---------------------------------------------------------- */

static void
finish_transfers(struct loop *l, int64_t now)
{
	struct CURLMsg *m;
	int left;

	while ((m = curl_multi_info_read(l->multi, &left))) {
		struct http_post *post = NULL;
		struct http_result result;

		if (m->msg != CURLMSG_DONE)
			continue;
		(void)curl_easy_getinfo(
		    m->easy_handle, CURLINFO_PRIVATE, (char **)&post);
		http_finish(post, m->data.result, &result);
		if (post == &l->heartbeat)
			heartbeat_done(l, &result, now);
		else if (post == spool_request(l->spool))
			spool_done(l->spool, &result, now);
		else
			report_done(l, &result, now);
	}
}

/* When the next heartbeat is due; one under way is waited for. */
static int64_t
next_beat(const struct loop *l)
{
	if (http_is_busy(&l->heartbeat))
		return INT64_MAX;
	if (l->ending == GOING_ON)
		return l->beat.next_ms;
	return l->ending == ENDING_OFFLINE && !l->said_offline ? 0 : INT64_MAX;
}

static void
start_transfers(struct loop *l, int64_t now)
{
	if (l->news && l->ending == GOING_ON)
		pace_hasten(&l->beat, now);
	if (now >= next_beat(l))
		send_heartbeat(l, now);
	if (l->reports_waiting && !http_is_busy(&l->completion) &&
	    now >= l->report_pace.next_ms)
		send_report(l, now);
	spool_step(l->spool, l->token, may_spool(l), now);
}

static int64_t
sooner(int64_t one, int64_t other)
{
	return one < other ? one : other;
}

/* The least of the times at which something is due. */
static int64_t
next_time(const struct loop *l)
{
	int64_t next = sooner(queue_next_ms(l->queue), next_beat(l));

	next = sooner(next, spool_next_ms(l->spool, may_spool(l)));
	next = sooner(next, preflight_watch_next_ms(&l->preflight));
	next = sooner(next, notify_next_ms(&l->notify));
	if (l->reports_waiting && !http_is_busy(&l->completion) &&
	    l->report_pace.next_ms < next)
		next = l->report_pace.next_ms;
	if (l->ending != GOING_ON && l->give_up_ms < next)
		next = l->give_up_ms;
	return next;
}

static void
wait_for_something(struct loop *l)
{
	struct curl_waitfd wait[QUEUE_FDS + CHILD_FDS + 1];
	int fds[QUEUE_FDS + CHILD_FDS + 1];
	size_t n = queue_fds(l->queue, fds);
	int64_t ms = next_time(l);
	int64_t now = clock_mono_ms();

	n += preflight_watch_fds(&l->preflight, fds + n);
	fds[n++] = l->signals;
	for (size_t i = 0; i < n; i++)
		wait[i] = (struct curl_waitfd) { fds[i], CURL_WAIT_POLLIN, 0 };
	ms = ms > now ? ms - now : 0;
	if (ms > WAIT_MAX_MS)
		ms = WAIT_MAX_MS;
	(void)curl_multi_poll(l->multi, wait, (unsigned)n, (int)ms, NULL);
}

/* --- signals and the end ------------------------------------------------- */

static void
reload(struct loop *l)
{
	struct reason why;
	char *token;

	log_reopen();
	if (token_read(l->options->token_file, &token, &why)) {
		log_error("%s; the token read before is used", why.text);
		return;
	}
	free(l->token);
	l->token = token;
	l->env.token = token;
	log_info("log opened anew and token read again");
}

static void
begin_end(struct loop *l, int64_t now)
{
	if (l->ending != GOING_ON)
		return;
	log_info("ending");
	notify_stopping(&l->notify);
	l->ending = ENDING_RUNS;
	l->give_up_ms = now + END_RUNS_MS;
	queue_stop_all(l->queue, "the agent was stopped", now);
	expect_reports(l, now);
}

static void
read_signals(struct loop *l, int64_t now)
{
	struct signalfd_siginfo info;

	while (read(l->signals, &info, sizeof info) == (ssize_t)sizeof info)
		if (info.ssi_signo == SIGHUP) {
			notify_reloading(&l->notify);
			reload(l);
			notify_ready(&l->notify);
		} else {
			begin_end(l, now);
		}
}

/* Runs first, then their reports, then that we are gone; each for a while
 * only. */
static void
go_on_ending(struct loop *l, int64_t now)
{
	bool late = now >= l->give_up_ms;

	if (l->ending == ENDING_RUNS && (queue_is_idle(l->queue) || late)) {
		l->ending = ENDING_REPORTS;
		l->give_up_ms = now + END_REPORTS_MS;
		late = false;
	}
	if (l->ending == ENDING_REPORTS &&
	    (late || !l->reports_waiting || l->report_pace.failures > 0)) {
		l->ending = ENDING_OFFLINE;
		l->give_up_ms = now + END_OFFLINE_MS;
		late = false;
	}
	if (l->ending == ENDING_OFFLINE &&
	    (late || (l->said_offline && !http_is_busy(&l->heartbeat))))
		l->ending = ENDED;
}

/* For who asks the service manager about us. */
static void
tell_status(struct loop *l)
{
	struct reason text;

	if (l->ending != GOING_ON)
		reason_set(&text, "ending");
	else if (l->beat.failures)
		reason_set(&text, "no answer: %s", l->beat.why.text);
	else if (l->beat.successes == 0)
		reason_set(&text, "asks %s", l->options->api_server);
	else
		reason_set(&text, "%s, %s answers",
		    queue_is_idle(l->queue) ? "idle" : "active",
		    l->options->api_server);
	notify_status(&l->notify, text.text);
}

static void
step(struct loop *l)
{
	int64_t now;
	int running;

	wait_for_something(l);
	(void)curl_multi_perform(l->multi, &running);
	now = clock_mono_ms();
	read_signals(l, now);
	finish_transfers(l, now);
	if (queue_tick(l->queue, now)) {
		l->news = true;
		expect_reports(l, now);
		spool_wake(l->spool);
		/* a run leaves other things than it found */
		preflight_watch_ask(&l->preflight, now);
	}
	start_transfers(l, now);
	preflight_watch_tick(&l->preflight, now);
	notify_tick(&l->notify, now);
	tell_status(l);
	if (l->ending != GOING_ON)
		go_on_ending(l, now);
}

/* --- the beginning ------------------------------------------------------- */

/*
 * What an earlier agent left unfinished is not begun again: what it left
 * running is killed, and the server is told.
 */
static void
report_cut_off(struct loop *l)
{
	char id[UUID_TEXT];
	int64_t received;

	while (state_unfinished(l->state, id, &received) == STATE_THERE) {
		int killed = child_kill_marked(id);

		if (killed)
			log_warn("command %s: %d processes of an earlier "
				 "agent were killed",
			    id, killed);
		if (run_report_only(&l->env, id, "failed", "agent restarted",
			(clock_now_ms() - received) / 1000))
			break;
	}
	host_settings_put_back(l->options->host_root, l->options->state_dir);
	l->reports_waiting = true;
}

static sigset_t
answered_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	return set;
}

void
loop_hold_signals(void)
{
	sigset_t set = answered_signals();

	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
}

static int
open_signals(struct loop *l, struct reason *why)
{
	sigset_t set = answered_signals();

	l->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (l->signals < 0)
		return reason_set(why, "signalfd: %s", strerror(errno));
	return 0;
}

static void
find_cgroup(struct loop *l)
{
	struct reason why;

	l->env.cgroup = limits_find_cgroup(l->options, &why);
	if (l->env.cgroup)
		log_info("runs get cgroups in %s", l->env.cgroup);
	else
		log_info("runs get no cgroup: %s; they are limited by "
			 "rlimits and nice",
		    why.text);
}

static int
open_loop(struct loop *l, struct reason *why)
{
	if (open_signals(l, why))
		return -1;
	l->multi = curl_multi_init();
	if (!l->multi)
		return reason_set(why, "libcurl does not start");
	if (http_open(&l->heartbeat, l->multi, l->options, WIRE_HEARTBEAT_PATH,
		why) ||
	    http_open(&l->completion, l->multi, l->options,
		WIRE_COMPLETION_PATH, why))
		return -1;
	find_cgroup(l);
	l->spool = spool_open(l->options, l->state, l->multi, why);
	if (!l->spool)
		return -1;
	l->queue = queue_new(&l->env);
	preflight_watch_open(&l->preflight, l->options, clock_mono_ms());
	notify_open(&l->notify, clock_mono_ms());
	return 0;
}

static void
close_loop(struct loop *l)
{
	if (l->heartbeat.multi)
		http_close(&l->heartbeat);
	if (l->completion.multi)
		http_close(&l->completion);
	spool_close(l->spool);
	(void)curl_multi_cleanup(l->multi);
	queue_free(l->queue);
	preflight_watch_close(&l->preflight);
	notify_close(&l->notify);
	if (l->signals >= 0)
		close(l->signals);
	free(l->env.cgroup);
	free(l->token);
}

int
loop_run(const struct options *o, struct state *state, char *token,
    struct reason *why)
{
	struct loop l = { .options = o,
		.state = state,
		.token = token,
		.env = { .options = o, .token = token, .state = state },
		.interval_ms = (int64_t)o->heartbeat_interval * 1000,
		.preflight = { .output = -1 },
		.notify = { .fd = -1 },
		.signals = -1 };
	int result = open_loop(&l, why);

	if (result == 0) {
		report_cut_off(&l);
		notify_ready(&l.notify);
		while (l.ending != ENDED)
			step(&l);
		log_info("ended");
	}
	close_loop(&l);
	return result;
}
