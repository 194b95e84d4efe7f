/*
 * Downloads one file over http or https.  Blocks: for a child process.
 */
#ifndef CONSPECT_AGENTD_FETCH_H
#define CONSPECT_AGENTD_FETCH_H

#include <stdbool.h>
#include <stdint.h>

#include "core/reason.h"

/* PerfSpect's archive is some 40 MB; what is larger is no archive of it. */
#define FETCH_BYTES_MAX (INT64_C(1) << 30)

/* The hex digits of a SHA-256 and the NUL. */
#define FETCH_SHA256_TEXT 65

struct fetch_job {
	const char *url;
	const char *path;    /* made anew; removed when the download fails */
	const char *sha256;  /* expected, hex in either case, or NULL */
	const char *ca_file; /* PEM, or NULL for the system's */
	const char *proxy;   /* or NULL for the environment's */
	bool no_verify;      /* accept any certificate */
	long total_seconds;  /* for the whole, each attempt */
	long stall_seconds;  /* without a byte */
};

/*
 * Downloads a gzip archive to job->path.  Only status 200 will do, after ten
 * redirects at most; a body that does not begin as gzip does is refused at
 * its first bytes.  A connection that breaks or stalls, and a 5xx, is tried
 * once more from the start.  Returns 0 with the digest in sha256, or -1 with
 * the reason.
 */
int fetch_archive(const struct fetch_job *job, char sha256[FETCH_SHA256_TEXT],
    struct reason *why) __attribute__((nonnull, warn_unused_result));

/* "404 Not Found", or only the number where it has no common name. */
void fetch_status_text(long status, char text[64]) __attribute__((nonnull));

#endif
