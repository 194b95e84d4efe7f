/*
 * The agent's secret, in a file that only its owner may read.
 */
#ifndef CONSPECT_AGENTD_TOKEN_H
#define CONSPECT_AGENTD_TOKEN_H

#include "core/reason.h"

/*
 * Reads the token from path and has the log mask it.  Returns 0 and *token,
 * which the caller frees, or -1 with the reason and the way out.
 */
int token_read(const char *path, char **token, struct reason *why)
    __attribute__((nonnull, warn_unused_result));

#endif
