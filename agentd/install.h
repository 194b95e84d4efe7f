/*
 * Puts PerfSpect into $TMPDIR/perfspect, or finds that it is there.
 *
 * The work is done by a child process under a deadline, so that nothing
 * about it delays a heartbeat.  It happens in a private directory beside the
 * final one, which is removed whatever happens: a failure leaves nothing.
 */
#ifndef CONSPECT_AGENTD_INSTALL_H
#define CONSPECT_AGENTD_INSTALL_H

#include <stdbool.h>
#include <stdint.h>

#include "agentd/child.h"
#include "agentd/command.h"
#include "agentd/options.h"
#include "agentd/perfspect.h"

/* The file of a PerfSpect release for a machine, as uname(2) calls it, or
 * NULL: releases are built for few. */
const char *install_release(const char *machine) __attribute__((nonnull));

/* An installation under way. */
struct install {
	struct perfspect_job job; /* its texts are owned by this */
	struct child child;
	char *workspace;
	char *directory; /* $TMPDIR */
	char *program;   /* what to run: $TMPDIR/perfspect/perfspect */
	int64_t deadline_ms;
	bool timed_out;
};

/*
 * Begins.  The command's own address wins over PERFSPECT_DOWNLOAD_URL, and
 * that over the default.  Returns 0, or -1 with the reason; install_free()
 * in each case.
 */
int install_start(struct install *i, const struct command *c,
    const struct options *o, int64_t now, struct reason *why)
    __attribute__((nonnull, warn_unused_result));

/* Does what is due; true once it is over. */
bool install_tick(struct install *i, int64_t now) __attribute__((nonnull));
int64_t install_next_ms(const struct install *i) __attribute__((nonnull));

/* Of one that is over: 0 and the version, or -1 with the reason. */
int install_result(const struct install *i,
    char version[PERFSPECT_VERSION_BYTES], struct reason *why)
    __attribute__((nonnull, warn_unused_result));

/* Of one that is over or never began: leaves nothing half-done. */
void install_free(struct install *i) __attribute__((nonnull));

#endif
