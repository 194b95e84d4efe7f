/* Settings: their bounds, their defaults, and what each of them decides. */
#include "store/settings.h"

#include "store-helper.h"

static int64_t
value_of(struct box *box, enum setting setting)
{
	int64_t value = -1;

	ck_assert_int_eq(setting_get(box->store, setting, &value), 0);
	return value;
}

START_TEST(names_are_found)
{
	for (int i = 0; i < N_SETTINGS; i++) {
		ck_assert_int_eq(setting_of(settings[i].key), i);
		ck_assert_int_lt(settings[i].min, settings[i].max);
		if (settings[i].fallback == FIELD_NULL)
			continue;
		ck_assert_int_le(settings[i].min, settings[i].fallback);
		ck_assert_int_le(settings[i].fallback, settings[i].max);
	}
	ck_assert_int_eq(setting_of("nothing"), -1);
	ck_assert_int_eq(setting_of(""), -1);
}
END_TEST

static void
set_and_unset(struct box *box, enum setting s)
{
	ck_assert_int_eq(value_of(box, s), settings[s].fallback);
	ck_assert_int_eq(setting_set(box->store, s, settings[s].min), 0);
	ck_assert_int_eq(value_of(box, s), settings[s].min);
	ck_assert_int_eq(setting_set(box->store, s, settings[s].max), 0);
	ck_assert_int_eq(value_of(box, s), settings[s].max);
	ck_assert_int_eq(setting_unset(box->store, s), 0);
	ck_assert_int_eq(setting_unset(box->store, s), 0);
	ck_assert_int_eq(value_of(box, s), settings[s].fallback);
}

START_TEST(each_is_its_default_until_set)
{
	struct box box;

	box_open(&box);
	for (int i = 0; i < N_SETTINGS; i++)
		if (i != SETTING_HEARTBEAT_INTERVAL)
			set_and_unset(&box, (enum setting)i);
	rows_are(&box, "SELECT count(*) FROM Settings", "0");
	/* the longest one needs a longer window than the default */
	ck_assert_int_eq(
	    setting_set(box.store, SETTING_ACTIVE_WINDOW, 7200), 0);
	set_and_unset(&box, SETTING_HEARTBEAT_INTERVAL);
	box_close(&box);
}
END_TEST

START_TEST(a_setting_outlives_the_program)
{
	struct box box;

	box_open(&box);
	ck_assert_int_eq(setting_set(box.store, SETTING_KEEP_DAYS, 7), 0);
	store_close(box.store);
	box.store = open_at(box.path);
	ck_assert_int_eq(value_of(&box, SETTING_KEEP_DAYS), 7);
	rows_are(&box,
	    "SELECT key, value, changed_at GLOB '20*T*Z'"
	    " FROM Settings",
	    "keep_days|7|1");
	box_close(&box);
}
END_TEST

/* --- what they decide ---------------------------------------------------- */

/* Named or all active ones: a request of too many hosts does nothing. */
START_TEST(request_hosts_refuses_as_a_whole)
{
	struct submission out;
	struct offer offer;
	struct box box;

	box_open(&box);
	ck_assert_int_eq(setting_set(box.store, SETTING_REQUEST_HOSTS, 2), 0);
	ck_assert_int_eq(
	    submit(&box, START_HOSTS "{'a':null,'b':null,'c':null}", &out),
	    STORE_TOO_MANY);
	ck_assert_int_eq(out.hosts_max, 2);
	submission_free(&out);
	for (const char *name = "abc"; *name; name++) {
		char text[2] = { *name, '\0' };

		beat(&box, text, "", &offer);
		offer_free(&offer);
	}
	ck_assert_int_eq(
	    submit(&box, "'request_type':'start'", &out), STORE_TOO_MANY);
	submission_free(&out);
	rows_are(&box,
	    "SELECT (SELECT count(*) FROM ProfilingRequests),"
	    " (SELECT count(*) FROM ProfilingCommands)",
	    "0|0");
	(void)asked(&box, START_HOSTS "{'a':null,'b':null}");
	ck_assert_int_eq(setting_set(box.store, SETTING_REQUEST_HOSTS, 3), 0);
	(void)asked(&box, "'request_type':'start'");
	commands_are(&box, "pending adhoc, pending adhoc, pending adhoc");
	box_close(&box);
}
END_TEST

