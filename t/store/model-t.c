/*
 * The store beside a plain model of its rules (model.h): random requests,
 * heartbeats, reports, expiry, housekeeping and restarts, and no difference.
 *
 *	CONSPECT_MODEL_SEED=7 CONSPECT_MODEL_STEPS=500 t/store/model-t
 *
 * A difference is shown with its seed, its step and the steps before it.
 */
#define HARNESS_TIMEOUT_SECONDS 900

#include "store/store.h"

#include "store-helper.h"

#include <ctype.h>
#include <inttypes.h>
#include <malloc.h>

#include "model.h"
#include "store/history.h"
#include "store/housekeeping.h"
#include "store/settings.h"

#define STEPS 100000
#define COMPARE_EVERY 1000
#define TRACED 25 /* steps that are shown */
#define KEEP 1000 /* ended commands, the least that the setting allows */
#define OLD_COMMAND 3000 /* steps after which it ended long ago */
#define OLD_REQUEST 5000
#define OLD "'2001-01-01T00:00:00.000Z'"

static const char *const names[M_HOSTS] = { "alpha", "beta", "delta",
	"gamma" };
static const char *const kinds[] = { "stop", "adhoc", "continuous" };
static const char *const states[] = { "pending", "sent", "accepted",
	"installing", "running", "completed", "failed", "stopped",
	"superseded", "cancelled", "expired" };
static const char *const modes[] = { "cpu", "allocation", "none" };

struct run {
	struct box box;
	struct model m;
	uint64_t seed, random;
	int64_t base_ms; /* of ended_at: the step in milliseconds after it */
	char last[M_HOSTS][M_SERVICES][M_ID]; /* what each was given last */
	char trace[TRACED][1000];
	sqlite3_stmt *date;
};

/* --- chance and differences ---------------------------------------------- */

