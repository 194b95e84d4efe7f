/*
 * What the agent must not forget: its own id, each command that it was ever
 * given, the reports and result files that the server has not taken yet, and
 * the runs whose files are still on the disk.
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
 * the file.  Waits three seconds for a lock that is held: longer is another
 * agent.  Returns 0, or -1 with the reason.
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

/*
 * Records its end, its report, and that its files are to be looked for, all
 * or none.  0 or -1, logged.
 */
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
 * Removes reports, the oldest first, that are older than STATE_REPORT_MS or
 * more than STATE_REPORTS_MAX; *n is how many.  0 or -1, logged.
 */
#define STATE_REPORTS_MAX 10000
#define STATE_REPORT_MS (30 * INT64_C(86400000))
int state_trim_reports(struct state *state, int64_t now_ms, int *n)
    __attribute__((nonnull, warn_unused_result));

/* --- runs and their files ------------------------------------------------ */

/* A result file to deliver. */
struct state_result {
	int64_t number;
	char command_id[UUID_TEXT];
	char *name; /* freed by the caller */
	int64_t bytes;
};

/* How much of the runs is kept on the disk. */
struct state_bounds {
	int64_t
	    delivered_ms;  /* that have nothing to deliver: as old as this */
	int64_t oldest_ms; /* all others */
	int64_t
	    bytes; /* of all together; one run alone may have more, until it
			   is delivered */
};

/*
 * Records a run that has a directory and is not known: ended at that time,
 * its files to be looked for.  One that is known stays as it is.
 */
int state_adopt_run(struct state *state, const char *command_id,
    int64_t ended_ms) __attribute__((nonnull, warn_unused_result));

/* A run that ended and whose files were not looked for yet, the oldest first:
 * a state_found, or -1, logged. */
int state_next_run(struct state *state, char command_id[UUID_TEXT])
    __attribute__((nonnull, warn_unused_result));

/*
 * They were looked for: records the n files to deliver (names and bytes) and
 * what the run takes on the disk, all or none.  0 or -1, logged.
 */
int state_collect_run(struct state *state, const char *command_id,
    const struct state_result *files, size_t n, int64_t bytes)
    __attribute__((nonnull(1, 2), warn_unused_result));

/*
 * The run that a bound says is to be removed first: what is delivered before
 * what is not, the older before the newer.  *left is how many of its files
 * were not delivered.  A state_found, or -1, logged.
 */
int state_surplus_run(struct state *state, const struct state_bounds *bounds,
    char command_id[UUID_TEXT], int *left)
    __attribute__((nonnull, warn_unused_result));

/* It is gone from the disk: nothing of it is to be delivered.  0 or -1. */
int state_forget_run(struct state *state, const char *command_id)
    __attribute__((nonnull, warn_unused_result));

/* As for reports: the file to send next, sent, and not now. */
int state_next_result(struct state *state, struct state_result *result)
    __attribute__((nonnull, warn_unused_result));
int state_drop_result(struct state *state, int64_t number)
    __attribute__((nonnull, warn_unused_result));
int state_postpone_result(struct state *state, int64_t number)
    __attribute__((nonnull, warn_unused_result));

/* --- lists --------------------------------------------------------------- */

/*
 * The newest ids, newest first, as an array for json_object_put(): all, or
 * those that are done.
 */
struct json_object *state_ids(struct state *state, bool done)
    __attribute__((nonnull, warn_unused_result));

/* The word of the protocol: "accepted", "installing", "running", "done". */
const char *state_phase_word(enum state_phase phase);

#endif
