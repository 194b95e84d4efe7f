/*
 * Private directories in a temporary directory that everyone may share.
 */
#ifndef CONSPECT_AGENTD_WORKSPACE_H
#define CONSPECT_AGENTD_WORKSPACE_H

#include "core/reason.h"

/* $TMPDIR, or /tmp: where PerfSpect is installed and work is done. */
const char *workspace_tmpdir(void) __attribute__((returns_nonnull));

/*
 * Makes a new directory, of mode 0700, in `directory`, and removes those
 * there that an agent which is no more has left behind.  Returns its path,
 * for workspace_remove(), or NULL with the reason.
 */
char *workspace_make(const char *directory, struct reason *why)
    __attribute__((nonnull, warn_unused_result));

/* Removes it with all that is in it, and frees the path; NULL is taken. */
void workspace_remove(char *path);

#endif
