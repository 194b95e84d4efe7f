/*
 * Whole directories.
 */
#ifndef CONSPECT_AGENTD_TREE_H
#define CONSPECT_AGENTD_TREE_H

/* Removes path with all below it; links are removed, not followed. */
void tree_remove(const char *path) __attribute__((nonnull));

/* Brings all of it to the disk.  Returns 0 or -1 with errno set. */
int tree_sync(const char *path) __attribute__((nonnull, warn_unused_result));

/*
 * Locks the directory for others than this process: LOCK_SH says that it is
 * in use, LOCK_EX can only be had where nobody says so.  Returns the
 * descriptor that has the lock until it is closed, or -1: somebody has
 * another lock, or path is no such directory, also where it was moved away
 * meanwhile.  On a file system without locks LOCK_SH is as good as had.
 */
int tree_lock(const char *path, int how)
    __attribute__((nonnull, warn_unused_result));

#endif
