/*
 * What a run brings home, and what both ends hold it to.
 */
#ifndef CONSPECT_CORE_RESULT_H
#define CONSPECT_CORE_RESULT_H

#include <stdbool.h>

/* A command line: gProfiler's has some 30 words, PerfSpect's as many. */
#define ARGUMENTS_MAX 256
#define ARGUMENTS_BYTES_MAX (64 * 1024)

/* One file; PerfSpect's largest, a long series, has a few MiB. */
#define RESULT_FILE_BYTES_MAX (16 * 1024 * 1024)
/* Of one command: PerfSpect and gProfiler leave some ten. */
#define RESULT_FILES_MAX 64
#define RESULT_BYTES_MAX (256LL * 1024 * 1024)
/* A name's bytes, as file systems have it. */
#define RESULT_NAME_MAX 255

/*
 * Whether a name is a plain one: 1 to RESULT_NAME_MAX bytes of UTF-8 without
 * a slash, a control character (C0, DEL or C1) or a dot at its beginning.
 */
bool result_name_ok(const char *name) __attribute__((nonnull));

#endif
