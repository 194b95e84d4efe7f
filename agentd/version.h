/*
 * Asking a PerfSpect for its version.
 */
#ifndef CONSPECT_AGENTD_VERSION_H
#define CONSPECT_AGENTD_VERSION_H

#include <stdbool.h>
#include <stdint.h>

#include "agentd/child.h"
#include "core/reason.h"

/* "3.17.1_2026-08-07_c399daa0", with room: the server takes 100 bytes. */
#define PERFSPECT_VERSION_BYTES 101

/*
 * The version in a line of `--version`: after "perfspect version ", shorter
 * than PERFSPECT_VERSION_BYTES, of printable ASCII without blanks, for it
 * goes into the log and to the server.  Returns whether there is one; where
 * not, version is as it was.
 */
bool perfspect_read_version(
    const char *line, char version[PERFSPECT_VERSION_BYTES])
    __attribute__((nonnull, warn_unused_result));

/*
 * Runs `PROGRAM --version` in the directory (NULL: the working directory)
 * under a deadline.  Returns 0 and the version, or -1 with the reason.
 */
int perfspect_version(const char *program, const char *directory,
    char version[PERFSPECT_VERSION_BYTES], struct reason *why)
    __attribute__((nonnull(1, 3, 4), warn_unused_result));

/*
 * Only runs it, for at most so many milliseconds, and leaves what came of it
 * in the child, which is over.  Returns 0, or -1 with the reason.
 */
int version_ask(struct child *c, const char *program, const char *directory,
    int64_t ms, struct reason *why)
    __attribute__((nonnull(1, 2, 5), warn_unused_result));

#endif
