/*
 * Who sends a request: a person by session cookie or HTTP Basic, an agent
 * by bearer token.
 */
#ifndef CONSPECT_WEB_AUTH_H
#define CONSPECT_WEB_AUTH_H

#include "web/web.h"

/* A session ends after a working day, however busy. */
#define SESSION_MS (12 * 3600 * 1000LL)

enum auth_result {
	AUTH_OK,     /* request->by is set; BY_NOBODY without credentials */
	AUTH_WRONG,  /* credentials that are not right */
	AUTH_WAIT,   /* too many failures: *wait_ms until the next try */
	AUTH_FAILED, /* the store failed: see store_failure() */
};

/* Finds who sends the request from its headers. */
enum auth_result auth_request(struct web_request *request, int64_t *wait_ms)
    __attribute__((nonnull, warn_unused_result));

/* Checks a person's password, slowing down guesses; fills *user on AUTH_OK. */
enum auth_result auth_password(struct web_request *request, const char *name,
    const char *password, struct user *user, int64_t *wait_ms)
    __attribute__((nonnull, warn_unused_result));

/* Begins a session of the user and sets its cookie; 0, or -1 failed. */
int auth_begin_session(struct web_request *request, struct web_reply *reply,
    const struct user *user) __attribute__((nonnull, warn_unused_result));

/* Ends the request's session, if there is one; 0, or -1 failed. */
int auth_end_session(struct web_request *request, struct web_reply *reply)
    __attribute__((nonnull, warn_unused_result));

void principal_free(struct principal *by) __attribute__((nonnull));

#endif
