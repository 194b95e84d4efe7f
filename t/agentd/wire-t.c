/* The messages: what the agent says and what it makes of the answers. */
#include "t/agentd/suite.h"

#include "agentd/pace.h"
#include "agentd/wire.h"
#include "core/buf.h"
#include "core/json.h"
#include "core/log.h"

#include <string.h>

#define ID "2F9E0C6E-1111-4111-8111-0123456789ab"
#define ID_LOWER "2f9e0c6e-1111-4111-8111-0123456789ab"
#define SERVER "http://appliance.example:8080/base"

static struct wire_reply reply;
static struct reason why;

static int
read_reply(const char *text)
{
	return wire_read_reply(text, strlen(text), SERVER, &reply, &why);
}

START_TEST(no_command_is_no_command)
{
	ck_assert_int_eq(
	    read_reply("{\"success\":true,\"message\":\"ok\","
		       "\"profiling_command\":null,\"command_id\":null}"),
	    0);
	ck_assert_ptr_null(reply.command);
	ck_assert_int_eq(reply.interval, 0);
	ck_assert_int_eq(read_reply("{\"success\":true}"), 0);
	ck_assert_ptr_null(reply.command);
}
END_TEST

START_TEST(a_start_is_read)
{
	ck_assert_int_eq(
	    read_reply(
		"{\"success\":true,\"command_id\":\"" ID "\","
		"\"profiling_command\":{\"command_type\":\"start\","
		"\"combined_config\":{\"duration\":60,\"continuous\":true,"
		"\"enable_perfspect\":true,\"pids\":[4,5]}},"
		"\"heartbeat_interval\":7,"
		"\"perfspect\":{\"url\":\"/dist/p.tgz\","
		"\"sha256\":\"AB\",\"version\":\"3\"}}"),
	    0);
	ck_assert_ptr_nonnull(reply.command);
	ck_assert_str_eq(reply.command->id, ID_LOWER);
	ck_assert_int_eq(reply.command->kind, COMMAND_START);
	ck_assert_str_eq(reply.command->fault.text, "");
	ck_assert_int_eq(reply.command->session.duration, 60);
	ck_assert(reply.command->session.continuous);
	ck_assert(reply.command->session.enable_perfspect);
	ck_assert_uint_eq(reply.command->session.n_pids, 2);
	ck_assert_int_eq(reply.command->session.pids[1], 5);
	/* relative to the server, not to its base path */
	ck_assert_str_eq(reply.command->perfspect_url,
	    "http://appliance.example:8080/dist/p.tgz");
	ck_assert_str_eq(reply.command->perfspect_sha256, "AB");
	ck_assert_int_eq(reply.interval, 7);
	command_free(reply.command);
}
END_TEST

static void
check_stop(const char *config, bool whole_host, size_t n_pids)
{
	char *text = mem_fmt("{\"success\":true,\"command_id\":\"" ID "\","
			     "\"profiling_command\":{\"command_type\":"
			     "\"stop\",\"combined_config\":%s}}",
	    config);

	ck_assert_int_eq(read_reply(text), 0);
	ck_assert_int_eq(reply.command->kind, COMMAND_STOP);
	ck_assert_str_eq(reply.command->fault.text, "");
	ck_assert_int_eq(reply.command->session.whole_host_stop, whole_host);
	ck_assert_uint_eq(reply.command->session.n_pids, n_pids);
	command_free(reply.command);
	free(text);
}

START_TEST(stops_are_read)
{
	check_stop("{\"stop_level\":\"host\"}", true, 0);
	check_stop("{\"pids\":[10],\"stop_level\":\"process\"}", false, 1);
	check_stop("{}", true, 0);
}
END_TEST

START_TEST(a_faulty_command_says_why)
{
	ck_assert_int_eq(
	    read_reply("{\"success\":true,\"command_id\":\"" ID "\","
		       "\"profiling_command\":{\"command_type\":\"start\"}}"),
	    0);
	ck_assert_str_eq(
	    reply.command->fault.text, "combined_config must be an object");
	command_free(reply.command);
	ck_assert_int_eq(
	    read_reply("{\"success\":true,\"command_id\":\"" ID "\","
		       "\"profiling_command\":{\"command_type\":\"rm\"}}"),
	    0);
	ck_assert_str_eq(
	    reply.command->fault.text, "command_type must be start or stop");
	command_free(reply.command);
}
END_TEST

