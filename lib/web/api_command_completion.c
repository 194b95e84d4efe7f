/* POST /metrics/command_completion: an agent reports the end of a run. */
#include "web/api.h"

#include <strings.h>

/* The original says no with status 200, success false and a message. */
static void
describe(struct web_reply *reply, const struct completion *c,
    enum refusal refusal, enum command_state state)
{
	struct json_object *value = json_object_new_object();
	struct buf text = BUF_INIT(NAME_BYTES_MAX + 200);

	switch (refusal) {
	case REFUSAL_NONE:
		buf_fmt(&text, "Command completion recorded for %s",
		    c->command_id_as_sent);
		break;
	case REFUSAL_UNKNOWN:
		buf_fmt(&text, "Command %s not found for host %s",
		    c->command_id_as_sent, c->hostname);
		break;
	case REFUSAL_ENDED:
		buf_fmt(&text,
		    "Command %s for host %s is in status '%s' already",
		    c->command_id_as_sent, c->hostname,
		    command_state_names[state]);
		break;
	}
	json_add_bool(value, "success", refusal == REFUSAL_NONE);
	json_add_text(value, "message", buf_text(&text));
	reply_json(reply, 200, value);
	buf_free(&text);
}

static void
take(struct web_request *request, struct web_reply *reply,
    const struct completion *c)
{
	const struct agent_token *token = &request->by.token;
	enum command_state state;
	enum refusal refusal;

	if (token->hostname && strcasecmp(token->hostname, c->hostname) != 0)
		reply_error(request, reply, 403,
		    "this agent's token is for another host");
	else if (completion_take(request->store, c, token->service_name,
		     &refusal, &state) != 0)
		reply_store_failure(request, reply);
	else
		describe(reply, c, refusal, state);
}

void
api_command_completion(struct web_request *request, struct web_reply *reply)
{
	struct faults faults = { NULL };
	struct completion completion;
	struct json_object *body;

	if (!api_read_json(request, reply, &body))
		return;
	if (completion_read(body, &completion, &faults))
		take(request, reply, &completion);
	else
		api_reply_faults(reply, &faults);
	json_object_put(body);
}
