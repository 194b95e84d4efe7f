/*
 * The checks themselves, and what they share; for agentd/preflight*.c only.
 */
#ifndef CONSPECT_AGENTD_PREFLIGHT_CHECKS_H
#define CONSPECT_AGENTD_PREFLIGHT_CHECKS_H

#include "agentd/preflight.h"
#include "core/buf.h"

/* Sets what was found; the text is cut and made fit to be shown. */
void preflight_say(struct preflight_entry *entry,
    enum preflight_outcome outcome, const char *format, ...)
    __attribute__((nonnull, format(printf, 3, 4)));

/* Reads a file below the host's root, as much as fits; "" without one. */
void preflight_read(const struct preflight_host *host, const char *path,
    struct buf *to) __attribute__((nonnull));

typedef void preflight_check_fn(
    const struct preflight_host *host, struct preflight_entry *entry);

/* preflight_kernel.c */
preflight_check_fn preflight_pmu, preflight_nmi_watchdog, preflight_paranoid,
    preflight_root, preflight_file_limit, preflight_arch;
/* preflight_files.c */
preflight_check_fn preflight_tmpdir, preflight_free_space, preflight_perfspect;
/* preflight_procs.c */
preflight_check_fn preflight_pmu_busy, preflight_gprofiler;

#endif