/* splitmix64 */
static uint64_t
draw(struct run *r)
{
	uint64_t z = r->random += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static int
below(struct run *r, int n)
{
	return (int)(draw(r) % (uint64_t)n);
}

static bool
chance(struct run *r, int percent)
{
	return below(r, 100) < percent;
}

static void trace(struct run *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void
trace(struct run *r, const char *format, ...)
{
	char *line = r->trace[r->m.step % TRACED];
	size_t n = strlen(line);
	va_list ap;

	va_start(ap, format);
	(void)vsnprintf(line + n, sizeof r->trace[0] - n, format, ap);
	va_end(ap);
}

static void differ(struct run *r, const char *format, ...)
    __attribute__((format(printf, 2, 3), noreturn));
static void
differ(struct run *r, const char *format, ...)
{
	char what[4000];
	va_list ap;

	va_start(ap, format);
	(void)vsnprintf(what, sizeof what, format, ap);
	va_end(ap);
	for (long step = r->m.step - TRACED + 1; step <= r->m.step; step++)
		if (step >= 0)
			(void)printf(
			    "# %ld %s\n", step, r->trace[step % TRACED]);
	(void)fflush(stdout);
	ck_abort_msg(
	    "seed %" PRIu64 ", step %ld: %s", r->seed, r->m.step, what);
}

/* A host's name in some spelling. */
static const char *
spell(struct run *r, int host, char text[M_NAME])
{
	size_t i;

	for (i = 0; names[host][i]; i++)
		text[i] = chance(r, 20)
			      ? (char)toupper((unsigned char)names[host][i])
			      : names[host][i];
	text[i] = '\0';
	return text;
}

static struct m_command *
find_id(const struct model *m, const char *id)
{
	for (size_t i = m->commands.n; i-- > 0;) {
		struct m_command *c = m->commands.of[i];

		if (strcmp(c->id, id) == 0)
			return c;
	}
	return NULL;
}

/* Some command, by preference one that is open, and was handed out. */
static struct m_command *
some_command(struct run *r, bool waiting)
{
	struct m_command *c = NULL;

	for (int tries = 0; r->m.commands.n && tries < 12; tries++) {
		c = r->m.commands.of[draw(r) % r->m.commands.n];
		if (waiting ? c->state <= M_SENT
			    : m_is_open(c) && c->state != M_PENDING)
			return c;
	}
	return waiting ? NULL : c;
}

/* --- configs ------------------------------------------------------------- */

static void
add_pids(struct buf *text, unsigned pids)
{
	const char *comma = "";

	buf_str(text, "[");
	for (int i = 0; i < M_PIDS; i++)
		if (pids & 1u << i) {
			buf_fmt(text, "%s%d", comma, i + 1);
			comma = ",";
		}
	buf_str(text, "]");
}

static void
add_number(struct buf *text, const char *key, int value)
{
	if (value)
		buf_fmt(text, ",'%s':%d", key, value);
	else
		buf_fmt(text, ",'%s':null", key);
}

/* What the agent is to be given, as JSON. */
static struct json_object *
config_of(const struct m_command *c)
{
	struct buf text = BUF_INIT(10000);
	struct json_object *value;
	bool start = c->kind != M_STOP;

	buf_fmt(&text, "{'stop_level':'%s'",
	    start || !c->config.whole ? "process" : "host");
	if (start) {
		buf_fmt(&text,
		    ",'command_type':'start','continuous':%s,"
		    "'profiling_mode':'%s'",
		    c->kind == M_CONTINUOUS ? "true" : "false",
		    modes[c->config.mode]);
		add_number(&text, "duration", c->config.duration);
		add_number(&text, "frequency", c->config.frequency);
	}
	for (int i = 0; start && i < M_ARGS; i++)
		if (c->config.args[i] != M_NONE)
			buf_fmt(&text, ",'k%d':%d", i, c->config.args[i]);
	if (!c->config.whole) {
		buf_str(&text, ",'pids':");
		add_pids(&text, c->config.pids);
	}
	buf_str(&text, "}");
	value = json_of(buf_text(&text));
	buf_free(&text);
	if (start && !c->config.rest)
		json_object_object_del(value, "stop_level");
	return value;
}

static void
compare_config(struct run *r, const struct m_command *c, const char *text)
{
	struct json_object *expected = config_of(c),
			   *got = json_tokener_parse(text);

	if (!json_object_equal(expected, got))
		differ(r, "command %s has %s, not %s", c->id, text,
		    json_text(expected));
	json_object_put(expected);
	json_object_put(got);
}

/* --- requests ------------------------------------------------------------ */

static void
choose_targets(struct run *r, struct m_ask *ask, bool pids)
{
	int first = below(r, M_HOSTS);

	ask->n = 1 + (size_t)(chance(r, 40) ? below(r, M_HOSTS) : 0);
	for (size_t i = 0; i < ask->n; i++) {
		ask->of[i].host = (first + (int)i) % M_HOSTS;
		while (pids && !ask->of[i].pids)
			ask->of[i].pids =
			    (unsigned)(draw(r) & draw(r)) % (1u << M_PIDS);
	}
}

static void
choose_start(struct run *r, struct m_ask *ask)
{
	static const int durations[] = { 0, 60, 90, 300, 60, 60 },
			 frequencies[] = { 0, 11, 50, 99 };

	ask->kind = chance(r, 40) ? M_CONTINUOUS : M_ADHOC;
	ask->config.duration = durations[below(r, 6)];
	ask->config.frequency = frequencies[below(r, 4)];
	ask->config.mode = below(r, 3);
	for (int i = 0; i < M_ARGS; i++)
		ask->config.args[i] = chance(r, 30) ? below(r, 3) : M_NONE;
	ask->every_host = chance(r, 10);
	if (!ask->every_host)
		choose_targets(r, ask, chance(r, 75));
}

static void
choose_ask(struct run *r, struct m_ask *ask)
{
	memset(ask, 0, sizeof *ask);
	ask->service = below(r, M_SERVICES);
	ask->start = chance(r, 50);
	ask->host_level = chance(r, 15);
	if (ask->start)
		choose_start(r, ask);
	else
		choose_targets(r, ask, !ask->host_level);
}

static void
write_start(const struct m_ask *ask, struct buf *text)
{
	const char *comma = "";

	buf_fmt(text, ",'continuous':%s,'profiling_mode':'%s'",
	    ask->kind == M_CONTINUOUS ? "true" : "false",
	    modes[ask->config.mode]);
	add_number(text, "duration", ask->config.duration);
	add_number(text, "frequency", ask->config.frequency);
	buf_str(text, ",'additional_args':{");
	for (int i = 0; i < M_ARGS; i++)
		if (ask->config.args[i] != M_NONE) {
			buf_fmt(
			    text, "%s'k%d':%d", comma, i, ask->config.args[i]);
			comma = ",";
		}
	buf_str(text, "}");
}

/* The request as its JSON. */
static void
write_ask(struct run *r, const struct m_ask *ask, struct buf *text)
{
	char name[M_NAME];

	buf_fmt(text, "{'service_name':'s%d','request_type':'%s'",
	    ask->service, ask->start ? "start" : "stop");
	if (ask->start)
		write_start(ask, text);
	else
		buf_fmt(text, ",'stop_level':'%s'",
		    ask->host_level ? "host" : "process");
	if (chance(r, 20))
		buf_fmt(text, ",'expires_in':%d", 3600 + below(r, 100000));
	if (ask->every_host) {
		buf_str(text, "}");
		return;
	}
	buf_str(text, ",'target_hosts':{");
	for (size_t i = 0; i < ask->n; i++) {
		buf_fmt(text, "%s'%s':", i ? "," : "",
		    spell(r, ask->of[i].host, name));
		if (ask->of[i].pids)
			add_pids(text, ask->of[i].pids);
		else
			buf_str(text, "null");
	}
	buf_str(text, "}}");
}

/* A command that the product has named, and those that it may be. */
struct naming {
	const struct m_list *touched;
	struct m_command *found;
};

static bool
match_command(void *context, const struct command_record *record)
{
	struct naming *naming = context;

	for (size_t i = 0; !naming->found && i < naming->touched->n; i++) {
		struct m_command *c = naming->touched->of[i];

		if (!c->id[0] &&
		    strcasecmp(record->hostname, names[c->host]) == 0 &&
		    record->service_name[1] - '0' == c->service &&
		    strcmp(record->kind, kinds[c->kind]) == 0)
			naming->found = c;
	}
	return true;
}

/* Gives the model's command its id: the one of `touched` that it is about. */
static struct m_command *
name_command(struct run *r, const struct m_list *touched, const char *id)
{
	struct naming naming = { touched, NULL };

	if (command_by_id(r->box.store, id, match_command, &naming) != 0)
		differ(r, "command %s is not there", id);
	if (!naming.found)
		differ(r, "command %s is one too many", id);
	strcpy(naming.found->id, id);
	return naming.found;
}

/* The hosts' order in the request. */
static size_t
place_of(const struct m_ask *ask, int host)
{
	for (size_t i = 0; i < ask->n; i++)
		if (ask->of[i].host == host)
			return i;
	return (size_t)host; /* every host: by name */
}

static void
compare_submission(struct run *r, const struct m_ask *ask,
    const struct submission *out, const struct m_list *touched)
{
	struct m_list seen = { NULL, 0 };
	size_t place = 0;

	trace(r, " ->");
	for (size_t i = 0; i < out->n_commands; i++) {
		struct m_command *c = find_id(&r->m, out->command_ids[i]);

		if (!c)
			c = name_command(r, touched, out->command_ids[i]);
		trace(r, " %.8s", c->id);
		if (!m_has(touched, c) || m_has(&seen, c))
			differ(r, "command %s does not belong here", c->id);
		if (place_of(ask, c->host) < place)
			differ(r, "command %s is out of order", c->id);
		place = place_of(ask, c->host);
		m_add(&seen, c);
	}
	if (seen.n != touched->n)
		differ(r, "%zu commands, not %zu", seen.n, touched->n);
	free(seen.of);
}

static void
step_request(struct run *r)
{
	struct author author = { "alice", "192.0.2.1" };
	struct buf text = BUF_INIT(10000);
	struct m_list touched = { NULL, 0 };
	struct faults faults = { NULL };
	struct profiling_request request;
	struct json_object *body;
	struct submission out;
	struct m_request *made;
	struct m_ask ask;
	int result;

	choose_ask(r, &ask);
	write_ask(r, &ask, &text);
	trace(r, "%s", buf_text(&text));
	body = json_of(buf_text(&text));
	if (!request_read(body, &request, &faults))
		faults_are(&faults, buf_text(&text), "");
	result = request_submit(r->box.store, &request, &author, &out);
	made = m_submit(&r->m, &ask, &touched);
	if (result != (made ? 0 : STORE_TOO_MANY))
		differ(r, "the request's result is %d", result);
	if (made) {
		strcpy(made->id, out.request_id);
		compare_submission(r, &ask, &out, &touched);
	}
	free(touched.of);
	submission_free(&out);
	request_free(&request);
	json_object_put(body);
	buf_free(&text);
}

/* --- heartbeats ---------------------------------------------------------- */

#define SHOWN_MAX 4
enum way { WAY_LAST, WAY_RECEIVED, WAY_EXECUTED, WAY_PROGRESS, WAYS };

/* What a heartbeat shows, and how. */
struct shown {
	struct {
		const struct m_command *command;
		enum way way;
		enum m_state state; /* WAY_PROGRESS: what it says */
	} of[SHOWN_MAX];
	size_t n;
};

static enum m_state
shown_state(const struct m_command *c, const void *context)
{
	const struct shown *shown = context;
	enum m_state state = M_PENDING;

	for (size_t i = 0; i < shown->n; i++) {
		if (shown->of[i].command != c)
			continue;
		if (shown->of[i].way == WAY_PROGRESS)
			return shown->of[i].state;
		state = M_ACCEPTED;
	}
	return state;
}

static void
show_one(struct run *r, struct shown *shown, const struct m_command *c)
{
	size_t i = shown->n++;

	shown->of[i].command = c;
	/* one last_command_id, and one state a command */
	shown->of[i].way =
	    i == 0 ? (enum way)below(r, WAYS)
		   : (enum way)(WAY_RECEIVED + below(r, WAY_PROGRESS - 1));
	shown->of[i].state = (enum m_state)(M_ACCEPTED + below(r, 3));
}

static void
choose_shown(struct run *r, int host, int service, struct shown *shown)
{
	const struct m_command *last = find_id(&r->m, r->last[host][service]);

	shown->n = 0;
	if (last && chance(r, 60))
		show_one(r, shown, last);
	for (int i = 0; i < 2 && r->m.commands.n; i++)
		if (chance(r, 40))
			show_one(r, shown, some_command(r, false));
}

static void
write_ids(
    struct run *r, const struct shown *shown, enum way way, struct buf *text)
{
	const char *comma = "";

	for (size_t i = 0; i < shown->n; i++) {
		char id[M_ID];

		if (shown->of[i].way != way)
			continue;
		strcpy(id, shown->of[i].command->id);
		for (char *p = id; chance(r, 3) && *p; p++)
			*p = (char)toupper((unsigned char)*p);
		if (way == WAY_PROGRESS)
			buf_fmt(text, "%s{'command_id':'%s','state':'%s'}",
			    comma, id, states[shown->of[i].state]);
		else
			buf_fmt(text, "%s'%s'", comma, id);
		comma = ",";
	}
}

static void
write_heartbeat(struct run *r, int host, int service,
    const struct shown *shown, struct buf *text, const char *name)
{
	static const char *const lists[] = { [WAY_RECEIVED] =
						 "received_command_ids",
		[WAY_EXECUTED] = "executed_command_ids",
		[WAY_PROGRESS] = "commands" };

	(void)host;
	buf_fmt(text,
	    "{'ip_address':'10.0.0.1','hostname':'%s','service_name':'s%d',"
	    "'status':'active'",
	    name, service);
	if (shown->n && shown->of[0].way == WAY_LAST) {
		buf_str(text, ",'last_command_id':");
		write_ids(r, shown, WAY_LAST, text);
	}
	for (enum way way = WAY_RECEIVED; way < WAYS; way++) {
		buf_fmt(text, ",'%s':[", lists[way]);
		write_ids(r, shown, way, text);
		buf_str(text, "]");
	}
	buf_str(text, "}");
}

static void
compare_offer(
    struct run *r, const struct offer *offer, const struct m_command *expected)
{
	if (strcmp(offer->command_id, expected ? expected->id : "") != 0)
		differ(r, "offered \"%s\", not \"%s\"", offer->command_id,
		    expected ? expected->id : "");
	if (!expected)
		return;
	if (strcmp(offer->command_type,
		expected->kind == M_STOP ? "stop" : "start") != 0)
		differ(r, "offered a %s", offer->command_type);
	compare_config(r, expected, offer->combined_config);
}

static void
note_host(struct run *r, int host, int service, const char *name)
{
	struct m_host *h = &r->m.hosts[host];

	if (!h->known[service])
		strcpy(h->name[service], name);
	h->known[service] = h->active[service] = true;
}

static void
step_heartbeat(struct run *r)
{
	int host = below(r, M_HOSTS), service = below(r, M_SERVICES);
	struct buf text = BUF_INIT(10000);
	struct faults faults = { NULL };
	struct m_command *expected;
	struct json_object *body;
	struct heartbeat h;
	struct shown shown;
	struct offer offer;
	char name[M_NAME];

	choose_shown(r, host, service, &shown);
	write_heartbeat(r, host, service, &shown, &text, spell(r, host, name));
	trace(r, "%s", buf_text(&text));
	body = json_of(buf_text(&text));
	if (!heartbeat_read(body, &h, &faults))
		faults_are(&faults, buf_text(&text), "");
	if (heartbeat_take(r->box.store, &h, "192.0.2.7", &offer) != 0)
		differ(r, "the heartbeat is not taken");
	note_host(r, host, service, name);
	expected = m_heartbeat(&r->m, host, service, shown_state, &shown);
	trace(r, " -> %.8s", offer.command_id);
	compare_offer(r, &offer, expected);
	if (offer.command_id[0] && chance(r, 80)) /* else it is lost */
		strcpy(r->last[host][service], offer.command_id);
	offer_free(&offer);
	heartbeat_free(&h);
	json_object_put(body);
	buf_free(&text);
}

/* --- reports ------------------------------------------------------------- */

static void
step_completion(struct run *r)
{
	static const char *const errors[] = { NULL, "no perf", "killed" };
	static const char *const services[] = { "s0", "s1" };
	struct m_command *c = chance(r, 3) ? NULL : some_command(r, false);
	int host = c && chance(r, 90) ? c->host : below(r, M_HOSTS),
	    service = chance(r, 70)        ? M_NONE
		      : c && chance(r, 80) ? c->service
					   : below(r, M_SERVICES);
	enum m_state outcome = (enum m_state)(M_COMPLETED + below(r, 3)),
		     before = c ? c->state : M_PENDING;
	struct completion report = { .execution_time = 5,
		.exit_status = FIELD_NULL };
	enum command_state state = COMMAND_PENDING;
	enum refusal refusal = REFUSAL_NONE;
	enum m_answer answer;
	char name[M_NAME];

	if (c)
		strcpy(report.command_id, c->id);
	else
		uuid_make(report.command_id);
	report.command_id_as_sent = report.command_id;
	report.hostname = spell(r, host, name);
	report.error_message = errors[below(r, 3)];
	report.state = (enum command_state)command_state_of(states[outcome]);
	trace(r, "report %.8s of %s, service %d: %s", report.command_id, name,
	    service, states[outcome]);
	if (completion_take(r->box.store, &report,
		service == M_NONE ? NULL : services[service], &refusal,
		&state) != 0)
		differ(r, "the report is not taken");
	answer =
	    m_complete(&r->m, c, host, service, outcome, report.error_message);
	trace(r, " -> %d", (int)refusal);
	if (refusal != (answer == M_TAKEN      ? REFUSAL_NONE
			   : answer == M_ENDED ? REFUSAL_ENDED
					       : REFUSAL_UNKNOWN))
		differ(
		    r, "the answer is %d, not %d", (int)refusal, (int)answer);
	if (answer == M_ENDED &&
	    strcmp(command_state_names[state], states[before]) != 0)
		differ(r, "it ended as %s, not %s", command_state_names[state],
		    states[before]);
}

/* --- time and settings --------------------------------------------------- */

static void
step_overdue(struct run *r)
{
	struct m_command *c = some_command(r, true);
	char *sql;

	if (!c)
		return;
	trace(r, "%.8s is overdue", c->id);
	c->overdue = true;
	sql = mem_fmt("UPDATE ProfilingCommands SET expires_at = " OLD
		      " WHERE command_id = '%s'",
	    c->id);
	box_run(&r->box, sql);
	free(sql);
}

static void
step_silence(struct run *r)
{
	int host = below(r, M_HOSTS), service = below(r, M_SERVICES);
	char *sql = mem_fmt("UPDATE HostHeartbeats SET last_seen = " OLD
			    " WHERE hostname = '%s' AND service_name = 's%d'",
	    names[host], service);

	trace(r, "%s of s%d is silent", names[host], service);
	box_run(&r->box, sql);
	r->m.hosts[host].active[service] = false;
	free(sql);
}

static void
step_setting(struct run *r)
{
	int64_t value = chance(r, 70) ? REQUEST_HOSTS_MAX : 1 + below(r, 3);

	trace(r, "request_hosts %d", (int)value);
	if (setting_set(r->box.store, SETTING_REQUEST_HOSTS, value) != 0)
		differ(r, "the setting is not taken");
	r->m.hosts_max = (size_t)value;
}

static void
step_restart(struct run *r)
{
	trace(r, "restart");
	store_close(r->box.store);
	r->box.store = open_at(r->box.path);
}

/* --- housekeeping -------------------------------------------------------- */

static sqlite3_stmt *
look(const struct run *r, const char *sql)
{
	sqlite3_stmt *stmt = NULL;

	ck_assert_msg(
	    sqlite3_prepare_v2(r->box.eye, sql, -1, &stmt, NULL) == SQLITE_OK,
	    "%s: %s", sql, sqlite3_errmsg(r->box.eye));
	return stmt;
}

/* The order in which the product made the commands. */
static void
number_rows(struct run *r)
{
	sqlite3_stmt *row =
	    look(r, "SELECT command_id, id FROM ProfilingCommands");

	while (sqlite3_step(row) == SQLITE_ROW) {
		struct m_command *c =
		    find_id(&r->m, (const char *)sqlite3_column_text(row, 0));

		if (c)
			c->row = (long)sqlite3_column_int64(row, 1);
	}
	(void)sqlite3_finalize(row);
}

/* Gives the end of a command a time that follows from its step, so that the
 * machine's speed decides nothing. */
static void
date_command(struct run *r, struct m_command *c)
{
	bool old = c->ended < r->m.step - OLD_COMMAND;
	char text[CLOCK_TEXT];

	if (m_is_open(c) || (c->dated && !old))
		return;
	clock_format(old ? c->ended : r->base_ms + c->ended, text);
	(void)sqlite3_bind_text(r->date, 1, text, -1, SQLITE_TRANSIENT);
	(void)sqlite3_bind_text(r->date, 2, c->id, -1, SQLITE_STATIC);
	ck_assert_int_eq(sqlite3_step(r->date), SQLITE_DONE);
	(void)sqlite3_reset(r->date);
	c->dated = true;
	c->old = old;
}

static void
age_requests(struct run *r)
{
	for (size_t i = 0; i < r->m.requests.n; i++) {
		struct m_request *request = r->m.requests.of[i];
		char *sql;

		if (request->old || request->step >= r->m.step - OLD_REQUEST)
			continue;
		request->old = true;
		sql = mem_fmt("UPDATE ProfilingRequests SET created_at = " OLD
			      " WHERE request_id = '%s'",
		    request->id);
		box_run(&r->box, sql);
		free(sql);
	}
}

static void
step_housekeeping(struct run *r)
{
	size_t expired, deleted, requests;
	struct housekeeping work;

	box_run(&r->box, "BEGIN IMMEDIATE");
	number_rows(r);
	for (size_t i = 0; i < r->m.commands.n; i++)
		date_command(r, r->m.commands.of[i]);
	age_requests(r);
	box_run(&r->box, "COMMIT");
	if (housekeep(r->box.store, true, &work) != 0)
		differ(r, "housekeeping failed");
	m_housekeep(&r->m, KEEP, &expired, &deleted, &requests);
	trace(r, "housekeeping -> %d %d %d", (int)work.expired,
	    (int)work.deleted, (int)work.requests);
	if ((size_t)work.expired != expired ||
	    (size_t)work.deleted != deleted ||
	    (size_t)work.requests != requests)
		differ(r, "housekeeping did not %zu %zu %zu", expired, deleted,
		    requests);
}

/* --- the whole state ----------------------------------------------------- */

static void
text_is(struct run *r, const char *about, const char *what, const char *got,
    const char *expected)
{
	if (strcmp(got ? got : "null", expected ? expected : "null") != 0)
		differ(r, "%s: %s is %s, not %s", about, what,
		    got ? got : "null", expected ? expected : "null");
}

static void
number_is(struct run *r, const char *about, const char *what, int64_t got,
    int64_t expected)
{
	if (got != expected)
		differ(r, "%s: %s is %d, not %d", about, what, (int)got,
		    (int)expected);
}

#define COLUMN(i) ((const char *)sqlite3_column_text(row, (i)))

static void
compare_command(struct run *r, sqlite3_stmt *row)
{
	const char *id = COLUMN(0);
	const struct m_command *c = find_id(&r->m, id);

	if (!c)
		differ(r, "command %s should not be there", id);
	text_is(r, id, "host", COLUMN(1), names[c->host]);
	number_is(r, id, "service", sqlite3_column_int(row, 2), c->service);
	text_is(r, id, "kind", COLUMN(3), kinds[c->kind]);
	text_is(r, id, "status", COLUMN(4), states[c->state]);
	text_is(r, id, "reason", COLUMN(5), c->reason);
	compare_config(r, c, COLUMN(6));
	number_is(r, id, "sent", sqlite3_column_int(row, 7), c->sent);
	number_is(r, id, "accepted", sqlite3_column_int(row, 8), c->accepted);
	number_is(r, id, "ended", sqlite3_column_int(row, 9), !m_is_open(c));
	text_is(r, id, "execution", COLUMN(10),
	    c->executed ? states[c->outcome] : NULL);
	number_is(r, id, "reported", sqlite3_column_int(row, 11), c->reported);
	number_is(r, id, "requests", sqlite3_column_int(row, 12),
	    (int64_t)c->requests.n);
}

static void
compare_commands(struct run *r)
{
	sqlite3_stmt *row = look(r,
	    "SELECT c.command_id, lower(c.hostname),"
	    " substr(c.service_name, 2), c.kind, c.status, c.reason,"
	    " c.combined_config, c.sent_at IS NOT NULL,"
	    " c.accepted_at IS NOT NULL, c.ended_at IS NOT NULL, e.status,"
	    " e.completed_at IS NOT NULL, (SELECT count(*)"
	    "  FROM CommandRequests l WHERE l.command_id = c.command_id)"
	    " FROM ProfilingCommands c LEFT JOIN ProfilingExecutions e"
	    " USING (command_id) ORDER BY c.id");
	size_t n = 0;

	for (; sqlite3_step(row) == SQLITE_ROW; n++)
		compare_command(r, row);
	(void)sqlite3_finalize(row);
	number_is(
	    r, "commands", "number", (int64_t)n, (int64_t)r->m.commands.n);
}

static void
compare_requests(struct run *r)
{
	sqlite3_stmt *row =
	    look(r, "SELECT request_id, status, n_commands, n_waiting, n_open,"
		    " n_failed, n_done FROM ProfilingRequests ORDER BY id");
	size_t i = 0;

	for (; sqlite3_step(row) == SQLITE_ROW; i++) {
		const struct m_request *request =
		    i < r->m.requests.n ? r->m.requests.of[i] : NULL;
		struct m_counts n;

		if (!request)
			differ(r, "request %s should not be there", COLUMN(0));
		n = m_count(&r->m, request);
		text_is(r, "requests", "id", COLUMN(0), request->id);
		text_is(r, request->id, "status", COLUMN(1), n.status);
		number_is(r, request->id, "n_commands",
		    sqlite3_column_int(row, 2), n.all);
		number_is(r, request->id, "n_waiting",
		    sqlite3_column_int(row, 3), n.waiting);
		number_is(r, request->id, "n_open", sqlite3_column_int(row, 4),
		    n.open);
		number_is(r, request->id, "n_failed",
		    sqlite3_column_int(row, 5), n.failed);
		number_is(r, request->id, "n_done", sqlite3_column_int(row, 6),
		    n.done);
	}
	(void)sqlite3_finalize(row);
	number_is(
	    r, "requests", "number", (int64_t)i, (int64_t)r->m.requests.n);
}

static void
compare_hosts(struct run *r)
{
	sqlite3_stmt *row = look(r,
	    "SELECT hostname, substr(service_name, 2) FROM HostHeartbeats"
	    " ORDER BY hostname, service_name");
	int known = 0, n = 0;

	for (; sqlite3_step(row) == SQLITE_ROW; n++)
		for (int h = 0; h < M_HOSTS; h++)
			if (strcasecmp(COLUMN(0), names[h]) == 0)
				text_is(r, names[h], "spelling", COLUMN(0),
				    r->m.hosts[h]
					.name[sqlite3_column_int(row, 1)]);
	(void)sqlite3_finalize(row);
	for (int h = 0; h < M_HOSTS; h++)
		for (int s = 0; s < M_SERVICES; s++)
			known += r->m.hosts[h].known[s];
	number_is(r, "hosts", "number", n, known);
}

/* --- the run ------------------------------------------------------------- */

static void
do_step(struct run *r)
{
	static const struct {
		int per_mille;
		void (*step)(struct run *r);
	} steps[] = { { 270, step_request }, { 320, step_heartbeat },
		{ 341, step_completion }, { 35, step_overdue },
		{ 10, step_silence }, { 10, step_setting },
		{ 12, step_restart }, { 2, step_housekeeping } };
	int at = below(r, 1000);

	r->trace[r->m.step % TRACED][0] = '\0';
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		if (at < steps[i].per_mille) {
			steps[i].step(r);
			return;
		}
		at -= steps[i].per_mille;
	}
}

static int64_t
number_of(const char *variable, int64_t fallback)
{
	const char *text = getenv(variable);
	int64_t value = fallback;

	if (text && *text)
		ck_assert_msg(field_integer_text(text, &value) && value > 0,
		    "%s must be a number, not %s", variable, text);
	return value;
}

static void
begin(struct run *r)
{
	memset(r, 0, sizeof *r);
	r->seed = r->random =
	    (uint64_t)number_of("CONSPECT_MODEL_SEED", 20261201);
	r->m.hosts_max = REQUEST_HOSTS_MAX;
	r->base_ms = clock_now_ms() - 3600 * 1000;
	/* half of the time would go to giving memory back and taking it */
	(void)mallopt(M_TRIM_THRESHOLD, 1 << 28);
	(void)mallopt(M_TOP_PAD, 1 << 24);
	/* durability is not what is tested here */
	if (access("/dev/shm", W_OK | X_OK) == 0)
		(void)setenv("TMPDIR", "/dev/shm", 1);
	box_open(&r->box);
	ck_assert_int_eq(
	    setting_set(r->box.store, SETTING_KEEP_COMMANDS, KEEP), 0);
	r->date = look(r,
	    "UPDATE ProfilingCommands SET ended_at = ? WHERE command_id = ?");
}

START_TEST(the_store_does_what_the_rules_say)
{
	static struct run r;
	long steps = (long)number_of("CONSPECT_MODEL_STEPS", STEPS);

	begin(&r);
	for (; r.m.step < steps; r.m.step++) {
		do_step(&r);
		if (r.m.step % COMPARE_EVERY == 0 || r.m.step == steps - 1) {
			compare_commands(&r);
			compare_requests(&r);
			compare_hosts(&r);
		}
	}
	(void)printf("# %ld steps with the seed %" PRIu64 "\n", steps, r.seed);
	(void)sqlite3_finalize(r.date);
	box_close(&r.box);
	m_free(&r.m);
}
END_TEST

HARNESS_MAIN("model", the_store_does_what_the_rules_say)
