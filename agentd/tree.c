#include "agentd/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/file.h>
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

static bool
is_at(int fd, const char *path)
{
	struct stat held, there;

	return fstat(fd, &held) == 0 && lstat(path, &there) == 0 &&
	       held.st_dev == there.st_dev && held.st_ino == there.st_ino;
}

int
tree_lock(const char *path, int how)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return -1;
	if ((flock(fd, how | LOCK_NB) == 0 ||
		(how == LOCK_SH && errno != EWOULDBLOCK)) &&
	    is_at(fd, path))
		return fd;
	close(fd);
	return -1;
}
