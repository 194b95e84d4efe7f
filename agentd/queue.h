/*
 * Which command runs when.
 *
 * One slot for the continuous run, one for an ad-hoc run.  A new continuous
 * start replaces the continuous run; an ad-hoc start waits for its slot.
 * Both run side by side unless they need the same profiler: then the
 * continuous run is paused until the ad-hoc one has ended.
 *
 * A stop comes before all: it takes what waits, ends what runs, and is itself
 * completed once that has ended.  A stop of some processes takes these out
 * of what waits and runs, and the others go on.
 */
#ifndef CONSPECT_AGENTD_QUEUE_H
#define CONSPECT_AGENTD_QUEUE_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agentd/command.h"
#include "agentd/run.h"

/* More ad-hoc commands than this do not wait on one host. */
#define QUEUE_WAITING_MAX 16
/* Stops that wait for the end of what they stop. */
#define QUEUE_STOPS_MAX 16
/* Descriptors of all runs. */
#define QUEUE_FDS 4

struct queue;

struct queue *queue_new(const struct run_env *env)
    __attribute__((nonnull, returns_nonnull));
/* Only when queue_is_idle(); NULL is taken. */
void queue_free(struct queue *q);

/*
 * Takes a command that the state has accepted, in whatever way it ends: it
 * waits, it runs, or its report is in the state.
 */
void queue_take(struct queue *q, struct command *command, int64_t now)
    __attribute__((nonnull));

/* Does what is due.  Returns whether the server should hear of a change. */
bool queue_tick(struct queue *q, int64_t now) __attribute__((nonnull));

/* Ends all: what waits and what runs is reported stopped for that reason. */
void queue_stop_all(struct queue *q, const char *reason, int64_t now)
    __attribute__((nonnull));

/* Nothing runs and nothing waits. */
bool queue_is_idle(const struct queue *q) __attribute__((nonnull));

/* [{"command_id", "state"}] of all in hand; the caller puts it. */
struct json_object *queue_in_hand(const struct queue *q)
    __attribute__((nonnull, warn_unused_result));

size_t queue_fds(const struct queue *q, int fds[QUEUE_FDS])
    __attribute__((nonnull));
int64_t queue_next_ms(const struct queue *q) __attribute__((nonnull));

#endif
