/*
 * PerfSpect's `metrics` for a session: its command line, and the files that
 * it leaves.
 *
 * The files are named HOST_metrics.csv and so on, where HOST may have dots
 * and underscores of its own: names are matched from the right.
 */
#ifndef CONSPECT_AGENTD_METRICS_H
#define CONSPECT_AGENTD_METRICS_H

#include <stdbool.h>
#include <time.h>

#include "agentd/args.h"
#include "agentd/session.h"
#include "core/reason.h"

struct metrics_paths {
	const char *program; /* PerfSpect */
	const char *output;  /* directory for its files */
	const char *tempdir; /* for its tools: must allow execution */
};

/* The command line of PerfSpect alone, for so many seconds, 0 for ever. */
void metrics_args(const struct session *s, const struct metrics_paths *paths,
    long seconds, struct args *args) __attribute__((nonnull));

/*
 * gProfiler starts PerfSpect with flags of its own choice.  Writes a program
 * to `path` that starts it with the session's flags after those, so that
 * they win.  Returns 0, or -1 with the reason.
 */
int metrics_write_wrapper(const char *path, const char *program,
    const struct session *s, struct reason *why)
    __attribute__((nonnull, warn_unused_result));

/*
 * Copies PerfSpect's files that were written at `since` (wall clock) or
 * later from gProfiler's directory for them into `results`.  That directory
 * is where every user may write: unless it and a file in it are the agent's
 * user's alone, they are passed over.  Failures are logged.
 */
void metrics_collect(const char *from, const char *results, time_t since)
    __attribute__((nonnull));

/*
 * Before another part of a run writes files of the same names: HOST_x.csv
 * becomes HOST.part1_x.csv, where 1 is `part`.  Failures are logged.
 */
void metrics_set_aside(const char *results, unsigned part)
    __attribute__((nonnull));

/* What the newest part of a run has of PerfSpect. */
enum metrics_found {
	METRICS_NONE,     /* no series */
	METRICS_WHOLE,    /* series and PerfSpect's summary */
	METRICS_RESTORED, /* PerfSpect was cut off before it wrote a summary;
			     ours was made from its series */
};

/* Looks, and makes the summary where it is missing. */
enum metrics_found metrics_finish(const char *results)
    __attribute__((nonnull));

#endif
