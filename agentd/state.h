/*
 * What the agent must not forget: its own id, each command that it was ever
 * given, and the reports that the server has not taken yet.
 *
 * One SQLite file in the state directory, which one agent at a time holds
 * by a lock.  A command is written here before anything is done about it,
 * and its report together with its end, so that at whatever moment the agent
 * is killed, nothing runs twice and nothing goes unreported.
 */
#ifndef CONSPECT_AGENTD_STATE_H
#define CONSPECT_AGENTD_STATE_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/reason.h"
#include "core/uuid.h"

/* Ids of a heartbeat, each list; the protocol's own bound. */
#define STATE_IDS_MAX 1000

/* How far a command is. */
enum state_phase {
	STATE_ACCEPTED,
	STATE_INSTALLING,
	STATE_RUNNING,
	STATE_DONE, /* its report is written */
};

enum state_found { STATE_ABSENT, STATE_THERE };

struct state;

struct state_report {
	int64_t number;
	char *text; /* JSON; freed by the caller */
};

/*
 * Makes the directory (0700) where it is missing, takes the lock and opens
 * the file.  Returns 0, or -1 with the reason.
 */
int state_open(const char *directory, struct state **state, struct reason *why)
    __attribute__((nonnull, warn_unused_result));
void state_close(struct state *state);

/* The agent's own id, made when the file was; owned by the state. */
const char *state_agent_id(const struct state *state) __attribute__((nonnull));

/* A state_found, or -1 with the failure logged. */
int state_knows(struct state *state, const char *command_id)
    __attribute__((nonnull, warn_unused_result));

/* Records a new command.  0, or -1 with the failure logged. */
int state_accept(struct state *state, const char *command_id)
    __attribute__((nonnull, warn_unused_result));

/* Records how far it is.  0, or -1 with the failure logged. */
int state_advance(struct state *state, const char *command_id,
    enum state_phase phase) __attribute__((nonnull, warn_unused_result));

/* Records its end and its report, both or none.  0 or -1, logged. */
int state_finish(struct state *state, const char *command_id,
    const char *report) __attribute__((nonnull, warn_unused_result));

/*
 * A command that an earlier agent left unfinished: STATE_THERE with its id
 * and the time it was received, STATE_ABSENT, or -1, logged.
 */
int state_unfinished(struct state *state, char command_id[UUID_TEXT],
    int64_t *received_ms) __attribute__((nonnull, warn_unused_result));

/* The report to send next: a state_found, or -1, logged. */
int state_next_report(struct state *state, struct state_report *report)
    __attribute__((nonnull, warn_unused_result));

/* The server took it, or never will.  0 or -1, logged. */
int state_drop_report(struct state *state, int64_t number)
    __attribute__((nonnull, warn_unused_result));

/* It could not be sent now: others go first the next time. */
int state_postpone_report(struct state *state, int64_t number)
    __attribute__((nonnull, warn_unused_result));

/*
 * The newest ids, newest first, as an array for json_object_put(): all, or
 * those that are done.
 */
struct json_object *state_ids(struct state *state, bool done)
    __attribute__((nonnull, warn_unused_result));

/* The word of the protocol: "accepted", "installing", "running", "done". */
const char *state_phase_word(enum state_phase phase);

#endif
