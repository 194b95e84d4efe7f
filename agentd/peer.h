/*
 * What a transfer needs to reach and to trust the other side, the same for
 * each of the agent's uses of libcurl.
 */
#ifndef CONSPECT_AGENTD_PEER_H
#define CONSPECT_AGENTD_PEER_H

#include <curl/curl.h>
#include <stdbool.h>

#include "core/reason.h"

struct peer {
	const char *ca_file; /* PEM, or NULL for the system's */
	const char *proxy;   /* or NULL for what the environment says */
	bool no_verify;      /* accept any certificate */
};

/* Sets the handle up for it; only http and https are spoken. */
void peer_set(CURL *easy, const struct peer *p) __attribute__((nonnull));

/*
 * Why a transfer with this peer failed: `error` is what curl wrote, "" when
 * it wrote nothing.  A certificate that is not accepted names the options
 * that decide it.
 */
void peer_describe(CURLcode code, const char *error, struct reason *why)
    __attribute__((nonnull));

#endif
