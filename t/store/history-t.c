/*
 * History: what was asked, by whom, and what became of it; and hosts whose
 * name two agents use.
 */
#include "store/history.h"

#include "store-helper.h"

#define NONE "00000000-0000-4000-8000-000000000000"

/* --- requests and commands ----------------------------------------------- */

static bool
note_request(void *context, const struct request_record *r)
{
	buf_fmt(context, "%s %s %s by %s from %s: %d/%d/%d/%d/%d\n",
	    r->request_type, r->target_hostnames, r->status,
	    r->created_by ? r->created_by : "-",
	    r->created_from ? r->created_from : "-", (int)r->n_commands,
	    (int)r->n_waiting, (int)r->n_open, (int)r->n_failed,
	    (int)r->n_done);
	return true;
}

static bool
note_command(void *context, const struct command_record *c)
{
	buf_fmt(context, "%s %s %s %s%s%s%s%s\n", c->hostname, c->kind,
	    c->status, c->reason ? c->reason : "-", c->sent_at ? " sent" : "",
	    c->accepted_at ? " accepted" : "", c->started_at ? " started" : "",
	    c->ended_at ? " ended" : "");
	return true;
}

static bool
only_one(void *context, const struct request_record *r)
{
	(void)note_request(context, r);
	return false;
}

static bool
only_one_command(void *context, const struct command_record *c)
{
	(void)note_command(context, c);
	return false;
}

static void
text_is(struct buf *text, const char *expected)
{
	ck_assert_str_eq(buf_text(text), expected);
	buf_clear(text);
}

/* The requests that a filter finds, in their order. */
static void
list_is(struct box *box, struct request_filter filter, int64_t total,
    const char *expected)
{
	struct buf text = BUF_INIT(10000);
	int64_t n = -1;

	if (!filter.limit)
		filter.limit = 100;
	ck_assert_int_eq(
	    request_list(box->store, &filter, note_request, &text, &n), 0);
	ck_assert_str_eq(buf_text(&text), expected);
	ck_assert_int_eq(n, total);
	buf_free(&text);
}

#define A "start [\"a\",\"h\"] pending by alice from 192.0.2.1: 2/2/0/0/0\n"
#define STOP "stop [\"h\"] pending by alice from 192.0.2.1: 1/1/0/0/0\n"

START_TEST(requests_are_listed_newest_first)
{
	struct box box;

	box_open(&box);
	list_is(&box, (struct request_filter) { 0 }, 0, "");
	(void)asked(&box, START_HOSTS "{'a':null,'h':null}");
	list_is(&box, (struct request_filter) { 0 }, 1, A);
	(void)asked(&box, STOP_HOST);
	rows_are(&box,
	    "SELECT n_commands, n_waiting, status FROM ProfilingRequests"
	    " ORDER BY id",
	    "2|1|assigned\n1|1|pending");
	list_is(
	    &box, (struct request_filter) { .request_type = "stop" }, 1, STOP);
	list_is(&box, (struct request_filter) { .limit = 1 }, 2, STOP);
	list_is(&box, (struct request_filter) { .offset = 2 }, 2, "");
	list_is(&box, (struct request_filter) { .service_name = "t" }, 0, "");
	list_is(&box,
	    (struct request_filter) {
		.service_name = "s", .status = "pending" },
	    1, STOP);
	list_is(&box, (struct request_filter) { .created_by = "ALICE" }, 2,
	    STOP "start [\"a\",\"h\"] assigned by alice from 192.0.2.1:"
		 " 2/1/0/0/0\n");
	list_is(&box, (struct request_filter) { .created_by = "bob" }, 0, "");
	list_is(&box, (struct request_filter) { .hostname = "A" }, 1,
	    "start [\"a\",\"h\"] assigned by alice from 192.0.2.1:"
	    " 2/1/0/0/0\n");
	list_is(&box, (struct request_filter) { .hostname = "%" }, 0, "");
	box_close(&box);
}
END_TEST