START_TEST(an_interval_is_held_to_bounds)
{
	ck_assert_int_eq(
	    read_reply("{\"success\":true,\"heartbeat_interval\":1}"), 0);
	ck_assert_int_eq(reply.interval, 5);
	ck_assert_int_eq(
	    read_reply("{\"success\":true,\"heartbeat_interval\":99999}"), 0);
	ck_assert_int_eq(reply.interval, 3600);
	ck_assert_int_eq(
	    read_reply("{\"success\":true,\"heartbeat_interval\":-4}"), 0);
	ck_assert_int_eq(reply.interval, 0);
}
END_TEST

static void
check_bad_reply(const char *text, const char *reason)
{
	ck_assert_int_eq(read_reply(text), -1);
	ck_assert_str_eq(why.text, reason);
	ck_assert_ptr_null(reply.command);
}

START_TEST(what_is_no_reply_is_refused)
{
	check_bad_reply("<html>log in</html>",
	    "the reply is no JSON: not JSON, at character 0");
	check_bad_reply("[]", "the reply is no JSON object with \"success\"");
	check_bad_reply(
	    "null", "the reply is no JSON object with \"success\"");
	check_bad_reply("{\"success\":\"true\"}",
	    "the reply is no JSON object with \"success\"");
	check_bad_reply("{\"success\":false,\"message\":\"no\"}",
	    "the server refused the heartbeat: no");
	check_bad_reply("{\"success\":true,\"command_id\":\"../../etc\","
			"\"profiling_command\":{}}",
	    "the server sent a command without a usable id");
	check_bad_reply("{\"success\":true,\"profiling_command\":{}}",
	    "the server sent a command without a usable id");
}
END_TEST

static int
verdict(const char *text)
{
	return wire_read_verdict(text, strlen(text), &why);
}

START_TEST(verdicts_are_told_apart)
{
	ck_assert_int_eq(verdict("{\"success\":true}"), WIRE_TAKEN);
	ck_assert_int_eq(
	    verdict("{\"success\":false,\"message\":\"unknown id\"}"),
	    WIRE_REFUSED);
	ck_assert_str_eq(why.text, "unknown id");
	ck_assert_int_eq(
	    verdict("{\"success\":false,\"message\":\"\"}"), WIRE_REFUSED);
	ck_assert_str_eq(why.text, "no reason given");
	ck_assert_int_eq(verdict("{}"), -1);
	ck_assert_int_eq(verdict(""), -1);
}
END_TEST

START_TEST(a_report_is_whole)
{
	struct wire_report r = { .command_id = ID_LOWER,
		.host_name = "db01",
		.status = "failed",
		.seconds = 12,
		.error = "bad \"byte\" \xff here",
		.exit_status = 3,
		.perfspect_version = "3.17.1" };
	char program[] = "gprofiler", none[] = "", odd[] = "-d\xff";
	char *arguments[] = { program, none, odd, NULL };
	char *text = wire_report_text(&r);

	ck_assert_str_eq(text,
	    "{\"command_id\":\"" ID_LOWER "\",\"hostname\":\"db01\","
	    "\"status\":\"failed\",\"execution_time\":12,"
	    "\"error_message\":\"bad \\\"byte\\\" ? here\","
	    "\"results_path\":null,\"exit_status\":3,"
	    "\"perfspect_version\":\"3.17.1\"}");
	free(text);
	r.arguments = arguments;
	r.partial = true;
	text = wire_report_text(&r);
	ck_assert_ptr_nonnull(
	    strstr(text, "\"perfspect_version\":\"3.17.1\","
			 "\"arguments\":[\"gprofiler\",\"\",\"-d?\"],"
			 "\"partial\":true}"));
	free(text);
	r.arguments = NULL;
	r.partial = false;
	r.error = NULL;
	r.exit_status = -1;
	r.perfspect_version = NULL;
	r.results_path = "/x";
	text = wire_report_text(&r);
	ck_assert_ptr_nonnull(
	    strstr(text, "\"error_message\":null,\"results_path\":\"/x\","
			 "\"exit_status\":null,\"perfspect_version\":null}"));
	free(text);
}
END_TEST

