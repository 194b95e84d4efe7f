/* Requests: the original's faults by value, ours, and what is read. */
#include "core/request.h"

#include "json-helper.h"

#define START                                                                 \
	"{'service_name':'s','request_type':'start',"                         \
	"'target_hosts':{'h':null},"
#define ARGS START "'additional_args':"
#define PERFSPECT ARGS "{'enable_perfspect':true,'perfspect_args':"
#define FLAG "body.additional_args.perfspect_args."

struct faulty {
	const char *body, *faults;
};

/* Reads a request; the caller frees it and puts the body back. */
static struct json_object *
read_request(
    const char *text, struct profiling_request *r, const char *expected)
{
	struct json_object *body = json_of(text);
	struct faults faults = { NULL };
	bool ok = request_read(body, r, &faults);

	ck_assert_msg(ok == !*expected, "%s", text);
	faults_are(&faults, text, expected);
	return body;
}

static void
request_has(const char *text, const char *expected)
{
	struct profiling_request r;
	struct json_object *body = read_request(text, &r, expected);

	request_free(&r);
	json_object_put(body);
}

static void
requests_have(const struct faulty *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		request_has(list[i].body, list[i].faults);
}

/* As the original answered, recorded. */
START_TEST(the_originals_faults_are_kept)
{
	static const struct faulty list[] = {
		{ "null", "body: field required [value_error.missing]\n" },
		{ "[]", "body.service_name: field required "
			"[value_error.missing]\n"
			"body.request_type: field required "
			"[value_error.missing]\n" },
		{ "'x'",
		    "body: value is not a valid dict [type_error.dict]\n" },
		{ "{}", "body.service_name: field required "
			"[value_error.missing]\n"
			"body.request_type: field required "
			"[value_error.missing]\n" },
		{ "{'request_type':'start','target_hosts':{'h':null}}",
		    "body.service_name: field required "
		    "[value_error.missing]\n" },
		{ "{'service_name':'s','target_hosts':{'h':null}}",
		    "body.request_type: field required "
		    "[value_error.missing]\n" },
		{ "{'service_name':null,'request_type':'start',"
		  "'target_hosts':{'h':null}}",
		    "body.service_name: none is not an allowed value "
		    "[type_error.none.not_allowed]\n" },
		{ "{'service_name':['a'],'request_type':'start',"
		  "'target_hosts':{'h':null}}",
		    "body.service_name: str type expected "
		    "[type_error.str]\n" },
		{ "{'service_name':'s','request_type':'START',"
		  "'target_hosts':{'h':null}}",
		    "body.request_type: request_type must be \"start\" or "
		    "\"stop\" [value_error]\n" },
		{ START "'duration':-1}",
		    "body.duration: Duration must be a positive integer "
		    "(seconds) [value_error]\n" },
		{ START "'duration':0}",
		    "body.duration: Duration must be a positive integer "
		    "(seconds) [value_error]\n" },
		{ START "'duration':'abc'}",
		    "body.duration: value is not a valid integer "
		    "[type_error.integer]\n" },
		{ START "'frequency':-1}",
		    "body.frequency: Frequency must be a positive integer "
		    "(Hz) [value_error]\n" },
		{ START "'frequency':'x'}",
		    "body.frequency: value is not a valid integer "
		    "[type_error.integer]\n" },
		{ START "'continuous':'maybe'}",
		    "body.continuous: value could not be parsed to a "
		    "boolean [type_error.bool]\n" },
		{ START "'profiling_mode':'gpu'}",
		    "body.profiling_mode: profiling_mode must be \"cpu\", "
		    "\"allocation\", or \"none\" [value_error]\n" },
		{ START "'profiling_mode':null}",
		    "body.profiling_mode: profiling_mode must be \"cpu\", "
		    "\"allocation\", or \"none\" [value_error]\n" },
		{ START "'profiling_mode':5}",
		    "body.profiling_mode: profiling_mode must be \"cpu\", "
		    "\"allocation\", or \"none\" [value_error]\n" },
		{ START "'stop_level':'cluster'}",
		    "body.stop_level: stop_level must be \"process\" or "
		    "\"host\" [value_error]\n" },
		{ "{'service_name':'s','request_type':'start',"
		  "'target_hosts':'h1'}",
		    "body.target_hosts: value is not a valid dict "
		    "[type_error.dict]\n" },
		{ "{'service_name':'s','request_type':'start',"
		  "'target_hosts':{'h1':12}}",
		    "body.target_hosts.h1: value is not a valid list "
		    "[type_error.list]\n" },
		{ "{'service_name':'s','request_type':'start',"
		  "'target_hosts':{'h1':['abc']}}",
		    "body.target_hosts.h1.0: value is not a valid integer "
		    "[type_error.integer]\n" },
		{ START "'additional_args':[1]}",
		    "body.additional_args: value is not a valid dict "
		    "[type_error.dict]\n" },
		{ START "'additional_args':'x'}",
		    "body.additional_args: value is not a valid dict "
		    "[type_error.dict]\n" },
		{ "{'request_type':'x','duration':-1,'frequency':'y',"
		  "'profiling_mode':'z','stop_level':'q','target_hosts':"
		  "3,'additional_args':4,'continuous':'?'}",
		    "body.service_name: field required "
		    "[value_error.missing]\n"
		    "body.request_type: request_type must be \"start\" or "
		    "\"stop\" [value_error]\n"
		    "body.continuous: value could not be parsed to a "
		    "boolean [type_error.bool]\n"
		    "body.duration: Duration must be a positive integer "
		    "(seconds) [value_error]\n"
		    "body.frequency: value is not a valid integer "
		    "[type_error.integer]\n"
		    "body.profiling_mode: profiling_mode must be \"cpu\", "
		    "\"allocation\", or \"none\" [value_error]\n"
		    "body.target_hosts: value is not a valid dict "
		    "[type_error.dict]\n"
		    "body.stop_level: stop_level must be \"process\" or "
		    "\"host\" [value_error]\n"
		    "body.additional_args: value is not a valid dict "
		    "[type_error.dict]\n" },
		{ "{'service_name':'s','request_type':'stop',"
		  "'target_hosts':{'h':null},'stop_level':'process'}",
		    "body.__root__: At least one PID must be provided when "
		    "request_type is \"stop\" and stop_level is "
		    "\"process\" [value_error]\n" },
		{ "{'service_name':'s','request_type':'stop',"
		  "'target_hosts':{'h':null}}",
		    "body.__root__: At least one PID must be provided when "
		    "request_type is \"stop\" and stop_level is "
		    "\"process\" [value_error]\n" },
		{ "{'service_name':'s','request_type':'stop',"
		  "'target_hosts':{'h':[]}}",
		    "body.__root__: At least one PID must be provided when "
		    "request_type is \"stop\" and stop_level is "
		    "\"process\" [value_error]\n" },
		{ "{'service_name':'s','request_type':'stop'}",
		    "body.__root__: At least one PID must be provided when "
		    "request_type is \"stop\" and stop_level is "
		    "\"process\" [value_error]\n" },
		{ "{'service_name':'s','request_type':'stop',"
		  "'target_hosts':{'h':[1]},'stop_level':'host'}",
		    "body.__root__: No PIDs should be provided when "
		    "request_type is \"stop\" and stop_level is \"host\" "
		    "[value_error]\n" },
	};

	requests_have(list, sizeof list / sizeof *list);
}
END_TEST

