/*
 * Installing PerfSpect: the work itself, step by step.  Blocks, and changes
 * the working directory for a while: for a child process (install.h).
 */
#ifndef CONSPECT_AGENTD_PERFSPECT_H
#define CONSPECT_AGENTD_PERFSPECT_H

#include <stdbool.h>

#include "agentd/fetch.h"
#include "core/reason.h"

/* "3.17.1_2026-08-07_c399daa0", with room. */
#define PERFSPECT_VERSION_BYTES 128

/* What was installed, as the installer noted it in the target. */
struct perfspect_note {
	bool there; /* a program is in the target */
	/* "" where no installer of ours put it there */
	char version[PERFSPECT_VERSION_BYTES];
	char sha256[FETCH_SHA256_TEXT]; /* of the archive */
};

/*
 * Looks at a target without running anything.  Returns 0, or -1 with the
 * reason why it could not be used and has to be removed.
 */
int perfspect_look(const char *target, struct perfspect_note *note,
    struct reason *why) __attribute__((nonnull, warn_unused_result));

/* What to install and where. */
struct perfspect_job {
	char *url;
	char *sha256;   /* that the archive must have, or NULL */
	char *ca_file;  /* or NULL */
	char *proxy;    /* or NULL */
	bool no_verify; /* only ever for the API server's own address */
	char *target;   /* the directory that it ends up as */
	long timeout_seconds;
};

/*
 * Makes job->target hold a PerfSpect that runs on this machine.  What is
 * there, right and verified, is used as it is, when the archive it came from
 * had the wanted digest or none is wanted.  `workspace` is a private, empty
 * directory on the same file system, which the caller removes.
 * Returns 0 and the version, or -1 with the reason.
 */
int perfspect_install(const struct perfspect_job *job, const char *workspace,
    char version[PERFSPECT_VERSION_BYTES], struct reason *why)
    __attribute__((nonnull, warn_unused_result));

/*
 * Runs `PROGRAM --version` in the directory under a deadline.
 * Returns 0 and the version, or -1 with the reason.
 */
int perfspect_version(const char *program, const char *directory,
    char version[PERFSPECT_VERSION_BYTES], struct reason *why)
    __attribute__((nonnull, warn_unused_result));

#endif
