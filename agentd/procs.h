/*
 * Processes as /proc shows them: which belong to a run, by session or by
 * what their environment carries, and what any of them is.  A look at /proc,
 * so a moment later it may be different.
 */
#ifndef CONSPECT_AGENTD_PROCS_H
#define CONSPECT_AGENTD_PROCS_H

#include <stdbool.h>
#include <sys/types.h>

#include "core/buf.h"

/* A longer environment than this is cut: our entry is near its beginning
 * or the kernel's limit on arguments was raised. */
#define PROCS_FILE_MAX (256 * 1024)

/*
 * Sends sig (0: only counts) to each living process that is in the session,
 * where session > 0, or that is the caller's user's and whose environment
 * holds `entry` as NAME=VALUE, where entry is not NULL.  Never to the caller.
 * One that is just becoming another program (execve) has no environment
 * meanwhile and is waited for, 20 milliseconds in all.  Returns how many
 * there are.
 */
int procs_signal(pid_t session, const char *entry, int sig);

/*
 * Calls see() with the name below ROOT/proc of each process, a number, until
 * it returns false.  Returns whether ROOT/proc could be read.
 */
bool procs_each(const char *root, bool (*see)(void *context, const char *pid),
    void *context) __attribute__((nonnull(1, 2)));

/* Reads a file of ROOT/proc/PID, as much as `to` has room for.  Returns
 * whether it could be opened; "" when the process is gone or not ours. */
bool procs_read(const char *root, const char *pid, const char *name,
    struct buf *to) __attribute__((nonnull));

/* Whether it is there and no zombie; `text` is for reading. */
bool procs_is_alive(const char *root, const char *pid, struct buf *text)
    __attribute__((nonnull));

/* Whether the environment, read to `text`, has an entry that begins so. */
bool procs_carries(const char *root, const char *pid, const char *beginning,
    struct buf *text) __attribute__((nonnull));

#endif
