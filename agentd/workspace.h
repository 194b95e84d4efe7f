/*
 * Private directories in a temporary directory that everyone may share.
 */
#ifndef CONSPECT_AGENTD_WORKSPACE_H
#define CONSPECT_AGENTD_WORKSPACE_H

#include "core/reason.h"

/* TMPDIR, or /tmp where it says nothing. */
const char *workspace_tmpdir(void) __attribute__((returns_nonnull));

/*
 * Whether no other user could replace what we make in a directory: it and
 * each one above it must belong to root or to us, and where others may write
 * to it, it must have the sticky bit, as /tmp has.
 * Returns 0, or -1 with the reason and the way out.
 */
int workspace_check(const char *directory, struct reason *why)
    __attribute__((nonnull, warn_unused_result));

/*
 * Makes a new directory, of mode 0700, in `directory`, and removes those
 * there that a process which is no more has left behind: each is locked by
 * the one that made it.  Returns its path, for workspace_remove(), or NULL
 * with the reason.
 */
char *workspace_make(const char *directory, struct reason *why)
    __attribute__((nonnull, warn_unused_result));

/* Removes it with all that is in it, and frees the path; NULL is taken. */
void workspace_remove(char *path);

#endif
