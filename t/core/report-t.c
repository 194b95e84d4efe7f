/* Heartbeats and completions: the original's faults, ours, and what is read.
 */
#include "core/report.h"

#include "core/result.h"
#include "json-helper.h"

#define BEAT                                                                  \
	"{'ip_address':'127.0.0.1','hostname':'h','service_name':'s',"        \
	"'status':'active',"
#define ID "00000000-0000-4000-8000-000000000000"
#define DONE "{'command_id':'" ID "',"

struct faulty {
	const char *body, *faults;
};

/* The caller frees the heartbeat and puts the body back. */
static struct json_object *
read_beat(const char *text, struct heartbeat *h, const char *expected)
{
	struct json_object *body = json_of(text);
	struct faults faults = { NULL };
	bool ok = heartbeat_read(body, h, &faults);

	ck_assert_msg(ok == !*expected, "%s", text);
	faults_are(&faults, text, expected);
	return body;
}

static void
beat_has(const char *text, const char *expected)
{
	struct heartbeat h;
	struct json_object *body = read_beat(text, &h, expected);

	heartbeat_free(&h);
	json_object_put(body);
}

/* The caller puts the body back. */
static struct json_object *
read_done(const char *text, struct completion *c, const char *expected)
{
	struct json_object *body = json_of(text);
	struct faults faults = { NULL };
	bool ok = completion_read(body, c, &faults);

	ck_assert_msg(ok == !*expected, "%s", text);
	faults_are(&faults, text, expected);
	return body;
}

static void
done_has(const char *text, const char *expected)
{
	struct completion c;

	json_object_put(read_done(text, &c, expected));
}

/* --- heartbeats ---------------------------------------------------------- */

START_TEST(the_originals_faults_of_heartbeats_are_kept)
{
	static const struct faulty list[] = {
		{ BEAT "'timestamp':'2026-01-02'}",
		    "body.timestamp: invalid datetime format "
		    "[value_error.datetime]\n" },
		{ "{}",
		    "body.ip_address: field required [value_error.missing]\n"
		    "body.hostname: field required [value_error.missing]\n"
		    "body.service_name: field required "
		    "[value_error.missing]\n" },
		{ "{'ip_address':'127.0.0.1','service_name':'s','status':"
		  "'active'}",
		    "body.hostname: field required [value_error.missing]\n" },
		{ "{'hostname':'h','service_name':'s','status':'active'}",
		    "body.ip_address: field required "
		    "[value_error.missing]\n" },
		{ "{'ip_address':'127.0.0.1','hostname':'h','status':"
		  "'active'}",
		    "body.service_name: field required "
		    "[value_error.missing]\n" },
		{ "{'ip_address':'127.0.0.1','hostname':null,"
		  "'service_name':'s','status':'active'}",
		    "body.hostname: none is not an allowed value "
		    "[type_error.none.not_allowed]\n" },
		{ "{'ip_address':'127.0.0.1','hostname':'h',"
		  "'service_name':'s','status':null}",
		    "body.status: none is not an allowed value "
		    "[type_error.none.not_allowed]\n" },
		{ BEAT "'received_command_ids':'abc'}",
		    "body.received_command_ids: value is not a valid list "
		    "[type_error.list]\n" },
		{ "[]",
		    "body.ip_address: field required [value_error.missing]\n"
		    "body.hostname: field required [value_error.missing]\n"
		    "body.service_name: field required "
		    "[value_error.missing]\n" },
	};

	for (size_t i = 0; i < sizeof list / sizeof *list; i++)
		beat_has(list[i].body, list[i].faults);
}
END_TEST

