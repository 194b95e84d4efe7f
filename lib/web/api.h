/*
 * The API: its routes and handlers, served by cgi-bin/api.
 */
#ifndef CONSPECT_WEB_API_H
#define CONSPECT_WEB_API_H

#include "web/route.h"

extern const struct web_app api_app;

/* The handlers, one file each. */
void api_profile_request(struct web_request *request, struct web_reply *reply);
void api_heartbeat(struct web_request *request, struct web_reply *reply);
void api_command_completion(
    struct web_request *request, struct web_reply *reply);
void api_host_status(struct web_request *request, struct web_reply *reply);
void api_requests(struct web_request *request, struct web_reply *reply);
void api_request(struct web_request *request, struct web_reply *reply);
void api_result_put(struct web_request *request, struct web_reply *reply);
void api_result_list(struct web_request *request, struct web_reply *reply);
void api_result_get(struct web_request *request, struct web_reply *reply);

/*
 * The JSON of the body, a new value (NULL for null and for no body at all),
 * in *value.  Returns false when the body is no JSON, after replying.
 */
bool api_read_json(struct web_request *request, struct web_reply *reply,
    struct json_object **value) __attribute__((nonnull, warn_unused_result));

/* The query's members; false when it cannot be read, after replying.
 * params_free() in each case. */
bool api_read_query(struct web_request *request, struct web_reply *reply,
    struct params *query) __attribute__((nonnull, warn_unused_result));

/* A parameter that is a boolean; `value` stays where it is not there. */
void api_query_bool(const struct params *query, const char *name, bool *value,
    struct faults *faults) __attribute__((nonnull));

/* limit (0..API_LIMIT_MAX) and offset, which stay where they are not there. */
#define API_LIMIT_MAX 100000
void api_query_page(const struct params *query, int64_t *limit,
    int64_t *offset, struct faults *faults) __attribute__((nonnull));

/* 422 with the faults that were found, which end with it. */
void api_reply_faults(struct web_reply *reply, struct faults *faults)
    __attribute__((nonnull));

#endif