/* Seconds from the request to the expiry of the only command. */
#define WAIT                                                                  \
	"SELECT round((julianday(expires_at) - julianday(created_at))"        \
	" * 86400) FROM ProfilingCommands ORDER BY id DESC LIMIT 1"

START_TEST(command_expiry_is_what_a_request_does_not_say)
{
	struct box box;

	box_open(&box);
	(void)asked(&box, START_HOSTS "{'a':null}");
	rows_are(&box, WAIT, "86400.0");
	ck_assert_int_eq(
	    setting_set(box.store, SETTING_COMMAND_EXPIRY, 120), 0);
	(void)asked(&box, START_HOSTS "{'b':null}");
	rows_are(&box, WAIT, "120.0");
	(void)asked(&box, START_HOSTS "{'c':null},'expires_in':5");
	rows_are(&box, WAIT, "5.0");
	box_close(&box);
}
END_TEST

static bool
note_active(void *context, const struct host *host)
{
	*(bool *)context = host->active;
	return true;
}

static bool
is_active(struct box *box)
{
	bool active = false;

	ck_assert_int_eq(
	    host_by_name(box->store, "h", note_active, &active), 0);
	return active;
}

/* The same host, seen a minute ago. */
START_TEST(active_window_moves_what_is_active)
{
	struct offer offer;
	struct box box;

	box_open(&box);
	beat(&box, "h", "", &offer);
	offer_free(&offer);
	box_run(&box, "UPDATE HostHeartbeats SET last_seen ="
		      " strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-60 seconds')");
	ck_assert(is_active(&box));
	ck_assert_int_eq(setting_set(box.store, SETTING_ACTIVE_WINDOW, 30), 0);
	ck_assert(!is_active(&box));
	ck_assert_str_eq(asked(&box, "'request_type':'start'"), "");
	rows_are(&box, "SELECT status FROM ProfilingRequests", "cancelled");
	ck_assert_int_eq(
	    setting_set(box.store, SETTING_ACTIVE_WINDOW, 3600), 0);
	ck_assert(is_active(&box));
	ck_assert_str_ne(asked(&box, "'request_type':'start'"), "");
	box_close(&box);
}
END_TEST

/* Whichever of the two is set, or taken back to its default. */
START_TEST(the_active_window_holds_two_heartbeats)
{
	const enum setting window = SETTING_ACTIVE_WINDOW,
			   interval = SETTING_HEARTBEAT_INTERVAL;
	struct box box;

	box_open(&box);
	ck_assert_int_eq(
	    setting_set(box.store, interval, 301), STORE_CONFLICT);
	ck_assert_int_eq(value_of(&box, interval), FIELD_NULL);
	ck_assert_int_eq(setting_set(box.store, interval, 300), 0);
	ck_assert_int_eq(setting_set(box.store, window, 599), STORE_CONFLICT);
	ck_assert_int_eq(value_of(&box, window), 600);
	ck_assert_int_eq(setting_set(box.store, window, 1000), 0);
	ck_assert_int_eq(setting_set(box.store, interval, 500), 0);
	ck_assert_int_eq(setting_unset(box.store, window), STORE_CONFLICT);
	ck_assert_int_eq(value_of(&box, window), 1000);
	ck_assert_int_eq(setting_unset(box.store, interval), 0);
	ck_assert_int_eq(setting_set(box.store, window, 10), 0);
	box_close(&box);
}
END_TEST

/* A pair from before it was refused is in nobody's way, and can be mended. */
START_TEST(an_older_pair_can_be_mended)
{
	struct box box;

	box_open(&box);
	box_run(&box, "INSERT INTO Settings VALUES"
		      " ('heartbeat_interval', 3600, '2026')");
	ck_assert_int_eq(setting_set(box.store, SETTING_KEEP_DAYS, 7), 0);
	ck_assert_int_eq(setting_set(box.store, SETTING_ACTIVE_WINDOW, 7199),
	    STORE_CONFLICT);
	ck_assert_int_eq(
	    setting_set(box.store, SETTING_ACTIVE_WINDOW, 7200), 0);
	box_close(&box);
}
END_TEST

HARNESS_MAIN("settings", names_are_found, each_is_its_default_until_set,
    a_setting_outlives_the_program, request_hosts_refuses_as_a_whole,
    command_expiry_is_what_a_request_does_not_say,
    active_window_moves_what_is_active, the_active_window_holds_two_heartbeats,
    an_older_pair_can_be_mended)
