/*
 * The agent's main loop: heartbeats, reports, signals and runs, all waited
 * for in one place, none waiting for another.
 */
#ifndef CONSPECT_AGENTD_LOOP_H
#define CONSPECT_AGENTD_LOOP_H

#include "agentd/options.h"
#include "agentd/state.h"
#include "core/reason.h"

/*
 * Runs until SIGTERM or SIGINT; SIGHUP opens the log anew and reads the token
 * again.  token is taken over.  Returns 0 after an orderly end, or -1 with
 * the reason when it cannot begin.
 */
int loop_run(const struct options *o, struct state *state, char *token,
    struct reason *why) __attribute__((nonnull, warn_unused_result));

/* Holds back the signals that the loop answers until it runs. */
void loop_hold_signals(void);

#endif
