#include "agentd/perfspect.h"

#include "agentd/child.h"
#include "agentd/elf.h"
#include "agentd/fetch.h"
#include "agentd/tree.h"
#include "agentd/unpack.h"
#include "core/clock.h"
#include "core/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* `--version` answers at once; a program of 100 MB on a slow disk later. */
#define VERSION_MS 30000
/* A download in which nothing comes for so long is broken off. */
#define STALL_SECONDS 30L

/* In the target: the digest of the archive that it came from, and what it
 * answered when it was asked for its version. */
#define DIGEST_FILE ".conspect-sha256"
#define VERSION_FILE ".conspect-version"

static const char VERSION_PREFIX[] = "perfspect version ";

/* --- asking it for its version ------------------------------------------- */

static int
run_version(void *context)
{
	char program[] = "perfspect", flag[] = "--version";
	char *argv[] = { program, flag, NULL };

	(void)execv(context, argv);
	dprintf(STDERR_FILENO, "%s\n", strerror(errno));
	return 126; /* as a shell says of what cannot be run */
}

static void
wait_for(struct child *c, int64_t deadline)
{
	int fds[CHILD_FDS];

	for (;;) {
		struct pollfd wait[CHILD_FDS];
		int64_t now = clock_mono_ms(), next;
		size_t n;

		if (child_tick(c, now))
			return;
		if (now >= deadline)
			child_kill(c, now);
		next = child_next_ms(c);
		next = next < deadline || now >= deadline ? next : deadline;
		n = child_fds(c, fds);
		for (size_t i = 0; i < n; i++)
			wait[i] = (struct pollfd) { fds[i], POLLIN, 0 };
		now = clock_mono_ms();
		(void)poll(wait, n, next > now ? (int)(next - now) : 0);
	}
}

static int
read_version(const struct child *c, const char *program,
    char version[PERFSPECT_VERSION_BYTES], struct reason *why)
{
	size_t n = sizeof VERSION_PREFIX - 1;
	char ended[64];

	child_describe(c->status, ended);
	if (WIFSIGNALED(c->status) && WTERMSIG(c->status) == SIGKILL)
		return reason_set(why,
		    "%s --version did not answer within %d seconds", program,
		    VERSION_MS / 1000);
	if (WIFEXITED(c->status) && WEXITSTATUS(c->status) == 126)
		return reason_set(why,
		    "%s cannot be run by user %ld: %.200s (does its "
		    "directory allow execution?)",
		    program, (long)geteuid(), c->last);
	if (c->status != 0)
		return reason_set(
		    why, "%s --version %s: %.200s", program, ended, c->last);
	if (strncmp(c->last, VERSION_PREFIX, n) != 0 || !c->last[n] ||
	    strlen(c->last + n) >= PERFSPECT_VERSION_BYTES)
		return reason_set(why,
		    "%s --version answered \"%.200s\" and no version", program,
		    c->last);
	(void)snprintf(version, PERFSPECT_VERSION_BYTES, "%s", c->last + n);
	return 0;
}

int
perfspect_version(const char *program, const char *directory,
    char version[PERFSPECT_VERSION_BYTES], struct reason *why)
{
	char *copy = mem_copy(program);
	struct child_plan plan = { .body = run_version,
		.context = copy,
		.directory = directory,
		.log_fd = -1 };
	struct child c;
	int result = child_start(&c, &plan, why);

	if (result == 0) {
		wait_for(&c, clock_mono_ms() + VERSION_MS);
		result = read_version(&c, program, version, why);
	}
	free(copy);
	return result;
}

/* --- what is there already ----------------------------------------------- */

enum target { TARGET_ABSENT, TARGET_OURS };

