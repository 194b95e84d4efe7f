/*
 * The dist directory: PerfSpect's release archives as the web server offers
 * them at /dist/, which lib/store/archives.h pins.
 *
 * What is taken in is copied into a private workspace inside of it and looked
 * at there; only what is good gets its name, in one step.  That name holds
 * the digest, so a file is never changed under whoever downloads it.
 */
#ifndef CONSPECT_CTL_DIST_H
#define CONSPECT_CTL_DIST_H

#include "core/reason.h"
#include "store/archives.h"

/* An archive is some 40 MB; what is larger no agent would download. */
#define DIST_BYTES_MAX (INT64_C(1) << 30)

/* A host that was told of an archive may wait for a run to end before it
 * downloads it: what was replaced stays this long, as long as a command waits
 * for its host by default. */
#define DIST_GRACE_SECONDS (24 * 3600)
/* Of those no more than the newest: who tries archives does not fill the
 * disk. */
#define DIST_REPLACED_MAX 8

struct dist {
	char *path;      /* for messages */
	int fd;          /* the directory, locked; -1 when closed */
	char *workspace; /* in there, or NULL; see dist_take() */
};

/* The directory dist beside the database; the caller frees the path. */
char *dist_beside(struct store *store)
    __attribute__((nonnull, returns_nonnull));

/*
 * Opens the directory for this program alone, and makes it where it is
 * missing.  It must be this user's own, and nobody else may write it: what
 * is unpacked in there is run.  Returns 0, or -1 with the reason; dist_close()
 * in each case.  All below change the working directory.
 */
int dist_open(struct dist *dist, const char *path, struct reason *why)
    __attribute__((nonnull, warn_unused_result));

/* Removes the workspace; what was taken in stays. */
void dist_close(struct dist *dist) __attribute__((nonnull));

/*
 * Copies the archive, an open file that is called `name`, into the workspace,
 * looks at what is in it and fills *archive but for added_at.  `version` is
 * what a person says that it is, or NULL: needed where it cannot be run here,
 * and never other than what it says itself.  It gets its name by dist_keep().
 * The working directory is another one after this: the workspace, or /.
 * Returns 0, or -1 with the reason; pinned_archive_free() in each case.
 */
int dist_take(struct dist *dist, int file, const char *name,
    const char *version, struct pinned_archive *archive, struct reason *why)
    __attribute__((nonnull(1, 3, 5, 6), warn_unused_result));

/* Gives the copy its name, archive->file.  Returns 0 or -1. */
int dist_keep(struct dist *dist, const struct pinned_archive *archive,
    struct reason *why) __attribute__((nonnull, warn_unused_result));

/*
 * Removes what is under names of ours and not pinned: what was replaced, once
 * DIST_GRACE_SECONDS are over, and what was left by one of us that was killed.
 * A file's time of modification tells them apart: each call sets it for those
 * that are pinned, so one comes before what is pinned changes, and one after.
 * Returns 0, or -1 with the reason; the store logs its own.
 */
int dist_sweep(struct dist *dist, struct store *store, struct reason *why)
    __attribute__((nonnull, warn_unused_result));

/* Whether the pinned archive's file is there, whole. */
bool dist_has(const char *path, const struct pinned_archive *archive)
    __attribute__((nonnull));

#endif
