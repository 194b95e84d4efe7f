#include "agentd/workspace.h"

#include "agentd/tree.h"
#include "core/mem.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Private directories begin so; then come the agent's pid and six letters. */
#define PREFIX ".conspect-perfspect."

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

/* --- leftovers ----------------------------------------------------------- */

/* Whether it was made by an agent that is no more. */
static bool
is_leftover(const char *directory, const char *name)
{
	size_t n = sizeof PREFIX - 1;
	struct stat st;
	char *path;
	bool ours;
	long pid;

	if (strncmp(name, PREFIX, n) != 0 || !isdigit((unsigned char)name[n]))
		return false;
	pid = strtol(name + n, NULL, 10);
	if (pid == getpid() || kill((pid_t)pid, 0) == 0 || errno != ESRCH)
		return false;
	path = mem_fmt("%s/%s", directory, name);
	ours = lstat(path, &st) == 0 && S_ISDIR(st.st_mode) &&
	       st.st_uid == geteuid();
	free(path);
	return ours;
}

static void
remove_leftovers(const char *directory)
{
	DIR *dir = opendir(directory);
	struct dirent *e;

	while (dir && (e = readdir(dir)))
		if (is_leftover(directory, e->d_name))
			workspace_remove(
			    mem_fmt("%s/%s", directory, e->d_name));
	if (dir)
		(void)closedir(dir);
}

/* --- a new one ----------------------------------------------------------- */

char *
workspace_make(const char *directory, struct reason *why)
{
	char *path;

	remove_leftovers(directory);
	path = mem_fmt("%s/" PREFIX "%ld.XXXXXX", directory, (long)getpid());
	if (mkdtemp(path))
		return path;
	failed(directory, strerror(errno), why);
	free(path);
	return NULL;
}

void
workspace_remove(char *path)
{
	if (path)
		tree_remove(path);
	free(path);
}
