/*
 * PUT /metrics/results/COMMAND_ID/FILE: an agent delivers a result file.
 * GET /metrics/results/COMMAND_ID: which files there are.
 * GET /metrics/results/COMMAND_ID/FILE: one of them.
 */
#include "web/api.h"

#include "store/results.h"

#include <string.h>
#include <strings.h>

/* --- addresses ----------------------------------------------------------- */

/* What an address names. */
struct address {
	char command_id[UUID_TEXT];
	const char *name; /* of a file */
};

/* Reads COMMAND_ID/FILE; else replies. */
static bool
read_address(struct web_request *request, struct web_reply *reply,
    struct address *address)
{
	char id[UUID_TEXT];
	size_t len = strcspn(request->argument, "/");

	address->name = request->argument + len + 1;
	if (len == UUID_TEXT - 1) {
		memcpy(id, request->argument, len);
		id[len] = '\0';
	}
	if (len != UUID_TEXT - 1 || !uuid_parse(id, address->command_id)) {
		reply_error(
		    request, reply, 404, "there is no command with this id");
		return false;
	}
	if (result_name_ok(address->name))
		return true;
	reply_error(request, reply, 422,
	    "the name of a result file is 1 to 255 bytes of UTF-8 without a "
	    "slash, a control character or a dot at its beginning");
	return false;
}

static struct json_object *
file_json(const struct result_file *file)
{
	struct json_object *o = json_object_new_object();

	json_add_text(o, "name", file->name);
	json_add_int(o, "bytes", file->bytes);
	json_add_text(o, "sha256", file->sha256);
	json_add_text(o, "received_at", file->received_at);
	return o;
}

/* --- taking -------------------------------------------------------------- */

static void
reply_file(void *context, const struct result_file *file)
{
	reply_json(context, 200, file_json(file));
}

static void
put(struct web_request *request, struct web_reply *reply,
    const struct address *address, const char *hostname)
{
	const struct agent_token *token = &request->by.token;
	struct result_upload upload = { address->command_id, hostname,
		token->service_name, address->name, request->body,
		request->body_len };
	bool is_new;

	if (token->hostname && strcasecmp(token->hostname, hostname) != 0) {
		reply_error(request, reply, 403,
		    "this agent's token is for another host");
		return;
	}
	switch (
	    result_put(request->store, &upload, &is_new, reply_file, reply)) {
	case 0:
		reply->status = is_new ? 201 : 200;
		break;
	case STORE_NOT_FOUND:
		reply_error(request, reply, 404,
		    "this host was given no command with this id");
		break;
	case STORE_TOO_MANY:
		reply_error(request, reply, 413,
		    "the result files of a command are 64 and 256 MiB at "
		    "most");
		break;
	default:
		reply_store_failure(request, reply);
	}
}

/* Who sends it: agents of several hosts may share a token. */
static void
put_of_host(struct web_request *request, struct web_reply *reply,
    const struct address *address, const struct params *query)
{
	struct place in = { NULL, "query", 0 }, at = { &in, "hostname", 0 };
	const char *hostname = params_get(query, "hostname");
	struct faults faults = { NULL };

	if (!hostname)
		fault_add(&faults, &at, FAULT_MISSING, MSG_MISSING);
	else if (field_name(
		     hostname, strlen(hostname), "hostname", &at, &faults))
		put(request, reply, address, hostname);
	if (faults.list)
		api_reply_faults(reply, &faults);
}

void
api_result_put(struct web_request *request, struct web_reply *reply)
{
	struct address address;
	struct params query;

	if (!read_address(request, reply, &address))
		return;
	if (api_read_query(request, reply, &query))
		put_of_host(request, reply, &address, &query);
	params_free(&query);
}

/* --- giving -------------------------------------------------------------- */

static void
append_file(void *context, const struct result_file *file)
{
	json_object_array_add(context, file_json(file));
}

void
api_result_list(struct web_request *request, struct web_reply *reply)
{
	struct json_object *list, *files;
	char id[UUID_TEXT];
	int result = STORE_NOT_FOUND;

	if (!uuid_parse(request->argument, id)) {
		reply_error(
		    request, reply, 404, "there is no command with this id");
		return;
	}
	list = json_object_new_object();
	files = json_object_new_array();
	json_add_text(list, "command_id", id);
	json_object_object_add(list, "files", files);
	result = result_list(request->store, id, append_file, files);
	reply_json(reply, 200, list);
	if (result == STORE_NOT_FOUND)
		reply_error(
		    request, reply, 404, "there is no command with this id");
	else if (result != 0)
		reply_store_failure(request, reply);
}

/*
 * The type of a file.  What a host sent must not run in a browser as ours:
 * only what is data has a type of its own.
 */
static const char *
type_of(const char *name)
{
	const char *end = strrchr(name, '.');

	if (end && strcasecmp(end, ".csv") == 0)
		return "text/csv; charset=utf-8";
	if (end && strcasecmp(end, ".json") == 0)
		return "application/json";
	return "application/octet-stream";
}

/* As a download with its name in percent-encoding (RFC 8187), which leaves
 * nothing to quote. */
static void
add_disposition(struct web_reply *reply, const char *name)
{
	struct buf b = BUF_INIT(3 * RESULT_NAME_MAX);

	for (; *name; name++)
		if (strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			   "abcdefghijklmnopqrstuvwxyz0123456789-._~",
			*name))
			buf_chr(&b, *name);
		else
			buf_fmt(&b, "%%%02X", (unsigned)(unsigned char)*name);
	reply_header(reply, "Content-Disposition",
	    "attachment; filename*=UTF-8''%s", buf_text(&b));
	buf_free(&b);
}

void
api_result_get(struct web_request *request, struct web_reply *reply)
{
	struct address address;

	if (!read_address(request, reply, &address))
		return;
	switch (result_read(
	    request->store, address.command_id, address.name, &reply->body)) {
	case 0:
		reply->content_type = type_of(address.name);
		add_disposition(reply, address.name);
		/* besides the policy of all replies: both hold */
		reply_header(reply, "Content-Security-Policy",
		    "sandbox; default-src 'none'");
		break;
	case STORE_NOT_FOUND:
		reply_error(request, reply, 404,
		    "this command has no result file of this name");
		break;
	default:
		reply_store_failure(request, reply);
	}
}
