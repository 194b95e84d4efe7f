/*
 * Downloads one file over http or https.  Blocks: for a child process.
 */
#ifndef CONSPECT_AGENTD_FETCH_H
#define CONSPECT_AGENTD_FETCH_H

#include <stdint.h>

#include "agentd/peer.h"
#include "core/reason.h"

/* PerfSpect's archive is some 40 MB; what is larger is no archive of it. */
#define FETCH_BYTES_MAX (INT64_C(1) << 30)
/* A download in which nothing comes for so long is broken off. */
#define FETCH_STALL_SECONDS 30L

/* The hex digits of a SHA-256 and the NUL. */
#define FETCH_SHA256_TEXT 65

struct fetch_job {
	const char *url;
	const char *path;   /* made anew; removed when the download fails */
	const char *sha256; /* expected, hex in either case, or NULL */
	struct peer peer;
	long total_seconds; /* for the whole, its second attempt included */
	long stall_seconds; /* without a byte */
	int64_t bytes_max;
};

struct fetch_result {
	char sha256[FETCH_SHA256_TEXT];
	/* what the archive was checked against, for the log */
	struct reason note;
};

/*
 * Downloads a gzip archive to job->path.  Only status 200 will do, after ten
 * redirects at most, none of them from https to http; a body that does not
 * begin as gzip does is refused at its first bytes.
 *
 * It must have the SHA-256 of the job.  Where the job names none, it must
 * have the MD5 that is published beside it, if one can be had.
 *
 * Tried once more from the start: a connection that breaks or stalls, a 5xx,
 * and an MD5 that does not match, since the latest release may have become
 * another one between the two.  Returns 0, or -1 with the reason.
 */
int fetch_archive(const struct fetch_job *job, struct fetch_result *result,
    struct reason *why) __attribute__((nonnull, warn_unused_result));

/* "404 Not Found", or only the number where it has no common name. */
void fetch_status_text(long status, char text[64]) __attribute__((nonnull));

#endif
