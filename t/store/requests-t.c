/* Requests: what becomes of a start, and how its status follows. */
#include "store/store.h"

#include "store-helper.h"

#define CONFIG                                                                \
	"'command_type':'start','duration':60,'frequency':11,"                \
	"'continuous':false,'profiling_mode':'cpu'"
#define STATUSES                                                              \
	"SELECT group_concat(status, ' ') FROM"                               \
	" (SELECT status FROM ProfilingRequests ORDER BY id)"

START_TEST(each_host_has_a_command)
{
	struct box box;
	struct submission out;

	box_open(&box);
	ck_assert_int_eq(
	    submit(&box, START_HOSTS "{'h1':[2,1],'h2':null}", &out), 0);
	ck_assert_uint_eq(out.n_hosts, 2);
	ck_assert_uint_eq(out.n_commands, 2);
	ck_assert_str_ne(out.command_ids[0], out.command_ids[1]);
	submission_free(&out);
	rows_are(&box,
	    "SELECT hostname, service_name, command_type, kind, status,"
	    " combined_config ->> 'pids' FROM ProfilingCommands ORDER BY id",
	    "h1|s|start|adhoc|pending|[1,2]\nh2|s|start|adhoc|pending|null");
	all_is_counted(&box);
	box_close(&box);
}
END_TEST

START_TEST(the_row_says_what_was_asked_by_whom_and_whence)
{
	struct box box;
	struct submission out;

	box_open(&box);
	ck_assert_int_eq(
	    submit(&box,
		START_HOSTS "{'h1':[2,1],'h2':[7]},'continuous':true,"
			    "'duration':null,'frequency':99,"
			    "'profiling_mode':'none','expires_in':60,"
			    "'additional_args':{'enable_perfspect':true}",
		&out),
	    0);
	submission_free(&out);
	rows_are(&box,
	    "SELECT service_name, request_type, continuous, duration,"
	    " frequency, profiling_mode, target_hostnames, pids, host_pids,"
	    " additional_args, expires_in, created_by, created_from,"
	    " n_commands, status FROM ProfilingRequests",
	    "s|start|1|null|99|none|[\"h1\",\"h2\"]|[1,2,7]|"
	    "{\"h1\":[2,1],\"h2\":[7]}|{\"enable_perfspect\":true}|60|alice|"
	    "192.0.2.1|2|pending");
	box_close(&box);
}
END_TEST

/* start [1], start [2] before a heartbeat */
START_TEST(a_start_merges_into_the_pending_one)
{
	struct box box;
	char id[UUID_TEXT];

	box_open(&box);
	strcpy(id, asked(&box, START_HOSTS "{'h':[1,2]},'duration':300,"
					   "'frequency':50,"
					   "'additional_args':{'a':1}"));
	ck_assert_str_eq(
	    id, asked(&box, START_HOSTS "{'h':[3]},"
					"'additional_args':{'b':2}"));
	rows_are(&box,
	    "SELECT count(*) FROM CommandRequests l"
	    " JOIN ProfilingRequests r USING (request_id)"
	    " WHERE r.status = 'pending' AND r.n_commands = 1",
	    "2");
	ck_assert_str_eq(
	    id, given(&box, "", "start",
		    "{'command_type':'start','duration':300,'frequency':50,"
		    "'continuous':false,'profiling_mode':'cpu',"
		    "'pids':[1,2,3],'a':1,'b':2}"));
	rows_are(&box, STATUSES, "assigned assigned");
	box_close(&box);
}
END_TEST

START_TEST(kinds_services_and_hosts_do_not_merge)
{
	struct box box;

	box_open(&box);
	(void)asked(&box, START_HOSTS "{'h':null}");
	(void)asked(&box, START_HOSTS "{'h':null},'continuous':true");
	(void)asked(&box, START_HOSTS "{'g':null}");
	(void)asked(&box, START_HOSTS "{'h':null},'service_name':'t'");
	commands_are(&box, "pending adhoc, pending continuous, pending adhoc,"
			   " pending adhoc");
	box_close(&box);
}
END_TEST

START_TEST(a_start_never_merges_into_one_that_was_sent)
{
	struct box box;
	char id[UUID_TEXT];

	box_open(&box);
	strcpy(id, asked(&box, START_HOSTS "{'h':[1]}"));
	(void)given(&box, "", "start", "{" CONFIG ",'pids':[1]}");
	ck_assert_str_ne(id, asked(&box, START_HOSTS "{'h':[2]}"));
	commands_are(&box, "sent adhoc, pending adhoc");
	rows_are(&box,
	    "SELECT combined_config ->> 'pids' FROM ProfilingCommands",
	    "[1]\n[2]");
	box_close(&box);
}
END_TEST

