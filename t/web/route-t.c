/* The table of routes is enforced: path, method, origin, who, body, form. */
#include "web/fixture.h"

#define BODY_MAX 40

static int handled; /* how often a handler was called */

static void
echo(struct web_request *request, struct web_reply *reply)
{
	handled++;
	if (request->body)
		buf_add(&reply->body, request->body, request->body_len);
	if (request->argument)
		buf_str(&reply->body, request->argument);
}

static void
echo_form(struct web_request *request, struct web_reply *reply)
{
	const char *value = params_get(&request->form, "a");

	handled++;
	buf_str(&reply->body, value ? value : "none");
}

static void
plain_error(const struct web_request *request, struct web_reply *reply,
    int status, const char *detail)
{
	(void)request;
	reply->status = status;
	buf_str(&reply->body, detail);
}

static const struct route routes[] = {
	{ "/anyone", METHOD_GET, WHO_ANYONE, BODY_NONE, 0, echo },
	{ "/agent", METHOD_GET, WHO_AGENT, BODY_NONE, 0, echo },
	{ "/viewer", METHOD_GET, WHO_VIEWER, BODY_NONE, 0, echo },
	{ "/operator", METHOD_GET, WHO_OPERATOR, BODY_NONE, 0, echo },
	{ "/admin", METHOD_GET, WHO_ADMIN, BODY_NONE, 0, echo },
	{ "/json", METHOD_POST, WHO_ANYONE, BODY_JSON, BODY_MAX, echo },
	{ "/form", METHOD_POST, WHO_VIEWER, BODY_FORM, 500, echo_form },
	{ "/open-form", METHOD_POST, WHO_ANYONE, BODY_FORM, 500, echo_form },
	{ "/login", METHOD_POST, WHO_ANYONE, BODY_LOGIN_FORM, 500, echo_form },
	{ "/two", METHOD_GET, WHO_ANYONE, BODY_NONE, 0, echo },
	{ "/two", METHOD_POST, WHO_ANYONE, BODY_JSON, BODY_MAX, echo },
	{ "/all", METHOD_GET | METHOD_POST | METHOD_PUT, WHO_ANYONE, BODY_NONE,
	    0, echo },
	{ "/one/*", METHOD_GET, WHO_ANYONE, BODY_NONE, 0, echo },
	{ "/one/*/*", METHOD_GET, WHO_ANYONE, BODY_NONE, 0, echo },
	{ "/file", METHOD_PUT, WHO_ANYONE, BODY_FILE, BODY_MAX, echo },
};

static const struct web_app app = { "test", routes,
	sizeof routes / sizeof *routes, plain_error };

/* Dispatches fx.request; returns the status. */
static int
dispatch(void)
{
	handled = 0;
	web_dispatch(&app, &fx.request, &fx.reply, fixture_read, NULL);
	ck_assert_msg((handled == 1) == (fx.reply.status == 200),
	    "status %d, handler called %d times", fx.reply.status, handled);
	return fx.reply.status;
}

/* --- path and method ----------------------------------------------------- */

START_TEST(unknown_paths_are_404)
{
	static const char *const paths[] = { "/", "/anyon", "/anyone2",
		"/anyone/x", "/ANYONE", "/%61nyone" };

	fixture_begin();
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		fixture_request(METHOD_GET, paths[i]);
		ck_assert_int_eq(dispatch(), 404);
		ck_assert_str_eq(buf_text(&fx.reply.headers), "");
	}
	fixture_end();
}
END_TEST

START_TEST(other_methods_are_405_with_allow)
{
	static const struct {
		const char *path;
		enum method method;
		const char *allow;
	} all[] = {
		{ "/anyone", METHOD_POST, "Allow: GET, HEAD\r\n" },
		{ "/anyone", METHOD_OTHER, "Allow: GET, HEAD\r\n" },
		{ "/json", METHOD_GET, "Allow: POST\r\n" },
		{ "/two", METHOD_PUT, "Allow: GET, HEAD, POST\r\n" },
		{ "/all", METHOD_OTHER, "Allow: GET, HEAD, POST, PUT\r\n" },
	};

	fixture_begin();
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		fixture_request(all[i].method, all[i].path);
		ck_assert_int_eq(dispatch(), 405);
		ck_assert_str_eq(buf_text(&fx.reply.headers), all[i].allow);
	}
	fixture_end();
}
END_TEST

START_TEST(each_star_takes_one_segment)
{
	static const struct {
		const char *path, *argument; /* NULL: 404 */
	} all[] = { { "/one/a", "a" }, { "/one/a/b.c", "a/b.c" },
		{ "/one/*/..", "*/.." }, { "/one", NULL },
		{ "/one/a/b/c", NULL }, { "/on/a", NULL }, { "/onea", NULL } };

	fixture_begin();
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		fixture_request(METHOD_GET, all[i].path);
		ck_assert_int_eq(dispatch(), all[i].argument ? 200 : 404);
		if (all[i].argument)
			ck_assert_str_eq(
			    buf_text(&fx.reply.body), all[i].argument);
	}
	fixture_end();
}
END_TEST

