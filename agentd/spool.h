/*
 * Brings the result files of runs that ended to the server, and keeps what
 * runs leave in STATE/runs within bounds.
 *
 * The state says what is to be done, so nothing is forgotten when the agent
 * is killed: a run that ended is looked through once, its files are sent one
 * at a time, and its directory goes when it is old enough.  Each step does
 * one of these, so that no heartbeat waits for long.
 */
#ifndef CONSPECT_AGENTD_SPOOL_H
#define CONSPECT_AGENTD_SPOOL_H

#include <stdbool.h>
#include <stdint.h>

#include "agentd/http.h"
#include "agentd/options.h"
#include "agentd/state.h"

struct spool;

/*
 * Begins, with the runs that an earlier agent left; all it is given must
 * outlive it.  NULL with the reason.
 */
struct spool *spool_open(const struct options *o, struct state *state,
    CURLM *multi, struct reason *why)
    __attribute__((nonnull, warn_unused_result));
/* NULL is taken; a file under way will be sent again. */
void spool_close(struct spool *s);

/* A run may have ended. */
void spool_wake(struct spool *s) __attribute__((nonnull));

/* Does what is due; sends only where it may. */
void spool_step(struct spool *s, const char *token, bool may_send, int64_t now)
    __attribute__((nonnull));
int64_t spool_next_ms(const struct spool *s, bool may_send)
    __attribute__((nonnull));

/* The request that sends files, and what to call once it has ended. */
struct http_post *spool_request(struct spool *s) __attribute__((nonnull));
void spool_done(struct spool *s, const struct http_result *result, int64_t now)
    __attribute__((nonnull));

#endif