START_TEST(one_address_of_either_kind_is_taken)
{
	static const char *const right[] = { "10.0.0.1", "::1", "fe80::1",
		"2001:db8::8a2e:370:7334", "::ffff:10.0.0.1",
		"255.255.255.255" };
	static const char *const wrong[] = { "", "10.0.0.0/8", "not-an-ip",
		"10.0.0", "10.0.0.256", "010.0.0.1", "10.0.0.1 ",
		":::", "fe80::1%eth0", "[::1]", "10.0.0.1:80", "<b>" };

	for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
		char *body = mem_fmt(
		    "{'ip_address':'%s','hostname':'h','service_name':'s'}",
		    right[i]);

		beat_has(body, "");
		free(body);
	}
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		char *body = mem_fmt(
		    "{'ip_address':'%s','hostname':'h','service_name':'s'}",
		    wrong[i]);

		beat_has(body,
		    "body.ip_address: must be one IPv4 or IPv6 address "
		    "[value_error]\n");
		free(body);
	}
}
END_TEST

START_TEST(what_the_original_took_in_silence_is_refused)
{
	static const struct faulty list[] = {
		{ BEAT "'status':'bogus'}",
		    "body.status: status must be active, idle or offline "
		    "[value_error]\n" },
		{ BEAT "'last_command_id':'abc'}",
		    "body.last_command_id: not a UUID [value_error]\n" },
		{ BEAT "'received_command_ids':['abc']}",
		    "body.received_command_ids.0: not a UUID "
		    "[value_error]\n" },
		{ BEAT "'executed_command_ids':['" ID "',5,null,'']}",
		    "body.executed_command_ids.1: str type expected "
		    "[type_error.str]\n"
		    "body.executed_command_ids.2: str type expected "
		    "[type_error.str]\n"
		    "body.executed_command_ids.3: not a UUID "
		    "[value_error]\n" },
		{ "{'ip_address':'127.0.0.1','hostname':'',"
		  "'service_name':''}",
		    "body.hostname: hostname must not be empty "
		    "[value_error]\n"
		    "body.service_name: service_name must not be empty "
		    "[value_error]\n" },
		{ "{'ip_address':'127.0.0.1','hostname':5,"
		  "'service_name':'s'}",
		    "body.hostname: str type expected [type_error.str]\n" },
	};

	for (size_t i = 0; i < sizeof list / sizeof *list; i++)
		beat_has(list[i].body, list[i].faults);
}
END_TEST

/* A heartbeat with n ids in a list. */
static char *
with_ids(const char *member, size_t n)
{
	struct buf b = BUF_INIT(1000000);

	buf_fmt(&b, BEAT "'%s':[", member);
	for (size_t i = 0; i < n; i++)
		buf_fmt(
		    &b, "%s'00000000-0000-4000-8000-%012zx'", i ? "," : "", i);
	buf_str(&b, "]}");
	return b.data;
}

START_TEST(a_thousand_ids_are_taken_and_no_more)
{
	static const char *const members[] = { "received_command_ids",
		"executed_command_ids" };

	for (int i = 0; i < 2; i++) {
		char *most = with_ids(members[i], COMMAND_IDS_MAX),
		     *more = with_ids(members[i], COMMAND_IDS_MAX + 1),
		     *fault = mem_fmt("body.%s: 1001 command ids: at most "
				      "1000 [value_error]\n",
			 members[i]);

		beat_has(most, "");
		beat_has(more, fault);
		free(most);
		free(more);
		free(fault);
	}
}
END_TEST

/* Shows a command in a member, as `before`, the id, `after`. */
static void
shows(const char *before, const char *as, const char *after)
{
	static const char id[] = "0a1b2c3d-0000-4000-8000-0000000000ff",
			  other[] = "0a1b2c3d-0000-4000-8000-0000000000fe";
	char *text = mem_fmt(BEAT "%s'%s'%s}", before, as, after);
	struct heartbeat h;
	struct json_object *body = read_beat(text, &h, "");

	ck_assert_msg(heartbeat_shows(&h, id), "%s", text);
	ck_assert(!heartbeat_shows(&h, other));
	heartbeat_free(&h);
	json_object_put(body);
	free(text);
}

START_TEST(shown_commands_are_found_in_every_member)
{
	static const char *const ids[] = {
		"0a1b2c3d-0000-4000-8000-0000000000ff",
		"0A1B2C3D-0000-4000-8000-0000000000FF"
	};

	for (int i = 0; i < 2; i++) {
		shows("'last_command_id':", ids[i], "");
		shows("'received_command_ids':['" ID "',", ids[i], "]");
		shows("'executed_command_ids':[", ids[i], ",'" ID "']");
		shows("'commands':[{'command_id':", ids[i],
		    ",'state':'running'}]");
	}
}
END_TEST