START_TEST(one_path_may_have_a_row_for_each_method)
{
	fixture_begin();
	fixture_request(METHOD_GET, "/two");
	ck_assert_int_eq(dispatch(), 200);
	fixture_request(METHOD_POST, "/two");
	ck_assert_int_eq(dispatch(), 411);
	fixture_end();
}
END_TEST

START_TEST(head_is_answered_as_get)
{
	fixture_begin();
	fixture_request(METHOD_GET, "/anyone");
	fx.request.head = true;
	ck_assert_int_eq(dispatch(), 200);
	fixture_end();
}
END_TEST

/* --- who ----------------------------------------------------------------- */

enum sender {
	AS_NOBODY,
	AS_VIEWER,
	AS_OPERATOR,
	AS_ADMIN,
	AS_AGENT,
	AS_WRONG_TOKEN,
	AS_WRONG_PASSWORD,
	N_SENDERS
};

static void
send_as(enum sender sender)
{
	static int n;
	char name[16];

	switch (sender) {
	case AS_VIEWER:
		fixture_login(ROLE_VIEWER);
		break;
	case AS_OPERATOR:
		fixture_login(ROLE_OPERATOR);
		break;
	case AS_ADMIN:
		fixture_login(ROLE_ADMIN);
		break;
	case AS_AGENT:
		(void)snprintf(name, sizeof name, "agent-%d", n++);
		fixture_agent(name);
		break;
	case AS_WRONG_TOKEN:
		fx.request.authorization = "Bearer 1234";
		break;
	case AS_WRONG_PASSWORD: /* viewer:wrong-one */
		fx.request.authorization = "Basic dmlld2VyOndyb25nLW9uZQ==";
		break;
	default:
		break;
	}
}

START_TEST(who_may_and_who_may_not)
{
	static const struct {
		const char *path;
		int status[N_SENDERS];
	} all[] = {
		{ "/anyone", { 200, 200, 200, 200, 200, 200, 200 } },
		{ "/agent", { 401, 403, 403, 403, 200, 401, 401 } },
		{ "/viewer", { 401, 200, 200, 200, 403, 401, 401 } },
		{ "/operator", { 401, 403, 200, 200, 403, 401, 401 } },
		{ "/admin", { 401, 403, 403, 200, 403, 401, 401 } },
	};

	fixture_begin();
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		for (int by = 0; by < N_SENDERS; by++) {
			fixture_request(METHOD_GET, all[i].path);
			send_as((enum sender)by);
			ck_assert_msg(dispatch() == all[i].status[by],
			    "%s by %d: %d", all[i].path, by, fx.reply.status);
		}
	fixture_end();
}
END_TEST

START_TEST(a_401_names_the_way_in_and_a_403_does_not)
{
	fixture_begin();
	fixture_request(METHOD_GET, "/viewer");
	ck_assert_int_eq(dispatch(), 401);
	ck_assert(fixture_has_header("WWW-Authenticate: Basic realm="));
	fixture_request(METHOD_GET, "/agent");
	ck_assert_int_eq(dispatch(), 401);
	ck_assert(fixture_has_header("WWW-Authenticate: Bearer realm="));
	fixture_request(METHOD_GET, "/admin");
	fixture_login(ROLE_VIEWER);
	ck_assert_int_eq(dispatch(), 403);
	ck_assert(!fixture_has_header("WWW-Authenticate"));
	fixture_end();
}
END_TEST

START_TEST(who_sent_it_is_forgotten_after_it)
{
	fixture_begin();
	fixture_request(METHOD_GET, "/viewer");
	fixture_login(ROLE_ADMIN);
	ck_assert_int_eq(dispatch(), 200);
	ck_assert_int_eq(fx.request.by.kind, BY_NOBODY);
	ck_assert_str_eq(fx.request.by.form_token, "");
	fixture_end();
}
END_TEST

START_TEST(too_many_failures_are_429)
{
	const char *wait;

	fixture_begin();
	/* so many that the wait outlives the test */
	for (int i = 0; i < LOGIN_FREE_TRIES + 20; i++)
		ck_assert_int_eq(
		    login_failed(fx.store, "viewer", FIXTURE_ADDRESS), 0);
	fixture_request(METHOD_GET, "/viewer");
	send_as(AS_WRONG_PASSWORD);
	ck_assert_int_eq(dispatch(), 429);
	wait = strstr(buf_text(&fx.reply.headers), "Retry-After: ");
	ck_assert_ptr_nonnull(wait);
	ck_assert_int_gt(atoi(wait + strlen("Retry-After: ")), 0);
	ck_assert_int_le(
	    atoi(wait + strlen("Retry-After: ")), LOGIN_WAIT_MAX_MS / 1000);
	fixture_end();
}
END_TEST