START_TEST(a_heartbeat_is_whole_at_each_address)
{
	static const char *const addresses[] = { "", "127.0.0.1",
		"2001:db8:1111:2222:3333:4444:5555:6666%eth0", "\"" };
	char *directory = suite_directory();
	char host[] = "db01", service[] = "web";
	struct options o = { .host_name = host, .service_name = service };
	struct wire_moment moment = { .active = true,
		.in_hand = json_object_new_array() };
	struct json_object *beat, *read;
	struct json_fault fault;
	struct state *s;
	char *text;
	size_t room, n;

	ck_assert_int_eq(state_open(directory, &s, &why), 0);
	ck_assert_int_eq(state_accept(s, ID_LOWER), 0);
	beat = wire_heartbeat(&o, s, &moment);
	text = wire_text_with_room(beat, &room);
	n = strlen(text);
	for (size_t i = 0; i < SUITE_N(addresses); i++) {
		wire_set_address(text, room, addresses[i]);
		ck_assert_uint_eq(strlen(text), n);
		ck_assert_int_eq(json_read(text, n, &read, &fault), 0);
		ck_assert_str_eq(json_member_text(read, "ip_address"),
		    i == 3 ? "" : addresses[i]);
		ck_assert_str_eq(
		    json_member_text(read, "last_command_id"), ID_LOWER);
		ck_assert_str_eq(json_member_text(read, "status"), "active");
		ck_assert_str_eq(
		    json_member_text(read, "agent_id"), state_agent_id(s));
		ck_assert_uint_eq(
		    strlen(json_member_text(read, "boot_id")), 36);
		json_object_put(read);
	}
	json_object_put(beat);
	free(text);
	state_close(s);
	suite_remove(directory);
}
END_TEST

START_TEST(a_heartbeat_carries_what_is_known_of_the_host)
{
	char *directory = suite_directory();
	char host[] = "db01", service[] = "web";
	struct options o = { .host_name = host, .service_name = service };
	struct wire_moment moment = { .active = true,
		.offline = true,
		.in_hand = json_object_new_array() };
	struct json_object *beat;
	struct state *s;

	ck_assert_int_eq(state_open(directory, &s, &why), 0);
	beat = wire_heartbeat(&o, s, &moment);
	ck_assert_str_eq(json_member_text(beat, "status"), "offline");
	ck_assert(!json_object_object_get_ex(beat, "preflight", NULL));
	json_object_put(beat);
	moment.in_hand = json_object_new_array();
	moment.preflight = json_object_new_array();
	beat = wire_heartbeat(&o, s, &moment);
	ck_assert_ptr_eq(json_member(beat, "preflight"), moment.preflight);
	json_object_put(beat);
	/* which is still ours */
	ck_assert_int_eq(json_object_put(moment.preflight), 1);
	state_close(s);
	suite_remove(directory);
}
END_TEST

START_TEST(failures_are_logged_once_and_spread_out)
{
	struct buf log = BUF_INIT(4000);
	struct pace p = { 0 };
	struct reason one = { "a failed" }, two = { "b failed" };

	log_to_buf(&log);
	for (int i = 0; i < 30; i++) {
		pace_failed(&p, 30000, 0, &one, 1000);
		ck_assert_int_ge(p.next_ms, 1000 + PACE_APART_MS);
		ck_assert_int_le(p.next_ms, 1000 + PACE_BACKOFF_MAX_MS);
	}
	pace_failed(&p, 30000, 0, &two, 1000);
	pace_began(&p, 5000);
	pace_succeeded(&p, 30000, 5010);
	log_to_buf(NULL);
	ck_assert_str_eq(buf_text(&log),
	    "error: a failed\nerror: b failed\n"
	    "info: the server answers again, after 31 failures\n");
	buf_free(&log);
}
END_TEST

START_TEST(retry_after_and_haste_are_honoured)
{
	struct pace p = { 0 };
	struct reason one = { "busy" };
	struct buf log = BUF_INIT(400);

	log_to_buf(&log);
	pace_failed(&p, 1000, 120000, &one, 1000);
	ck_assert_int_ge(p.next_ms, 121000);
	ck_assert_int_le(p.next_ms, 122000);
	pace_hasten(&p, 2000); /* failures are waited out */
	ck_assert_int_ge(p.next_ms, 121000);
	pace_began(&p, 200000);
	pace_succeeded(&p, 30000, 200010);
	pace_began(&p, 300000);
	pace_succeeded(&p, 30000, 300010);
	ck_assert_int_eq(p.next_ms, 330000);
	pace_hasten(&p, 300100);
	ck_assert_int_eq(p.next_ms, 300000 + PACE_APART_MS);
	log_to_buf(NULL);
	buf_free(&log);
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = { no_command_is_no_command,
		a_start_is_read, stops_are_read, a_faulty_command_says_why,
		an_interval_is_held_to_bounds, what_is_no_reply_is_refused,
		verdicts_are_told_apart, a_report_is_whole,
		a_heartbeat_is_whole_at_each_address,
		a_heartbeat_carries_what_is_known_of_the_host,
		failures_are_logged_once_and_spread_out,
		retry_after_and_haste_are_honoured };

	return suite_run("wire", tests, SUITE_N(tests));
}
