/*
 * Installing PerfSpect: the work itself, step by step.  Blocks, and changes
 * the working directory for a while: for a child process (install.h).
 */
#ifndef CONSPECT_AGENTD_PERFSPECT_H
#define CONSPECT_AGENTD_PERFSPECT_H

#include <stdbool.h>

#include "agentd/version.h"
#include "core/reason.h"

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

#endif