START_TEST(what_the_original_took_and_we_do_not)
{
	static const struct faulty list[] = {
		{ "{'service_name':'s','request_type':'start',"
		  "'target_hosts':{'':null}}",
		    "body.target_hosts.: a host name must not be empty "
		    "[value_error]\n" },
		{ "{'service_name':'','request_type':'start'}",
		    "body.service_name: service_name must not be empty "
		    "[value_error]\n" },
		{ "{'service_name':123,'request_type':'start'}",
		    "body.service_name: str type expected "
		    "[type_error.str]\n" },
		{ START "'duration':1.9,'frequency':true}",
		    "body.duration: value is not a valid integer "
		    "[type_error.integer]\n"
		    "body.frequency: value is not a valid integer "
		    "[type_error.integer]\n" },
		{ START "'duration':2147483648,'frequency':1e30}",
		    "body.duration: out of range: must be from 1 to "
		    "2147483647 [value_error]\n"
		    "body.frequency: out of range: must be from 1 to "
		    "2147483647 [value_error]\n" },
		{ "{'service_name':'s','request_type':'start',"
		  "'target_hosts':{'h':[-5,0,4194305,4194304,1]}}",
		    "body.target_hosts.h.0: out of range: must be from 1 to "
		    "4194304 [value_error]\n"
		    "body.target_hosts.h.1: out of range: must be from 1 to "
		    "4194304 [value_error]\n"
		    "body.target_hosts.h.2: out of range: must be from 1 to "
		    "4194304 [value_error]\n" },
		{ "{'service_name':'s','request_type':'stop',"
		  "'stop_level':'host'}",
		    "body.__root__: a stop needs target_hosts "
		    "[value_error]\n" },
		{ "{'service_name':'s','request_type':'stop',"
		  "'target_hosts':{'h1':[1],'h2':null}}",
		    "body.__root__: a process-level stop needs pids for every "
		    "host that it names [value_error]\n" },
		{ START "'expires_in':0}",
		    "body.expires_in: out of range: must be from 1 to 2592000 "
		    "[value_error]\n" },
		{ START "'expires_in':2592001}",
		    "body.expires_in: out of range: must be from 1 to 2592000 "
		    "[value_error]\n" },
	};

	requests_have(list, sizeof list / sizeof *list);
}
END_TEST

