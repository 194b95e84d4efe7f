#include "web/route.h"

#include "core/log.h"
#include "core/mem.h"
#include "web/auth.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The largest body that is read only to be thrown away: more than the web
 * servers in front let through (cgi-bin/conf). */
#define DRAIN_MAX (17 * 1024 * 1024)

/* --- finding the route --------------------------------------------------- */

static size_t
count_slashes(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += *text == '/';
	return n;
}

/* Whether the path, in which no segment is empty, is the route's; *argument is
 * what its * stand for. */
static bool
matches(const char *route, const char *path, const char **argument)
{
	size_t fixed = strcspn(route, "*");

	*argument = NULL;
	if (!route[fixed])
		return strcmp(route, path) == 0;
	if (strncmp(route, path, fixed) != 0 || !path[fixed] ||
	    count_slashes(route) != count_slashes(path))
		return false;
	*argument = path + fixed;
	return true;
}

/* The route for path and method; *methods is what the path takes at all. */
static const struct route *
find_route(
    const struct web_app *app, struct web_request *request, unsigned *methods)
{
	*methods = 0;
	for (size_t i = 0; i < app->n_routes; i++) {
		const struct route *route = &app->routes[i];

		if (!matches(route->path, request->path, &request->argument))
			continue;
		if (route->methods & request->method)
			return route;
		*methods |= route->methods;
	}
	return NULL;
}

static void
refuse_method(const struct web_request *request, struct web_reply *reply,
    unsigned methods)
{
	static const struct {
		enum method method;
		const char *names;
	} all[] = { { METHOD_GET, "GET, HEAD" }, { METHOD_POST, "POST" },
		{ METHOD_PUT, "PUT" } };
	struct buf allow = BUF_INIT(64);

	if (methods == 0) {
		reply_error(
		    request, reply, 404, "there is nothing at this address");
		return;
	}
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (methods & all[i].method)
			buf_fmt(&allow, "%s%s", allow.len ? ", " : "",
			    all[i].names);
	reply_error(request, reply, 405,
	    "this address takes other methods, which Allow names");
	reply_header(reply, "Allow", "%s", buf_text(&allow));
	buf_free(&allow);
}

/* --- who ----------------------------------------------------------------- */

/* Whether the principal is one that the route wants. */
static bool
is_wanted(const struct principal *by, enum who who)
{
	switch (who) {
	case WHO_ANYONE:
		return true;
	case WHO_AGENT:
		return by->kind == BY_AGENT;
	case WHO_VIEWER:
		return by->kind == BY_USER;
	case WHO_OPERATOR:
		return by->kind == BY_USER && by->user.role >= ROLE_OPERATOR;
	case WHO_ADMIN:
		return by->kind == BY_USER && by->user.role == ROLE_ADMIN;
	}
	return false;
}

static void
refuse_person(
    const struct web_request *request, struct web_reply *reply, enum who who)
{
	static const char *const texts[] = {
		[WHO_AGENT] = "an agent's token is needed: conspectctl token "
			      "add makes one",
		[WHO_VIEWER] = "a user's name and password are needed",
		[WHO_OPERATOR] = "a user with the role operator or admin is "
				 "needed",
		[WHO_ADMIN] = "a user with the role admin is needed",
	};
	bool known = request->by.kind != BY_NOBODY;

	reply_error(request, reply, known ? 403 : 401, texts[who]);
	/* the console answers 401 with its login page */
	if (reply->status == 401)
		reply_header(reply, "WWW-Authenticate", "%s",
		    who == WHO_AGENT ? "Bearer realm=\"conspect\""
				     : "Basic realm=\"conspect\", "
				       "charset=\"UTF-8\"");
}

/* Finds who sends it and whether that is enough; else replies. */
static bool
admit(struct web_request *request, struct web_reply *reply,
    const struct route *route)
{
	int64_t wait_ms;

	switch (auth_request(request, &wait_ms)) {
	case AUTH_OK:
	case AUTH_WRONG: /* as nobody */
		if (is_wanted(&request->by, route->who))
			return true;
		refuse_person(request, reply, route->who);
		break;
	case AUTH_WAIT:
		/* what is for everyone is also for who must wait */
		if (route->who == WHO_ANYONE)
			return true;
		reply_wait(request, reply, wait_ms);
		break;
	case AUTH_FAILED:
		reply_store_failure(request, reply);
		break;
	}
	return false;
}

