/*
 * The MD5 that PerfSpect's project publishes beside each archive.
 */
#ifndef CONSPECT_AGENTD_PUBLISHED_H
#define CONSPECT_AGENTD_PUBLISHED_H

#include "core/reason.h"

#define PUBLISHED_MD5_BYTES 16
/* The file holds 32 digits and perhaps a name; a page is longer. */
#define PUBLISHED_TEXT_MAX 4096

/*
 * The address of the checksum of the archive at url: its path with .md5.txt
 * after it.  The caller frees it; NULL when url is no address.
 */
char *published_address(const char *url)
    __attribute__((nonnull, warn_unused_result));

/*
 * Reads such a file: 32 hex digits in either case, and after white space
 * whatever, as a rule a file's name.  Returns 0, or -1 with the reason.
 */
int published_read(const char *text, unsigned char md5[PUBLISHED_MD5_BYTES],
    struct reason *why) __attribute__((nonnull, warn_unused_result));

#endif
