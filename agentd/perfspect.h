/*
 * Installing PerfSpect: the work itself, step by step.  Blocks, and changes
 * the working directory for a while: for a child process (install.h).
 */
#ifndef CONSPECT_AGENTD_PERFSPECT_H
#define CONSPECT_AGENTD_PERFSPECT_H

#include <stdbool.h>
#include <stdint.h>

#include "agentd/version.h"
#include "agentd/versions.h"
#include "core/reason.h"

/*
 * What must be free before a download: the archive has some 40 MB, its
 * content some 100 MB, and both are there for a while.
 */
#define PERFSPECT_SPACE (INT64_C(200) << 20)

/* What to install and where. */
struct perfspect_job {
	char *url;
	char *sha256;   /* that the archive must have, or NULL */
	char *ca_file;  /* or NULL */
	char *proxy;    /* or NULL */
	bool no_verify; /* only ever for the API server's own address */
	char *tmpdir;   /* what `target` is in */
	char *target;   /* the directory of versions.h */
	long timeout_seconds;
	long stall_seconds; /* without a byte */
	int64_t bytes_max;  /* of the archive */
	int64_t space;      /* bytes that must be free for it */
};

struct perfspect_result {
	char id[VERSIONS_ID]; /* of versions.h */
	char version[PERFSPECT_VERSION_BYTES];
	struct reason note; /* how it came to be there, for the log */
};

/* What the version that was used last is, without asking it. */
struct perfspect_note {
	bool there; /* a program is there */
	/* "" where no installer of ours put it there */
	char version[PERFSPECT_VERSION_BYTES];
	char sha256[VERSIONS_ID]; /* of its archive */
};

/*
 * Looks at a target without running anything.  Returns 0, or -1 with the
 * reason why it could not be used and has to be removed.
 */
int perfspect_look(const char *target, struct perfspect_note *note,
    struct reason *why) __attribute__((nonnull, warn_unused_result));

/*
 * Writes a program that does nothing to a new file, to try whether files can
 * be run where it is.  Returns 0, or -1 with the reason.
 */
int perfspect_write_trial(const char *path, struct reason *why)
    __attribute__((nonnull, warn_unused_result));

/*
 * Makes job->target hold a PerfSpect that runs on this machine.  What is
 * there and works is used as it is: with a digest the version that came from
 * that archive, without one the version that was used last.  `workspace` is
 * a private, empty directory on the same file system, which the caller
 * removes.  Returns 0 with the result, or -1 with the reason.
 */
int perfspect_install(const struct perfspect_job *job, const char *workspace,
    struct perfspect_result *result, struct reason *why)
    __attribute__((nonnull, warn_unused_result));

#endif