static bool
is_private(const struct stat *st)
{
	return st->st_uid == geteuid() && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

/*
 * What root runs must be in a directory that nobody else can change, in
 * particular not one that another user put into /tmp before.
 */
static int
look_at_target(const char *target, struct reason *why)
{
	struct stat st;

	if (lstat(target, &st))
		return errno == ENOENT ? (int)TARGET_ABSENT
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
	if (!is_private(&st))
		return reason_set(why,
		    "%s can be written by other users (mode %04o): remove it",
		    target, (unsigned)(st.st_mode & 07777));
	return TARGET_OURS;
}

/* A note of the installer in the target; "" where there is none. */
static void
read_note(const char *target, const char *name, char *text, size_t size)
{
	char *path = mem_fmt("%s/%s", target, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

	text[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		close(fd);
	free(path);
}

/* Whether the archive that the target came from had this digest. */
static bool
has_digest(const char *target, const char *sha256)
{
	char text[FETCH_SHA256_TEXT];

	read_note(target, DIGEST_FILE, text, sizeof text);
	return *text && strcasecmp(text, sha256) == 0;
}

int
perfspect_look(
    const char *target, struct perfspect_note *note, struct reason *why)
{
	int there = look_at_target(target, why);
	char *program;
	struct stat st;

	*note = (struct perfspect_note) { 0 };
	if (there != TARGET_OURS)
		return there < 0 ? -1 : 0;
	program = mem_fmt("%s/perfspect", target);
	note->there = lstat(program, &st) == 0 && S_ISREG(st.st_mode);
	free(program);
	read_note(target, VERSION_FILE, note->version, sizeof note->version);
	read_note(target, DIGEST_FILE, note->sha256, sizeof note->sha256);
	return 0;
}

static bool
is_usable(const struct perfspect_job *job, const char *workspace,
    char version[PERFSPECT_VERSION_BYTES])
{
	char *program = mem_fmt("%s/perfspect", job->target);
	struct reason ignored; /* it is then installed anew */
	struct stat st;
	bool ok =
	    lstat(program, &st) == 0 && is_private(&st) &&
	    elf_check(program, program, &ignored) == 0 &&
	    (!job->sha256 || has_digest(job->target, job->sha256)) &&
	    perfspect_version(program, workspace, version, &ignored) == 0;

	free(program);
	return ok;
}

/* --- putting a new one there --------------------------------------------- */

static int
write_note(
    const char *tree, const char *name, const char *text, struct reason *why)
{
	char *path = mem_fmt("%s/%s", tree, name);
	int fd = open(
	    path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	size_t n = strlen(text);
	bool ok = fd >= 0 && write(fd, text, n) == (ssize_t)n;

	if (fd >= 0)
		ok = close(fd) == 0 && ok;
	if (!ok)
		reason_set(why, "%s: %s", path, strerror(errno));
	free(path);
	return ok ? 0 : -1;
}

static int
check_tree(const char *tree, const char *workspace,
    char version[PERFSPECT_VERSION_BYTES], struct reason *why)
{
	char *program = mem_fmt("%s/perfspect", tree);
	int result;

	if (access(program, F_OK))
		result = reason_set(
		    why, "the archive holds no perfspect/perfspect");
	else if (elf_check(program, "perfspect/perfspect", why))
		result = -1;
	else
		result = perfspect_version(program, workspace, version, why);
	free(program);
	return result;
}

static int
sync_parent(const char *target)
{
	char *parent = mem_fmt("%s/..", target);
	int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC), result;

	free(parent);
	if (fd < 0)
		return -1;
	result = fsync(fd);
	close(fd);
	return result;
}

/* In one step: whoever looks finds the old one or the new one, whole. */
static int
move_into_place(const char *tree, const char *target, struct reason *why)
{
	if (chmod(tree, 0755) || tree_sync(tree))
		return reason_set(why, "%s: %s", tree, strerror(errno));
	if (renameat2(AT_FDCWD, tree, AT_FDCWD, target, RENAME_NOREPLACE) == 0)
		return sync_parent(target)
			   ? reason_set(why, "%s: %s", target, strerror(errno))
			   : 0;
	if (errno != EEXIST)
		return reason_set(why, "%s: %s", target, strerror(errno));
	if (look_at_target(target, why) < 0) /* made in the meantime */
		return -1;
	if (renameat2(AT_FDCWD, tree, AT_FDCWD, target, RENAME_EXCHANGE) ||
	    sync_parent(target))
		return reason_set(why, "%s: %s", target, strerror(errno));
	return 0;
}

static int
fetch(const struct perfspect_job *job, const char *part,
    char sha256[FETCH_SHA256_TEXT], struct reason *why)
{
	struct fetch_job fetch_job = { .url = job->url,
		.path = part,
		.sha256 = job->sha256,
		.ca_file = job->ca_file,
		.proxy = job->proxy,
		.no_verify = job->no_verify,
		.total_seconds = job->timeout_seconds,
		.stall_seconds = STALL_SECONDS };

	return fetch_archive(&fetch_job, sha256, why);
}

static int
unpack(const char *part, const char *unpacked, struct reason *why)
{
	struct reason inner;

	if (mkdir(unpacked, 0700))
		return reason_set(why, "%s: %s", unpacked, strerror(errno));
	if (unpack_archive(part, unpacked, &inner))
		return reason_set(why, "%s", inner.text);
	return 0;
}

static int
install_new(const struct perfspect_job *job, const char *workspace,
    char version[PERFSPECT_VERSION_BYTES], struct reason *why)
{
	char *part = mem_fmt("%s/perfspect.tgz.part", workspace);
	char *unpacked = mem_fmt("%s/unpacked", workspace);
	char *tree = mem_fmt("%s/perfspect", unpacked);
	char sha256[FETCH_SHA256_TEXT];
	int result = -1;

	if (fetch(job, part, sha256, why) == 0 &&
	    unpack(part, unpacked, why) == 0 &&
	    check_tree(tree, workspace, version, why) == 0 &&
	    write_note(tree, DIGEST_FILE, sha256, why) == 0 &&
	    write_note(tree, VERSION_FILE, version, why) == 0)
		result = move_into_place(tree, job->target, why);
	free(part);
	free(unpacked);
	free(tree);
	return result;
}

int
perfspect_install(const struct perfspect_job *job, const char *workspace,
    char version[PERFSPECT_VERSION_BYTES], struct reason *why)
{
	int there = look_at_target(job->target, why);

	if (there < 0)
		return -1;
	if (there == TARGET_OURS && is_usable(job, workspace, version))
		return 0;
	return install_new(job, workspace, version, why);
}
