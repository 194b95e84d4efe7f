#include "agentd/http.h"

#include "agentd/fetch.h"
#include "agentd/peer.h"
#include "agentd/wire.h"
#include "core/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* gProfiler's own client waits as long. */
#define TOTAL_SECONDS 30L
#define CONNECT_SECONDS 10L
/* A file takes its time on a thin line, but may not stand still. */
#define FILE_TOTAL_SECONDS 900L
#define FILE_STALL_SECONDS 30L
#define FILE_STALL_BYTES 100L
/* A server's Retry-After is held to this. */
#define RETRY_AFTER_MAX 3600

/* Returning less than was given has curl end the transfer. */
static size_t
on_reply(char *bytes, size_t size, size_t count, void *context)
{
	struct http_post *p = context;

	buf_add(&p->reply, bytes, size * count);
	return p->reply.full ? 0 : size * count;
}

/*
 * Called with the connection made and nothing sent yet: only now is it known
 * which of the host's addresses reaches the server.
 */
static int
on_connected(void *context, char *remote_address, char *local_address,
    int remote_port, int local_port)
{
	struct http_post *p = context;

	(void)remote_address;
	(void)remote_port;
	(void)local_port;
	if (p->room && local_address)
		wire_set_address(p->body, p->room, local_address);
	return CURL_PREREQFUNC_OK;
}

static void
set_options(struct http_post *p, const struct options *o)
{
	const struct peer peer = { o->ca_file, o->proxy, o->no_verify };
	CURL *c = p->easy;

	peer_set(c, &peer);
	/* a redirect would carry the token to wherever it points */
	curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(c, CURLOPT_TIMEOUT, TOTAL_SECONDS);
	curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, CONNECT_SECONDS);
	curl_easy_setopt(c, CURLOPT_ERRORBUFFER, p->error);
	curl_easy_setopt(c, CURLOPT_PRIVATE, p);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_reply);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, p);
	curl_easy_setopt(c, CURLOPT_PREREQFUNCTION, on_connected);
	curl_easy_setopt(c, CURLOPT_PREREQDATA, p);
}

static void
set_path(struct http_post *p, const char *path)
{
	free(p->url);
	p->path = path;
	p->url = mem_fmt("%s%s", p->base, path);
	curl_easy_setopt(p->easy, CURLOPT_URL, p->url);
}

int
http_open(struct http_post *p, CURLM *multi, const struct options *o,
    const char *path, struct reason *why)
{
	*p = (struct http_post) { .multi = multi,
		.base = o->api_server,
		.file = -1,
		.reply = BUF_INIT(HTTP_REPLY_MAX) };
	p->easy = curl_easy_init();
	if (!p->easy)
		return reason_set(why, "libcurl does not start");
	set_options(p, o);
	set_path(p, path ? path : "");
	return 0;
}

/* Lets go what belongs to one request. */
static void
end_request(struct http_post *p)
{
	if (p->busy)
		(void)curl_multi_remove_handle(p->multi, p->easy);
	p->busy = false;
	free(p->body);
	p->body = NULL;
	if (p->file >= 0)
		(void)close(p->file);
	p->file = -1;
}

void
http_close(struct http_post *p)
{
	end_request(p);
	curl_easy_cleanup(p->easy);
	curl_slist_free_all(p->headers);
	free(p->url);
	buf_free(&p->reply);
	*p = (struct http_post) { 0 };
}

static void
set_headers(struct http_post *p, const char *token, const char *type)
{
	char *authorization = mem_fmt("Authorization: Bearer %s", token);

	curl_slist_free_all(p->headers);
	p->headers = curl_slist_append(NULL, authorization);
	p->headers = curl_slist_append(p->headers, type);
	/* without a round trip before the body */
	p->headers = curl_slist_append(p->headers, "Expect:");
	free(authorization);
	curl_easy_setopt(p->easy, CURLOPT_HTTPHEADER, p->headers);
}

/* Hands the request to curl; 0, or -1 with the reason. */
static int
begin(struct http_post *p, struct reason *why)
{
	p->error[0] = '\0';
	buf_clear(&p->reply);
	p->busy = curl_multi_add_handle(p->multi, p->easy) == CURLM_OK;
	if (p->busy)
		return 0;
	end_request(p);
	return reason_set(why, "libcurl takes no request");
}

