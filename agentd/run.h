/*
 * One execution of a start command: PerfSpect installed if the session asks
 * for it, then the profiler, then the report.
 */
#ifndef CONSPECT_AGENTD_RUN_H
#define CONSPECT_AGENTD_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agentd/command.h"
#include "agentd/profiler.h"

/* Descriptors of one run to wait for. */
#define RUN_FDS 2

struct run;

/*
 * Begins, and takes the command.  Never NULL: what cannot be begun is a run
 * that is over, and its report says why.
 */
struct run *run_start(const struct run_env *env, struct command *command,
    int64_t now) __attribute__((nonnull, returns_nonnull));

/*
 * Does what is due; true once it is over and its report is in the state.
 * *changed is set when the state that the server sees is another one.
 */
bool run_tick(struct run *r, int64_t now, bool *changed)
    __attribute__((nonnull));

/*
 * Ends it, in order but within a bound, or sooner when `hurry`.  It will be
 * reported stopped for that reason; the first reason counts.
 */
void run_end(struct run *r, const char *reason, bool hurry, int64_t now)
    __attribute__((nonnull));

/*
 * Pauses it, so that another run can have what it needs: what runs is ended
 * in order, and begun again by run_resume().  For the server it goes on.
 */
void run_pause(struct run *r, const char *reason, int64_t now)
    __attribute__((nonnull));
void run_resume(struct run *r, int64_t now) __attribute__((nonnull));

/* Nothing of it runs, until it is resumed. */
bool run_is_paused(const struct run *r) __attribute__((nonnull));

/* Goes on without the stop's processes: session_cut() said SESSION_NARROWED
 * of it. */
void run_narrow(struct run *r, const struct command *stop, int64_t now)
    __attribute__((nonnull));

/* What it takes for itself: of enum profiler_need. */
unsigned run_needs(const struct run *r) __attribute__((nonnull));

/* For the heartbeat and the queue. */
const struct command *run_command(const struct run *r)
    __attribute__((nonnull));
enum state_phase run_phase(const struct run *r) __attribute__((nonnull));

size_t run_fds(const struct run *r, int fds[RUN_FDS]) __attribute__((nonnull));
int64_t run_next_ms(const struct run *r) __attribute__((nonnull));

/* Frees a run that is over; NULL is taken. */
void run_free(struct run *r);

/*
 * Writes the report of a command that did not run: status is completed,
 * failed or stopped, error NULL or the reason.  Returns 0 or -1, logged.
 */
int run_report_only(const struct run_env *env, const char *command_id,
    const char *status, const char *error, int64_t seconds)
    __attribute__((nonnull(1, 2, 3), warn_unused_result));

#endif
