/* The hosts' page: the panel and the table. */
#include "web/console.h"

#include "core/clock.h"
#include "core/mem.h"
#include "store/history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the page knows while it writes the rows. */
struct table {
	struct web_reply *reply;
	const struct params *form; /* what was sent */
	int64_t *ticked;           /* owned: ids of hosts, sorted */
	size_t n_ticked;
	int64_t now_ms;
	size_t n_hosts, n_active;
};

/* --- a row --------------------------------------------------------------- */

static int
compare_ids(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Collects the ids that the form has, sorted: a fleet may be ticked. */
static void
read_ticks(struct table *t)
{
	t->ticked = mem_alloc(t->form->n, sizeof *t->ticked);
	for (size_t i = 0; i < t->form->n; i++)
		if (strcmp(t->form->list[i].name, "host") == 0 &&
		    field_integer_text(
			t->form->list[i].value, &t->ticked[t->n_ticked]))
			t->n_ticked++;
	qsort(t->ticked, t->n_ticked, sizeof *t->ticked, compare_ids);
}

static bool
is_ticked(const struct table *t, int64_t id)
{
	return t->n_ticked > 0 && bsearch(&id, t->ticked, t->n_ticked,
				      sizeof *t->ticked, compare_ids) != NULL;
}

/* "42 s", "5 min", "3 h", "12 d": enough to see who is silent. */
static void
write_ago(struct buf *b, int64_t ms)
{
	static const struct {
		int64_t ms;
		const char *unit;
	} units[] = { { 24 * 3600 * 1000, "d" }, { 3600 * 1000, "h" },
		{ 60 * 1000, "min" }, { 1000, "s" } };

	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (ms >= 2 * units[i].ms || units[i].ms == 1000) {
			html_int(b, ms > 0 ? ms / units[i].ms : 0);
			html_raw(b, " ");
			html_text(b, units[i].unit);
			return;
		}
}

static void
write_time(struct table *t, const char *when)
{
	struct buf *b = &t->reply->body;
	int64_t ms;

	if (!when || !clock_parse(when, &ms))
		return;
	html_raw(b, "<time");
	html_attr(b, "datetime", when);
	html_attr(b, "title", when);
	html_raw(b, ">");
	write_ago(b, t->now_ms - ms);
	html_raw(b, " ago</time>");
}

/* What a state means to someone who waits for it. */
static const char *
state_hint(const struct host *host)
{
	static const char *const hints[] = {
		[COMMAND_PENDING] = "waits for the host's next heartbeat",
		[COMMAND_SENT] = "handed to the host",
		[COMMAND_ACCEPTED] = "taken by the host",
		[COMMAND_INSTALLING] = "installs PerfSpect",
		[COMMAND_RUNNING] = "profiles",
		[COMMAND_EXPIRED] = NULL,
	};
	int state = command_state_of(host->command_status);

	if (host->reason)
		return host->reason;
	return state >= 0 && state <= COMMAND_EXPIRED ? hints[state] : NULL;
}

static void
write_state(struct table *t, const struct host *host)
{
	struct buf *b = &t->reply->body;
	const char *hint;

	if (!host->command_id) {
		html_raw(b, "<span class=\"state idle\">idle</span>");
		return;
	}
	html_raw(b, "<span class=\"state ");
	html_text(b, host->command_status);
	html_raw(b, "\">");
	html_text(b, host->command_status);
	html_raw(b, "</span>");
	if (host->execution_time != FIELD_NULL) {
		html_raw(b, " <span class=\"seconds\">");
		html_int(b, host->execution_time);
		html_raw(b, " s</span>");
	}
	hint = state_hint(host);
	if (hint) {
		html_raw(b, "<span class=\"why\">");
		html_text(b, hint);
		html_raw(b, "</span>");
	}
}

static void
write_member(struct buf *b, struct json_object *config, const char *key,
    const char *unit)
{
	struct json_object *value = json_member(config, key);

	if (!value)
		return;
	html_raw(b, " · ");
	html_text(b, json_object_get_string(value));
	html_text(b, unit);
}

static void
write_command(struct table *t, const struct host *host)
{
	struct buf *b = &t->reply->body;
	struct json_object *config =
	    host->combined_config ? json_tokener_parse(host->combined_config)
				  : NULL;

	if (!config)
		return;
	if (strcmp(host->command_type, "stop") == 0) {
		html_raw(b, "stop");
	} else {
		html_text(b, json_member_bool(config, "continuous", false)
				 ? "continuous"
				 : "once");
		write_member(b, config, "duration", " s");
		write_member(b, config, "frequency", " Hz");
		write_member(b, config, "profiling_mode", "");
	}
	if (json_member_bool(config, "enable_perfspect", false)) {
		html_raw(b, "<span class=\"why\">with PerfSpect");
		html_text(b, host->perfspect_version ? " " : "");
		html_text(b, host->perfspect_version);
		html_raw(b, "</span>");
	}
	json_object_put(config);
}

static void
write_tick(struct table *t, const struct host *host)
{
	struct buf *b = &t->reply->body;

	html_raw(b, "<td class=\"tick\"><input type=\"checkbox\" "
		    "name=\"host\" autocomplete=\"off\"");
	html_attr_int(b, "value", host->id);
	html_attr(b, "aria-label", host->hostname);
	if (is_ticked(t, host->id))
		html_raw(b, " checked");
	html_raw(b, "></td>");
}

/* A clock that is off by less does not mislead anyone. */
#define SKEW_SHOWN_MS (60 * 1000)

/* What is odd about the host's agent: another one with its name, a clock
 * that is off. */
static void
write_oddities(struct table *t, const struct host *host)
{
	struct buf *b = &t->reply->body;
	int64_t skew = host->clock_skew_ms;

	if (host->conflict)
		html_raw(b, "<span class=\"why odd\">two agents report "
			    "with this name</span>");
	if (skew != FIELD_NULL &&
	    (skew >= SKEW_SHOWN_MS || skew <= -SKEW_SHOWN_MS)) {
		html_raw(b, "<span class=\"why odd\">its clock is ");
		write_ago(b, skew < 0 ? -skew : skew);
		html_text(b, skew < 0 ? " behind" : " ahead");
		html_raw(b, "</span>");
	}
}

/* --- what the agent found out -------------------------------------------- */

/* The text of the first finding with an outcome, or NULL. */
static const char *
first_finding(struct json_object *findings, const char *outcome)
{
	for (size_t i = 0; i < json_object_array_length(findings); i++) {
		struct json_object *one =
		    json_object_array_get_idx(findings, i);

		if (strcmp(json_member_text(one, "outcome"), outcome) == 0)
			return json_member_text(one, "text");
	}
	return NULL;
}

static void
write_findings(struct buf *b, struct json_object *findings)
{
	html_raw(b, "<ul>");
	for (size_t i = 0; i < json_object_array_length(findings); i++) {
		struct json_object *one =
		    json_object_array_get_idx(findings, i);

		html_raw(b, "<li");
		html_attr(b, "class", json_member_text(one, "outcome"));
		html_raw(b, "><b>");
		html_text(b, json_member_text(one, "check"));
		html_raw(b, "</b> ");
		html_text(b, json_member_text(one, "text"));
		html_raw(b, "</li>");
	}
	html_raw(b, "</ul>");
}

/* One line that says whether hardware metrics are possible: what rules them
 * out, else the worst finding, else «ready».  The others unfold. */
static void
write_preflight(struct table *t, const struct host *host)
{
	struct buf *b = &t->reply->body;
	struct json_object *findings =
	    host->preflight ? json_tokener_parse(host->preflight) : NULL;
	const char *problem, *warning;

	if (!findings)
		return;
	problem =
	    host->lacking ? host->lacking : first_finding(findings, "problem");
	warning = first_finding(findings, "warning");
	html_raw(b, "<details><summary");
	html_attr(b, "class",
	    host->lacking ? "lacking"
	    : problem     ? "problem"
	    : warning     ? "warning"
			  : "ok");
	html_raw(b, ">");
	html_text(b, problem ? problem : warning ? warning : "ready");
	html_raw(b, "</summary>");
	write_findings(b, findings);
	html_raw(b, "</details>");
	json_object_put(findings);
}

/* What the style sheet tells rows apart by. */
static void
write_row_class(struct buf *b, const struct host *host)
{
	html_raw(b, "<tr class=\"");
	html_text(b, !host->active     ? "silent"
		     : host->stoppable ? "stoppable"
				       : "");
	html_text(b, host->lacking ? " lacking" : "");
	html_raw(b, "\">");
}

/* --- all of it ----------------------------------------------------------- */

static bool
write_row(void *context, const struct host *host)
{
	struct table *t = context;
	struct buf *b = &t->reply->body;

	t->n_hosts++;
	t->n_active += host->active;
	write_row_class(b, host);
	write_tick(t, host);
	html_raw(b, "<th scope=\"row\">");
	html_text(b, host->hostname);
	write_oddities(t, host);
	html_raw(b, "</th><td class=\"service\" data-label=\"Service\">");
	html_text(b, host->service_name);
	html_raw(b, "</td><td class=\"address\" data-label=\"Address\">");
	html_text(b, host->ip_address);
	html_raw(b, "</td><td class=\"hw\" data-label=\"HW metrics\">");
	write_preflight(t, host);
	html_raw(b, "</td><td data-label=\"State\">");
	write_state(t, host);
	html_raw(b, "</td><td class=\"command\" data-label=\"Command\">");
	write_command(t, host);
	html_raw(b, "</td><td data-label=\"Last seen\">");
	write_time(t, host->last_seen);
	html_raw(b, "</td></tr>\n");
	return true;
}

/* --- the panel ----------------------------------------------------------- */

/* A form's member as it was sent, or its default. */
static const char *
sent(const struct params *form, const char *name, const char *fallback)
{
	const char *value = params_get(form, name);

	return value ? value : fallback;
}

static void
write_number(struct table *t, const char *name, const char *label,
    const char *unit, const char *fallback)
{
	struct buf *b = &t->reply->body;

	html_raw(b, "<label class=\"field\"><span>");
	html_text(b, label);
	html_raw(b, "</span><input type=\"number\" min=\"1\" required");
	html_attr(b, "name", name);
	html_attr(b, "value", sent(t->form, name, fallback));
	html_raw(b, "><span class=\"unit\">");
	html_text(b, unit);
	html_raw(b, "</span></label>\n");
}

static void
write_modes(struct table *t)
{
	struct buf *b = &t->reply->body;
	const char *chosen = sent(t->form, "profiling_mode", "cpu");

	html_raw(b, "<label class=\"field\"><span>Mode</span>"
		    "<select name=\"profiling_mode\">");
	for (size_t i = 0; profiling_mode_names[i]; i++) {
		html_raw(b, "<option");
		if (strcmp(profiling_mode_names[i], chosen) == 0)
			html_raw(b, " selected");
		html_raw(b, ">");
		html_text(b, profiling_mode_names[i]);
		html_raw(b, "</option>");
	}
	html_raw(b, "</select></label>\n");
}

static void
write_box(struct table *t, const char *name, bool again)
{
	struct buf *b = &t->reply->body;

	html_raw(b, "<input type=\"checkbox\" value=\"on\" "
		    "autocomplete=\"off\"");
	html_attr(b, "name", name);
	html_attr(b, "id", name);
	if (again && params_get(t->form, name))
		html_raw(b, " checked");
	html_raw(b, ">");
}

/* The style sheet counts the ticked rows above and writes the numbers into
 * the buttons: hence the panel follows the table in the source. */
static void
write_panel(struct table *t, const struct web_request *request)
{
	struct buf *b = &t->reply->body;

	html_raw(b, "<div class=\"panel\">\n<div class=\"actions\">\n");
	if (request->by.user.role >= ROLE_OPERATOR)
		html_raw(b, "<button class=\"start\" name=\"action\" "
			    "value=\"start\">Start</button>\n"
			    "<button class=\"stop\" name=\"action\" "
			    "value=\"stop\">Stop</button>\n");
	html_raw(b, "<a class=\"button\"");
	page_link(request, t->reply, "href", "");
	html_raw(b, ">Refresh</a>\n</div>\n");
	if (request->by.user.role >= ROLE_OPERATOR) {
		html_raw(b, "<div class=\"option perfspect\">");
		write_box(t, "enable_perfspect", true);
		html_raw(b,
		    "<label for=\"enable_perfspect\">PerfSpect HW Metrics"
		    "</label><span class=\"tip\" tabindex=\"0\" "
		    "aria-label=\"About PerfSpect\" "
		    "aria-describedby=\"perfspect-tip\">i<span "
		    "role=\"tooltip\" id=\"perfspect-tip\">Enable Intel "
		    "PerfSpect hardware metrics collection: CPU "
		    "utilization, memory bandwidth, cache statistics and "
		    "more, beside the profile. Each host's agent installs "
		    "PerfSpect by itself.</span></span>"
		    "<span class=\"lacking\">of the selected hosts cannot "
		    "have them: see their column</span></div>\n"
		    "<div class=\"option settings\">\n");
		write_number(t, "duration", "Duration", "s", "60");
		write_number(t, "frequency", "Frequency", "Hz", "11");
		write_modes(t);
		write_box(t, "continuous", true);
		html_raw(b, "<label for=\"continuous\">until stopped</label>"
			    "\n</div>\n");
	}
	html_raw(b, "</div>\n");
}

/* --- the page ------------------------------------------------------------ */

static void
write_nobody(struct table *t)
{
	html_raw(&t->reply->body,
	    "<section class=\"card\">\n<h2>No hosts yet</h2>\n"
	    "<p>A host appears here with its agent's first heartbeat. Make a "
	    "token on this machine, copy it to the host, and start the agent "
	    "there:</p>\n<pre>conspectctl token add NAME --out agent.token\n"
	    "conspect-agentd --api-server ADDRESS --service-name SERVICE "
	    "--token-file agent.token</pre>\n</section>\n");
}

static int
write_table(struct table *t, struct web_request *request)
{
	struct buf *b = &t->reply->body;

	html_raw(b, "<table class=\"hosts\">\n<thead><tr>"
		    "<th class=\"tick\"><span class=\"unseen\">Select"
		    "</span></th>"
		    "<th>Host</th><th>Service</th><th>Address</th>"
		    "<th>HW metrics</th>"
		    "<th>State</th><th>Command</th><th>Last seen</th>"
		    "</tr></thead>\n<tbody>\n");
	if (host_each(request->store, HOSTS_BY_NAME, write_row, t) != 0)
		return -1;
	html_raw(b, "</tbody>\n</table>\n");
	return 0;
}

static void
write_counts(struct table *t)
{
	struct buf *b = &t->reply->body;

	html_raw(b, "<p class=\"counts\">");
	html_int(b, (int64_t)t->n_hosts);
	html_text(b, t->n_hosts == 1 ? " host, " : " hosts, ");
	html_int(b, (int64_t)t->n_active);
	html_raw(b, " active</p>\n");
}

void
console_show_hosts(struct web_request *request, struct web_reply *reply,
    void (*notice)(
	struct web_request *request, struct web_reply *reply, void *context),
    void *context)
{
	struct table t = { .reply = reply,
		.form = &request->form,
		.now_ms = clock_now_ms() };
	struct buf *b = &reply->body;
	size_t before;
	int result;

	page_begin(request, reply, "Hosts");
	html_raw(b, "<h1>Hosts</h1>\n");
	if (notice)
		notice(request, reply, context);
	before = b->len;
	html_raw(b, "<form class=\"fleet\" method=\"post\"");
	page_link(request, reply, "action", "");
	html_raw(b, ">\n");
	page_form_token(request, reply);
	read_ticks(&t);
	result = write_table(&t, request);
	free(t.ticked);
	if (result != 0) {
		reply_store_failure(request, reply);
		return;
	}
	if (t.n_hosts == 0) {
		buf_cut(b, before);
		write_nobody(&t);
	} else {
		write_panel(&t, request);
		html_raw(b, "</form>\n");
		write_counts(&t);
	}
	page_end(reply);
}

/* --- what was done ------------------------------------------------------- */

/* " until 18:00 UTC", with the day where it is not today. */
static void
write_until(struct buf *b, struct store *store, const char *request_id)
{
	char until[CLOCK_TEXT], now[CLOCK_TEXT], text[32];
	size_t day = sizeof "YYYY-MM-DD " - 1;

	if (request_waits_until(store, request_id, until) != 0)
		return;
	clock_format(clock_now_ms(), now);
	(void)snprintf(text, sizeof text, "%.10s %.5s", until, until + day);
	html_text(b, " until ");
	html_text(b, strncmp(until, now, day) == 0 ? text + day : text);
	html_text(b, " UTC");
}

/* "46 done, 1 under way, 3 waiting until 18:00 UTC", without what there is
 * none of. */
static void
write_progress(
    struct buf *b, struct store *store, const struct request_record *r)
{
	const struct {
		int64_t n;
		const char *what;
	} parts[] = { { r->n_done, " done" }, { r->n_failed, " failed" },
		{ r->n_open, " under way" }, { r->n_waiting, " waiting" } };
	bool first = true;

	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		if (parts[i].n == 0)
			continue;
		html_text(b, first ? " So far: " : ", ");
		html_int(b, parts[i].n);
		html_text(b, parts[i].what);
		first = false;
	}
	if (r->n_waiting)
		write_until(b, store, r->request_id);
	if (!first)
		html_raw(b, ".");
}

