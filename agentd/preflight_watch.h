/*
 * Preflight checks of a running agent: in a child process, so that nothing
 * about them delays a heartbeat, with the last result kept.
 *
 * Made at the agent's start, when they are asked for, and every ten minutes.
 * A child that takes too long is killed; the check at which it was is then a
 * problem of its own.
 */
#ifndef CONSPECT_AGENTD_PREFLIGHT_WATCH_H
#define CONSPECT_AGENTD_PREFLIGHT_WATCH_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "agentd/child.h"
#include "agentd/preflight.h"

struct preflight_watch {
	struct preflight_host host;
	struct child child;
	int output;                 /* what the child says, or -1 */
	int64_t next_ms;            /* when the next look is due */
	int64_t deadline_ms;        /* of the look under way */
	struct json_object *result; /* for the heartbeat; NULL at first */
};

/* The first look is due at once.  The options must live on. */
void preflight_watch_open(struct preflight_watch *w, const struct options *o,
    int64_t now) __attribute__((nonnull));
/* What is under way has a second, then it is killed. */
void preflight_watch_close(struct preflight_watch *w) __attribute__((nonnull));

/* Something of the host may be different: look again now. */
void preflight_watch_ask(struct preflight_watch *w, int64_t now)
    __attribute__((nonnull));

/* Does what is due. */
void preflight_watch_tick(struct preflight_watch *w, int64_t now)
    __attribute__((nonnull));
int64_t preflight_watch_next_ms(const struct preflight_watch *w)
    __attribute__((nonnull));
size_t preflight_watch_fds(const struct preflight_watch *w, int fds[CHILD_FDS])
    __attribute__((nonnull));

#endif
