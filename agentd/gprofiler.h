/*
 * gProfiler's command line for a session.
 */
#ifndef CONSPECT_AGENTD_GPROFILER_H
#define CONSPECT_AGENTD_GPROFILER_H

#include "agentd/args.h"
#include "agentd/options.h"
#include "agentd/session.h"

/* The files of a run. */
struct gprofiler_paths {
	const char *program;   /* as gprofiler_find() gave it */
	const char *output;    /* directory for the profiles */
	const char *perfspect; /* the program; used when the session asks */
	const char *config;    /* upload settings, or NULL: no upload */
};

/*
 * Fills in the arguments, program first.  Returns 0, or -1 with the reason
 * when a profiler's setting is not known; args_free() in each case.
 */
int gprofiler_args(const struct session *s,
    const struct gprofiler_paths *paths, struct args *args, struct reason *why)
    __attribute__((nonnull, warn_unused_result));

/*
 * Looks the program up: a name without a slash in PATH.  Returns its path,
 * which the caller frees, or NULL with a reason that names --gprofiler-path.
 */
char *gprofiler_find(const char *name, struct reason *why)
    __attribute__((nonnull, warn_unused_result));

/*
 * Writes the upload settings, with the secret, to a new file of mode 0600:
 * a command line is visible to every user of the host.
 */
int gprofiler_write_config(const char *path, const struct options *o,
    const char *token, struct reason *why)
    __attribute__((nonnull, warn_unused_result));

#endif