START_TEST(a_request_waits_until_its_last_host_may_take_it)
{
	char until[CLOCK_TEXT] = "", *id;
	struct box box;

	box_open(&box);
	ck_assert_int_eq(
	    request_waits_until(box.store, NONE, until), STORE_NOT_FOUND);
	(void)asked(&box, START_HOSTS "{'a':null,'h':null}");
	id = rows_of(&box, "SELECT request_id FROM ProfilingRequests");
	box_run(&box, "UPDATE ProfilingCommands SET expires_at ="
		      " '2099-12-01T18:00:00.000Z' WHERE hostname = 'a'");
	box_run(&box, "UPDATE ProfilingCommands SET expires_at ="
		      " '2099-12-01T17:00:00.000Z' WHERE hostname = 'h'");
	ck_assert_int_eq(request_waits_until(box.store, id, until), 0);
	ck_assert_str_eq(until, "2099-12-01T18:00:00.000Z");
	/* one that has taken it waits no more */
	box_run(&box, "UPDATE ProfilingCommands SET status = 'accepted'"
		      " WHERE hostname = 'a'");
	ck_assert_int_eq(request_waits_until(box.store, id, until), 0);
	ck_assert_str_eq(until, "2099-12-01T17:00:00.000Z");
	free(id);
	box_close(&box);
}
END_TEST

START_TEST(a_visitor_may_end_it)
{
	struct request_filter all = { .limit = 100 };
	struct buf text = BUF_INIT(10000);
	struct box box;
	int64_t n;

	box_open(&box);
	(void)asked(&box, START_HOSTS "{'a':null,'h':null}");
	(void)asked(&box, STOP_HOST);
	ck_assert_int_eq(
	    request_list(box.store, &all, only_one, &text, &n), 0);
	ck_assert_int_eq(n, 2);
	text_is(&text, STOP);
	ck_assert_int_eq(
	    commands_of_host(box.store, "H", 10, only_one_command, &text), 0);
	text_is(&text, "h stop pending -\n");
	buf_free(&text);
	box_close(&box);
}
END_TEST

START_TEST(what_is_unknown_is_not_found)
{
	struct buf text = BUF_INIT(10000);
	struct box box;

	box_open(&box);
	ck_assert_int_eq(request_by_id(box.store, NONE, note_request, &text),
	    STORE_NOT_FOUND);
	ck_assert_int_eq(command_by_id(box.store, NONE, note_command, &text),
	    STORE_NOT_FOUND);
	ck_assert_int_eq(
	    requests_of_command(box.store, NONE, note_request, &text), 0);
	ck_assert_int_eq(
	    commands_of_request(box.store, NONE, note_command, &text), 0);
	ck_assert_int_eq(
	    commands_of_host(box.store, "h", 10, note_command, &text), 0);
	text_is(&text, "");
	buf_free(&text);
	box_close(&box);
}
END_TEST

/* A command's way, with its requests: the second merged into it. */
START_TEST(a_command_is_followed_to_its_end)
{
	struct buf text = BUF_INIT(10000);
	struct submission first;
	struct offer offer;
	struct box box;
	const char *id;

	box_open(&box);
	ck_assert_int_eq(submit(&box, START_HOSTS "{'h':[1]}", &first), 0);
	id = first.command_ids[0];
	(void)asked(&box, START_HOSTS "{'H':[2]}");
	beat(&box, "h", "", &offer);
	offer_free(&offer);
	shows_state(&box, id, "running");
	ck_assert_int_eq(
	    done_with(&box, id, "h", "failed",
		",'error_message':'no perf','exit_status':3", NULL),
	    REFUSAL_NONE);
	ck_assert_int_eq(command_by_id(box.store, id, note_command, &text), 0);
	text_is(&text, "h adhoc failed no perf sent accepted started ended\n");
	ck_assert_int_eq(
	    requests_of_command(box.store, id, note_request, &text), 0);
	text_is(&text,
	    "start [\"h\"] failed by alice from 192.0.2.1: 1/0/0/1/0\n"
	    "start [\"H\"] failed by alice from 192.0.2.1: 1/0/0/1/0\n");
	ck_assert_int_eq(commands_of_request(
			     box.store, first.request_id, note_command, &text),
	    0);
	text_is(&text, "h adhoc failed no perf sent accepted started ended\n");
	ck_assert_int_eq(
	    request_by_id(box.store, first.request_id, note_request, &text),
	    0);
	text_is(&text,
	    "start [\"h\"] failed by alice from 192.0.2.1: 1/0/0/1/0\n");
	submission_free(&first);
	buf_free(&text);
	box_close(&box);
}
END_TEST

