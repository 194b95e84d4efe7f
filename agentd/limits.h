/*
 * What a run may use: CPU and memory.
 *
 * Where the agent has a cgroup (v2) of its own to make others in, each run
 * gets one: its limits hold for all of its processes together, what exceeds
 * the memory is ended as a whole, and nothing of a run can hide.  Elsewhere
 * a memory limit is each process's own (RLIMIT_DATA), and CPU is limited
 * only in that a run gives way to the host's other work (nice).
 */
#ifndef CONSPECT_AGENTD_LIMITS_H
#define CONSPECT_AGENTD_LIMITS_H

#include <stdbool.h>

#include "agentd/options.h"
#include "agentd/session.h"
#include "core/reason.h"

/* The limits of one run. */
struct limits {
	long cpu_percent; /* of one core, 0 for none */
	long memory_mib;  /* 0 for none */
	char *cgroup;     /* the run's own, or NULL */
};

/*
 * Finds the cgroup in which the agent may make others: the option cgroup, or
 * its own where systemd has delegated it (Delegate=), into a child of which
 * it then moves.  Returns its path, which the caller frees, or NULL: then
 * the reason says why there is none.  Cgroups that an earlier agent left are
 * removed.
 */
char *limits_find_cgroup(const struct options *o, struct reason *why)
    __attribute__((nonnull, warn_unused_result));

/*
 * The session's limits within the agent's own.  parent is what
 * limits_find_cgroup() gave; where no cgroup can be made under it, that is
 * logged and the other limits hold.  limits_end() in each case.
 */
void limits_begin(struct limits *l, const struct options *o,
    const struct session *s, const char *parent, const char *command_id)
    __attribute__((nonnull(1, 2, 3, 5)));

/* In the child, before it becomes the program.  0, or -1 with the reason. */
int limits_enter(const struct limits *l, struct reason *why)
    __attribute__((nonnull, warn_unused_result));

/*
 * Whether the run ended because of its memory limit: the kernel says so, or
 * without a cgroup its last words do.  Sets the reason when so.
 */
bool limits_exceeded(const struct limits *l, const char *last_words,
    struct reason *why) __attribute__((nonnull));

/* Kills what is left in the cgroup and removes it. */
void limits_end(struct limits *l) __attribute__((nonnull));

#endif
