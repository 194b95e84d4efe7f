/* An archive that the agent unpacks as root. */
#include "fuzz/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>

#include "agentd/tree.h"
#include "agentd/unpack.h"

#define TAR_BLOCK 512
/* Where a tar header has its magic and its checksum. */
#define TAR_MAGIC 257
#define TAR_SUM 148
#define TAR_SUM_BYTES 8

/* Directories held open while a tree is walked. */
#define WALK_FDS 16

const char *const fuzz_target = "archive";

static int64_t found_bytes;

/*
 * Blocks that look like a header get the right checksum: libarchive would
 * refuse nearly every change else, before we see it.
 */
static void
mend(uint8_t *tar, size_t size)
{
	for (size_t at = 0; at + TAR_BLOCK <= size; at += TAR_BLOCK) {
		uint8_t *block = tar + at;
		unsigned sum = 0;
		char text[TAR_SUM_BYTES + 1];

		if (memcmp(block + TAR_MAGIC, "ustar", 5) != 0)
			continue;
		memset(block + TAR_SUM, ' ', TAR_SUM_BYTES);
		for (size_t i = 0; i < TAR_BLOCK; i++)
			sum += block[i];
		(void)snprintf(text, sizeof text, "%06o%c ", sum & 0777777, 0);
		memcpy(block + TAR_SUM, text, TAR_SUM_BYTES);
	}
}

/* Only what is named in agentd/unpack.h may be there. */
static int
look(const char *path, const struct stat *st, int type, struct FTW *place)
{
	(void)path;
	FUZZ_CHECK(type == FTW_F || type == FTW_D);
	FUZZ_CHECK(S_ISREG(st->st_mode) || S_ISDIR(st->st_mode));
	FUZZ_CHECK(!(st->st_mode & (S_ISUID | S_ISGID | S_ISVTX)));
	if (place->level == 0)
		return 0;
	FUZZ_CHECK(!(st->st_mode & (S_IWGRP | S_IWOTH)));
	FUZZ_CHECK(st->st_uid == geteuid());
	FUZZ_CHECK(S_ISDIR(st->st_mode) || st->st_nlink == 1);
	if (S_ISREG(st->st_mode))
		found_bytes += st->st_size;
	return 0;
}

/* What the directory holds beside `in`, which nothing may have changed. */
static void
check_beside(const char *directory)
{
	DIR *d = opendir(directory);
	int n = 0;

	FUZZ_CHECK(d);
	while (readdir(d))
		n++;
	FUZZ_CHECK(n == 4); /* . .. in a.tgz */
	(void)closedir(d);
}

static void
check_unpacked(const char *directory, const char *in)
{
	char *back = getcwd(NULL, 0);

	FUZZ_CHECK(back && strcmp(back, directory) == 0);
	free(back);
	check_beside(directory);
	found_bytes = 0;
	FUZZ_CHECK(nftw(in, look, WALK_FDS, FTW_PHYS) == 0);
	FUZZ_CHECK(found_bytes <= UNPACK_BYTES_MAX);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *directory = files_begin();
	char *in = mem_fmt("%s/in", directory);
	char *path = mem_fmt("%s/a.tgz", directory);
	uint8_t *tar = mem_alloc(size, 1);
	int back = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC), result;
	struct reason why = { "" };

	memcpy(tar, data, size);
	mend(tar, size);
	files_write(path, tar, size);
	FUZZ_CHECK(mkdir(in, 0700) == 0 && chdir(directory) == 0);
	result = unpack_archive(path, in, &why);
	fuzz_check_reason(result != 0, why.text);
	check_unpacked(directory, in);
	tree_remove(in);
	FUZZ_CHECK(unlink(path) == 0 && fchdir(back) == 0);
	close(back);
	free(tar);
	free(path);
	free(in);
	return 0;
}
