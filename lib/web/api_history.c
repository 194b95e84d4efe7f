/*
 * GET /metrics/profile_requests: what was asked, the newest first.
 * GET /metrics/profile_request/ID: one request with its commands.
 */
#include "web/api.h"

#include "store/history.h"

#include <string.h>

/* Requests in one reply, unless limit says otherwise. */
#define LIST_DEFAULT 100

/* --- records as JSON ----------------------------------------------------- */

static struct json_object *
request_json(const struct request_record *r)
{
	struct json_object *o = json_object_new_object();

	json_add_text(o, "request_id", r->request_id);
	json_add_text(o, "service_name", r->service_name);
	json_add_text(o, "request_type", r->request_type);
	json_add_text(o, "status", r->status);
	json_add_bool(o, "continuous", r->continuous);
	json_add_int(o, "duration", r->duration);
	json_add_int(o, "frequency", r->frequency);
	json_add_text(o, "profiling_mode", r->profiling_mode);
	json_add_text(o, "stop_level", r->stop_level);
	json_add_json(o, "target_hostnames", r->target_hostnames);
	json_add_json(o, "target_hosts", r->host_pids);
	json_add_json(o, "additional_args", r->additional_args);
	json_add_int(o, "expires_in", r->expires_in);
	json_add_text(o, "created_by", r->created_by);
	json_add_text(o, "created_from", r->created_from);
	json_add_text(o, "created_at", r->created_at);
	json_add_int(o, "commands_total", r->n_commands);
	json_add_int(o, "commands_waiting", r->n_waiting);
	json_add_int(o, "commands_open", r->n_open);
	json_add_int(o, "commands_failed", r->n_failed);
	json_add_int(o, "commands_done", r->n_done);
	return o;
}

static struct json_object *
command_json(const struct command_record *c)
{
	struct json_object *o = json_object_new_object();

	json_add_text(o, "command_id", c->command_id);
	json_add_text(o, "hostname", c->hostname);
	json_add_text(o, "service_name", c->service_name);
	json_add_text(o, "command_type", c->command_type);
	json_add_text(o, "status", c->status);
	json_add_text(o, "reason", c->reason);
	json_add_json(o, "combined_config", c->combined_config);
	json_add_text(o, "created_at", c->created_at);
	json_add_text(o, "expires_at", c->expires_at);
	json_add_text(o, "sent_at", c->sent_at);
	json_add_text(o, "accepted_at", c->accepted_at);
	json_add_text(o, "started_at", c->started_at);
	json_add_text(o, "ended_at", c->ended_at);
	json_add_int(o, "execution_time", c->execution_time);
	json_add_int(o, "exit_status", c->exit_status);
	json_add_text(o, "error_message", c->error_message);
	json_add_text(o, "results_path", c->results_path);
	json_add_text(o, "perfspect_version", c->perfspect_version);
	json_add_json(o, "arguments", c->arguments);
	json_add_bool(o, "partial", c->partial);
	return o;
}

/* --- the list ------------------------------------------------------------ */

static bool
append_request(void *context, const struct request_record *r)
{
	json_object_array_add(context, request_json(r));
	return true;
}

static void
list(struct web_request *request, struct web_reply *reply,
    const struct params *query)
{
	struct request_filter filter = {
		.service_name = params_get(query, "service_name"),
		.status = params_get(query, "status"),
		.request_type = params_get(query, "request_type"),
		.created_by = params_get(query, "created_by"),
		.hostname = params_get(query, "hostname"),
		.limit = LIST_DEFAULT,
	};
	struct json_object *found;
	struct faults faults = { NULL };
	int64_t total = 0;

	api_query_page(query, &filter.limit, &filter.offset, &faults);
	if (faults.list) {
		api_reply_faults(reply, &faults);
		return;
	}
	found = json_object_new_array();
	if (request_list(
		request->store, &filter, append_request, found, &total) != 0) {
		json_object_put(found);
		reply_store_failure(request, reply);
		return;
	}
	reply_json(reply, 200, found);
	reply_header(reply, "X-Total-Count", "%lld", (long long)total);
}

void
api_requests(struct web_request *request, struct web_reply *reply)
{
	struct params query;

	if (api_read_query(request, reply, &query))
		list(request, reply, &query);
	params_free(&query);
}

/* --- one request --------------------------------------------------------- */

static bool
take_request(void *context, const struct request_record *r)
{
	struct json_object **found = context;

	*found = request_json(r);
	return false;
}

static bool
append_command(void *context, const struct command_record *c)
{
	json_object_array_add(context, command_json(c));
	return true;
}

void
api_request(struct web_request *request, struct web_reply *reply)
{
	struct json_object *found = NULL, *commands;
	char id[UUID_TEXT];
	int result = STORE_NOT_FOUND;

	if (uuid_parse(request->argument, id))
		result =
		    request_by_id(request->store, id, take_request, &found);
	if (result == STORE_NOT_FOUND) {
		reply_error(
		    request, reply, 404, "there is no request with this id");
		return;
	}
	if (result != 0) { /* there is nothing to add commands to */
		reply_store_failure(request, reply);
		return;
	}
	commands = json_object_new_array();
	result =
	    commands_of_request(request->store, id, append_command, commands);
	json_object_object_add(found, "commands", commands);
	reply_json(reply, 200, found);
	if (result != 0)
		reply_store_failure(request, reply);
}
