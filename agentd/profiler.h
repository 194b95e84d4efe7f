/*
 * What a run consists of: gProfiler, with PerfSpect beside it where the
 * session asks for that, or PerfSpect alone.  Its directory, its command
 * line, its limits, and what it leaves.
 *
 * A run may start it several times (a pause, fewer processes): each time is
 * a part, and all parts write to the same directory of results.
 */
#ifndef CONSPECT_AGENTD_PROFILER_H
#define CONSPECT_AGENTD_PROFILER_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "agentd/args.h"
#include "agentd/child.h"
#include "agentd/command.h"
#include "agentd/limits.h"
#include "agentd/options.h"
#include "agentd/state.h"

/* What runs and the queue share; all of it outlives them. */
struct run_env {
	const struct options *options;
	const char *token; /* changes on SIGHUP */
	struct state *state;
	char *cgroup; /* to make the runs' cgroups in, or NULL */
};

/*
 * What a session takes for itself: gProfiler locks the host, and PerfSpect
 * its counters.  Two runs go side by side when they share nothing.
 */
enum profiler_need { NEEDS_GPROFILER = 1, NEEDS_PERFSPECT = 2 };

struct profiler {
	const struct run_env *env;
	const struct command *command;
	unsigned needs; /* of enum profiler_need */
	struct child child;
	struct args args;     /* of the newest part */
	struct limits limits; /* likewise */
	char *directory;      /* STATE/runs/COMMAND_ID */
	char *results;        /* in it */
	char *tempdir;        /* of the part under way */
	unsigned parts;       /* started so far */
	time_t part_began;    /* wall clock */
	bool measures;        /* PerfSpect runs in the newest part */
	bool has_metrics;     /* PerfSpect left results, in any part */
	bool restored;        /* its newest summary was made by the agent */
};

/* The needs of a session on this host. */
unsigned profiler_needs(const struct options *o, const struct session *s)
    __attribute__((nonnull));

void profiler_init(struct profiler *p, const struct run_env *env,
    const struct command *command) __attribute__((nonnull));

/*
 * Starts a part of so many seconds, 0 for ever.  perfspect is the program,
 * NULL where the session does without.  Returns 0, or -1 with the reason.
 */
int profiler_start(struct profiler *p, long seconds, const char *perfspect,
    struct reason *why) __attribute__((nonnull(1, 4), warn_unused_result));

/*
 * After a part, begun or not: takes its results, undoes what it changed on
 * the host.  Returns 0, or -1 with the reason when the part has failed.
 */
int profiler_finish(struct profiler *p, struct reason *why)
    __attribute__((nonnull, warn_unused_result));

/* Whether there are results to be had. */
bool profiler_has_results(const struct profiler *p) __attribute__((nonnull));

void profiler_free(struct profiler *p) __attribute__((nonnull));

#endif