START_TEST(the_defaults_are_the_originals)
{
	struct profiling_request r;
	struct json_object *body = read_request(
	    "{'service_name':'s','request_type':'start'}", &r, "");

	ck_assert_int_eq(r.type, REQUEST_START);
	ck_assert(!r.continuous);
	ck_assert_int_eq(r.duration, 60);
	ck_assert_int_eq(r.frequency, 11);
	ck_assert_int_eq(r.mode, MODE_CPU);
	ck_assert_int_eq(r.stop_level, STOP_PROCESS);
	ck_assert_int_eq(r.expires_in, FIELD_NULL);
	ck_assert_ptr_null(r.target_hosts);
	ck_assert_ptr_null(r.additional_args);
	ck_assert_uint_eq(r.n_targets, 0);
	request_free(&r);
	json_object_put(body);
}
END_TEST

START_TEST(every_member_is_read)
{
	struct profiling_request r;
	struct json_object *body = read_request(
	    "{'service_name':'s','request_type':'stop','continuous':'yes',"
	    "'duration':'120','frequency':99.0,'profiling_mode':'allocation',"
	    "'target_hosts':{'h1':[3,1,3,2],'H2':['7']},"
	    "'stop_level':'process','additional_args':{'x':1},"
	    "'expires_in':2592000}",
	    &r, "");

	ck_assert_str_eq(r.service_name, "s");
	ck_assert_int_eq(r.type, REQUEST_STOP);
	ck_assert(r.continuous);
	ck_assert_int_eq(r.duration, 120);
	ck_assert_int_eq(r.frequency, 99);
	ck_assert_int_eq(r.mode, MODE_ALLOCATION);
	ck_assert_int_eq(r.expires_in, 2592000);
	ck_assert_str_eq(json_text(r.additional_args), "{\"x\":1}");
	ck_assert_uint_eq(r.n_targets, 2);
	ck_assert_str_eq(r.targets[0].hostname, "h1");
	ck_assert_uint_eq(r.targets[0].n_pids, 3);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(r.targets[0].pids[i], i + 1);
	ck_assert_str_eq(r.targets[1].hostname, "H2");
	ck_assert_int_eq(r.targets[1].pids[0], 7);
	request_free(&r);
	json_object_put(body);
}
END_TEST

