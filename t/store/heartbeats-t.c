/* Heartbeats: what is handed out, when again, and how states go on. */
#include "store/store.h"

#include "store-helper.h"

#define ADHOC                                                                 \
	"{'command_type':'start','duration':60,'frequency':11,"               \
	"'continuous':false,'profiling_mode':'cpu'}"
#define CONTINUOUS                                                            \
	"{'command_type':'start','duration':60,'frequency':11,"               \
	"'continuous':true,'profiling_mode':'cpu'}"
#define HOST "{'stop_level':'host'}"
#define START START_HOSTS "{'h':null}"

START_TEST(a_heartbeat_is_noted)
{
	struct box box;
	struct offer offer;

	box_open(&box);
	beat(&box, "h",
	    ",'timestamp':'2026-01-02T03:04:05+02:00','agent_id':'a',"
	    "'boot_id':'b','agent_version':'1.0','arch':'x86_64'",
	    &offer);
	ck_assert_str_eq(offer.command_id, "");
	ck_assert_ptr_null(offer.command_type);
	offer_free(&offer);
	rows_are(&box,
	    "SELECT hostname, service_name, ip_address, status,"
	    " heartbeat_timestamp, remote_address, agent_id, boot_id,"
	    " agent_version, arch FROM HostHeartbeats",
	    "h|s|127.0.0.1|active|2026-01-02T01:04:05.000Z|192.0.2.7|a|b|"
	    "1.0|x86_64");
	/* seen by our clock, whatever the agent's says */
	rows_are(&box,
	    "SELECT abs(julianday('now') - julianday(last_seen)) < 0.001,"
	    " last_seen = first_seen FROM HostHeartbeats",
	    "1|1");
	box_close(&box);
}
END_TEST

START_TEST(the_next_heartbeat_is_the_same_row)
{
	struct box box;

	box_open(&box);
	(void)given(&box, ",'arch':'x86_64'", "", "");
	box_run(&box, "UPDATE HostHeartbeats SET"
		      " first_seen = '2020-01-01T00:00:00.000Z',"
		      " last_seen = '2020-01-01T00:00:00.000Z'");
	(void)given(&box, ",'status':'idle'", "", "");
	rows_are(&box,
	    "SELECT status, first_seen, last_seen > '2020-01-02', arch"
	    " FROM HostHeartbeats",
	    "idle|2020-01-01T00:00:00.000Z|1|null");
	box_close(&box);
}
END_TEST

START_TEST(stop_comes_first_then_ad_hoc_then_continuous)
{
	struct box box;
	char id[UUID_TEXT];

	box_open(&box);
	(void)asked(&box, STOP_HOST);
	(void)asked(&box, START ",'continuous':true");
	(void)asked(&box, START);
	strcpy(id, given(&box, "", "stop", HOST));
	strcpy(id, given_after(&box, id, "start", ADHOC));
	strcpy(id, given_after(&box, id, "start", CONTINUOUS));
	(void)given_after(&box, id, "", "");
	commands_are(
	    &box, "accepted stop, accepted continuous, accepted adhoc");
	box_close(&box);
}
END_TEST

START_TEST(the_oldest_of_a_kind_comes_first)
{
	struct box box;
	char first[UUID_TEXT], second[UUID_TEXT];

	box_open(&box);
	strcpy(first, asked(&box, START));
	ck_assert_str_eq(given(&box, "", "start", ADHOC), first);
	strcpy(second, asked(&box, START));
	ck_assert_str_eq(given(&box, "", "start", ADHOC), first);
	ck_assert_str_eq(given_after(&box, first, "start", ADHOC), second);
	box_close(&box);
}
END_TEST