START_TEST(commands_in_hand_have_a_state_on_the_way)
{
	static const char *const wrong[] = { "{}", "5", "null",
		"{'command_id':'" ID "'}", "{'state':'running'}",
		"{'command_id':'x','state':'running'}",
		"{'command_id':'" ID "','state':'pending'}",
		"{'command_id':'" ID "','state':'sent'}",
		"{'command_id':'" ID "','state':'completed'}",
		"{'command_id':'" ID "','state':'bogus'}",
		"{'command_id':'" ID "','state':4}" };

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		char *body = mem_fmt(BEAT "'commands':[%s]}", wrong[i]);

		beat_has(body,
		    "body.commands.0: needs command_id, a UUID, and state: "
		    "accepted, installing or running [value_error]\n");
		free(body);
	}
}
END_TEST

START_TEST(commands_in_hand_are_bounded)
{
	for (int n = COMMAND_STATES_MAX; n <= COMMAND_STATES_MAX + 1; n++) {
		struct buf b = BUF_INIT(100000);

		buf_str(&b, BEAT "'commands':[");
		for (int i = 0; i < n; i++)
			buf_fmt(&b,
			    "%s{'command_id':'" ID "','state':'accepted'}",
			    i ? "," : "");
		buf_str(&b, "]}");
		beat_has(buf_text(&b),
		    n <= COMMAND_STATES_MAX
			? ""
			: "body.commands: 101 commands: at most 100 "
			  "[value_error]\n");
		buf_free(&b);
	}
}
END_TEST

START_TEST(a_heartbeat_is_read)
{
	struct heartbeat h;
	struct json_object *body =
	    read_beat("{'ip_address':'::1','hostname':'h','service_name':'s',"
		      "'status':'idle','timestamp':1767322800,"
		      "'agent_id':'a','boot_id':'b','agent_version':'1.0',"
		      "'arch':'x86_64','commands':[{'command_id':'" ID
		      "','state':'installing'}],"
		      "'perf_supported_events':['a'],'x':1}",
		&h, "");

	ck_assert_str_eq(h.ip_address, "::1");
	ck_assert_int_eq(h.status, HOST_IDLE);
	ck_assert_int_eq(h.timestamp, 1767322800000);
	ck_assert_ptr_null(h.last_command_id);
	ck_assert_str_eq(h.agent_id, "a");
	ck_assert_str_eq(h.boot_id, "b");
	ck_assert_str_eq(h.agent_version, "1.0");
	ck_assert_str_eq(h.arch, "x86_64");
	ck_assert_uint_eq(h.n_progress, 1);
	ck_assert_str_eq(h.progress[0].command_id, ID);
	ck_assert_int_eq(h.progress[0].state, COMMAND_INSTALLING);
	heartbeat_free(&h);
	json_object_put(body);
}
END_TEST

START_TEST(timestamps_may_be_absent_or_null)
{
	static const char *const list[] = { BEAT "'x':1}",
		BEAT "'timestamp':null}" };

	for (int i = 0; i < 2; i++) {
		struct heartbeat h;
		struct json_object *body = read_beat(list[i], &h, "");

		ck_assert_int_eq(h.timestamp, FIELD_NULL);
		ck_assert_int_eq(h.status, HOST_ACTIVE);
		heartbeat_free(&h);
		json_object_put(body);
	}
	beat_has(BEAT "'timestamp':'2026-13-01T00:00:00Z'}",
	    "body.timestamp: invalid datetime format "
	    "[value_error.datetime]\n");
}
END_TEST

START_TEST(texts_of_our_agent_are_bounded)
{
	char text[102], *body;

	memset(text, 'x', 101);
	text[101] = '\0';
	body = mem_fmt(BEAT "'arch':'%s'}", text);
	beat_has(body, "body.arch: arch must not be longer than 100 bytes "
		       "[value_error]\n");
	free(body);
}
END_TEST

