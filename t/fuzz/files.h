/*
 * A private directory for targets that read files: made at the first call,
 * gone when the program ends, when it must be empty.
 */
#ifndef CONSPECT_T_FUZZ_FILES_H
#define CONSPECT_T_FUZZ_FILES_H

#include "fuzz/fuzz.h"

#include <unistd.h>

#include "core/mem.h"

static char *files_directory;

static inline void
files_end(void)
{
	FUZZ_CHECK(rmdir(files_directory) == 0);
	free(files_directory);
}

static inline const char *
files_begin(void)
{
	const char *under = getenv("TMPDIR");

	if (!files_directory) {
		files_directory =
		    mem_fmt("%s/conspect-fuzz.XXXXXX", under ? under : "/tmp");
		FUZZ_CHECK(mkdtemp(files_directory));
		(void)atexit(files_end);
	}
	return files_directory;
}

static inline void
files_write(const char *path, const void *data, size_t size)
{
	FILE *f = fopen(path, "we");

	FUZZ_CHECK(f);
	FUZZ_CHECK(fwrite(data, 1, size, f) == size);
	FUZZ_CHECK(fclose(f) == 0);
}

#endif
