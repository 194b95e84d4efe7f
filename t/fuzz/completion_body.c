/* A report about a run, as any host may send it. */
#include "fuzz/body.h"

#include "core/report.h"
#include "core/result.h"

const char *const fuzz_target = "completion_body";

static void
check_text(const char *text, size_t max)
{
	FUZZ_CHECK(!text || strlen(text) <= max);
}

static void
check_arguments(struct json_object *list)
{
	size_t n = list ? json_object_array_length(list) : 0, bytes = 0;

	FUZZ_CHECK(n <= ARGUMENTS_MAX);
	for (size_t i = 0; i < n; i++) {
		const char *text =
		    json_object_get_string(json_object_array_get_idx(list, i));

		FUZZ_CHECK(text);
		bytes += strlen(text);
	}
	FUZZ_CHECK(bytes <= ARGUMENTS_BYTES_MAX);
}

static void
check_completion(const struct completion *c)
{
	char id[UUID_TEXT];

	FUZZ_CHECK(uuid_parse(c->command_id_as_sent, id));
	FUZZ_CHECK(strcmp(c->command_id, id) == 0);
	body_check_name(c->hostname);
	FUZZ_CHECK(c->state == COMMAND_COMPLETED ||
		   c->state == COMMAND_FAILED || c->state == COMMAND_STOPPED);
	FUZZ_CHECK(c->execution_time == FIELD_NULL ||
		   (c->execution_time >= 0 &&
		       c->execution_time <= EXECUTION_TIME_MAX));
	FUZZ_CHECK(c->exit_status == FIELD_NULL ||
		   (c->exit_status >= 0 && c->exit_status <= 255));
	check_text(c->error_message, ERROR_MESSAGE_MAX);
	check_text(c->results_path, PATH_BYTES_MAX);
	check_arguments(c->arguments);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct faults faults = { NULL };
	struct json_object *body;
	struct completion c;
	bool taken;

	if (!body_parse(data, size, &body))
		return 0;
	taken = completion_read(body, &c, &faults);
	body_check_faults(taken, &faults);
	if (taken)
		check_completion(&c);
	json_object_put(body);
	return 0;
}
