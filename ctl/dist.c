#include "dist.h"

#include "agentd/elf.h"
#include "agentd/unpack.h"
#include "agentd/version.h"
#include "agentd/workspace.h"
#include "core/log.h"
#include "core/mem.h"
#include "store/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* In the workspace. */
#define COPY "archive"
#define UNPACKED "unpacked"
#define PROGRAM "perfspect/perfspect"

/* Digits of the SHA-256 in a file's name: no two archives share them. */
#define NAME_DIGITS 16
#define NAME_END ".tgz"

#define COPY_BYTES 65536

_Static_assert(PERFSPECT_VERSION_BYTES == ARCHIVES_VERSION_MAX + 1,
    "what PerfSpect may answer is what can be pinned");

/* --- the directory ------------------------------------------------------- */

char *
dist_beside(struct store *store)
{
	const char *db = store_path(store), *slash = strrchr(db, '/');

	return slash ? mem_fmt("%.*s/dist", (int)(slash - db), db)
		     : mem_copy("dist");
}

static int
check_private(const struct dist *dist, struct reason *why)
{
	struct stat st;

	if (fstat(dist->fd, &st))
		return reason_set(why, "%s: %s", dist->path, strerror(errno));
	if (st.st_uid != geteuid())
		return reason_set(why,
		    "%s belongs to user %ld and this is user %ld: do it as "
		    "the one it belongs to",
		    dist->path, (long)st.st_uid, (long)geteuid());
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return reason_set(why,
		    "%s can be written by other users (mode %04o): "
		    "chmod go-w %s",
		    dist->path, (unsigned)(st.st_mode & 07777), dist->path);
	return 0;
}

/* Opens it, and makes it when it is missing. */
static int
open_directory(struct dist *dist, struct reason *why)
{
	bool made = mkdir(dist->path, 0755) == 0;

	if (!made && errno != EEXIST)
		return reason_set(why, "%s: %s", dist->path, strerror(errno));
	/* a link could have been put there by who may write beside it */
	dist->fd =
	    open(dist->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dist->fd < 0)
		return reason_set(why, "%s: %s (a link is not followed)",
		    dist->path, strerror(errno));
	if (check_private(dist, why))
		return -1;
	/* web servers run as another user, and our umask is strict */
	if (made && fchmod(dist->fd, 0755))
		return reason_set(why, "%s: %s", dist->path, strerror(errno));
	return 0;
}

