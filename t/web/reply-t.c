/* Replies: phrases, headers that cannot be forged, addresses that hold. */
#include "web/web.h"

#include <stdio.h>
#include <string.h>

#include "harness.h"

static struct web_reply
new_reply(void)
{
	struct web_reply reply = { .headers = BUF_INIT(100000),
		.body = BUF_INIT(100000) };

	reply_reset(&reply);
	return reply;
}

static void
free_reply(struct web_reply *reply)
{
	buf_free(&reply->headers);
	buf_free(&reply->body);
}

START_TEST(each_status_has_its_phrase)
{
	static const struct {
		int status;
		const char *phrase;
	} all[] = { { 200, "OK" }, { 303, "See Other" },
		{ 400, "Bad Request" }, { 401, "Unauthorized" },
		{ 403, "Forbidden" }, { 404, "Not Found" },
		{ 405, "Method Not Allowed" }, { 409, "Conflict" },
		{ 411, "Length Required" }, { 413, "Content Too Large" },
		{ 415, "Unsupported Media Type" },
		{ 422, "Unprocessable Content" }, { 429, "Too Many Requests" },
		{ 500, "Internal Server Error" },
		{ 503, "Service Unavailable" }, { 299, "Unknown" } };

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		ck_assert_str_eq(status_phrase(all[i].status), all[i].phrase);
}
END_TEST

START_TEST(a_header_cannot_hold_another)
{
	struct web_reply reply = new_reply();

	reply_header(&reply, "X-Name", "%s", "a\r\nSet-Cookie: b\n\tc\x7f.");
	ck_assert_str_eq(
	    buf_text(&reply.headers), "X-Name: a  Set-Cookie: b  c .\r\n");
	free_reply(&reply);
}
END_TEST

START_TEST(a_long_header_is_cut_and_still_ends)
{
	struct web_reply reply = new_reply();
	char value[10000];

	memset(value, 'a', sizeof value);
	value[sizeof value - 1] = '\0';
	reply_header(&reply, "X-Name", "%s", value);
	reply_header(&reply, "X-Next", "%d", 1);
	ck_assert_uint_lt(reply.headers.len, 4200);
	ck_assert_ptr_nonnull(
	    strstr(buf_text(&reply.headers), "a\r\nX-Next: 1\r\n"));
	free_reply(&reply);
}
END_TEST

/* From a page so deep, `to` is at the address. */
static void
redirects(size_t depth, const char *to, const char *address)
{
	struct web_reply reply = new_reply();
	struct web_request request = { .depth = depth };
	char expected[256];

	(void)snprintf(expected, sizeof expected, "Location: %s\r\n", address);
	reply_redirect(&reply, &request, to);
	ck_assert_int_eq(reply.status, 303);
	ck_assert_str_eq(buf_text(&reply.headers), expected);
	free_reply(&reply);
}

START_TEST(redirects_are_relative_to_the_page)
{
	redirects(0, "login", "./login");
	redirects(0, "", "./");
	redirects(1, "login", "./../login");
	redirects(2, "?x=1", "./../../?x=1");
}
END_TEST

START_TEST(a_page_too_deep_has_a_root_that_ends)
{
	struct web_request request = { .depth = 1000 };
	char root[16];

	web_root(&request, root, sizeof root);
	ck_assert_str_eq(root, "./../../../../");
}
END_TEST

START_TEST(reset_forgets_everything)
{
	struct web_reply reply = new_reply();

	reply.status = 503;
	reply.content_type = "text/html";
	reply_header(&reply, "X-Name", "%d", 1);
	buf_str(&reply.body, "half a page");
	reply_reset(&reply);
	ck_assert_int_eq(reply.status, 200);
	ck_assert_ptr_null(reply.content_type);
	ck_assert_str_eq(buf_text(&reply.headers), "");
	ck_assert_str_eq(buf_text(&reply.body), "");
	free_reply(&reply);
}
END_TEST

START_TEST(json_replaces_the_body)
{
	struct web_reply reply = new_reply();
	struct json_object *value = json_object_new_object();

	buf_str(&reply.body, "half a page");
	json_object_object_add(value, "a", json_object_new_int(1));
	json_object_object_add(value, "b", json_object_new_string("/<\"\n"));
	reply_json(&reply, 422, value);
	ck_assert_int_eq(reply.status, 422);
	ck_assert_str_eq(reply.content_type, "application/json");
	ck_assert_str_eq(
	    buf_text(&reply.body), "{\"a\":1,\"b\":\"/<\\\"\\n\"}");
	reply_json(&reply, 200, NULL);
	ck_assert_str_eq(buf_text(&reply.body), "null");
	free_reply(&reply);
}
END_TEST

START_TEST(a_detail_is_json)
{
	struct web_reply reply = new_reply();

	reply_detail(&reply, 404, "no \"%s\"", "x\\y");
	ck_assert_int_eq(reply.status, 404);
	ck_assert_str_eq(
	    buf_text(&reply.body), "{\"detail\":\"no \\\"x\\\\y\\\"\"}");
	free_reply(&reply);
}
END_TEST

static void
plain_error(const struct web_request *request, struct web_reply *reply,
    int status, const char *detail)
{
	(void)request;
	reply->status = status;
	buf_str(&reply->body, detail);
}

START_TEST(failures_of_the_store_say_when_to_come_back)
{
	static const struct web_app app = { .error = plain_error };
	static const struct {
		enum store_failure failure;
		const char *part;
	} all[] = { { STORE_FAULT, "log says how" }, { STORE_BUSY, "locked" },
		{ STORE_READONLY, "written" }, { STORE_FULL, "full" },
		{ STORE_MISSING, "opened" },
		{ STORE_NEWER, "newer Conspect" } };
	struct web_reply reply = new_reply();
	struct web_request request = { .app = &app };

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		request.store_failure = all[i].failure;
		reply_store_failure(&request, &reply);
		ck_assert_int_eq(reply.status, 503);
		ck_assert_str_eq(
		    buf_text(&reply.headers), "Retry-After: 5\r\n");
		ck_assert_ptr_nonnull(
		    strstr(buf_text(&reply.body), all[i].part));
	}
	free_reply(&reply);
}
END_TEST

START_TEST(a_wait_is_told_in_whole_seconds)
{
	static const struct web_app app = { .error = plain_error };
	struct web_reply reply = new_reply();
	struct web_request request = { .app = &app };

	reply_wait(&request, &reply, 1);
	ck_assert_int_eq(reply.status, 429);
	ck_assert_str_eq(buf_text(&reply.headers), "Retry-After: 1\r\n");
	reply_wait(&request, &reply, 2001);
	ck_assert_str_eq(buf_text(&reply.headers), "Retry-After: 3\r\n");
	free_reply(&reply);
}
END_TEST

HARNESS_MAIN("reply", each_status_has_its_phrase, a_header_cannot_hold_another,
    a_long_header_is_cut_and_still_ends, redirects_are_relative_to_the_page,
    a_page_too_deep_has_a_root_that_ends, reset_forgets_everything,
    json_replaces_the_body, a_detail_is_json,
    failures_of_the_store_say_when_to_come_back,
    a_wait_is_told_in_whole_seconds)