int
http_send(struct http_post *p, const char *token, char *body, size_t room,
    struct reason *why)
{
	p->body = body;
	p->room = room;
	set_headers(p, token, "Content-Type: application/json");
	curl_easy_setopt(
	    p->easy, CURLOPT_POSTFIELDSIZE, (long)strlen(p->body));
	curl_easy_setopt(p->easy, CURLOPT_POSTFIELDS, p->body);
	return begin(p, why);
}

/* --- files --------------------------------------------------------------- */

static size_t
read_file(char *to, size_t size, size_t count, void *context)
{
	const struct http_post *p = context;
	ssize_t n;

	do
		n = read(p->file, to, size * count);
	while (n < 0 && errno == EINTR);
	return n < 0 ? CURL_READFUNC_ABORT : (size_t)n;
}

/* A connection that was kept may turn out to be closed: from the start. */
static int
seek_file(void *context, curl_off_t offset, int origin)
{
	const struct http_post *p = context;

	return lseek(p->file, (off_t)offset, origin) < 0 ? CURL_SEEKFUNC_FAIL
							 : CURL_SEEKFUNC_OK;
}

int
http_send_file(struct http_post *p, const char *token, const char *path,
    int file, int64_t bytes, struct reason *why)
{
	CURL *c = p->easy;

	p->file = file;
	p->room = 0;
	set_path(p, path);
	set_headers(p, token, "Content-Type: application/octet-stream");
	curl_easy_setopt(c, CURLOPT_UPLOAD, 1L);
	curl_easy_setopt(c, CURLOPT_INFILESIZE_LARGE, (curl_off_t)bytes);
	curl_easy_setopt(c, CURLOPT_READFUNCTION, read_file);
	curl_easy_setopt(c, CURLOPT_READDATA, p);
	curl_easy_setopt(c, CURLOPT_SEEKFUNCTION, seek_file);
	curl_easy_setopt(c, CURLOPT_SEEKDATA, p);
	curl_easy_setopt(c, CURLOPT_TIMEOUT, FILE_TOTAL_SECONDS);
	curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, FILE_STALL_SECONDS);
	curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, FILE_STALL_BYTES);
	return begin(p, why);
}

/* --- the end of a request ------------------------------------------------ */

/* The server's base address at the end of a redirect. */
static void
describe_redirect(struct http_post *p, const char *to, struct reason *why)
{
	size_t n = strlen(to), tail = strlen(p->path);

	if (n > tail && strcmp(to + n - tail, p->path) == 0)
		reason_set(why,
		    "%s redirects to %.300s, which is not followed: set "
		    "--api-server to %.*s",
		    p->url, to, (int)(n - tail < 300 ? n - tail : 300), to);
	else
		reason_set(why,
		    "%s redirects to %.300s, which is not followed: set "
		    "--api-server to the address of the appliance",
		    p->url, to);
}

static void
describe_status(struct http_post *p, long status, struct reason *why)
{
	char text[64], *to = NULL;

	fetch_status_text(status, text);
	(void)curl_easy_getinfo(p->easy, CURLINFO_REDIRECT_URL, &to);
	if (status >= 300 && status < 400 && to)
		describe_redirect(p, to, why);
	else if (status == 401)
		reason_set(why,
		    "%s answered %s: the token is not accepted (see "
		    "--token-file)",
		    p->url, text);
	else
		reason_set(why, "%s answered %s: %.200s", p->url, text,
		    buf_text(&p->reply));
}

static void
describe_failure(const struct http_post *p, CURLcode code, struct reason *why)
{
	peer_describe(code, p->error, why);
	reason_set(why, "%s: %s", p->url, why->text);
}

void
http_finish(struct http_post *p, CURLcode code, struct http_result *result)
{
	long status = 0;
	curl_off_t after = 0;

	*result = (struct http_result) { 0 };
	(void)curl_easy_getinfo(p->easy, CURLINFO_RESPONSE_CODE, &status);
	(void)curl_easy_getinfo(p->easy, CURLINFO_RETRY_AFTER, &after);
	if (after > 0)
		result->retry_after =
		    after < RETRY_AFTER_MAX ? (long)after : RETRY_AFTER_MAX;
	if (p->reply.full)
		reason_set(&result->why, "%s: the reply is longer than %d",
		    p->url, HTTP_REPLY_MAX);
	else if (code != CURLE_OK)
		describe_failure(p, code, &result->why);
	else if (status != 200 && !(status == 201 && p->file >= 0))
		describe_status(p, status, &result->why);
	else
		result->ok = true;
	result->status = status;
	end_request(p);
}