/* Where a start with PerfSpect goes to hosts that cannot measure. */
static void
write_lacking(struct buf *b, struct store *store, const char *id)
{
	struct reason why;
	int64_t n;

	/* the start is made: that this cannot be told is no error */
	if (hosts_lacking(store, id, &n, &why) != 0 || n == 0)
		return;
	html_raw(b, " ");
	html_int(b, n);
	html_raw(b, " of them cannot have HW metrics: ");
	html_text(b, why.text);
	html_text(b, n > 1 ? ", for one." : ".");
}

/* What a notice is of. */
struct done_notice {
	struct web_reply *reply;
	struct store *store;
};

static bool
write_done(void *context, const struct request_record *r)
{
	const struct done_notice *notice = context;
	struct web_reply *reply = notice->reply;
	struct buf *b = &reply->body;
	struct json_object *args =
	    r->additional_args ? json_tokener_parse(r->additional_args) : NULL;

	page_notice_begin(reply, NOTICE_DONE);
	html_text(b, strcmp(r->request_type, "start") == 0 ? "Start" : "Stop");
	html_raw(b, " requested for ");
	html_int(b, r->n_commands);
	html_text(b, r->n_commands == 1 ? " host" : " hosts");
	html_raw(b, " of service ");
	html_text(b, r->service_name);
	if (perfspect_enabled(args))
		html_raw(b, ", with PerfSpect HW metrics");
	html_raw(b, ". Each host takes it with its next heartbeat.");
	if (perfspect_enabled(args))
		write_lacking(b, notice->store, r->request_id);
	write_progress(b, notice->store, r);
	page_notice_end(reply);
	json_object_put(args);
	return false;
}

/* Says what the requests named in the address were. */
static void
notice_of_requests(
    struct web_request *request, struct web_reply *reply, void *context)
{
	const struct params *query = context;
	struct done_notice notice = { reply, request->store };

	for (size_t i = 0; i < query->n; i++) {
		char id[UUID_TEXT];

		/* one that is gone since is not worth an error */
		if (strcmp(query->list[i].name, "request") == 0 &&
		    uuid_parse(query->list[i].value, id))
			(void)!request_by_id(
			    request->store, id, write_done, &notice);
	}
}

void
console_hosts(struct web_request *request, struct web_reply *reply)
{
	struct params query;
	struct reason why;

	if (params_read(
		&query, request->query, strlen(request->query), &why) == 0)
		console_show_hosts(request, reply, notice_of_requests, &query);
	else
		reply_error(request, reply, 400, why.text);
	params_free(&query);
}