START_TEST(a_command_comes_again_after_a_lost_reply)
{
	struct box box;
	char id[UUID_TEXT], *sent;

	box_open(&box);
	(void)asked(&box, START);
	strcpy(id, given(&box, "", "start", ADHOC));
	sent = rows_of(&box, "SELECT sent_at FROM ProfilingCommands");
	for (int i = 0; i < 3; i++)
		ck_assert_str_eq(given(&box, "", "start", ADHOC), id);
	rows_are(&box, "SELECT sent_at FROM ProfilingCommands", sent);
	commands_are(&box, "sent adhoc");
	free(sent);
	box_close(&box);
}
END_TEST

START_TEST(a_command_that_is_shown_is_not_offered_again)
{
	static const char *const before[] = { ",'last_command_id':'",
		",'received_command_ids':['", ",'executed_command_ids':['",
		",'commands':[{'state':'accepted','command_id':'" };
	static const char *const after[] = { "'", "']", "']", "'}]" };

	for (int i = 0; i < 4; i++) {
		struct box box;
		const char *id;
		char *more;

		box_open(&box);
		(void)asked(&box, START);
		id = given(&box, "", "start", ADHOC);
		more = mem_fmt("%s%s%s", before[i], id, after[i]);
		(void)given(&box, more, "", "");
		commands_are(&box, "accepted adhoc");
		/* nor when the agent no longer shows it */
		(void)given(&box, "", "", "");
		rows_are(&box,
		    "SELECT accepted_at >= sent_at, ended_at"
		    " FROM ProfilingCommands",
		    "1|null");
		free(more);
		box_close(&box);
	}
}
END_TEST

START_TEST(states_only_go_forward)
{
	static const struct {
		const char *shown, *state;
	} list[] = { { "installing", "installing adhoc" },
		{ "accepted", "installing adhoc" },
		{ "running", "running adhoc" },
		{ "installing", "running adhoc" },
		{ "accepted", "running adhoc" },
		{ "running", "running adhoc" } };
	struct box box;
	char id[UUID_TEXT];

	box_open(&box);
	(void)asked(&box, START);
	strcpy(id, given(&box, "", "start", ADHOC));
	for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
		shows_state(&box, id, list[i].shown);
		commands_are(&box, list[i].state);
	}
	rows_are(&box,
	    "SELECT status, hostname, completed_at FROM ProfilingExecutions",
	    "running|h|null");
	box_close(&box);
}
END_TEST

START_TEST(what_was_never_handed_out_cannot_be_shown)
{
	struct box box;
	char id[UUID_TEXT];

	box_open(&box);
	strcpy(id, asked(&box, START));
	shows_state(&box, id, "running");
	commands_are(&box, "sent adhoc");
	box_close(&box);
}
END_TEST

START_TEST(another_host_cannot_show_a_command)
{
	struct box box;
	struct offer offer;
	char *more;

	box_open(&box);
	(void)asked(&box, START);
	more = mem_fmt(
	    ",'last_command_id':'%s'", given(&box, "", "start", ADHOC));
	beat(&box, "liar", more, &offer);
	ck_assert_str_eq(offer.command_id, "");
	commands_are(&box, "sent adhoc");
	offer_free(&offer);
	free(more);
	box_close(&box);
}
END_TEST

#define PAST "'2020-01-01T00:00:00.000Z'"

START_TEST(an_expired_command_is_not_offered)
{
	struct box box;

	box_open(&box);
	(void)asked(&box, START);
	box_run(&box, "UPDATE ProfilingCommands SET expires_at = " PAST);
	(void)given(&box, "", "", "");
	commands_are(&box, "expired adhoc");
	rows_are(&box,
	    "SELECT reason, ended_at IS NOT NULL FROM ProfilingCommands",
	    "the host did not take it in time|1");
	rows_are(&box, "SELECT status FROM ProfilingRequests", "cancelled");
	(void)given(&box, "", "", "");
	/* and a new one is not merged into it */
	(void)asked(&box, START);
	(void)given(&box, "", "start", ADHOC);
	commands_are(&box, "expired adhoc, sent adhoc");
	box_close(&box);
}
END_TEST

