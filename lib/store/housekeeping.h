/*
 * Housekeeping: what must happen though no request causes it.
 */
#ifndef CONSPECT_STORE_HOUSEKEEPING_H
#define CONSPECT_STORE_HOUSEKEEPING_H

#include "store/store.h"

/* What a round did. */
struct housekeeping {
	int64_t expired;  /* commands given up */
	int64_t deleted;  /* ended commands past the settings keep_... */
	int64_t requests; /* requests that were left without a command */
	int64_t sessions; /* logins that had expired */
	int64_t files;    /* result files */
};

/*
 * One round: commands expire, what ended long ago is deleted (with its
 * execution; a request goes with its last command), result files are held to
 * their settings, the write-ahead log is written back and cut.  `tidy`: also
 * files that belong to no command any more, for which all of them are looked
 * at.  Work is done in short transactions, so that others get their turn.
 * 0, or -1 failed.
 */
int housekeep(struct store *store, bool tidy, struct housekeeping *done)
    __attribute__((nonnull, warn_unused_result));

#endif
