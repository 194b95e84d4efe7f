#include "agentd/workspace.h"

#include "agentd/tree.h"
#include "core/mem.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Private directories begin so; then come six letters. */
#define PREFIX ".conspect-perfspect."
/* Somebody who removes leftovers may take a new one for such, once. */
#define TRIES 3

/* A directory that this process has. */
struct held {
	struct held *next;
	char *path;
	int fd; /* locked, for as long as it is open */
};

static struct held *all_held;

const char *
workspace_tmpdir(void)
{
	const char *directory = getenv("TMPDIR");

	return directory && *directory ? directory : "/tmp";
}

/* --- may it be used ------------------------------------------------------ */

static int
failed(const char *directory, const char *text, struct reason *why)
{
	return reason_set(why, "temporary directory %s, as user %ld: %s",
	    directory, (long)geteuid(), text);
}

/* The group of root is root, and our own group is us. */
static bool
others_may_write(const struct stat *st)
{
	return (st->st_mode & S_IWOTH) ||
	       ((st->st_mode & S_IWGRP) && st->st_gid != 0 &&
		   st->st_gid != getegid());
}

static int
check_one(const char *path, struct reason *why)
{
	struct stat st;

	if (stat(path, &st))
		return reason_set(why, "%s", strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return reason_set(why, "%s is not a directory", path);
	if (st.st_uid != 0 && st.st_uid != geteuid())
		return reason_set(why,
		    "%s belongs to user %ld, who could replace what is in "
		    "it: set TMPDIR to another directory",
		    path, (long)st.st_uid);
	if (others_may_write(&st) && !(st.st_mode & S_ISVTX))
		return reason_set(why,
		    "others could replace what is in %s (mode %04o): set its "
		    "sticky bit, or TMPDIR to another directory",
		    path, (unsigned)(st.st_mode & 07777));
	return 0;
}

int
workspace_check(const char *directory, struct reason *why)
{
	char *path = realpath(directory, NULL), *end; /* without links */
	int result;

	if (!path)
		return failed(directory, strerror(errno), why);
	result = check_one(path, why);
	while (result == 0 && (end = strrchr(path, '/')) && end != path) {
		*end = '\0';
		result = check_one(path, why);
	}
	if (result == 0)
		result = check_one("/", why);
	free(path);
	return result ? failed(directory, why->text, why) : 0;
}

/* --- which are in use ---------------------------------------------------- */

static bool
hold(const char *path)
{
	int fd = tree_lock(path, LOCK_SH);
	struct held *h;

	if (fd < 0)
		return false;
	h = mem_alloc(1, sizeof *h);
	*h = (struct held) { all_held, mem_copy(path), fd };
	all_held = h;
	return true;
}

static void
let_go(const char *path)
{
	for (struct held **at = &all_held; *at; at = &(*at)->next) {
		struct held *h = *at;

		if (strcmp(h->path, path) != 0)
			continue;
		*at = h->next;
		close(h->fd);
		free(h->path);
		free(h);
		return;
	}
}

static void
remove_leftover(const char *path)
{
	struct stat st;
	int fd;

	if (lstat(path, &st) || !S_ISDIR(st.st_mode) || st.st_uid != geteuid())
		return;
	fd = tree_lock(path, LOCK_EX);
	if (fd < 0)
		return;
	tree_remove(path);
	close(fd);
}

static void
remove_leftovers(const char *directory)
{
	DIR *dir = opendir(directory);
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		char *path;

		if (strncmp(e->d_name, PREFIX, sizeof PREFIX - 1) != 0)
			continue;
		path = mem_fmt("%s/%s", directory, e->d_name);
		remove_leftover(path);
		free(path);
	}
	if (dir)
		(void)closedir(dir);
}

/* --- a new one ----------------------------------------------------------- */

char *
workspace_make(const char *directory, struct reason *why)
{
	remove_leftovers(directory);
	for (int i = 0; i < TRIES; i++) {
		char *path = mem_fmt("%s/" PREFIX "XXXXXX", directory);

		if (!mkdtemp(path)) {
			failed(directory, strerror(errno), why);
			free(path);
			return NULL;
		}
		if (hold(path))
			return path;
		tree_remove(path);
		free(path);
	}
	failed(directory, "what is made there is removed at once", why);
	return NULL;
}

void
workspace_remove(char *path)
{
	if (!path)
		return;
	tree_remove(path);
	let_go(path);
	free(path);
}