/* --- hosts --------------------------------------------------------------- */

struct seen {
	bool conflict, ever;
	int64_t skew_ms;
};

static bool
note_host(void *context, const struct host *host)
{
	struct seen *seen = context;

	seen->conflict = host->conflict;
	seen->ever = host->conflict_at != NULL;
	seen->skew_ms = host->clock_skew_ms;
	return true;
}

static struct seen
host_after(struct box *box, const char *more)
{
	struct seen seen = { false, false, 0 };
	struct offer offer;

	if (more) {
		beat(box, "h", more, &offer);
		offer_free(&offer);
	}
	ck_assert_int_eq(host_by_name(box->store, "H", note_host, &seen), 0);
	return seen;
}

#define AGENT(id) ",'agent_id':'" id "'"

START_TEST(two_agents_that_take_turns_are_a_conflict)
{
	struct box box;

	box_open(&box);
	ck_assert(!host_after(&box, AGENT("A")).conflict);
	ck_assert(!host_after(&box, AGENT("A")).conflict);
	ck_assert(!host_after(&box, AGENT("B")).conflict);
	ck_assert(host_after(&box, AGENT("A")).conflict);
	ck_assert(host_after(&box, AGENT("A")).conflict);
	ck_assert(host_after(&box, AGENT("B")).conflict);
	/* one of them is gone */
	box_run(&box, "UPDATE HostHeartbeats SET conflict_at ="
		      " '2001-01-01T00:00:00.000Z'");
	ck_assert(!host_after(&box, AGENT("B")).conflict);
	ck_assert(host_after(&box, NULL).ever);
	box_close(&box);
}
END_TEST

START_TEST(a_reinstalled_agent_is_none)
{
	struct box box;

	box_open(&box);
	(void)host_after(&box, AGENT("A"));
	(void)host_after(&box, AGENT("B"));
	ck_assert(!host_after(&box, AGENT("B")).ever);
	(void)host_after(&box, AGENT("C"));
	ck_assert(!host_after(&box, AGENT("C")).ever);
	box_close(&box);
}
END_TEST

/* The original's agent has no id: nothing can be said about it. */
START_TEST(agents_without_an_id_are_none)
{
	struct box box;

	box_open(&box);
	(void)host_after(&box, "");
	(void)host_after(&box, AGENT("A"));
	(void)host_after(&box, "");
	ck_assert(!host_after(&box, AGENT("A")).ever);
	box_close(&box);
}
END_TEST

START_TEST(the_clock_skew_is_kept)
{
	char text[CLOCK_TEXT];
	struct seen seen;
	struct box box;
	char *more;

	box_open(&box);
	ck_assert_int_eq(host_after(&box, "").skew_ms, FIELD_NULL);
	clock_format(clock_now_ms() - 600000, text);
	more = mem_fmt(",'timestamp':'%s'", text);
	seen = host_after(&box, more);
	free(more);
	ck_assert_int_le(seen.skew_ms, -600000);
	ck_assert_int_ge(seen.skew_ms, -660000);
	/* last seen is by our clock */
	rows_are(&box,
	    "SELECT abs(julianday(last_seen) - julianday('now')) < 0.001"
	    " FROM HostHeartbeats",
	    "1");
	box_close(&box);
}
END_TEST

HARNESS_MAIN("history", requests_are_listed_newest_first,
    a_request_waits_until_its_last_host_may_take_it, a_visitor_may_end_it,
    what_is_unknown_is_not_found, a_command_is_followed_to_its_end,
    two_agents_that_take_turns_are_a_conflict, a_reinstalled_agent_is_none,
    agents_without_an_id_are_none, the_clock_skew_is_kept)
