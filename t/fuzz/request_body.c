/* A profiling request, and the commands that are made from it. */
#include "fuzz/body.h"

#include "core/command.h"

const char *const fuzz_target = "request_body";

static void
check_target(const struct target *t)
{
	body_check_name(t->hostname);
	FUZZ_CHECK(t->n_pids <= REQUEST_PIDS_MAX);
	for (size_t i = 0; i < t->n_pids; i++) {
		FUZZ_CHECK(t->pids[i] > 0 && t->pids[i] <= PID_MAX);
		FUZZ_CHECK(i == 0 || t->pids[i - 1] < t->pids[i]);
	}
}

static void
check_request(const struct profiling_request *r)
{
	body_check_name(r->service_name);
	FUZZ_CHECK(r->type <= REQUEST_STOP && r->mode <= MODE_NONE);
	FUZZ_CHECK(r->stop_level <= STOP_HOST);
	FUZZ_CHECK(r->duration == FIELD_NULL || r->duration > 0);
	FUZZ_CHECK(r->frequency == FIELD_NULL || r->frequency > 0);
	FUZZ_CHECK(r->expires_in == FIELD_NULL ||
		   (r->expires_in > 0 && r->expires_in <= EXPIRES_IN_MAX));
	FUZZ_CHECK(r->n_targets <= REQUEST_HOSTS_MAX);
	for (size_t i = 0; i < r->n_targets; i++)
		check_target(&r->targets[i]);
}

/* A start that comes twice before it goes out changes nothing. */
static void
check_start(const struct profiling_request *r, const struct target *t)
{
	struct json_object *start = command_start_config(r, t);
	struct json_object *merged = command_merge_configs(start, start);
	struct json_object *rest = command_without_pids(start, t);

	FUZZ_CHECK(json_object_equal(start, merged));
	FUZZ_CHECK(command_has_pids(start, t) == (t->n_pids > 0));
	FUZZ_CHECK(!rest);
	json_object_put(rest);
	json_object_put(merged);
	json_object_put(start);
}

static void
check_stop(const struct target *t)
{
	struct json_object *stop = command_stop_process_config(t);
	struct json_object *merged = command_merge_stops(stop, stop);

	FUZZ_CHECK(json_object_equal(stop, merged));
	json_object_put(merged);
	json_object_put(stop);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct faults faults = { NULL };
	struct profiling_request r;
	struct json_object *body;
	bool taken;

	if (!body_parse(data, size, &body))
		return 0;
	taken = request_read(body, &r, &faults);
	body_check_faults(taken, &faults);
	if (taken)
		check_request(&r);
	for (size_t i = 0; taken && i < r.n_targets; i++) {
		if (r.type == REQUEST_START)
			check_start(&r, &r.targets[i]);
		else if (r.stop_level == STOP_PROCESS)
			check_stop(&r.targets[i]);
	}
	request_free(&r);
	json_object_put(body);
	return 0;
}
