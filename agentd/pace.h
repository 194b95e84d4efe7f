/*
 * When to speak to the server next.
 *
 * After a success: at the interval.  After failures: a random time between
 * nothing and a bound that doubles up to five minutes («full jitter»), so
 * that a thousand agents do not return to a restarted server at once.
 */
#ifndef CONSPECT_AGENTD_PACE_H
#define CONSPECT_AGENTD_PACE_H

#include <stdint.h>

#include "core/reason.h"

#define PACE_BACKOFF_MAX_MS (5 * 60 * 1000)
/* Two requests are at least this far apart. */
#define PACE_APART_MS 1000

struct pace {
	int64_t next_ms;    /* when the next one is due */
	int64_t last_ms;    /* when the last one was begun */
	unsigned failures;  /* since the last success */
	unsigned successes; /* of all time; only 0 and 1 matter */
	struct reason why;  /* of the last failure, "" after a success */
};

/* To be called as a request begins. */
void pace_began(struct pace *p, int64_t now) __attribute__((nonnull));

/*
 * The request went well.  The second one of an agent's life comes after a
 * random part of the interval: from then on that is its phase.
 */
void pace_succeeded(struct pace *p, int64_t interval_ms, int64_t now)
    __attribute__((nonnull));

/* The request went well and another one waits: no time between them. */
void pace_again(struct pace *p, int64_t now) __attribute__((nonnull));

/*
 * It did not.  The reason is logged when it is another one than before.
 * retry_after_ms is what the server asked for, or 0.
 */
void pace_failed(struct pace *p, int64_t base_ms, int64_t retry_after_ms,
    const struct reason *why, int64_t now) __attribute__((nonnull));

/* Something is new: as soon as may be, but failures are waited out. */
void pace_hasten(struct pace *p, int64_t now) __attribute__((nonnull));

#endif
