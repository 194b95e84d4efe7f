/*
 * Settings of the host that PerfSpect changes while it measures, and that a
 * killed PerfSpect leaves changed: kernel.nmi_watchdog and the multiplexing
 * interval of each counter device.
 *
 * They are noted on disk (STATE/host-settings) before PerfSpect runs, and
 * put back after it, or when the agent starts the next time.
 */
#ifndef CONSPECT_AGENTD_HOST_SETTINGS_H
#define CONSPECT_AGENTD_HOST_SETTINGS_H

#include "core/reason.h"

/*
 * Notes them.  A note that is there already stays: it is of the host as it
 * was before an earlier run.  host_root is where proc/ and sys/ are, "" for
 * /.  Returns 0, or -1 with the reason when the note cannot be written.
 */
int host_settings_note(const char *host_root, const char *state_dir,
    struct reason *why) __attribute__((nonnull, warn_unused_result));

/*
 * Puts back what is noted and differs now, and logs what it was.  The note
 * goes once nothing in it differs.  Without a note nothing happens.
 */
void host_settings_put_back(const char *host_root, const char *state_dir)
    __attribute__((nonnull));

#endif
