/*
 * One request and one reply, the same under CGI and FastCGI.
 *
 * A request is read from its environment at once, its body only after the
 * route table allowed it (web/route.h).  A reply is composed in memory and
 * sent once, so that an error discards the half-made page.
 */
#ifndef CONSPECT_WEB_WEB_H
#define CONSPECT_WEB_WEB_H

#include "core/buf.h"
#include "core/json.h"
#include "store/store.h"

/* --- request ------------------------------------------------------------- */

enum method {
	METHOD_OTHER = 0,
	METHOD_GET = 1, /* HEAD too: the body is not sent */
	METHOD_POST = 2,
	METHOD_PUT = 4,
};

/* A form or query: names and values in their order. */
struct params {
	struct param {
		const char *name, *value; /* decoded, in `text` */
	} * list;
	size_t n;
	char *text; /* owned */
};

/* More members than the largest request has hosts. */
#define PARAMS_MAX 20000

/* Decodes application/x-www-form-urlencoded; 0, or -1 with the reason: too
 * many, a bad escape, a NUL, not UTF-8. */
int params_read(struct params *params, const char *text, size_t len,
    struct reason *why) __attribute__((nonnull, warn_unused_result));
void params_free(struct params *params) __attribute__((nonnull));

/* The first value of that name, or NULL. */
const char *params_get(const struct params *params, const char *name)
    __attribute__((nonnull));

/* Who sends a request, once it is known. */
enum principal_kind { BY_NOBODY, BY_USER, BY_AGENT };
struct principal {
	enum principal_kind kind;
	struct user user;         /* BY_USER */
	struct agent_token token; /* BY_AGENT */
	/* what forms must carry: see secret_form_token() */
	char form_token[SECRET_TEXT];
	bool by_session; /* logged in by the page, not HTTP Basic */
};

struct web_app;

struct web_request {
	const struct web_app *app;
	enum method method;
	bool head;
	/* of PATH_INFO: begins with /, no // and no / at the end */
	char *path;
	size_t depth; /* of the address as it was sent: 0 at the root */
	const char *argument;     /* what a route's * stand for, or NULL */
	const char *query;        /* as sent */
	const char *content_type; /* or NULL, as all below */
	const char *content_length;
	const char *transfer_encoding;
	const char *authorization;
	const char *cookie;
	const char *origin;
	const char *host;
	const char *remote_address;
	bool secure; /* the browser's connection is TLS */
	const char *body;
	size_t body_len;
	struct params form; /* of a ROUTE_FORM */
	struct principal by;
	struct store *store;              /* NULL: could not be opened, */
	enum store_failure store_failure; /* and why */
};

/* --- reply --------------------------------------------------------------- */

/* A page or a list of every host fits; more is a fault of ours. */
#define REPLY_BYTES_MAX (64 * 1024 * 1024)

struct web_reply {
	int status;
	const char *content_type; /* a constant */
	struct buf headers;       /* further ones, whole lines */
	struct buf body;
};

/* Adds a header; control characters in the value become spaces. */
void reply_header(struct web_reply *reply, const char *name,
    const char *format, ...) __attribute__((nonnull, format(printf, 3, 4)));

/* Forgets what was composed: body, headers, status. */
void reply_reset(struct web_reply *reply) __attribute__((nonnull));

/* Sends a JSON value as the reply, and puts it back. */
void reply_json(struct web_reply *reply, int status, struct json_object *value)
    __attribute__((nonnull(1)));

/* {"detail": "..."} in place of all that was composed. */
void reply_detail(struct web_reply *reply, int status, const char *format, ...)
    __attribute__((nonnull, format(printf, 3, 4)));

/*
 * An error in the form of the program: JSON of the API, a page of the
 * console.  `detail` is for a person and names the way out.
 */
void reply_error(const struct web_request *request, struct web_reply *reply,
    int status, const char *detail) __attribute__((nonnull));

/* 503 with what the store's last failure means for the client. */
void reply_store_failure(const struct web_request *request,
    struct web_reply *reply) __attribute__((nonnull));

/* 429: too many failed logins, and the wait until the next try. */
void reply_wait(const struct web_request *request, struct web_reply *reply,
    int64_t wait_ms) __attribute__((nonnull));

/*
 * To another page of the same program: `to` is relative to its root and the
 * address sent is relative to this page's, so that it holds behind any
 * prefix and proxy.
 */
void reply_redirect(struct web_reply *reply, const struct web_request *request,
    const char *to) __attribute__((nonnull));

/* "./" or "../" as often as the page is deep: the way to the root. */
void web_root(const struct web_request *request, char *root, size_t size)
    __attribute__((nonnull));

const char *status_phrase(int status);

/* --- programs ------------------------------------------------------------ */

struct route; /* web/route.h */

struct web_app {
	const char *name; /* in the log */
	const struct route *routes;
	size_t n_routes;
	/* composes an error: see reply_error() */
	void (*error)(const struct web_request *request,
	    struct web_reply *reply, int status, const char *detail);
};

/*
 * Serves: one request as CGI, or requests until the end as a FastCGI worker,
 * told apart by standard input.  The database is CONSPECT_DB of the
 * environment.  Returns the exit status for main().
 */
int web_main(const struct web_app *app) __attribute__((nonnull));

#endif
