/*
 * Unpacks a tar archive, compressed with gzip, that may be hostile.
 */
#ifndef CONSPECT_AGENTD_UNPACK_H
#define CONSPECT_AGENTD_UNPACK_H

#include <stddef.h>
#include <stdint.h>

#include "core/reason.h"

/* PerfSpect's archive holds about ten entries. */
#define UNPACK_ENTRIES_MAX 1000
/* Its program is some 100 MB; five times as much is a bomb. */
#define UNPACK_BYTES_MAX (INT64_C(512) << 20)
/* Longer names are of no use to anyone honest. */
#define UNPACK_NAME_MAX 255

/*
 * Unpacks the archive into the directory, which must be private and empty.
 * Takes regular files and directories under relative names only; a link, a
 * device, a set-id bit, a name with `..` or past a limit above ends it with
 * the reason, and what was unpacked before is the caller's to remove.
 * Changes the working directory for a while: not for threads.
 * Returns 0 or -1 with the reason.
 */
int unpack_archive(const char *archive, const char *directory,
    struct reason *why) __attribute__((nonnull, warn_unused_result));

#endif