START_TEST(nulls_stand_for_no_value)
{
	struct profiling_request r;
	struct json_object *body =
	    read_request("{'service_name':'s','request_type':'start',"
			 "'continuous':null,'duration':null,'frequency':null,"
			 "'target_hosts':null,'additional_args':null,"
			 "'expires_in':null}",
		&r, "");

	ck_assert(!r.continuous);
	ck_assert_int_eq(r.duration, FIELD_NULL);
	ck_assert_int_eq(r.frequency, FIELD_NULL);
	ck_assert_int_eq(r.expires_in, FIELD_NULL);
	ck_assert_uint_eq(r.n_targets, 0);
	request_free(&r);
	json_object_put(body);
}
END_TEST

START_TEST(a_host_named_twice_is_refused)
{
	request_has("{'service_name':'s','request_type':'start',"
		    "'target_hosts':{'DB1':null,'web':null,'db1':null}}",
	    "body.target_hosts.db1: names the same host as \"DB1\": host "
	    "names compare without regard to case [value_error]\n");
}
END_TEST

/* {"h0": value, "h1": value, ...} in a request. */
static char *
with_hosts(size_t n)
{
	struct buf b = BUF_INIT(10000000);

	buf_str(&b, "{'service_name':'s','request_type':'start',"
		    "'target_hosts':{");
	for (size_t i = 0; i < n; i++)
		buf_fmt(&b, "%s'h%zu':null", i ? "," : "", i);
	buf_str(&b, "}}");
	return b.data;
}

START_TEST(hosts_are_bounded)
{
	char *most = with_hosts(REQUEST_HOSTS_MAX),
	     *more = with_hosts(REQUEST_HOSTS_MAX + 1);

	request_has(most, "");
	request_has(more,
	    "body.target_hosts: 10001 hosts: at most 10000 in one request "
	    "[value_error]\n");
	free(most);
	free(more);
}
END_TEST

static char *
with_pids(size_t n)
{
	struct buf b = BUF_INIT(10000000);

	buf_str(&b, "{'service_name':'s','request_type':'start',"
		    "'target_hosts':{'h':[");
	for (size_t i = 0; i < n; i++)
		buf_fmt(&b, "%s%zu", i ? "," : "", i + 1);
	buf_str(&b, "]}}");
	return b.data;
}

START_TEST(pids_are_bounded)
{
	char *most = with_pids(REQUEST_PIDS_MAX),
	     *more = with_pids(REQUEST_PIDS_MAX + 1);

	request_has(most, "");
	request_has(more, "body.target_hosts.h: more than 1000 process ids "
			  "[value_error]\n");
	free(most);
	free(more);
}
END_TEST

/* --- additional_args ----------------------------------------------------- */

START_TEST(keys_of_the_request_itself_are_refused)
{
	static const char *const keys[] = { "command_type", "continuous",
		"duration", "frequency", "profiling_mode", "pids",
		"stop_level" };

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		char *body = mem_fmt(ARGS "{'%s':null}}", keys[i]),
		     *faults = mem_fmt(
			 "body.additional_args.%s: %s is set by the request "
			 "itself and may not stand in additional_args "
			 "[value_error]\n",
			 keys[i], keys[i]);

		request_has(body, faults);
		free(body);
		free(faults);
	}
}
END_TEST

START_TEST(unknown_keys_pass_untouched)
{
	struct profiling_request r;
	struct json_object *body = read_request(
	    ARGS "{'a':1,'b':[1,2],'c':{'d':null},'--':'x','':0}}", &r, "");

	json_is(json_object_get(r.additional_args),
	    "{'a':1,'b':[1,2],'c':{'d':null},'--':'x','':0}");
	request_free(&r);
	json_object_put(body);
}
END_TEST

