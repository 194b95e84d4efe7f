#include "agentd/versions.h"

#include "agentd/tree.h"
#include "core/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* The directory of versions, under the target. */
#define BELOW "versions"
/* More than we ever leave there; what is beyond waits for the next time. */
#define SEEN_MAX 64

/* One version, as far as its removal goes. */
struct version {
	char id[VERSIONS_ID];
	struct timespec used;
};

/* --- what is there ------------------------------------------------------- */

int
versions_look(const char *target, struct reason *why)
{
	struct stat st;

	if (lstat(target, &st))
		return errno == ENOENT ? (int)VERSIONS_ABSENT
				       : reason_set(why, "%s: %s", target,
					     strerror(errno));
	if (S_ISLNK(st.st_mode))
		return reason_set(why,
		    "%s is a link: remove it, it is not followed", target);
	if (!S_ISDIR(st.st_mode))
		return reason_set(
		    why, "%s is not a directory: remove it", target);
	if (st.st_uid != geteuid())
		return reason_set(why,
		    "%s belongs to user %ld, not to %ld: remove it", target,
		    (long)st.st_uid, (long)geteuid());
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return reason_set(why,
		    "%s can be written by other users (mode %04o): remove it",
		    target, (unsigned)(st.st_mode & 07777));
	return VERSIONS_THERE;
}

bool
versions_is_id(const char *text)
{
	size_t n = strspn(text, "0123456789abcdef");

	return n == VERSIONS_ID - 1 && !text[n];
}

/* Where they are: without a slash after it, which would follow a link. */
static char *
below_path(const char *target)
{
	return mem_fmt("%s/" BELOW, target);
}

static char *
version_path(const char *target, const char *id)
{
	return mem_fmt("%s/" BELOW "/%s", target, id);
}

char *
versions_program(const char *target, const char *id)
{
	return *id ? mem_fmt("%s/" BELOW "/%s/perfspect", target, id)
		   : mem_fmt("%s/perfspect", target);
}

bool
versions_last(const char *target, char id[VERSIONS_ID])
{
	static const char before[] = BELOW "/", after[] = "/perfspect";
	char *path = versions_program(target, "");
	char to[sizeof before - 1 + VERSIONS_ID - 1 + sizeof after] = "";
	ssize_t n = readlink(path, to, sizeof to);
	struct stat st;
	bool plain = lstat(path, &st) == 0 && S_ISREG(st.st_mode);

	free(path);
	id[0] = '\0';
	if (plain)
		return true;
	if (n != (ssize_t)sizeof to - 1 ||
	    memcmp(to, before, sizeof before - 1) != 0 ||
	    memcmp(to + n - (sizeof after - 1), after, sizeof after - 1) != 0)
		return false;
	memcpy(id, to + sizeof before - 1, VERSIONS_ID - 1);
	id[VERSIONS_ID - 1] = '\0';
	return versions_is_id(id);
}

/* --- a new one ----------------------------------------------------------- */

/* For all to read, whatever the umask; it may be there. */
static int
make_directory(const char *path, struct reason *why)
{
	int there;

	if (mkdir(path, 0700) == 0)
		return chmod(path, 0755)
			   ? reason_set(why, "%s: %s", path, strerror(errno))
			   : 0;
	if (errno != EEXIST)
		return reason_set(why, "%s: %s", path, strerror(errno));
	there = versions_look(path, why);
	return there < 0 ? -1 : 0;
}

static int
sync_directory(const char *path, struct reason *why)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool ok = fd >= 0 && fsync(fd) == 0;

	if (!ok)
		reason_set(why, "%s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return ok ? 0 : -1;
}