START_TEST(host_names_compare_without_regard_to_case)
{
	struct box box;
	struct offer offer;
	char id[UUID_TEXT];

	box_open(&box);
	strcpy(id, asked(&box, START_HOSTS "{'DB01':null}"));
	ck_assert_str_eq(id, asked(&box, START_HOSTS "{'db01':null}"));
	(void)asked(&box, START_HOSTS "{'db01.corp':null}");
	beat(&box, "Db01", "", &offer);
	ck_assert_str_eq(offer.command_id, id);
	offer_free(&offer);
	beat(&box, "dB01", "", &offer);
	offer_free(&offer);
	/* the spelling first seen */
	rows_are(&box, "SELECT hostname FROM ProfilingCommands ORDER BY id",
	    "DB01\ndb01.corp");
	rows_are(&box, "SELECT hostname FROM HostHeartbeats", "Db01");
	box_close(&box);
}
END_TEST

static void
silent_since(const struct box *box, const char *hostname, const char *ago)
{
	char *sql =
	    mem_fmt("UPDATE HostHeartbeats SET last_seen ="
		    " strftime('%%Y-%%m-%%dT%%H:%%M:%%fZ', 'now', '%s')"
		    " WHERE hostname = '%s'",
		ago, hostname);

	box_run(box, sql);
	free(sql);
}

START_TEST(no_targets_means_the_active_hosts_of_the_service)
{
	static const char *const hosts[] = { "c", "a", "b", "d" };
	struct box box;
	struct submission out;

	box_open(&box);
	for (int i = 0; i < 4; i++) {
		struct offer offer;

		beat(&box, hosts[i], "", &offer);
		offer_free(&offer);
	}
	box_run(&box, "UPDATE HostHeartbeats SET service_name = 'other'"
		      " WHERE hostname = 'd'");
	silent_since(&box, "a", "-601 seconds");
	silent_since(&box, "b", "-590 seconds");
	ck_assert_int_eq(submit(&box, "'request_type':'start'", &out), 0);
	ck_assert_uint_eq(out.n_hosts, 2);
	ck_assert_uint_eq(out.n_commands, 2);
	submission_free(&out);
	rows_are(&box, "SELECT hostname FROM ProfilingCommands ORDER BY id",
	    "b\nc");
	rows_are(&box, "SELECT target_hostnames FROM ProfilingRequests",
	    "[\"b\",\"c\"]");
	box_close(&box);
}
END_TEST

START_TEST(without_an_active_host_the_request_is_kept_alone)
{
	static const char *const bodies[] = { "'request_type':'start'",
		START_HOSTS "{}", START_HOSTS "null" };
	struct box box;

	box_open(&box);
	for (int i = 0; i < 3; i++)
		ck_assert_str_eq(asked(&box, bodies[i]), "");
	rows_are(&box, STATUSES, "cancelled cancelled cancelled");
	commands_are(&box, "");
	box_close(&box);
}
END_TEST

/* A request for 500 hosts of which the last cannot be written. */
START_TEST(a_request_is_all_or_nothing)
{
	struct buf hosts = BUF_INIT(100000), log = BUF_INIT(10000);
	struct submission out;
	struct box box;

	box_open(&box);
	(void)asked(&box, START_HOSTS "{'h7':[1]}");
	box_run(&box, "CREATE TRIGGER refuse BEFORE INSERT ON"
		      " ProfilingCommands WHEN new.hostname = 'h499'"
		      " BEGIN SELECT raise(ABORT, 'refused'); END");
	buf_str(&hosts, START_HOSTS "{");
	for (int i = 0; i < 500; i++)
		buf_fmt(&hosts, "%s'h%d':[2]", i ? "," : "", i);
	buf_str(&hosts, "}");
	log_to_buf(&log);
	ck_assert_int_eq(submit(&box, buf_text(&hosts), &out), -1);
	log_to_buf(NULL);
	submission_free(&out);
	ck_assert_int_eq(store_failure(box.store), STORE_FAULT);
	ck_assert_ptr_nonnull(strstr(buf_text(&log), ": refused (SQLite"));
	buf_free(&log);
	rows_are(&box,
	    "SELECT hostname, combined_config ->> 'pids'"
	    " FROM ProfilingCommands",
	    "h7|[1]");
	rows_are(&box, "SELECT n_commands FROM ProfilingRequests", "1");
	all_is_counted(&box);
	/* and the store goes on */
	box_run(&box, "DROP TRIGGER refuse");
	ck_assert_int_eq(submit(&box, buf_text(&hosts), &out), 0);
	ck_assert_uint_eq(out.n_commands, 500);
	submission_free(&out);
	rows_are(&box, "SELECT count(*) FROM ProfilingCommands", "500");
	buf_free(&hosts);
	box_close(&box);
}
END_TEST