START_TEST(expiry_does_not_end_what_the_agent_has)
{
	struct box box;
	char id[UUID_TEXT];

	box_open(&box);
	(void)asked(&box, START);
	strcpy(id, given(&box, "", "start", ADHOC));
	box_run(&box, "UPDATE ProfilingCommands SET expires_at = " PAST);
	shows_state(&box, id, "accepted");
	commands_are(&box, "accepted adhoc");
	(void)given(&box, "", "", "");
	commands_are(&box, "accepted adhoc");
	box_close(&box);
}
END_TEST

START_TEST(one_that_was_sent_and_never_taken_expires)
{
	struct box box;

	box_open(&box);
	(void)asked(&box, START);
	(void)given(&box, "", "start", ADHOC);
	box_run(&box, "UPDATE ProfilingCommands SET expires_at = " PAST);
	(void)given(&box, "", "", "");
	commands_are(&box, "expired adhoc");
	box_close(&box);
}
END_TEST

START_TEST(an_expired_one_does_not_hide_the_next)
{
	struct box box;

	box_open(&box);
	(void)asked(&box, STOP_HOST);
	(void)asked(&box, START);
	box_run(&box, "UPDATE ProfilingCommands SET expires_at = " PAST
		      " WHERE kind = 'stop'");
	(void)given(&box, "", "start", ADHOC);
	commands_are(&box, "expired stop, sent adhoc");
	box_close(&box);
}
END_TEST

START_TEST(a_finished_command_is_not_offered)
{
	static const char *const ends[] = { "completed", "failed", "stopped" };

	for (int i = 0; i < 3; i++) {
		struct box box;
		char id[UUID_TEXT];

		box_open(&box);
		(void)asked(&box, START);
		strcpy(id, given(&box, "", "start", ADHOC));
		ck_assert_int_eq(done(&box, id, ends[i]), REFUSAL_NONE);
		(void)given(&box, "", "", "");
		(void)given_after(&box, id, "", "");
		shows_state(&box, id, "running");
		rows_are(
		    &box, "SELECT status FROM ProfilingCommands", ends[i]);
		box_close(&box);
	}
}
END_TEST

START_TEST(a_host_that_serves_two_services_has_two_rows)
{
	struct box box;

	box_open(&box);
	(void)asked(&box, START);
	(void)given(&box, ",'service_name':'t'", "", "");
	(void)given(&box, "", "start", ADHOC);
	rows_are(&box,
	    "SELECT service_name FROM HostHeartbeats ORDER BY service_name",
	    "s\nt");
	box_close(&box);
}
END_TEST

/* --- hosts, as they are read --------------------------------------------- */

static bool
add_host(void *context, const struct host *host)
{
	buf_fmt(context, "%s %s %s %s %s\n", host->hostname,
	    host->active ? "active" : "silent",
	    host->command_status ? host->command_status : "-",
	    host->command_type ? host->command_type : "-",
	    host->stoppable ? "stoppable" : "idle");
	return true;
}

START_TEST(hosts_are_read_with_their_newest_command)
{
	struct buf lines = BUF_INIT(10000);
	struct box box;

	box_open(&box);
	(void)given(&box, ",'timestamp':1000", "", "");
	(void)given(&box, ",'hostname':'g','timestamp':2000", "", "");
	box_run(&box, "UPDATE HostHeartbeats SET last_seen = " PAST
		      " WHERE hostname = 'g'");
	ck_assert_int_eq(
	    host_each(box.store, HOSTS_NEWEST_FIRST, add_host, &lines), 0);
	ck_assert_str_eq(
	    buf_text(&lines), "g silent - - idle\nh active - - idle\n");
	(void)asked(&box, START_HOSTS "{'H':null}");
	(void)asked(&box, START ",'continuous':true");
	buf_clear(&lines);
	ck_assert_int_eq(host_by_id(box.store, 1, add_host, &lines), 0);
	ck_assert_str_eq(
	    buf_text(&lines), "h active pending start stoppable\n");
	ck_assert_int_eq(
	    host_by_id(box.store, 99, add_host, &lines), STORE_NOT_FOUND);
	buf_free(&lines);
	box_close(&box);
}
END_TEST

