/*
 * Becoming a daemon, so that whoever started it learns whether it runs.
 */
#ifndef CONSPECT_AGENTD_DAEMON_H
#define CONSPECT_AGENTD_DAEMON_H

#include "core/reason.h"

/*
 * Forks; the parent waits until daemon_ready() in the child and ends with 0,
 * or with 1 when the child ends before.  Until then the child's standard
 * error is the parent's.  Returns in the child only, a descriptor for
 * daemon_ready(), or -1 with the reason.
 */
int daemon_start(struct reason *why)
    __attribute__((nonnull, warn_unused_result));

/* Lets the parent go and standard input, output and error with it. */
void daemon_ready(int fd);

/*
 * Writes the process id to a file; made 0644, not through a link.
 * Returns 0, or -1 with the reason.
 */
int daemon_write_pid(const char *path, struct reason *why)
    __attribute__((nonnull, warn_unused_result));

/* Removes the file if it still names this process. */
void daemon_remove_pid(const char *path) __attribute__((nonnull));

#endif
