/*
 * History: what was asked, by whom, and what became of it.  Records are
 * handed to a callback; their texts are valid only during the call.
 */
#ifndef CONSPECT_STORE_HISTORY_H
#define CONSPECT_STORE_HISTORY_H

#include "core/clock.h"
#include "store/store.h"

/* A row of ProfilingRequests; NULL and FIELD_NULL as in the table. */
struct request_record {
	const char *request_id, *service_name, *request_type, *status;
	bool continuous;
	int64_t duration, frequency; /* s, Hz */
	const char *profiling_mode, *stop_level;
	const char *target_hostnames;            /* JSON: an array */
	const char *host_pids, *additional_args; /* JSON: objects */
	int64_t expires_in;                      /* s */
	const char *created_by, *created_from, *created_at;
	/* its commands: all, waiting, under way, failed, completed or
	 * stopped; the rest was withdrawn */
	int64_t n_commands, n_waiting, n_open, n_failed, n_done;
};

/* A row of ProfilingCommands with its execution. */
struct command_record {
	const char *command_id, *hostname, *service_name, *command_type;
	const char *kind, *status, *reason;
	const char *combined_config; /* JSON: an object */
	const char *created_at, *expires_at, *sent_at, *accepted_at;
	const char *ended_at;
	const char *started_at; /* NULL: no execution */
	int64_t execution_time, exit_status;
	const char *error_message, *results_path, *perfspect_version;
	const char *arguments; /* JSON: an array, the command line that ran */
	bool partial;          /* results cover less than the asked duration */
};

typedef bool request_visitor(
    void *context, const struct request_record *request);
typedef bool command_visitor(
    void *context, const struct command_record *command);

/* Which requests, newest first; NULL: any. */
struct request_filter {
	const char *service_name, *status, *request_type, *created_by;
	const char *hostname; /* names this host */
	int64_t limit, offset;
};

/*
 * Each calls its visitor as long as it returns true.  The ...by_id() return
 * STORE_NOT_FOUND where there is none.  *total is how many the filter finds
 * without its limit.
 */
int request_list(struct store *store, const struct request_filter *filter,
    request_visitor *visit, void *context, int64_t *total)
    __attribute__((nonnull(1, 2, 3, 5), warn_unused_result));
int request_by_id(struct store *store, const char *request_id,
    request_visitor *visit, void *context)
    __attribute__((nonnull(1, 2, 3), warn_unused_result));
/* Until when the last of its hosts that has not taken it may: sets until, or
 * returns STORE_NOT_FOUND where none waits, or waits for ever. */
int request_waits_until(struct store *store, const char *request_id,
    char until[CLOCK_TEXT]) __attribute__((nonnull, warn_unused_result));
int requests_of_command(struct store *store, const char *command_id,
    request_visitor *visit, void *context)
    __attribute__((nonnull(1, 2, 3), warn_unused_result));
int command_by_id(struct store *store, const char *command_id,
    command_visitor *visit, void *context)
    __attribute__((nonnull(1, 2, 3), warn_unused_result));
int commands_of_request(struct store *store, const char *request_id,
    command_visitor *visit, void *context)
    __attribute__((nonnull(1, 2, 3), warn_unused_result));
/* The newest first. */
int commands_of_host(struct store *store, const char *hostname, int64_t limit,
    command_visitor *visit, void *context)
    __attribute__((nonnull(1, 2, 4), warn_unused_result));

#endif
