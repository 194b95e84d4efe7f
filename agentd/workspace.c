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

const char *
workspace_tmpdir(void)
{
	const char *directory = getenv("TMPDIR");

	return directory && *directory ? directory : "/tmp";
}

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

char *
workspace_make(const char *directory, struct reason *why)
{
	char *path;

	remove_leftovers(directory);
	path = mem_fmt("%s/" PREFIX "%ld.XXXXXX", directory, (long)getpid());
	if (mkdtemp(path))
		return path;
	reason_set(why, "temporary directory %s, as user %ld: %s", directory,
	    (long)geteuid(), strerror(errno));
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