START_TEST(without_a_store_it_is_503)
{
	struct store *store;

	fixture_begin();
	store = fx.store;
	fx.store = NULL;
	fixture_request(METHOD_GET, "/anyone");
	fx.request.store_failure = STORE_MISSING;
	ck_assert_int_eq(dispatch(), 503);
	ck_assert(fixture_has_header("Retry-After: 5\r\n"));
	fixture_request(METHOD_GET, "/nothing");
	ck_assert_int_eq(dispatch(), 404);
	fx.store = store;
	fixture_end();
}
END_TEST

/* --- origin and form token ----------------------------------------------- */

/* A form of a viewer with this token. */
static void
form_request(const char *path, const char *token)
{
	static char body[200];

	fixture_request(METHOD_POST, path);
	fixture_login(ROLE_VIEWER);
	(void)snprintf(body, sizeof body, "a=%%3Cb%%3E&form_token=%s",
	    token ? token : fx.form_token);
	fixture_form(body);
}

START_TEST(a_form_needs_its_token)
{
	fixture_begin();
	form_request("/form", "");
	ck_assert_int_eq(dispatch(), 403);
	form_request("/form", "0123456789abcdef");
	ck_assert_int_eq(dispatch(), 403);
	form_request("/form", NULL);
	fixture_form("a=1");
	ck_assert_int_eq(dispatch(), 403);
	form_request("/form", NULL);
	ck_assert_int_eq(dispatch(), 200);
	ck_assert_str_eq(buf_text(&fx.reply.body), "<b>");
	fixture_end();
}
END_TEST

START_TEST(the_token_of_another_session_is_wrong)
{
	char other[SECRET_TEXT];

	fixture_begin();
	fixture_login(ROLE_VIEWER);
	memcpy(other, fx.form_token, sizeof other);
	form_request("/form", other);
	ck_assert_int_eq(dispatch(), 403);
	fixture_end();
}
END_TEST

START_TEST(nobody_has_no_token_not_even_an_empty_one)
{
	fixture_begin();
	fixture_request(METHOD_POST, "/open-form");
	fixture_form("a=1&form_token=");
	ck_assert_int_eq(dispatch(), 403);
	fixture_request(METHOD_POST, "/login");
	fixture_form("a=1");
	ck_assert_int_eq(dispatch(), 200);
	fixture_end();
}
END_TEST

START_TEST(requests_of_other_sites_are_refused)
{
	static const struct {
		const char *origin;
		int status;
	} all[] = {
		{ NULL, 200 },
		{ "http://conspect.example", 200 },
		{ "http://CONSPECT.example", 200 },
		/* a proxy may end TLS */
		{ "https://conspect.example", 200 },
		{ "https://evil.example", 403 },
		{ "null", 403 },
		{ "", 403 },
		{ "conspect.example", 403 },
		{ "http://conspect.example:8080", 403 },
		{ "http://conspect.example.evil.example", 403 },
		{ "http://evil.example/://conspect.example", 403 },
	};

	fixture_begin();
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		form_request("/form", NULL);
		fx.request.origin = all[i].origin;
		ck_assert_msg(dispatch() == all[i].status, "%s: %d",
		    all[i].origin, fx.reply.status);
	}
	fixture_end();
}
END_TEST

START_TEST(without_a_host_no_origin_is_ours)
{
	fixture_begin();
	form_request("/form", NULL);
	fx.request.origin = "http://conspect.example";
	fx.request.host = NULL;
	ck_assert_int_eq(dispatch(), 403);
	fixture_end();
}
END_TEST

START_TEST(a_page_may_be_read_from_everywhere)
{
	fixture_begin();
	fixture_request(METHOD_GET, "/anyone");
	fx.request.origin = "https://evil.example";
	ck_assert_int_eq(dispatch(), 200);
	fixture_end();
}
END_TEST

START_TEST(a_form_is_of_a_form_type)
{
	static const struct {
		const char *type;
		int status;
	} all[] = {
		{ NULL, 415 },
		{ "", 415 },
		{ "text/plain", 415 },
		{ "multipart/form-data; boundary=x", 415 },
		{ "application/x-www-form-urlencodedx", 415 },
		{ "application/x-www-form-urlencoded; charset=UTF-8", 200 },
		{ "Application/X-WWW-Form-URLencoded", 200 },
	};

	fixture_begin();
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		form_request("/form", NULL);
		fx.request.content_type = all[i].type;
		ck_assert_msg(dispatch() == all[i].status, "%s: %d",
		    all[i].type, fx.reply.status);
	}
	fixture_end();
}
END_TEST