/* --- preflight ----------------------------------------------------------- */

#define FINDING "{'check':'pmu','outcome':'ok','text':'fine'"

START_TEST(findings_have_a_check_an_outcome_and_a_text)
{
	static const struct faulty list[] = {
		{ "5", "body.preflight.0: value is not a valid dict "
		       "[type_error.dict]\n" },
		{ "{}", "body.preflight.0.check: field required "
			"[value_error.missing]\n"
			"body.preflight.0.outcome: field required "
			"[value_error.missing]\n"
			"body.preflight.0.text: field required "
			"[value_error.missing]\n" },
		{ "{'check':'a b','outcome':'ok','text':''}",
		    "body.preflight.0.check: check must be 1 to 32 of a-z, "
		    "0-9 and _ [value_error]\n" },
		{ "{'check':'','outcome':'ok','text':''}",
		    "body.preflight.0.check: check must be 1 to 32 of a-z, "
		    "0-9 and _ [value_error]\n" },
		{ "{'check':'<b>','outcome':'ok','text':''}",
		    "body.preflight.0.check: check must be 1 to 32 of a-z, "
		    "0-9 and _ [value_error]\n" },
		{ "{'check':'a23456789012345678901234567890123',"
		  "'outcome':'ok','text':''}",
		    "body.preflight.0.check: check must not be longer than 32 "
		    "bytes [value_error]\n" },
		{ "{'check':'pmu','outcome':'fine','text':''}",
		    "body.preflight.0.outcome: outcome must be ok, warning or "
		    "problem [value_error]\n" },
		{ "{'check':5,'outcome':5,'text':null}",
		    "body.preflight.0.check: str type expected "
		    "[type_error.str]\n"
		    "body.preflight.0.outcome: outcome must be ok, warning or "
		    "problem [value_error]\n"
		    "body.preflight.0.text: none is not an allowed value "
		    "[type_error.none.not_allowed]\n" },
	};

	for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
		char *body = mem_fmt(BEAT "'preflight':[%s]}", list[i].body);

		beat_has(body, list[i].faults);
		free(body);
	}
	beat_has(BEAT "'preflight':{}}",
	    "body.preflight: value is not a valid list [type_error.list]\n");
	beat_has(BEAT "'preflight':null}", "");
}
END_TEST

START_TEST(findings_are_bounded)
{
	for (int n = PREFLIGHT_MAX; n <= PREFLIGHT_MAX + 1; n++) {
		struct buf b = BUF_INIT(100000);

		buf_str(&b, BEAT "'preflight':[");
		for (int i = 0; i < n; i++)
			buf_fmt(&b, "%s" FINDING "}", i ? "," : "");
		buf_str(&b, "]}");
		beat_has(buf_text(&b),
		    n <= PREFLIGHT_MAX
			? ""
			: "body.preflight: 33 checks: at most 32 "
			  "[value_error]\n");
		buf_free(&b);
	}
	for (int n = PREFLIGHT_TEXT_MAX; n <= PREFLIGHT_TEXT_MAX + 1; n++) {
		char *body = mem_fmt(BEAT
		    "'preflight':[{'check':'pmu','outcome':'problem',"
		    "'text':'%0*d'}]}",
		    n, 0);

		beat_has(body,
		    n <= PREFLIGHT_TEXT_MAX
			? ""
			: "body.preflight.0.text: text must not be longer "
			  "than 300 bytes [value_error]\n");
		free(body);
	}
}
END_TEST

START_TEST(findings_are_kept_without_what_is_not_known)
{
	struct heartbeat h;
	struct json_object *body = read_beat(BEAT
	    "'preflight':[" FINDING ",'x':[1]},{'text':'no PMU',"
	    "'outcome':'problem','check':'a_1'}]}",
	    &h, "");

	json_object_put(body);
	ck_assert_str_eq(json_text(h.preflight),
	    "[{\"check\":\"pmu\",\"outcome\":\"ok\",\"text\":\"fine\"},"
	    "{\"check\":\"a_1\",\"outcome\":\"problem\","
	    "\"text\":\"no PMU\"}]");
	heartbeat_free(&h);
	body = read_beat(BEAT "'x':1}", &h, "");
	ck_assert_ptr_null(h.preflight);
	heartbeat_free(&h);
	json_object_put(body);
}
END_TEST

