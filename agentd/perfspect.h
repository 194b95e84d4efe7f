/*
 * Installing PerfSpect: the work itself, step by step.  Blocks, and changes
 * the working directory for a while: for a child process (install.h).
 */
#ifndef CONSPECT_AGENTD_PERFSPECT_H
#define CONSPECT_AGENTD_PERFSPECT_H

#include <stdbool.h>

#include "core/reason.h"

/* "3.17.1_2026-08-07_c399daa0", with room: the server takes 100 bytes. */
#define PERFSPECT_VERSION_BYTES 101

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
 * The version in a line of `--version`: after "perfspect version ", shorter
 * than PERFSPECT_VERSION_BYTES, of printable ASCII without blanks, for it
 * goes into the log and to the server.  Returns whether there is one; where
 * not, version is as it was.
 */
bool perfspect_read_version(
    const char *line, char version[PERFSPECT_VERSION_BYTES])
    __attribute__((nonnull, warn_unused_result));

/*
 * Runs `PROGRAM --version` in the directory under a deadline.
 * Returns 0 and the version, or -1 with the reason.
 */
int perfspect_version(const char *program, const char *directory,
    char version[PERFSPECT_VERSION_BYTES], struct reason *why)
    __attribute__((nonnull, warn_unused_result));

#endif
