/*
 * Which processes belong to a run: by session, or by what their environment
 * carries.  A look at /proc, so a moment later it may be different.
 */
#ifndef CONSPECT_AGENTD_PROCS_H
#define CONSPECT_AGENTD_PROCS_H

#include <sys/types.h>

/*
 * Sends sig (0: only counts) to each living process that is in the session,
 * where session > 0, or whose environment holds `entry` as NAME=VALUE, where
 * entry is not NULL.  Never to the caller.  Returns how many there are.
 */
int procs_signal(pid_t session, const char *entry, int sig);

#endif
