/*
 * One request at a time to the API server, inside a curl multi handle: a POST
 * of JSON, or a PUT of a file.
 */
#ifndef CONSPECT_AGENTD_HTTP_H
#define CONSPECT_AGENTD_HTTP_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agentd/options.h"
#include "core/buf.h"
#include "core/reason.h"

/* Longer replies are refused: a command is a few kilobytes. */
#define HTTP_REPLY_MAX (1024 * 1024)

/* A connection of its own that is kept between requests. */
struct http_post {
	CURLM *multi;
	CURL *easy;
	struct curl_slist *headers;
	const char *base; /* the API server */
	const char *path; /* what it sends to, under the API server */
	char *url;
	bool busy;   /* a request is under way */
	char *body;  /* of it, where it is a POST, else NULL */
	int file;    /* of it, where it is a PUT, else -1 */
	size_t room; /* in body: where the own address goes, 0 for nowhere */
	struct buf reply;
	char error[CURL_ERROR_SIZE];
};

/* How a request ended. */
struct http_result {
	bool ok;           /* status 200, of a PUT also 201; the reply is in
			      post->reply */
	long status;       /* 0: there was no answer */
	long retry_after;  /* seconds that the server asked for, or 0 */
	struct reason why; /* when not ok */
};

/* Sets one up; path (of its POSTs, or NULL) and options must live on.  0, or
 * -1 with the reason. */
int http_open(struct http_post *p, CURLM *multi, const struct options *o,
    const char *path, struct reason *why)
    __attribute__((nonnull(1, 2, 3, 5), warn_unused_result));
void http_close(struct http_post *p) __attribute__((nonnull));

/*
 * Sends body, which it takes and frees.  room is where in it the address of
 * our end of the connection is to be written, 0 for nowhere.
 * Returns 0, or -1 with the reason.
 */
int http_send(struct http_post *p, const char *token, char *body, size_t room,
    struct reason *why) __attribute__((nonnull, warn_unused_result));

/*
 * PUTs the first `bytes` bytes of a file, which it takes and closes, to a
 * path, which must live on.  Returns 0, or -1 with the reason.
 */
int http_send_file(struct http_post *p, const char *token, const char *path,
    int file, int64_t bytes, struct reason *why)
    __attribute__((nonnull, warn_unused_result));

static inline bool
http_is_busy(const struct http_post *p)
{
	return p->busy;
}

/* To be called when curl says that the transfer is done. */
void http_finish(struct http_post *p, CURLcode code,
    struct http_result *result) __attribute__((nonnull));

#endif
