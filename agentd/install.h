/*
 * Puts PerfSpect into $TMPDIR/perfspect (versions.h), or finds it there.
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

/* An installation under way. */
struct install {
	struct perfspect_job job; /* its texts are owned by this */
	struct child child;
	char *workspace;
	char *directory; /* $TMPDIR */
	/* what to run, once it is over and well: the path of that version,
	 * which stays what it is until install_free() */
	char *program;
	int held;            /* the descriptor that sees to it, or -1 */
	struct reason fault; /* why it did not go well, "" when it did */
	char version[PERFSPECT_VERSION_BYTES];
	int64_t deadline_ms;
	bool timed_out;
	bool settled; /* the child's result was read */
};

/*
 * The address of the latest release for a machine, by its name in uname(2):
 * the caller frees it.  NULL and the reason when there is none.
 */
char *install_release_url(const char *machine, struct reason *why)
    __attribute__((nonnull, warn_unused_result));

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

/* Of one that is over or never began: leaves nothing half-done, and lets go
 * of the program. */
void install_free(struct install *i) __attribute__((nonnull));

#endif