/* --- completions --------------------------------------------------------- */

START_TEST(the_originals_faults_of_completions_are_kept)
{
	static const struct faulty list[] = {
		{ DONE "'hostname':'h','status':'running'}",
		    "body.status: invalid status: running. Must be "
		    "'completed' or 'failed'. [value_error]\n" },
		{ DONE "'hostname':'h','status':'COMPLETED'}",
		    "body.status: invalid status: COMPLETED. Must be "
		    "'completed' or 'failed'. [value_error]\n" },
		{ DONE "'hostname':'h'}",
		    "body.status: field required [value_error.missing]\n" },
		{ "{}",
		    "body.command_id: field required [value_error.missing]\n"
		    "body.hostname: field required [value_error.missing]\n"
		    "body.status: field required [value_error.missing]\n" },
		{ "{'command_id':5,'hostname':{},'status':[],"
		  "'execution_time':'abc','error_message':[],"
		  "'results_path':{}}",
		    "body.hostname: str type expected [type_error.str]\n"
		    "body.status: str type expected [type_error.str]\n"
		    "body.execution_time: value is not a valid integer "
		    "[type_error.integer]\n"
		    "body.error_message: str type expected [type_error.str]\n"
		    "body.results_path: str type expected "
		    "[type_error.str]\n" },
		{ "null", "body: field required [value_error.missing]\n" },
	};

	for (size_t i = 0; i < sizeof list / sizeof *list; i++)
		done_has(list[i].body, list[i].faults);
}
END_TEST

START_TEST(completions_that_the_original_failed_on_are_refused)
{
	static const struct faulty list[] = {
		{ "{'command_id':'abc','hostname':'h','status':'failed'}",
		    "body.command_id: not a UUID [value_error]\n" },
		{ "{'command_id':'','hostname':'h','status':'failed'}",
		    "body.command_id: not a UUID [value_error]\n" },
		{ "{'command_id':5,'hostname':'h','status':'failed'}",
		    "body.command_id: not a UUID [value_error]\n" },
		{ "{'command_id':true,'hostname':'h','status':'failed'}",
		    "body.command_id: str type expected [type_error.str]\n" },
		{ DONE "'hostname':'h','status':'failed',"
		       "'execution_time':-1}",
		    "body.execution_time: out of range: must be from 0 to "
		    "31622400 [value_error]\n" },
		{ DONE "'hostname':'h','status':'failed',"
		       "'execution_time':1099511627776}",
		    "body.execution_time: out of range: must be from 0 to "
		    "31622400 [value_error]\n" },
		{ DONE "'hostname':'h','status':'failed','exit_status':256}",
		    "body.exit_status: out of range: must be from 0 to 255 "
		    "[value_error]\n" },
	};

	for (size_t i = 0; i < sizeof list / sizeof *list; i++)
		done_has(list[i].body, list[i].faults);
}
END_TEST

START_TEST(a_completion_is_read)
{
	struct completion c;
	struct json_object *body = read_done(
	    "{'command_id':'0A1B2C3D-0000-4000-8000-0000000000FF',"
	    "'hostname':'h','status':'stopped','execution_time':'61',"
	    "'error_message':'why','results_path':'/r','exit_status':3,"
	    "'perfspect_version':'3.0','arguments':['gprofiler','-d',''],"
	    "'partial':true,'unknown':1}",
	    &c, "");

	ck_assert_str_eq(c.command_id, "0a1b2c3d-0000-4000-8000-0000000000ff");
	ck_assert_str_eq(
	    c.command_id_as_sent, "0A1B2C3D-0000-4000-8000-0000000000FF");
	ck_assert_int_eq(c.state, COMMAND_STOPPED);
	ck_assert_int_eq(c.execution_time, 61);
	ck_assert_int_eq(c.exit_status, 3);
	ck_assert_str_eq(c.error_message, "why");
	ck_assert_str_eq(c.results_path, "/r");
	ck_assert_str_eq(c.perfspect_version, "3.0");
	ck_assert_str_eq(
	    json_text(c.arguments), "[\"gprofiler\",\"-d\",\"\"]");
	ck_assert(c.partial);
	json_object_put(body);
}
END_TEST