/* A browser says where a form stands; scripts say nothing. */
static bool
is_own_origin(const struct web_request *request)
{
	const char *host;

	if (!request->origin)
		return true;
	/* the scheme may differ behind a proxy that ends TLS */
	host = strstr(request->origin, "://");
	return host && request->host &&
	       strcasecmp(host + 3, request->host) == 0;
}

/* --- the body ------------------------------------------------------------ */

/* The length that the client declares, checked; else the status to answer. */
static int
body_length(const struct web_request *request, size_t max, size_t *length)
{
	const char *text = request->content_length;
	unsigned long long n;
	char *end;

	if (request->transfer_encoding || !text || !*text)
		return 411;
	if (text[strspn(text, "0123456789")])
		return 400;
	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno || n > max)
		return 413;
	*length = (size_t)n;
	return 0;
}

static const char *
body_error_text(int status)
{
	switch (status) {
	case 411:
		return "a Content-Length is needed";
	case 413:
		return "the body is larger than this address takes";
	default:
		return "the Content-Length is not a number, or the body is "
		       "shorter than it";
	}
}

/* Reads the whole body to a new text, or returns the status to answer. */
static int
read_body(struct web_request *request, size_t max, body_reader *read_some,
    void *context, char **text)
{
	size_t length, done = 0;
	int status = body_length(request, max, &length);

	*text = NULL;
	if (status)
		return status;
	*text = mem_alloc(length + 1, 1);
	while (done < length) {
		long n = read_some(context, *text + done, length - done);

		if (n <= 0)
			return 400;
		done += (size_t)n;
	}
	request->body = *text;
	request->body_len = length;
	return 0;
}

static bool
is_form_type(const char *type)
{
	static const char form[] = "application/x-www-form-urlencoded";
	size_t n = sizeof form - 1;

	return type && strncasecmp(type, form, n) == 0 &&
	       (type[n] == '\0' || type[n] == ';' || type[n] == ' ');
}

/* Parses a form and checks its token; else replies. */
static bool
take_form(struct web_request *request, struct web_reply *reply,
    const struct route *route)
{
	const char *token;
	struct reason why;

	if (!is_form_type(request->content_type)) {
		reply_error(request, reply, 415,
		    "a form is application/x-www-form-urlencoded");
		return false;
	}
	if (params_read(
		&request->form, request->body, request->body_len, &why) != 0) {
		reply_error(request, reply, 400, why.text);
		return false;
	}
	if (route->body == BODY_LOGIN_FORM)
		return true;
	token = params_get(&request->form, "form_token");
	/* nobody's own token is empty, and good for nothing */
	if (token && *token && secret_equal(token, request->by.form_token))
		return true;
	reply_error(request, reply, 403,
	    "the form is not from this login: load the page again");
	return false;
}

/*
 * Takes a body that nobody read off the wire: a web server in front may
 * still be sending it, and some answer 502 in place of our reply when their
 * write fails.  A larger body is left to them.
 */
static void
drain(const struct web_request *request, body_reader *read_some, void *context)
{
	char scratch[16384];
	size_t left = 0;

	if (body_length(request, DRAIN_MAX, &left) == 411 &&
	    request->transfer_encoding)
		left = DRAIN_MAX; /* up to the end that the server sees */
	while (left > 0) {
		long n = read_some(context, scratch,
		    left < sizeof scratch ? left : sizeof scratch);

		if (n <= 0)
			return;
		left -= (size_t)n;
	}
}

/* --- all of it ----------------------------------------------------------- */

static void
run(struct web_request *request, struct web_reply *reply,
    const struct route *route, body_reader *read_some, void *context)
{
	char *text = NULL;
	int status = 0;

	if (route->body != BODY_NONE)
		status = read_body(
		    request, route->body_max, read_some, context, &text);
	if (status)
		reply_error(request, reply, status, body_error_text(status));
	else if (route->body < BODY_FORM || take_form(request, reply, route))
		route->handle(request, reply);
	params_free(&request->form);
	free(text);
}

void
web_dispatch(const struct web_app *app, struct web_request *request,
    struct web_reply *reply, body_reader *read_some, void *context)
{
	unsigned methods;
	const struct route *route = find_route(app, request, &methods);

	request->app = app;
	reply_reset(reply);
	if (!route)
		refuse_method(request, reply, methods);
	else if (request->method != METHOD_GET && !is_own_origin(request))
		reply_error(request, reply, 403,
		    "the request comes from another site");
	else if (!request->store)
		reply_store_failure(request, reply);
	else if (admit(request, reply, route))
		run(request, reply, route, read_some, context);
	if (request->body_len == 0)
		drain(request, read_some, context);
	principal_free(&request->by);
}