START_TEST(known_keys_are_checked)
{
	static const struct faulty list[] = {
		{ ARGS "{'enable_perfspect':1}}",
		    "body.additional_args.enable_perfspect: enable_perfspect "
		    "must be true or false [type_error.bool]\n" },
		{ ARGS "{'enable_perfspect':null}}",
		    "body.additional_args.enable_perfspect: enable_perfspect "
		    "must be true or false [type_error.bool]\n" },
		{ ARGS "{'max_processes':1001}}",
		    "body.additional_args.max_processes: out of range: must "
		    "be from 0 to 1000 [value_error]\n" },
		{ ARGS "{'max_processes':-1}}",
		    "body.additional_args.max_processes: out of range: must "
		    "be from 0 to 1000 [value_error]\n" },
		{ ARGS "{'max_processes':'x'}}",
		    "body.additional_args.max_processes: value is not a valid "
		    "integer [type_error.integer]\n" },
		{ ARGS "{'profiler_configs':[]}}",
		    "body.additional_args.profiler_configs: value is not a "
		    "valid dict [type_error.dict]\n" },
		{ ARGS "{'profiler_configs':{'perf':'enabled','java':1}}}",
		    "body.additional_args.profiler_configs.java: str type "
		    "expected [type_error.str]\n" },
		{ ARGS "{'perfspect_args':'--count 1'}}",
		    "body.additional_args.perfspect_args: value is not a "
		    "valid dict [type_error.dict]\n" },
		{ ARGS "{'limits':[1]}}",
		    "body.additional_args.limits: value is not a valid dict "
		    "[type_error.dict]\n" },
		{ ARGS "{'limits':{'memory_mib':1}}}",
		    "body.additional_args.limits.memory_mib: out of range: "
		    "must be from 64 to 1048576 [value_error]\n" },
		{ ARGS "{'limits':{'cpu_percent':0}}}",
		    "body.additional_args.limits.cpu_percent: out of range: "
		    "must be from 1 to 100000 [value_error]\n" },
		{ ARGS "{'limits':{'disk':1}}}",
		    "body.additional_args.limits.disk: limits has "
		    "cpu_percent and memory_mib only [value_error]\n" },
		{ ARGS "{'limits':{'cpu_percent':50,'memory_mib':64}}}", "" },
		{ ARGS "{'max_processes':0,'enable_perfspect':false}}", "" },
		{ ARGS "{'max_processes':1000}}", "" },
	};

	requests_have(list, sizeof list / sizeof *list);
}
END_TEST

START_TEST(perfspect_flags_have_types)
{
	static const struct {
		const char *flag, *value, *fault; /* NULL: it is right */
	} list[] = {
		{ "scope", "'process'", NULL },
		{ "scope", "'host'", "\"host\" is not a value of --scope" },
		{ "granularity", "'socket'", NULL },
		{ "granularity", "'core'",
		    "\"core\" is not a value of --granularity" },
		{ "pids", "'1,22,333'", NULL },
		{ "pids", "'1;reboot'",
		    "\"1;reboot\" is not a value of --pids" },
		{ "cids", "'3b1f,docker/x_1.scope'", NULL },
		{ "cids", "'a b'", "\"a b\" is not a value of --cids" },
		{ "cpus", "'0-3,8'", NULL },
		{ "cpus", "'all'", "\"all\" is not a value of --cpus" },
		{ "cpus", "'-3'", "must not begin with '-'" },
		{ "filter", "'(?i)java|c\xc3\xa9'", NULL },
		{ "filter", "'--output=/etc'", "must not begin with '-'" },
		{ "filter", "''", "must be a text of 1 to 4096 bytes" },
		{ "metrics", "'CPU utilization %'", NULL },
		{ "metrics", "'-x'", "must not begin with '-'" },
		{ "count", "1000", NULL },
		{ "count", "1001", "out of range: must be from 1 to 1000" },
		{ "refresh", "0", "out of range: must be from 1 to 86400" },
		{ "interval", "'5'", NULL },
		{ "interval", "3601", "out of range: must be from 1 to 3600" },
		{ "muxinterval", "10001",
		    "out of range: must be from 1 to 10000" },
		{ "txnrate", "0",
		    "out of range: must be from 1 to 1000000000" },
		{ "noroot", "true", NULL },
	};

	for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
		char *body = mem_fmt(ARGS "{'perfspect_args':{'%s':%s}}}",
			 list[i].flag, list[i].value),
		     *fault = list[i].fault
				  ? mem_fmt(FLAG "%s: %s [value_error]\n",
					list[i].flag, list[i].fault)
				  : mem_copy("");

		request_has(body, fault);
		free(body);
		free(fault);
	}
	request_has(ARGS "{'perfspect_args':{'noroot':1,'scope':5,"
			 "'count':1.5}}}",
	    FLAG "noroot: value could not be parsed to a boolean "
		 "[type_error.bool]\n" FLAG
		 "scope: str type expected [type_error.str]\n" FLAG
		 "count: value is not a valid integer "
		 "[type_error.integer]\n");
}
END_TEST