START_TEST(a_completion_needs_little)
{
	struct completion c;
	struct json_object *body = read_done(DONE
	    "'hostname':'h','status':'completed','execution_time':null,"
	    "'error_message':null,'results_path':null}",
	    &c, "");

	ck_assert_int_eq(c.state, COMMAND_COMPLETED);
	ck_assert_int_eq(c.execution_time, FIELD_NULL);
	ck_assert_int_eq(c.exit_status, FIELD_NULL);
	ck_assert_ptr_null(c.error_message);
	ck_assert_ptr_null(c.results_path);
	ck_assert_ptr_null(c.arguments);
	ck_assert(!c.partial);
	json_object_put(body);
}
END_TEST

#define ENDED DONE "'hostname':'h','status':'completed',"

START_TEST(a_command_line_is_texts)
{
	static const struct faulty list[] = {
		{ ENDED "'arguments':'gprofiler'}",
		    "body.arguments: value is not a valid list "
		    "[type_error.list]\n" },
		{ ENDED "'arguments':['a',5,null]}",
		    "body.arguments.1: str type expected [type_error.str]\n"
		    "body.arguments.2: str type expected [type_error.str]\n" },
		{ ENDED "'partial':'maybe'}",
		    "body.partial: value could not be parsed to a boolean "
		    "[type_error.bool]\n" },
		{ ENDED "'arguments':null,'partial':null}", "" },
		{ ENDED "'arguments':[]}", "" },
	};

	for (size_t i = 0; i < sizeof list / sizeof *list; i++)
		done_has(list[i].body, list[i].faults);
}
END_TEST

/* A completion with n arguments of `each` bytes. */
static char *
with_arguments(int n, int each)
{
	struct buf b = BUF_INIT(1000000);

	buf_str(&b, ENDED "'arguments':[");
	for (int i = 0; i < n; i++)
		buf_fmt(&b, "%s'%0*d'", i ? "," : "", each, 0);
	buf_str(&b, "]}");
	return b.data;
}

START_TEST(a_command_line_is_bounded)
{
	static const struct {
		int n, each;
		const char *fault;
	} list[] = {
		{ ARGUMENTS_MAX, ARGUMENTS_BYTES_MAX / ARGUMENTS_MAX, "" },
		{ ARGUMENTS_MAX + 1, 1,
		    "body.arguments: 257 arguments: at most 256 "
		    "[value_error]\n" },
		{ 1, ARGUMENTS_BYTES_MAX + 1,
		    "body.arguments: arguments must not be longer than 65536 "
		    "bytes in all [value_error]\n" },
	};

	for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
		char *body = with_arguments(list[i].n, list[i].each);

		done_has(body, list[i].fault);
		free(body);
	}
}
END_TEST

HARNESS_MAIN("report", the_originals_faults_of_heartbeats_are_kept,
    one_address_of_either_kind_is_taken,
    what_the_original_took_in_silence_is_refused,
    a_thousand_ids_are_taken_and_no_more,
    shown_commands_are_found_in_every_member,
    commands_in_hand_have_a_state_on_the_way, commands_in_hand_are_bounded,
    a_heartbeat_is_read, timestamps_may_be_absent_or_null,
    texts_of_our_agent_are_bounded,
    findings_have_a_check_an_outcome_and_a_text, findings_are_bounded,
    findings_are_kept_without_what_is_not_known,
    the_originals_faults_of_completions_are_kept,
    completions_that_the_original_failed_on_are_refused, a_completion_is_read,
    a_completion_needs_little, a_command_line_is_texts,
    a_command_line_is_bounded)
