/* POST /metrics/profile_request: a user asks for profiling. */
#include "web/api.h"

#include "core/clock.h"

#include <stdio.h>

/* What the run is expected to take, where the request does not say. */
#define DURATION_UNKNOWN_S 60

static void
add_message(struct json_object *reply, const struct profiling_request *r,
    const struct submission *submission)
{
	struct buf text = BUF_INIT(2 * NAME_BYTES_MAX + 200);

	if (submission->n_commands == 0) {
		buf_fmt(&text,
		    "No active hosts of service '%s': nothing was started",
		    r->service_name);
	} else {
		buf_fmt(&text,
		    "%s profiling request submitted successfully for "
		    "service '%s'",
		    r->type == REQUEST_START ? "Start" : "Stop",
		    r->service_name);
		if (submission->n_hosts > 1)
			buf_fmt(
			    &text, " across %zu hosts", submission->n_hosts);
	}
	json_add_text(reply, "message", buf_text(&text));
	buf_free(&text);
}

static void
add_estimate(struct json_object *reply, const struct profiling_request *r,
    const struct submission *submission)
{
	int64_t seconds =
	    r->duration == FIELD_NULL ? DURATION_UNKNOWN_S : r->duration;
	char when[CLOCK_TEXT];

	clock_format(submission->created_ms + seconds * 1000, when);
	json_add_text(reply, "estimated_completion_time",
	    r->type == REQUEST_START ? when : NULL);
}

static struct json_object *
describe(
    const struct profiling_request *r, const struct submission *submission)
{
	struct json_object *reply = json_object_new_object(),
			   *ids = json_object_new_array();

	for (size_t i = 0; i < submission->n_commands; i++)
		json_object_array_add(
		    ids, json_object_new_string(submission->command_ids[i]));
	json_add_bool(reply, "success", true);
	add_message(reply, r, submission);
	json_add_text(reply, "request_id", submission->request_id);
	json_object_object_add(reply, "command_ids", ids);
	add_estimate(reply, r, submission);
	return reply;
}

static void
submit(struct web_request *request, struct web_reply *reply,
    const struct profiling_request *r)
{
	struct author author = { request->by.user.name,
		request->remote_address };
	struct place body = { NULL, "body", 0 },
		     at = { &body, "target_hosts", 0 };
	struct faults faults = { NULL };
	struct submission submission;

	switch (request_submit(request->store, r, &author, &submission)) {
	case 0:
		reply_json(reply, 200, describe(r, &submission));
		break;
	case STORE_TOO_MANY:
		fault_add(&faults, &at, FAULT_VALUE, SUBMISSION_TOO_MANY,
		    (long long)submission.hosts_max);
		api_reply_faults(reply, &faults);
		break;
	default:
		reply_store_failure(request, reply);
	}
	submission_free(&submission);
}

void
api_profile_request(struct web_request *request, struct web_reply *reply)
{
	struct faults faults = { NULL };
	struct profiling_request r;
	struct json_object *body;

	if (!api_read_json(request, reply, &body))
		return;
	if (request_read(body, &r, &faults))
		submit(request, reply, &r);
	else
		api_reply_faults(reply, &faults);
	request_free(&r);
	json_object_put(body);
}