/* In one step: whoever looks finds the old one or the new one, whole. */
static int
move(const char *tree, const char *to, struct reason *why)
{
	if (renameat2(AT_FDCWD, tree, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno == EEXIST &&
	    renameat2(AT_FDCWD, tree, AT_FDCWD, to, RENAME_EXCHANGE) == 0)
		return 0;
	return reason_set(why, "%s: %s", to, strerror(errno));
}

int
versions_add(
    const char *target, const char *id, const char *tree, struct reason *why)
{
	char *below = below_path(target);
	char *to = version_path(target, id);
	char *parent = mem_fmt("%s/..", target);
	int result = -1;

	if (chmod(tree, 0755) || tree_sync(tree))
		reason_set(why, "%s: %s", tree, strerror(errno));
	else if (make_directory(target, why) == 0 &&
		 make_directory(below, why) == 0 && move(tree, to, why) == 0)
		result = sync_directory(below, why) ||
				 sync_directory(target, why) ||
				 sync_directory(parent, why)
			     ? -1
			     : 0;
	free(below);
	free(to);
	free(parent);
	return result;
}

/* --- too many ------------------------------------------------------------ */

static size_t
list(const char *below, struct version *v)
{
	DIR *dir = opendir(below);
	struct dirent *e;
	size_t n = 0;

	while (dir && n < SEEN_MAX && (e = readdir(dir))) {
		struct stat st;

		if (!versions_is_id(e->d_name) ||
		    fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		memcpy(v[n].id, e->d_name, VERSIONS_ID);
		v[n++].used = st.st_mtim;
	}
	if (dir)
		(void)closedir(dir);
	return n;
}

/* For qsort(): what was used longest ago comes first. */
static int
by_use(const void *a, const void *b)
{
	const struct timespec *x = &((const struct version *)a)->used;
	const struct timespec *y = &((const struct version *)b)->used;

	if (x->tv_sec != y->tv_sec)
		return x->tv_sec < y->tv_sec ? -1 : 1;
	return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

/*
 * Removes one that nobody holds; true when it is gone.  It leaves its place
 * in one step: what is cut off in the middle of it is a workspace's.
 */
static bool
remove_version(const char *path, const char *workspace)
{
	char *away = mem_fmt("%s/removed", workspace);
	int fd = tree_lock(path, LOCK_EX);
	bool gone = fd >= 0 && rename(path, away) == 0;

	if (gone)
		tree_remove(away);
	if (fd >= 0)
		close(fd);
	free(away);
	return gone;
}

static void
remove_surplus(const char *target, const char *id, const char *workspace)
{
	struct version *v = mem_alloc(SEEN_MAX, sizeof *v);
	char *below = below_path(target);
	size_t n = list(below, v), left = n;

	qsort(v, n, sizeof *v, by_use);
	for (size_t i = 0; i < n && left > VERSIONS_KEPT; i++) {
		char *path = version_path(target, v[i].id);

		if (strcmp(v[i].id, id) != 0 &&
		    remove_version(path, workspace))
			left--;
		free(path);
	}
	free(below);
	free(v);
}

/* --- use ----------------------------------------------------------------- */

static int
set_link(const char *target, const char *id, const char *workspace,
    struct reason *why)
{
	char *to = mem_fmt(BELOW "/%s/perfspect", id);
	char *made = mem_fmt("%s/link", workspace);
	char *path = versions_program(target, "");
	int result = 0;

	(void)unlink(made);
	if (symlink(to, made) || rename(made, path))
		result = reason_set(why, "%s: %s", path, strerror(errno));
	free(to);
	free(made);
	free(path);
	return result;
}

int
versions_use(const char *target, const char *id, bool broken,
    const char *workspace, struct reason *why)
{
	char last[VERSIONS_ID];
	bool there = versions_last(target, last);
	bool by_hand = there && !*last && !broken;
	char *path;

	if (!*id)
		return 0;
	path = version_path(target, id);
	/* the time of the last use, for remove_surplus() */
	(void)utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW);
	free(path);
	if (!by_hand && !(there && strcmp(last, id) == 0) &&
	    set_link(target, id, workspace, why))
		return -1;
	remove_surplus(target, id, workspace);
	return 0;
}

int
versions_hold(const char *target, const char *id, struct reason *why)
{
	char *path = version_path(target, id);
	int fd = tree_lock(path, LOCK_SH);

	if (fd < 0)
		reason_set(why, "%s was removed by another program", path);
	free(path);
	return fd;
}