#define EXPIRES_AFTER                                                         \
	"SELECT round((julianday(expires_at) - julianday(created_at))"        \
	" * 86400) FROM ProfilingCommands"

START_TEST(commands_expire_when_asked_or_after_a_day)
{
	struct box box;

	box_open(&box);
	(void)asked(&box, START_HOSTS "{'h':null},'expires_in':60");
	rows_are(&box, EXPIRES_AFTER, "60.0");
	/* merged: the later expiry counts */
	(void)asked(&box, START_HOSTS "{'h':null}");
	rows_are(&box,
	    "SELECT round((julianday(expires_at) - julianday('now')) * 24)"
	    " FROM ProfilingCommands",
	    "24.0");
	(void)asked(&box, START_HOSTS "{'h':null},'expires_in':60");
	rows_are(&box,
	    "SELECT round((julianday(expires_at) - julianday('now')) * 24)"
	    " FROM ProfilingCommands",
	    "24.0");
	box_close(&box);
}
END_TEST

/* The request of two hosts after each end of each of them. */
START_TEST(the_status_follows_from_the_commands)
{
	static const struct {
		const char *first, *second, *status;
	} list[] = {
		{ "completed", "completed", "completed" },
		{ "completed", "failed", "failed" },
		{ "failed", "completed", "failed" },
		{ "stopped", "completed", "completed" },
		{ "stopped", "failed", "failed" },
		{ "completed", NULL, "assigned" },
		{ "failed", NULL, "assigned" },
	};

	for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
		struct box box;
		struct offer a, b;

		box_open(&box);
		(void)asked(&box, START_HOSTS "{'a':null,'b':null}");
		rows_are(&box, STATUSES, "pending");
		beat(&box, "a", "", &a);
		rows_are(&box, STATUSES, "assigned");
		beat(&box, "b", "", &b);
		ck_assert_int_eq(done_with(&box, a.command_id, "a",
				     list[i].first, "", NULL),
		    REFUSAL_NONE);
		if (list[i].second)
			ck_assert_int_eq(done_with(&box, b.command_id, "b",
					     list[i].second, "", NULL),
			    REFUSAL_NONE);
		rows_are(&box, STATUSES, list[i].status);
		offer_free(&a);
		offer_free(&b);
		box_close(&box);
	}
}
END_TEST

START_TEST(texts_from_outside_are_bound_and_not_pasted)
{
	static const char *const names[] = { "a\"b", "x;DROP TABLE Users",
		"o%sbrien", "<script>", "h\xc3\xb4st", "a|b", "%n%n" };
	struct box box;

	box_open(&box);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct profiling_request r;
		struct submission out;
		struct target target = { names[i], NULL, 0 };
		struct author author = { names[i], NULL };
		char *sql = mem_fmt("SELECT hostname FROM ProfilingCommands"
				    " WHERE hostname = '%s'",
		    names[i]);

		request_init(&r);
		r.service_name = names[i];
		r.targets = &target;
		r.n_targets = 1;
		ck_assert_int_eq(
		    request_submit(box.store, &r, &author, &out), 0);
		submission_free(&out);
		rows_are(&box, sql, names[i]);
		free(sql);
	}
	all_is_counted(&box);
	box_close(&box);
}
END_TEST

HARNESS_MAIN("requests", each_host_has_a_command,
    the_row_says_what_was_asked_by_whom_and_whence,
    a_start_merges_into_the_pending_one, kinds_services_and_hosts_do_not_merge,
    a_start_never_merges_into_one_that_was_sent,
    host_names_compare_without_regard_to_case,
    no_targets_means_the_active_hosts_of_the_service,
    without_an_active_host_the_request_is_kept_alone,
    a_request_is_all_or_nothing, commands_expire_when_asked_or_after_a_day,
    the_status_follows_from_the_commands,
    texts_from_outside_are_bound_and_not_pasted)
