/*
 * perfspect_args: the flags of `perfspect metrics` that a request may set.
 *
 * The agent runs PerfSpect as root, so a flag that names a file, opens a
 * port, reaches another machine or runs a program (`--`) is not in the table
 * and therefore refused: by the server when a request comes, and again by
 * the agent when a command does.
 */
#ifndef CONSPECT_CORE_PERFSPECT_ARGS_H
#define CONSPECT_CORE_PERFSPECT_ARGS_H

#include "core/fields.h"

/* {"count": 3, "noroot": true, ...}: adds a fault for each bad member. */
void perfspect_args_check(struct json_object *args, const struct place *at,
    struct faults *faults) __attribute__((nonnull(2, 3)));

/*
 * Calls add() for each word of the command line that checked arguments give,
 * in the table's order: "--count", "3", "--noroot".  NULL gives none.
 */
void perfspect_args_words(struct json_object *args,
    void (*add)(void *context, const char *word), void *context)
    __attribute__((nonnull(2)));

/* The seconds between two samples: what they ask for, or PerfSpect's own. */
int64_t perfspect_args_interval(struct json_object *args);

#endif
