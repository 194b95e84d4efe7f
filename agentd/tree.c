#include "agentd/tree.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* Directories that nftw() keeps open at once. */
#define OPEN_MAX_DIRS 16

static int
remove_one(const char *path, const struct stat *st, int flag, struct FTW *at)
{
	(void)st;
	(void)flag;
	(void)at;
	(void)remove(path); /* the rest shall go even if one stays */
	return 0;
}

void
tree_remove(const char *path)
{
	(void)nftw(path, remove_one, OPEN_MAX_DIRS, FTW_DEPTH | FTW_PHYS);
}

static int
sync_one(const char *path, const struct stat *st, int flag, struct FTW *at)
{
	int fd, result;

	(void)st;
	(void)at;
	if (flag != FTW_F && flag != FTW_DP)
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -1;
	result = fsync(fd);
	close(fd);
	return result;
}

int
tree_sync(const char *path)
{
	return nftw(path, sync_one, OPEN_MAX_DIRS, FTW_DEPTH | FTW_PHYS);
}
