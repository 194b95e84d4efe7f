/* POST /metrics/heartbeat: an agent shows its host and asks for work. */
#include "web/api.h"

#include "core/mem.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Whether the token is good for this host of this service. */
static bool
token_covers(const struct agent_token *token, const char *service_name,
    const char *hostname)
{
	if (token->service_name &&
	    strcmp(token->service_name, service_name) != 0)
		return false;
	return !token->hostname || strcasecmp(token->hostname, hostname) == 0;
}

static struct json_object *
describe_archive(const struct pinned_archive *archive)
{
	struct json_object *object = json_object_new_object();
	char *url = mem_fmt(ARCHIVES_URL_PREFIX "%s", archive->file);

	json_add_text(object, "url", url);
	json_add_text(object, "sha256", archive->sha256);
	json_add_text(object, "version", archive->version);
	free(url);
	return object;
}

static struct json_object *
describe(const struct offer *offer)
{
	struct json_object *reply = json_object_new_object(), *command = NULL;
	bool some = offer->command_id[0] != '\0';

	if (some) {
		command = json_object_new_object();
		json_add_text(command, "command_type", offer->command_type);
		json_add_json(
		    command, "combined_config", offer->combined_config);
	}
	json_add_bool(reply, "success", true);
	json_add_text(reply, "message",
	    some ? "Heartbeat received. New profiling command available."
		 : "Heartbeat received. No profiling commands.");
	json_object_object_add(reply, "profiling_command", command);
	json_add_text(reply, "command_id", some ? offer->command_id : NULL);
	if (offer->heartbeat_interval != FIELD_NULL)
		json_add_int(
		    reply, "heartbeat_interval", offer->heartbeat_interval);
	if (offer->perfspect.file)
		json_object_object_add(
		    reply, "perfspect", describe_archive(&offer->perfspect));
	return reply;
}

static void
take(struct web_request *request, struct web_reply *reply,
    const struct heartbeat *heartbeat)
{
	struct offer offer;

	if (!token_covers(&request->by.token, heartbeat->service_name,
		heartbeat->hostname)) {
		reply_error(request, reply, 403,
		    "this agent's token is for another service or host");
		return;
	}
	if (heartbeat_take(request->store, heartbeat, request->remote_address,
		&offer) == 0)
		reply_json(reply, 200, describe(&offer));
	else
		reply_store_failure(request, reply);
	offer_free(&offer);
}

void
api_heartbeat(struct web_request *request, struct web_reply *reply)
{
	struct faults faults = { NULL };
	struct heartbeat heartbeat;
	struct json_object *body;

	if (!api_read_json(request, reply, &body))
		return;
	if (heartbeat_read(body, &heartbeat, &faults))
		take(request, reply, &heartbeat);
	else
		api_reply_faults(reply, &faults);
	heartbeat_free(&heartbeat);
	json_object_put(body);
}