START_TEST(a_form_that_cannot_be_decoded_is_400)
{
	fixture_begin();
	fixture_request(METHOD_POST, "/login");
	fixture_form("a=%");
	ck_assert_int_eq(dispatch(), 400);
	fixture_end();
}
END_TEST

/* --- body ---------------------------------------------------------------- */

static int
post_json(const char *length, const char *body)
{
	fixture_request(METHOD_POST, "/json");
	fx.request.content_length = length;
	fx.body = body;
	return dispatch();
}

#define FORTY "0123456789012345678901234567890123456789"

START_TEST(the_length_is_checked)
{
	fixture_begin();
	ck_assert_int_eq(post_json(NULL, "{}"), 411);
	ck_assert_int_eq(post_json("", "{}"), 411);
	ck_assert_int_eq(post_json("-1", "{}"), 400);
	ck_assert_int_eq(post_json("+2", "{}"), 400);
	ck_assert_int_eq(post_json(" 2", "{}"), 400);
	ck_assert_int_eq(post_json("2x", "{}"), 400);
	ck_assert_int_eq(post_json("0x2", "{}"), 400);
	ck_assert_int_eq(post_json("99999999999", "{}"), 413);
	ck_assert_int_eq(post_json("99999999999999999999999999", "{}"), 413);
	ck_assert_int_eq(post_json("2", "{}"), 200);
	ck_assert_str_eq(buf_text(&fx.reply.body), "{}");
	ck_assert_int_eq(post_json("0", ""), 200);
	fixture_end();
}
END_TEST

START_TEST(the_limit_is_exact)
{
	fixture_begin();
	ck_assert_int_eq(post_json("40", FORTY), 200);
	ck_assert_str_eq(buf_text(&fx.reply.body), FORTY);
	ck_assert_int_eq(post_json("41", FORTY "x"), 413);
	fixture_end();
}
END_TEST

START_TEST(a_body_shorter_than_declared_is_400)
{
	fixture_begin();
	ck_assert_int_eq(post_json("3", "{}"), 400);
	ck_assert_int_eq(post_json("3", ""), 400);
	fixture_end();
}
END_TEST

START_TEST(of_a_body_longer_than_declared_the_rest_is_not_read)
{
	fixture_begin();
	ck_assert_int_eq(post_json("2", "{}rest"), 200);
	ck_assert_str_eq(buf_text(&fx.reply.body), "{}");
	ck_assert_str_eq(fx.body, "rest");
	fixture_end();
}
END_TEST

START_TEST(a_transfer_encoding_is_411)
{
	fixture_begin();
	fixture_request(METHOD_POST, "/json");
	fixture_form("{}");
	fx.request.transfer_encoding = "chunked";
	ck_assert_int_eq(dispatch(), 411);
	fixture_end();
}
END_TEST

START_TEST(a_refused_body_is_taken_off_the_wire)
{
	fixture_begin();
	ck_assert_int_eq(post_json("41", FORTY "x"), 413);
	ck_assert_str_eq(fx.body, "");
	fixture_request(METHOD_POST, "/nothing");
	fixture_form(FORTY);
	ck_assert_int_eq(dispatch(), 404);
	ck_assert_str_eq(fx.body, "");
	fixture_request(METHOD_POST, "/json");
	fixture_form(FORTY);
	fx.request.content_length = NULL;
	fx.request.transfer_encoding = "chunked";
	ck_assert_int_eq(dispatch(), 411);
	ck_assert_str_eq(fx.body, "");
	fixture_end();
}
END_TEST

HARNESS_MAIN("route", unknown_paths_are_404, other_methods_are_405_with_allow,
    each_star_takes_one_segment, one_path_may_have_a_row_for_each_method,
    head_is_answered_as_get, who_may_and_who_may_not,
    a_401_names_the_way_in_and_a_403_does_not,
    who_sent_it_is_forgotten_after_it, too_many_failures_are_429,
    without_a_store_it_is_503, a_form_needs_its_token,
    the_token_of_another_session_is_wrong,
    nobody_has_no_token_not_even_an_empty_one,
    requests_of_other_sites_are_refused, without_a_host_no_origin_is_ours,
    a_page_may_be_read_from_everywhere, a_form_is_of_a_form_type,
    a_form_that_cannot_be_decoded_is_400, the_length_is_checked,
    the_limit_is_exact, a_body_shorter_than_declared_is_400,
    of_a_body_longer_than_declared_the_rest_is_not_read,
    a_transfer_encoding_is_411, a_refused_body_is_taken_off_the_wire)
