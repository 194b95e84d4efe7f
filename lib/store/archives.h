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
#define ARCHIVES_URL_PREFIX "/dist/"

/* Longest text that is taken for a version: a completion can say no longer
 * one. */
#define ARCHIVES_VERSION_MAX 100

struct pinned_archive {
	char *arch;    /* as `uname -m` has it */
	char *version; /* as `perfspect --version` has it: no blanks */
	char *sha256;  /* hex, lower case */
	int64_t bytes;
	char *file;     /* its name in the dist directory */
	char *added_at; /* set by archives_pin() */
};

void pinned_archive_free(struct pinned_archive *archive)
    __attribute__((nonnull));

/* Architectures that there are releases for; NULL ends them. */
extern const char *const archives_archs[];
bool archives_arch_known(const char *arch) __attribute__((nonnull));

/* Whether the text can be a version: one word of visible ASCII. */
bool archives_version_good(const char *version) __attribute__((nonnull));

/* Pins an archive, in the place of the one that its architecture had. */
int archives_pin(struct store *store, const struct pinned_archive *archive)
    __attribute__((nonnull, warn_unused_result));

/* STORE_NOT_FOUND where none is pinned for the architecture. */
int archives_unpin(struct store *store, const char *arch)
    __attribute__((nonnull, warn_unused_result));
int archives_by_arch(
    struct store *store, const char *arch, struct pinned_archive *archive)
    __attribute__((nonnull, warn_unused_result));

/* Calls each(context, archive) in order of architectures. */
int archives_list(struct store *store,
    void (*each)(void *context, const struct pinned_archive *archive),
    void *context) __attribute__((nonnull(1, 2), warn_unused_result));

#endif
