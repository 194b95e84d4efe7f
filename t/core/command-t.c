/* Commands: configs of starts and stops, merging, taking processes out. */
#include "core/command.h"

#include "json-helper.h"

/* The config of the request's first host. */
static struct json_object *
start_config(const char *text)
{
	struct json_object *body = json_of(text), *config;
	struct faults faults = { NULL };
	struct profiling_request r;

	ck_assert(request_read(body, &r, &faults));
	config = command_start_config(&r, &r.targets[0]);
	request_free(&r);
	json_object_put(body);
	return config;
}

#define START "{'service_name':'s','request_type':'start',"

START_TEST(a_start_has_the_originals_keys)
{
	json_is(start_config(START "'target_hosts':{'h':null}}"),
	    "{'command_type':'start','duration':60,'frequency':11,"
	    "'continuous':false,'profiling_mode':'cpu'}");
	json_is(
	    start_config(START "'continuous':true,'duration':null,"
			       "'frequency':null,'profiling_mode':'none',"
			       "'target_hosts':{'h':[13,12]},"
			       "'additional_args':{'enable_perfspect':true,"
			       "'c':{'d':null}}}"),
	    "{'command_type':'start','duration':null,'frequency':null,"
	    "'continuous':true,'profiling_mode':'none','pids':[12,13],"
	    "'enable_perfspect':true,'c':{'d':null}}");
}
END_TEST

START_TEST(an_empty_list_of_pids_is_the_whole_host)
{
	json_is(start_config(START "'target_hosts':{'h':[]}}"),
	    "{'command_type':'start','duration':60,'frequency':11,"
	    "'continuous':false,'profiling_mode':'cpu'}");
}
END_TEST

START_TEST(stops_name_their_level)
{
	struct target target = { "h", (int[]) { 1, 2 }, 2 };

	json_is(command_stop_host_config(), "{'stop_level':'host'}");
	json_is(command_stop_process_config(&target),
	    "{'pids':[1,2],'stop_level':'process'}");
}
END_TEST

typedef struct json_object *merge(
    struct json_object *pending, struct json_object *later);

static void
merges(merge *how, const char *pending, const char *later, const char *to)
{
	struct json_object *a = json_of(pending), *b = json_of(later);

	json_is(how(a, b), to);
	/* neither is touched */
	json_is(a, pending);
	json_is(b, later);
}

START_TEST(the_longest_duration_and_the_highest_frequency_win)
{
	static const char *const list[][3] = {
		{ "{'duration':300,'frequency':50}",
		    "{'duration':60,'frequency':11}",
		    "{'duration':300,'frequency':50}" },
		{ "{'duration':60,'frequency':11}",
		    "{'duration':300,'frequency':50}",
		    "{'duration':300,'frequency':50}" },
		/* until stopped is longest, the profiler's own is least */
		{ "{'duration':null,'frequency':null}",
		    "{'duration':60,'frequency':11}",
		    "{'duration':null,'frequency':11}" },
		{ "{'duration':60,'frequency':11}",
		    "{'duration':null,'frequency':null}",
		    "{'duration':null,'frequency':11}" },
		{ "{'duration':null,'frequency':null}",
		    "{'duration':null,'frequency':null}",
		    "{'duration':null,'frequency':null}" },
	};

	for (size_t i = 0; i < sizeof list / sizeof *list; i++)
		merges(
		    command_merge_configs, list[i][0], list[i][1], list[i][2]);
}
END_TEST

#define SAME "'duration':60,'frequency':11"

START_TEST(pids_unite_and_the_whole_host_wins)
{
	static const char *const list[][3] = {
		{ "{" SAME ",'pids':[1,5]}", "{" SAME ",'pids':[3,5,40]}",
		    "{" SAME ",'pids':[1,3,5,40]}" },
		{ "{" SAME ",'pids':[1]}", "{" SAME "}", "{" SAME "}" },
		{ "{" SAME "}", "{" SAME ",'pids':[1]}", "{" SAME "}" },
		{ "{" SAME "}", "{" SAME "}", "{" SAME "}" },
	};

	for (size_t i = 0; i < sizeof list / sizeof *list; i++)
		merges(
		    command_merge_configs, list[i][0], list[i][1], list[i][2]);
}
END_TEST

START_TEST(the_later_mode_and_arguments_win_key_by_key)
{
	merges(command_merge_configs,
	    "{" SAME ",'profiling_mode':'cpu','a':1,'b':{'x':1},"
	    "'enable_perfspect':true}",
	    "{" SAME ",'profiling_mode':'none','b':{'y':2},'c':3}",
	    "{" SAME ",'profiling_mode':'none','a':1,'b':{'y':2},'c':3,"
	    "'enable_perfspect':true}");
	merges(command_merge_configs, "{" SAME ",'enable_perfspect':true}",
	    "{" SAME ",'enable_perfspect':false}",
	    "{" SAME ",'enable_perfspect':false}");
}
END_TEST

START_TEST(stops_merge_to_the_wider_one)
{
	static const char host[] = "{'stop_level':'host'}",
			  some[] = "{'pids':[1,2],'stop_level':'process'}",
			  more[] = "{'pids':[2,9],'stop_level':'process'}";

	merges(command_merge_stops, host, some, host);
	merges(command_merge_stops, some, host, host);
	merges(command_merge_stops, host, host, host);
	merges(command_merge_stops, some, more,
	    "{'pids':[1,2,9],'stop_level':'process'}");
}
END_TEST

START_TEST(the_targets_pids_are_taken_out)
{
	struct target target = { "h", (int[]) { 1, 2, 77 }, 3 };
	struct json_object *start = json_of("{" SAME ",'pids':[1,2,3],'a':1}"),
			   *all = json_of("{'pids':[2]}"),
			   *other = json_of("{'pids':[3]}"),
			   *whole = json_of("{" SAME "}");

	ck_assert(command_has_pids(start, &target));
	json_is(command_without_pids(start, &target),
	    "{" SAME ",'pids':[3],'a':1,'stop_level':'process'}");
	json_is(start, "{" SAME ",'pids':[1,2,3],'a':1}");
	ck_assert(command_has_pids(all, &target));
	ck_assert_ptr_null(command_without_pids(all, &target));
	json_object_put(all);
	ck_assert(!command_has_pids(other, &target));
	json_object_put(other);
	ck_assert(!command_has_pids(whole, &target));
	json_object_put(whole);
}
END_TEST

START_TEST(states_have_names_and_ends)
{
	static const char *const ends[] = { "completed", "failed", "stopped",
		"superseded", "cancelled", "expired" };
	static const char *const begun[] = { "pending", "sent", "accepted",
		"installing", "running" };

	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		ck_assert(command_state_is_end(
		    (enum command_state)command_state_of(ends[i])));
	for (size_t i = 0; i < sizeof begun / sizeof *begun; i++) {
		ck_assert_int_eq(command_state_of(begun[i]), (int)i);
		ck_assert(!command_state_is_end((enum command_state)i));
	}
	ck_assert_int_eq(command_state_of("Running"), -1);
	ck_assert_int_eq(command_state_of(""), -1);
}
END_TEST

HARNESS_MAIN("command", a_start_has_the_originals_keys,
    an_empty_list_of_pids_is_the_whole_host, stops_name_their_level,
    the_longest_duration_and_the_highest_frequency_win,
    pids_unite_and_the_whole_host_wins,
    the_later_mode_and_arguments_win_key_by_key, stops_merge_to_the_wider_one,
    the_targets_pids_are_taken_out, states_have_names_and_ends)