int
dist_open(struct dist *dist, const char *path, struct reason *why)
{
	*dist = (struct dist) { .path = mem_copy(path), .fd = -1 };
	if (open_directory(dist, why))
		return -1;
	if (flock(dist->fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	return reason_set(why, "%s: %s", path,
	    errno == EWOULDBLOCK ? "another conspectctl works on it: try "
				   "again when it has ended"
				 : strerror(errno));
}

void
dist_close(struct dist *dist)
{
	/* its path is relative to the directory */
	if (dist->workspace && fchdir(dist->fd) == 0)
		workspace_remove(dist->workspace);
	if (dist->fd >= 0)
		close(dist->fd);
	free(dist->path);
	*dist = (struct dist) { .fd = -1 };
}

/* Makes a workspace and goes there: names in it hold, whatever becomes of
 * the way that leads to it. */
static int
enter_workspace(struct dist *dist, struct reason *why)
{
	struct reason inner;

	if (fchdir(dist->fd))
		return reason_set(why, "%s: %s", dist->path, strerror(errno));
	dist->workspace = workspace_make(".", &inner);
	if (!dist->workspace)
		return reason_set(why, "%s: %s", dist->path, inner.text);
	if (chdir(dist->workspace))
		return reason_set(why, "%s/%s: %s", dist->path,
		    dist->workspace, strerror(errno));
	return 0;
}

/* --- the copy ------------------------------------------------------------ */

struct copy {
	const char *name; /* of what is copied */
	int from, to;
	int64_t bytes;
	crypto_hash_sha256_state hash;
	struct reason *why;
};

static int
write_all(struct copy *c, const unsigned char *bytes, size_t n)
{
	while (n) {
		ssize_t done = write(c->to, bytes, n);

		if (done < 0 && errno != EINTR)
			return reason_set(c->why, "the copy of %s: %s",
			    c->name, strerror(errno));
		if (done > 0) {
			bytes += done;
			n -= (size_t)done;
		}
	}
	return 0;
}

static int
copy_block(struct copy *c, const unsigned char *bytes, size_t n)
{
	static const unsigned char magic[] = { 0x1f, 0x8b };

	if (c->bytes == 0 &&
	    (n < sizeof magic || memcmp(bytes, magic, sizeof magic) != 0))
		return reason_set(c->why,
		    "%s is not a gzip archive: perfspect.tgz or "
		    "perfspect-aarch64.tgz of a release is wanted",
		    c->name);
	if ((int64_t)n > DIST_BYTES_MAX - c->bytes)
		return reason_set(c->why, "%s is larger than %lld bytes",
		    c->name, (long long)DIST_BYTES_MAX);
	c->bytes += (int64_t)n;
	crypto_hash_sha256_update(&c->hash, bytes, n);
	return write_all(c, bytes, n);
}

static int
copy_blocks(struct copy *c)
{
	static const struct timespec never[2];
	static unsigned char block[COPY_BYTES];
	ssize_t n;

	while ((n = read(c->from, block, sizeof block)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return reason_set(
			    c->why, "%s: %s", c->name, strerror(errno));
		if (copy_block(c, block, (size_t)n))
			return -1;
	}
	if (c->bytes == 0)
		return reason_set(c->why, "%s is empty", c->name);
	/* readable for the web server, never pinned (see dist_sweep()), and on
	 * the disk before it is named */
	if (fchmod(c->to, 0644) || futimens(c->to, never) || fsync(c->to))
		return reason_set(
		    c->why, "the copy of %s: %s", c->name, strerror(errno));
	return 0;
}

/* Copies the file to COPY, with its digest. */
static int
copy(int file, const char *name, struct pinned_archive *archive,
    struct reason *why)
{
	struct copy c = { .name = name, .from = file, .why = why };
	unsigned char digest[crypto_hash_sha256_BYTES];
	char text[2 * sizeof digest + 1];
	int result;

	c.to = open(
	    COPY, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (c.to < 0)
		return reason_set(
		    why, "the copy of %s: %s", name, strerror(errno));
	crypto_hash_sha256_init(&c.hash);
	result = copy_blocks(&c);
	if (close(c.to) && result == 0)
		result = reason_set(
		    why, "the copy of %s: %s", name, strerror(errno));
	crypto_hash_sha256_final(&c.hash, digest);
	archive->sha256 =
	    mem_copy(sodium_bin2hex(text, sizeof text, digest, sizeof digest));
	archive->bytes = c.bytes;
	return result;
}

/* --- what is in it ------------------------------------------------------- */

static int
unpack(const char *name, struct reason *why)
{
	struct reason inner;

	if (mkdir(UNPACKED, 0700))
		return reason_set(why, "%s: %s", UNPACKED, strerror(errno));
	if (unpack_archive(COPY, UNPACKED, &inner))
		return reason_set(why, "%s: %s", name, inner.text);
	if (access(UNPACKED "/" PROGRAM, F_OK))
		return reason_set(why, "%s holds no " PROGRAM, name);
	return 0;
}

static int
find_arch(struct pinned_archive *archive, struct reason *why)
{
	char machine[ELF_MACHINE_BYTES];

	if (elf_machine(UNPACKED "/" PROGRAM, PROGRAM, machine, why))
		return -1;
	if (!archives_arch_known(machine))
		return reason_set(why,
		    PROGRAM " is a program for %s: archives for x86_64 and "
			    "aarch64 are taken",
		    machine);
	archive->arch = mem_copy(machine);
	return 0;
}

/* Asks the program, where it runs here, and else believes the person. */
static int
find_version(
    struct pinned_archive *archive, const char *given, struct reason *why)
{
	char found[PERFSPECT_VERSION_BYTES];
	struct reason elsewhere;

	if (elf_check(
		UNPACKED "/" PROGRAM, PROGRAM, ELF_OURSELVES, &elsewhere)) {
		if (!given)
			return reason_set(why,
			    "%s: it cannot be asked for its version, say it "
			    "with --version TEXT",
			    elsewhere.text);
		archive->version = mem_copy(given);
		return 0;
	}
	if (perfspect_version(UNPACKED "/" PROGRAM, NULL, found, why))
		return -1;
	if (given && strcmp(given, found) != 0)
		return reason_set(why,
		    "--version says %s, and the program in the archive %s",
		    given, found);
	archive->version = mem_copy(found);
	return 0;
}

int
dist_take(struct dist *dist, int file, const char *name, const char *version,
    struct pinned_archive *archive, struct reason *why)
{
	*archive = (struct pinned_archive) { 0 };
	if (enter_workspace(dist, why) || copy(file, name, archive, why) ||
	    unpack(name, why) || find_arch(archive, why) ||
	    find_version(archive, version, why))
		return -1;
	archive->file = mem_fmt("perfspect-%s-%.*s" NAME_END, archive->arch,
	    NAME_DIGITS, archive->sha256);
	return 0;
}

int
dist_keep(struct dist *dist, const struct pinned_archive *archive,
    struct reason *why)
{
	if (renameat(AT_FDCWD, COPY, dist->fd, archive->file))
		return reason_set(why, "%s/%s: %s", dist->path, archive->file,
		    strerror(errno));
	if (fsync(dist->fd) == 0)
		return 0;
	return reason_set(why, "%s: %s", dist->path, strerror(errno));
}

/* --- sweeping ------------------------------------------------------------ */

/* More are not pinned: one for each architecture. */
#define PINNED_MAX 8

struct pinned {
	char *files[PINNED_MAX];
	size_t n;
};

static void
note_pinned(void *context, const struct pinned_archive *archive)
{
	struct pinned *pinned = context;

	if (pinned->n < PINNED_MAX)
		pinned->files[pinned->n++] = mem_copy(archive->file);
}

/* Whether the name is one that dist_take() gives. */
static bool
is_ours(const char *name)
{
	for (int i = 0; archives_archs[i]; i++) {
		char start[64];
		size_t n = (size_t)snprintf(
		    start, sizeof start, "perfspect-%s-", archives_archs[i]);

		if (strncmp(name, start, n) == 0 &&
		    strspn(name + n, "0123456789abcdef") == NAME_DIGITS &&
		    strcmp(name + n + NAME_DIGITS, NAME_END) == 0)
			return true;
	}
	return false;
}

static bool
is_pinned(const struct pinned *pinned, const char *name)
{
	for (size_t i = 0; i < pinned->n; i++)
		if (strcmp(pinned->files[i], name) == 0)
			return true;
	return false;
}

/* Notes on each pinned file that it was pinned at this time. */
static int
touch_pinned(
    struct dist *dist, const struct pinned *pinned, struct reason *why)
{
	for (size_t i = 0; i < pinned->n; i++)
		if (utimensat(dist->fd, pinned->files[i], NULL,
			AT_SYMLINK_NOFOLLOW) &&
		    errno != ENOENT)
			return reason_set(why, "%s/%s: %s", dist->path,
			    pinned->files[i], strerror(errno));
	return 0;
}

/* Those of our files that are not pinned. */
struct replaced {
	size_t n;
	char oldest[NAME_MAX + 1]; /* the first to have been replaced */
	time_t since;
};

static int
note_replaced(struct dist *dist, const char *name, struct replaced *replaced,
    struct reason *why)
{
	struct stat st;

	if (fstatat(dist->fd, name, &st, AT_SYMLINK_NOFOLLOW))
		return reason_set(
		    why, "%s/%s: %s", dist->path, name, strerror(errno));
	if (replaced->n++ == 0 || st.st_mtime < replaced->since) {
		(void)snprintf(
		    replaced->oldest, sizeof replaced->oldest, "%s", name);
		replaced->since = st.st_mtime;
	}
	return 0;
}

static int
find_replaced(struct dist *dist, const struct pinned *pinned,
    struct replaced *replaced, struct reason *why)
{
	int fd = openat(dist->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	int result = 0;

	*replaced = (struct replaced) { .n = 0 };
	if (!dir)
		return reason_set(why, "%s: %s", dist->path, strerror(errno));
	while (result == 0 && (e = readdir(dir)))
		if (is_ours(e->d_name) && !is_pinned(pinned, e->d_name))
			result = note_replaced(dist, e->d_name, replaced, why);
	(void)closedir(dir);
	return result;
}

static bool
is_one_too_many(const struct replaced *replaced)
{
	return replaced->n > DIST_REPLACED_MAX ||
	       (replaced->n > 0 &&
		   time(NULL) - replaced->since >= DIST_GRACE_SECONDS);
}

static int
sweep(struct dist *dist, const struct pinned *pinned, struct reason *why)
{
	struct replaced replaced;

	for (;;) {
		if (find_replaced(dist, pinned, &replaced, why))
			return -1;
		if (!is_one_too_many(&replaced))
			return 0;
		if (unlinkat(dist->fd, replaced.oldest, 0))
			return reason_set(why, "%s/%s: %s", dist->path,
			    replaced.oldest, strerror(errno));
		log_info("%s/%s is not pinned any more: removed", dist->path,
		    replaced.oldest);
	}
}

int
dist_sweep(struct dist *dist, struct store *store, struct reason *why)
{
	struct pinned pinned = { .n = 0 };
	int result = archives_list(store, note_pinned, &pinned);

	if (result)
		(void)reason_set(why,
		    "the pinned archives cannot be read: nothing is "
		    "removed");
	else if (touch_pinned(dist, &pinned, why) || sweep(dist, &pinned, why))
		result = -1;
	for (size_t i = 0; i < pinned.n; i++)
		free(pinned.files[i]);
	return result;
}

bool
dist_has(const char *path, const struct pinned_archive *archive)
{
	char *file = mem_fmt("%s/%s", path, archive->file);
	struct stat st;
	bool there = stat(file, &st) == 0 && S_ISREG(st.st_mode) &&
		     st.st_size == archive->bytes;

	free(file);
	return there;
}
