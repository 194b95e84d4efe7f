/*
 * The directory $TMPDIR/perfspect, with several versions side by side:
 *
 *	versions/SHA256/	what came from the archive of that digest
 *	perfspect		a link to the program that was used last
 *
 * A version is whole or not there, and its path never becomes another one's:
 * a run keeps the program that it began with, whatever else is installed.
 * A plain file `perfspect` was put there by somebody: it has no digest, its
 * id is "", and it is left alone while it works.
 */
#ifndef CONSPECT_AGENTD_VERSIONS_H
#define CONSPECT_AGENTD_VERSIONS_H

#include <stdbool.h>

#include "core/reason.h"

/* An archive's SHA-256 in lower-case hex, and the NUL. */
#define VERSIONS_ID 65
/* So many stay: one for each of two runs, and one to switch back to. */
#define VERSIONS_KEPT 3

enum versions_there { VERSIONS_ABSENT, VERSIONS_THERE };

/*
 * What root runs must be in a directory that nobody else can change, in
 * particular not one that another user put into /tmp before.  Returns which
 * of the two it is, or -1 with the reason when it is something else.
 */
int versions_look(const char *target, struct reason *why)
    __attribute__((nonnull, warn_unused_result));

/* Whether text is such a digest. */
bool versions_is_id(const char *text) __attribute__((nonnull));

/* The path of a version's program; the caller frees it. */
char *versions_program(const char *target, const char *id)
    __attribute__((nonnull, warn_unused_result));

/*
 * The version that was used last: false when there is none, else its id,
 * which is "" for a program that somebody put there.
 */
bool versions_last(const char *target, char id[VERSIONS_ID])
    __attribute__((nonnull, warn_unused_result));

/*
 * Moves tree, which is on the same file system, into its place as version
 * id, and makes what has to be made for it.  A version that is there is
 * exchanged for it and becomes `tree`.  Returns 0, or -1 with the reason.
 */
int versions_add(const char *target, const char *id, const char *tree,
    struct reason *why) __attribute__((nonnull, warn_unused_result));

/*
 * Notes that version id is used now, and has the link lead to it; a plain
 * file in the link's place only gives way to it when it is broken.  Then
 * removes what was used least of late, but nothing that is held.  Takes the
 * private directory `workspace` of the same file system for it.
 */
int versions_use(const char *target, const char *id, bool broken,
    const char *workspace, struct reason *why)
    __attribute__((nonnull, warn_unused_result));

/*
 * Keeps a version from being removed until the descriptor is closed.
 * Returns it, or -1 with the reason.
 */
int versions_hold(const char *target, const char *id, struct reason *why)
    __attribute__((nonnull, warn_unused_result));

#endif
