/*
 * Whole directories.
 */
#ifndef CONSPECT_AGENTD_TREE_H
#define CONSPECT_AGENTD_TREE_H

/* Removes path with all below it; links are removed, not followed. */
void tree_remove(const char *path) __attribute__((nonnull));

/* Brings all of it to the disk.  Returns 0 or -1 with errno set. */
int tree_sync(const char *path) __attribute__((nonnull, warn_unused_result));

#endif
