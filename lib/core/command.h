/*
 * A profiling command: one host's share of a request, on its way through
 *
 *   pending -> sent -> accepted -> installing -> running
 *
 * to one of the end states.  Here are its states and the rules for its
 * combined_config, the JSON object that the agent is given.
 */
#ifndef CONSPECT_CORE_COMMAND_H
#define CONSPECT_CORE_COMMAND_H

#include "core/request.h"

enum command_state {
	COMMAND_PENDING,    /* waits for the host's heartbeat */
	COMMAND_SENT,       /* handed out, not yet shown by the agent */
	COMMAND_ACCEPTED,   /* the agent has it */
	COMMAND_INSTALLING, /* the agent installs PerfSpect */
	COMMAND_RUNNING,
	COMMAND_COMPLETED, /* the end states from here on */
	COMMAND_FAILED,
	COMMAND_STOPPED,
	COMMAND_SUPERSEDED, /* left pending for a command that replaced it */
	COMMAND_CANCELLED,  /* a stop came before it was sent */
	COMMAND_EXPIRED,
};

/* Commands of one kind take the same slot of the agent. */
enum command_kind { KIND_STOP, KIND_ADHOC, KIND_CONTINUOUS };

extern const char *const command_state_names[]; /* by enum command_state */
extern const char *const command_kind_names[];  /* by enum command_kind */

/*
 * What happens to a command, and who may cause it: the transitions are one
 * table, command_next(), and nothing else moves a command.
 */
enum command_event {
	EVENT_HAND_OUT,  /* server: a heartbeat's reply carries it */
	EVENT_ACCEPT,    /* agent: shows its id */
	EVENT_INSTALL,   /* agent: installs PerfSpect for it */
	EVENT_RUN,       /* agent: runs it */
	EVENT_COMPLETE,  /* agent: reports the end */
	EVENT_FAIL,      /* agent: likewise */
	EVENT_STOP,      /* agent: likewise, after a stop */
	EVENT_CANCEL,    /* operator: a stop before it began */
	EVENT_SUPERSEDE, /* operator: a start with fewer processes follows */
	EVENT_EXPIRE,    /* clock: no host took it in time */
	N_COMMAND_EVENTS,
};

#define N_COMMAND_STATES (COMMAND_EXPIRED + 1)

/* The state that an event leads to, which may be the same; -1 where the
 * event cannot happen in that state. */
int command_next(enum command_state state, enum command_event event);

/* The state of that name, or -1. */
int command_state_of(const char *name) __attribute__((nonnull));

bool command_state_is_end(enum command_state state);

/* The kind of a start. */
enum command_kind command_start_kind(const struct profiling_request *request)
    __attribute__((nonnull));

/* The functions below return new values that the caller puts back. */

/* A start's combined_config for one of its hosts. */
struct json_object *command_start_config(
    const struct profiling_request *request, const struct target *target)
    __attribute__((nonnull));

/* A stop of the whole host, and of some processes. */
struct json_object *command_stop_host_config(void);
struct json_object *command_stop_process_config(const struct target *target)
    __attribute__((nonnull));

/*
 * The combined_config of a pending start into which a later one is merged:
 * longest duration (null, for ever, is longest), highest frequency, union of
 * pids (none means the whole host and wins), the later mode, and the later
 * additional_args key by key.
 */
struct json_object *command_merge_configs(struct json_object *pending,
    struct json_object *later) __attribute__((nonnull));

/* Two stops that wait become one: of the whole host if either is, else of
 * the processes of both. */
struct json_object *command_merge_stops(struct json_object *pending,
    struct json_object *later) __attribute__((nonnull));

/* Whether a start names one of the target's processes. */
bool command_has_pids(struct json_object *start, const struct target *target)
    __attribute__((nonnull));

/*
 * What remains of a start with pids when the target's are taken out of it,
 * or NULL where nothing does.
 */
struct json_object *command_without_pids(struct json_object *start,
    const struct target *target) __attribute__((nonnull));

#endif
