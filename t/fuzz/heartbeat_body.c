/* A heartbeat, as any host may send it. */
#include "fuzz/body.h"

#include "core/report.h"

const char *const fuzz_target = "heartbeat_body";

static void
check_ids(const struct heartbeat *h, struct json_object *ids)
{
	size_t n = ids ? json_object_array_length(ids) : 0;
	char id[UUID_TEXT];

	FUZZ_CHECK(n <= COMMAND_IDS_MAX);
	for (size_t i = 0; i < n; i++) {
		const char *text =
		    json_object_get_string(json_object_array_get_idx(ids, i));

		FUZZ_CHECK(uuid_parse(text, id) && heartbeat_shows(h, id));
	}
}

/* What is kept of findings: three texts each. */
static void
check_preflight(struct json_object *list)
{
	size_t n = list ? json_object_array_length(list) : 0;

	FUZZ_CHECK(n <= PREFLIGHT_MAX);
	for (size_t i = 0; i < n; i++) {
		struct json_object *one = json_object_array_get_idx(list, i);
		const char *text = json_member_text(one, "text");

		FUZZ_CHECK(json_object_object_length(one) == 3);
		FUZZ_CHECK(json_member_text(one, "check"));
		FUZZ_CHECK(json_member_text(one, "outcome"));
		FUZZ_CHECK(text && strlen(text) <= PREFLIGHT_TEXT_MAX);
	}
}

static void
check_heartbeat(const struct heartbeat *h)
{
	char id[UUID_TEXT];

	body_check_name(h->hostname);
	body_check_name(h->service_name);
	FUZZ_CHECK(h->ip_address && h->status <= HOST_OFFLINE);
	FUZZ_CHECK(
	    !h->last_command_id ||
	    (uuid_parse(h->last_command_id, id) && heartbeat_shows(h, id)));
	check_ids(h, h->received_command_ids);
	check_ids(h, h->executed_command_ids);
	check_preflight(h->preflight);
	FUZZ_CHECK(h->n_progress <= COMMAND_STATES_MAX);
	for (size_t i = 0; i < h->n_progress; i++) {
		enum command_state state = h->progress[i].state;

		FUZZ_CHECK(uuid_parse(h->progress[i].command_id, id));
		FUZZ_CHECK(heartbeat_shows(h, id));
		FUZZ_CHECK(state == COMMAND_ACCEPTED ||
			   state == COMMAND_INSTALLING ||
			   state == COMMAND_RUNNING);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct faults faults = { NULL };
	struct json_object *body;
	struct heartbeat h;
	bool taken;

	if (!body_parse(data, size, &body))
		return 0;
	taken = heartbeat_read(body, &h, &faults);
	body_check_faults(taken, &faults);
	if (taken)
		check_heartbeat(&h);
	heartbeat_free(&h);
	json_object_put(body);
	return 0;
}
