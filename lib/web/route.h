/*
 * The table of routes, and the one function that enforces it.
 *
 * A route says which methods it takes, who may use it, whether it is a form,
 * and how large a body may be.  web_dispatch() checks all of it before the
 * handler runs: a handler cannot forget.
 */
#ifndef CONSPECT_WEB_ROUTE_H
#define CONSPECT_WEB_ROUTE_H

#include "web/web.h"

enum who {
	WHO_ANYONE,
	WHO_AGENT,  /* with a token */
	WHO_VIEWER, /* a person with that role or a higher one */
	WHO_OPERATOR,
	WHO_ADMIN,
};

enum body {
	BODY_NONE,
	BODY_JSON,       /* the handler reads it */
	BODY_FILE,       /* of any type; the handler takes it as it is */
	BODY_FORM,       /* parsed, and carries the form token */
	BODY_LOGIN_FORM, /* parsed; nobody is logged in yet */
};

struct route {
	const char *path; /* below the program; each * at the end takes one
			     segment, and what they take, with the slash
			     between, is request->argument */
	unsigned methods; /* of enum method */
	enum who who;
	enum body body;
	size_t body_max; /* bytes */
	void (*handle)(struct web_request *request, struct web_reply *reply);
};

/* Limit on bodies of JSON: 10,000 hosts with pids fit. */
#define JSON_BODY_MAX (1024 * 1024)

/* Reads up to n bytes of the body: how many, 0 at the end, -1 failed. */
typedef long body_reader(void *context, char *to, size_t n);

/*
 * Answers a request whose environment was read: route, method, origin,
 * person, body, form token, handler, in this order.
 */
void web_dispatch(const struct web_app *app, struct web_request *request,
    struct web_reply *reply, body_reader *read_body, void *context)
    __attribute__((nonnull(1, 2, 3, 4)));

#endif
