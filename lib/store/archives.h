/*
 * PerfSpect's release archives that hosts install from, one for an
 * architecture: version and SHA-256 are pinned here, the file lies in the
 * dist directory (see ctl/dist.h) and is offered by the web server.
 */
#ifndef CONSPECT_STORE_ARCHIVES_H
#define CONSPECT_STORE_ARCHIVES_H

#include <stdbool.h>
#include <stdint.h>

struct store;

/* Where web servers offer the dist directory. */
#define ARCHIVE_URL_PREFIX "/dist/"

/* Longest text that is taken for a version. */
#define ARCHIVE_VERSION_MAX 127

struct archive {
	char *arch;    /* as `uname -m` has it */
	char *version; /* as `perfspect --version` has it: no blanks */
	char *sha256;  /* hex, lower case */
	int64_t bytes;
	char *file;     /* its name in the dist directory */
	char *added_at; /* set by archive_pin() */
};

void archive_free(struct archive *archive) __attribute__((nonnull));

/* Architectures that there are releases for; NULL ends them. */
extern const char *const archive_archs[];
bool archive_arch_known(const char *arch) __attribute__((nonnull));

/* Whether the text can be a version: one word of visible ASCII. */
bool archive_version_good(const char *version) __attribute__((nonnull));

/* Pins an archive, in the place of the one that its architecture had. */
int archive_pin(struct store *store, const struct archive *archive)
    __attribute__((nonnull, warn_unused_result));

/* STORE_NOT_FOUND where none is pinned for the architecture. */
int archive_unpin(struct store *store, const char *arch)
    __attribute__((nonnull, warn_unused_result));
int archive_by_arch(struct store *store, const char *arch,
    struct archive *archive) __attribute__((nonnull, warn_unused_result));

/* Calls each(context, archive) in order of architectures. */
int archive_list(struct store *store,
    void (*each)(void *context, const struct archive *archive), void *context)
    __attribute__((nonnull(1, 2), warn_unused_result));

#endif