/* PerfSpect runs as root: files, ports, other machines, programs. */
START_TEST(dangerous_perfspect_flags_are_refused)
{
	static const char *const flags[] = { "--", "", "output", "tempdir",
		"eventfile", "metricfile", "input", "perf",
		"prometheus-server", "prometheus-server-addr", "target",
		"targets", "user", "key", "port", "live", "syslog",
		"log-stdout", "debug", "noupdate", "duration", "format",
		"args", "workload", "Scope", "scope ", "--scope", "raw",
		"showmetricnames" };

	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
		char *body = mem_fmt(
			 ARGS "{'perfspect_args':{'%s':'x'}}}", flags[i]),
		     *fault = mem_fmt(FLAG
			 "%s: this PerfSpect flag may not be set by a "
			 "request: allowed are scope, pids, cids, filter, "
			 "count, refresh, cpus, granularity, metrics, "
			 "interval, muxinterval, txnrate, noroot "
			 "[value_error]\n",
			 flags[i]);

		request_has(body, fault);
		free(body);
		free(fault);
	}
}
END_TEST

START_TEST(a_long_flag_value_is_refused)
{
	char text[4098], *body;

	memset(text, 'x', sizeof text);
	text[4096] = '\0';
	body = mem_fmt(ARGS "{'perfspect_args':{'filter':'%s'}}}", text);
	request_has(body, "");
	free(body);
	text[4096] = 'x';
	text[4097] = '\0';
	body = mem_fmt(ARGS "{'perfspect_args':{'filter':'%s'}}}", text);
	request_has(body,
	    FLAG "filter: must be a text of 1 to 4096 bytes [value_error]\n");
	free(body);
}
END_TEST

START_TEST(perfspect_needs_its_interval)
{
	static const struct faulty list[] = {
		{ START "'duration':3,"
			"'additional_args':{'enable_perfspect':true}}",
		    "body.duration: PerfSpect needs a duration of at least "
		    "its interval, 5 s [value_error]\n" },
		{ START "'duration':5,"
			"'additional_args':{'enable_perfspect':true}}",
		    "" },
		{ START "'duration':3,"
			"'additional_args':{'enable_perfspect':false}}",
		    "" },
		{ START "'duration':3}", "" },
		{ START "'duration':null,"
			"'additional_args':{'enable_perfspect':true}}",
		    "" },
		{ PERFSPECT "{'interval':61}}}",
		    "body.duration: PerfSpect needs a duration of at least "
		    "its interval, 61 s [value_error]\n" },
		{ PERFSPECT "{'interval':'61'}}}",
		    "body.duration: PerfSpect needs a duration of at least "
		    "its interval, 61 s [value_error]\n" },
		{ PERFSPECT "{'interval':60.0}}}", "" },
		{ START "'duration':1,'additional_args':{'enable_perfspect':"
			"true,'perfspect_args':{'interval':1}}}",
		    "" },
	};

	requests_have(list, sizeof list / sizeof *list);
}
END_TEST

HARNESS_MAIN("request", the_originals_faults_are_kept,
    what_the_original_took_and_we_do_not, the_defaults_are_the_originals,
    every_member_is_read, nulls_stand_for_no_value,
    a_host_named_twice_is_refused, hosts_are_bounded, pids_are_bounded,
    keys_of_the_request_itself_are_refused, unknown_keys_pass_untouched,
    known_keys_are_checked, perfspect_flags_have_types,
    dangerous_perfspect_flags_are_refused, a_long_flag_value_is_refused,
    perfspect_needs_its_interval)
