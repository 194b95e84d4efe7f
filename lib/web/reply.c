#include "web/web.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define JSON_TYPE "application/json"

/* As long as another writer may have held the lock (store's BUSY_MS). */
#define RETRY_SECONDS 5

const char *
status_phrase(int status)
{
	static const struct {
		int status;
		const char *phrase;
	} phrases[] = { { 200, "OK" }, { 201, "Created" },
		{ 303, "See Other" }, { 400, "Bad Request" },
		{ 401, "Unauthorized" }, { 403, "Forbidden" },
		{ 404, "Not Found" }, { 405, "Method Not Allowed" },
		{ 409, "Conflict" }, { 411, "Length Required" },
		{ 413, "Content Too Large" },
		{ 415, "Unsupported Media Type" },
		{ 422, "Unprocessable Content" }, { 429, "Too Many Requests" },
		{ 500, "Internal Server Error" },
		{ 503, "Service Unavailable" } };

	for (size_t i = 0; i < sizeof phrases / sizeof *phrases; i++)
		if (phrases[i].status == status)
			return phrases[i].phrase;
	return "Unknown";
}

void
reply_header(
    struct web_reply *reply, const char *name, const char *format, ...)
{
	char value[4096];
	va_list ap;

	va_start(ap, format);
	(void)vsnprintf(value, sizeof value, format, ap);
	va_end(ap);
	for (char *c = value; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = ' ';
	buf_fmt(&reply->headers, "%s: %s\r\n", name, value);
}

void
reply_reset(struct web_reply *reply)
{
	reply->status = 200;
	reply->content_type = NULL;
	buf_clear(&reply->headers);
	buf_clear(&reply->body);
}

void
reply_json(struct web_reply *reply, int status, struct json_object *value)
{
	reply->status = status;
	reply->content_type = JSON_TYPE;
	buf_clear(&reply->body);
	buf_str(&reply->body, json_text(value));
	json_object_put(value);
}

void
reply_detail(struct web_reply *reply, int status, const char *format, ...)
{
	struct json_object *value = json_object_new_object();
	char detail[REASON_BYTES];
	va_list ap;

	va_start(ap, format);
	(void)vsnprintf(detail, sizeof detail, format, ap);
	va_end(ap);
	json_add_text(value, "detail", detail);
	reply_json(reply, status, value);
}

void
reply_error(const struct web_request *request, struct web_reply *reply,
    int status, const char *detail)
{
	reply_reset(reply);
	request->app->error(request, reply, status, detail);
}

void
reply_store_failure(const struct web_request *request, struct web_reply *reply)
{
	static const char *const texts[] = {
		[STORE_FAULT] = "the database failed: the server's log says "
				"how",
		[STORE_BUSY] = "the database is locked by another program: "
			       "try again",
		[STORE_READONLY] = "the database may not be written: the "
				   "server's log names user and path",
		[STORE_FULL] = "the disk of the database is full or fails",
		[STORE_MISSING] = "the database cannot be opened: the "
				  "server's log names user and path",
		[STORE_NEWER] = "the database was made by a newer Conspect: "
				"install that one",
	};

	reply_error(request, reply, 503,
	    texts[request->store ? store_failure(request->store)
				 : request->store_failure]);
	reply_header(reply, "Retry-After", "%d", RETRY_SECONDS);
}

void
reply_wait(const struct web_request *request, struct web_reply *reply,
    int64_t wait_ms)
{
	reply_error(
	    request, reply, 429, "too many failed logins: wait and try again");
	reply_header(
	    reply, "Retry-After", "%lld", (long long)(wait_ms + 999) / 1000);
}

void
web_root(const struct web_request *request, char *root, size_t size)
{
	size_t used = (size_t)snprintf(root, size, "./");

	for (size_t i = 0; i < request->depth && used + 3 < size; i++) {
		memcpy(root + used, "../", 4);
		used += 3;
	}
}

void
reply_redirect(
    struct web_reply *reply, const struct web_request *request, const char *to)
{
	char root[256];

	web_root(request, root, sizeof root);
	reply->status = 303;
	reply_header(reply, "Location", "%s%s", root, to);
}
