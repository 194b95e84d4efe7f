#include "web/api.h"

#include "core/result.h"
#include "web/openapi.h"

#include <string.h>
#include <strings.h>

static void
healthz(struct web_request *request, struct web_reply *reply)
{
	/* with the database closed the dispatcher has answered 503 already */
	(void)request;
	reply->content_type = "text/plain; charset=utf-8";
	buf_str(&reply->body, "ok\n");
}

/* The description of all this: lib/web/openapi.json. */
static void
openapi(struct web_request *request, struct web_reply *reply)
{
	(void)request;
	reply->content_type = "application/json";
	buf_add(&reply->body, (const char *)openapi_json, openapi_json_size);
}

static const struct route routes[] = {
	{ "/healthz", METHOD_GET, WHO_ANYONE, BODY_NONE, 0, healthz },
	{ "/openapi.json", METHOD_GET, WHO_VIEWER, BODY_NONE, 0, openapi },
	{ "/metrics/profile_request", METHOD_POST, WHO_OPERATOR, BODY_JSON,
	    JSON_BODY_MAX, api_profile_request },
	{ "/metrics/heartbeat", METHOD_POST, WHO_AGENT, BODY_JSON,
	    JSON_BODY_MAX, api_heartbeat },
	{ "/metrics/command_completion", METHOD_POST, WHO_AGENT, BODY_JSON,
	    JSON_BODY_MAX, api_command_completion },
	{ "/metrics/profile_requests", METHOD_GET, WHO_VIEWER, BODY_NONE, 0,
	    api_requests },
	{ "/metrics/profile_request/*", METHOD_GET, WHO_VIEWER, BODY_NONE, 0,
	    api_request },
	{ "/metrics/results/*/*", METHOD_PUT, WHO_AGENT, BODY_FILE,
	    RESULT_FILE_BYTES_MAX, api_result_put },
	{ "/metrics/results/*/*", METHOD_GET, WHO_VIEWER, BODY_NONE, 0,
	    api_result_get },
	{ "/metrics/results/*", METHOD_GET, WHO_VIEWER, BODY_NONE, 0,
	    api_result_list },
	{ "/metrics/profiling/host_status", METHOD_GET, WHO_VIEWER, BODY_NONE,
	    0, api_host_status },
};

static void
api_error(const struct web_request *request, struct web_reply *reply,
    int status, const char *detail)
{
	(void)request;
	reply_detail(reply, status, "%s", detail);
}

const struct web_app api_app = { "conspect-api", routes,
	sizeof routes / sizeof *routes, api_error };

/* What a body is declared to be. */
enum declared { DECLARED_JSON, DECLARED_TEXT, DECLARED_OTHER };

/*
 * The original takes a body without a type for JSON, and treats a declared
 * text or form (curl's default) as a string, which is no request.
 */
static enum declared
declared_type(const char *type)
{
	static const struct {
		const char *name;
		enum declared declared;
	} types[] = { { "application/json", DECLARED_JSON },
		{ "text/plain", DECLARED_TEXT },
		{ "application/x-www-form-urlencoded", DECLARED_TEXT } };
	size_t n;

	if (!type || !*type)
		return DECLARED_JSON;
	n = strcspn(type, "; ");
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (n == strlen(types[i].name) &&
		    strncasecmp(type, types[i].name, n) == 0)
			return types[i].declared;
	return n > 5 && strncasecmp(type + n - 5, "+json", 5) == 0
		   ? DECLARED_JSON
		   : DECLARED_OTHER;
}

void
api_reply_faults(struct web_reply *reply, struct faults *faults)
{
	reply_json(reply, 422, faults_take(faults));
}

bool
api_read_json(struct web_request *request, struct web_reply *reply,
    struct json_object **value)
{
	struct faults faults = { NULL };
	struct json_fault fault;

	*value = NULL;
	if (request->body_len == 0) /* «field required», says the reader */
		return true;
	switch (declared_type(request->content_type)) {
	case DECLARED_JSON:
		break;
	case DECLARED_TEXT:
		*value = json_object_new_string("");
		return true;
	case DECLARED_OTHER:
		reply_error(
		    request, reply, 415, "the body must be application/json");
		return false;
	}
	if (json_read(request->body, request->body_len, value, &fault) == 0)
		return true;
	fault_json(&faults, &fault);
	api_reply_faults(reply, &faults);
	return false;
}

/* --- queries ------------------------------------------------------------- */

bool
api_read_query(
    struct web_request *request, struct web_reply *reply, struct params *query)
{
	struct reason why;

	if (params_read(query, request->query, strlen(request->query), &why) ==
	    0)
		return true;
	reply_error(request, reply, 422, why.text);
	return false;
}

void
api_query_bool(const struct params *query, const char *name, bool *value,
    struct faults *faults)
{
	struct place in = { NULL, "query", 0 }, at = { &in, name, 0 };
	const char *text = params_get(query, name);

	if (text && !field_boolean_text(text, value))
		fault_add(faults, &at, FAULT_BOOLEAN, MSG_BOOLEAN);
}

static void
query_integer(const struct params *query, const char *name, int64_t max,
    int64_t *value, struct faults *faults)
{
	struct place in = { NULL, "query", 0 }, at = { &in, name, 0 };
	const char *text = params_get(query, name);
	int64_t number;

	if (!text)
		return;
	if (!field_integer_text(text, &number))
		fault_add(faults, &at, FAULT_INTEGER, MSG_INTEGER);
	else if (number < 0 || number > max)
		fault_add(faults, &at, FAULT_VALUE,
		    "out of range: must be from 0 to %lld", (long long)max);
	else
		*value = number;
}

void
api_query_page(const struct params *query, int64_t *limit, int64_t *offset,
    struct faults *faults)
{
	query_integer(query, "limit", API_LIMIT_MAX, limit, faults);
	query_integer(query, "offset", INT64_MAX, offset, faults);
}