/* --- what our agent says of its host ------------------------------------- */

#define FOUND(text)                                                           \
	",'preflight':[{'check':'pmu','outcome':'problem','text':'" text "'}" \
	"]"

static void
findings_are(struct box *box, const char *expected)
{
	rows_are(box, "SELECT preflight ->> '$[0].text' FROM HostHeartbeats",
	    expected);
}

START_TEST(findings_stay_until_the_agent_has_others)
{
	struct box box;

	box_open(&box);
	(void)given(&box, ",'agent_id':'a'", "", "");
	findings_are(&box, "null");
	(void)given(&box, ",'agent_id':'a'" FOUND("none"), "", "");
	rows_are(&box, "SELECT preflight FROM HostHeartbeats",
	    "[{\"check\":\"pmu\",\"outcome\":\"problem\","
	    "\"text\":\"none\"}]");
	(void)given(&box, ",'agent_id':'a'", "", "");
	findings_are(&box, "none");
	(void)given(&box, ",'agent_id':'a'" FOUND("busy"), "", "");
	findings_are(&box, "busy");
	(void)given(&box, ",'agent_id':'a','preflight':[]", "", "");
	rows_are(&box, "SELECT preflight FROM HostHeartbeats", "[]");
	/* another agent knows nothing of them */
	(void)given(&box, ",'agent_id':'a'" FOUND("busy"), "", "");
	(void)given(&box, ",'agent_id':'b'", "", "");
	findings_are(&box, "null");
	(void)given(&box, FOUND("busy"), "", "");
	(void)given(&box, "", "", "");
	findings_are(&box, "null");
	box_close(&box);
}
END_TEST

static void
host_is(struct box *box, const char *expected)
{
	struct buf line = BUF_INIT(1000);

	ck_assert_int_eq(host_by_id(box->store, 1, add_host, &line), 0);
	ck_assert_str_eq(buf_text(&line), expected);
	buf_free(&line);
}

START_TEST(a_host_that_goes_offline_is_given_nothing)
{
	struct box box;

	box_open(&box);
	(void)given(&box, "", "", "");
	host_is(&box, "h active - - idle\n");
	(void)asked(&box, START);
	(void)given(&box, ",'status':'offline'", "", "");
	commands_are(&box, "pending adhoc");
	host_is(&box, "h silent pending start stoppable\n");
	/* a start for all active hosts is not for it */
	(void)asked(&box, "'request_type':'start','continuous':true");
	commands_are(&box, "pending adhoc");
	(void)given(&box, ",'status':'idle'", "start", ADHOC);
	host_is(&box, "h active sent start stoppable\n");
	(void)asked(&box, "'request_type':'start','continuous':true");
	commands_are(&box, "sent adhoc, pending continuous");
	box_close(&box);
}
END_TEST

HARNESS_MAIN("heartbeats", a_heartbeat_is_noted,
    the_next_heartbeat_is_the_same_row,
    stop_comes_first_then_ad_hoc_then_continuous,
    the_oldest_of_a_kind_comes_first, a_command_comes_again_after_a_lost_reply,
    a_command_that_is_shown_is_not_offered_again, states_only_go_forward,
    what_was_never_handed_out_cannot_be_shown,
    another_host_cannot_show_a_command, an_expired_command_is_not_offered,
    expiry_does_not_end_what_the_agent_has,
    one_that_was_sent_and_never_taken_expires,
    an_expired_one_does_not_hide_the_next, a_finished_command_is_not_offered,
    a_host_that_serves_two_services_has_two_rows,
    hosts_are_read_with_their_newest_command,
    findings_stay_until_the_agent_has_others,
    a_host_that_goes_offline_is_given_nothing)
