#include "agentd/unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Read this much at a time from the file. */
#define BLOCK_BYTES 65536

/* gzip, and below it the file as it is: a bomb has more. */
#define FILTERS_MAX 2

#define EXTRACT_FLAGS                                                         \
	(ARCHIVE_EXTRACT_SECURE_SYMLINKS | ARCHIVE_EXTRACT_SECURE_NODOTDOT |  \
	    ARCHIVE_EXTRACT_SECURE_NOABSOLUTEPATHS | ARCHIVE_EXTRACT_PERM |   \
	    ARCHIVE_EXTRACT_NO_OVERWRITE)

struct unpacking {
	struct archive *in, *out;
	const char *directory; /* that it is unpacked into */
	int64_t bytes;         /* unpacked so far */
	long entries;
	struct reason *why;
};

/* Whether one of the name's components is `..`. */
static bool
has_dotdot(const char *name)
{
	while (*name) {
		size_t n = strcspn(name, "/");

		if (n == 2 && memcmp(name, "..", 2) == 0)
			return true;
		name += n + strspn(name + n, "/");
	}
	return false;
}

static bool
has_control(const char *name)
{
	for (; *name; name++)
		if ((unsigned char)*name < ' ' || *name == 0x7f)
			return true;
	return false;
}

static int
check_name(const char *name, struct reason *why)
{
	if (!name || !*name)
		return reason_set(
		    why, "the archive has an entry without a readable name");
	if (strlen(name) > UNPACK_NAME_MAX)
		return reason_set(
		    why, "the archive has a name of %zu bytes", strlen(name));
	if (has_control(name))
		return reason_set(
		    why, "the archive has a control character in a name");
	if (*name == '/')
		return reason_set(
		    why, "the archive has an absolute name: %s", name);
	if (has_dotdot(name))
		return reason_set(why,
		    "the archive has a name that leaves its directory: %s",
		    name);
	return 0;
}

static int
check_type(struct archive_entry *e, const char *name, struct reason *why)
{
	mode_t type = archive_entry_filetype(e);

	if (archive_entry_hardlink(e) || archive_entry_symlink(e) ||
	    type == AE_IFLNK)
		return reason_set(why, "the archive has a link: %s", name);
	if (type != AE_IFREG && type != AE_IFDIR)
		return reason_set(why,
		    "the archive has an entry that is neither file nor "
		    "directory: %s",
		    name);
	if (archive_entry_mode(e) & (S_ISUID | S_ISGID))
		return reason_set(
		    why, "the archive has a set-id file: %s", name);
	return 0;
}

static int
check_size(struct unpacking *u, struct archive_entry *e)
{
	int64_t size = archive_entry_size(e);

	if (++u->entries > UNPACK_ENTRIES_MAX)
		return reason_set(u->why,
		    "the archive has more than %d entries",
		    UNPACK_ENTRIES_MAX);
	if (size < 0 || size > UNPACK_BYTES_MAX - u->bytes)
		return reason_set(u->why,
		    "the archive unpacks to more than %lld bytes",
		    (long long)UNPACK_BYTES_MAX);
	u->bytes += size;
	return 0;
}

/*
 * What an entry would replace: only a directory may be named again.  A name
 * below a file (ENOTDIR) is one that was a file before.
 */
static int
check_new(struct archive_entry *e, const char *name, struct reason *why)
{
	struct stat st;

	if (lstat(name, &st) == 0
		? S_ISDIR(st.st_mode) && archive_entry_filetype(e) == AE_IFDIR
		: errno == ENOENT)
		return 0;
	return reason_set(why, "the archive has a name twice: %s", name);
}

/* What is kept of an entry: its name, its kind and whether it may run. */
static void
plain_entry(struct archive_entry *e)
{
	bool runs = archive_entry_mode(e) & (S_IXUSR | S_IXGRP | S_IXOTH);

	if (archive_entry_filetype(e) == AE_IFDIR)
		runs = true;
	archive_entry_set_perm(e, runs ? 0755 : 0644);
	archive_entry_acl_clear(e);
	archive_entry_xattr_clear(e);
	archive_entry_set_fflags(e, 0, 0);
}

static int
failed(struct unpacking *u, struct archive *side, const char *what)
{
	const char *text = archive_error_string(side);

	return reason_set(
	    u->why, "%s: %s", what, text ? text : "unknown error");
}

/* Something on this side, as a full disk is. */
static int
cannot_write(struct unpacking *u, const char *name)
{
	int error = archive_errno(u->out);

	return reason_set(u->why, "%s, as user %ld: cannot write %s: %s",
	    u->directory, (long)geteuid(), name,
	    error > 0 ? strerror(error) : archive_error_string(u->out));
}

static int
copy_data(struct unpacking *u, const char *name, int64_t size)
{
	const void *block;
	size_t n;
	la_int64_t at;
	int r;

	while ((r = archive_read_data_block(u->in, &block, &n, &at)) ==
	       ARCHIVE_OK) {
		if (at < 0 || (int64_t)n > size || at > size - (int64_t)n)
			return reason_set(
			    u->why, "the archive has more data than it says");
		if (archive_write_data_block(u->out, block, n, at) <
		    ARCHIVE_OK)
			return cannot_write(u, name);
	}
	return r == ARCHIVE_EOF ? 0
				: failed(u, u->in, "the archive is damaged");
}

static int
unpack_entry(struct unpacking *u, struct archive_entry *e)
{
	const char *name = archive_entry_pathname(e);

	if (check_name(name, u->why) || check_type(e, name, u->why) ||
	    check_size(u, e) || check_new(e, name, u->why))
		return -1;
	plain_entry(e);
	if (archive_write_header(u->out, e) < ARCHIVE_OK)
		return cannot_write(u, name);
	if (archive_entry_size(e) > 0 &&
	    copy_data(u, name, archive_entry_size(e)))
		return -1;
	if (archive_write_finish_entry(u->out) < ARCHIVE_OK)
		return cannot_write(u, name);
	return 0;
}

static int
unpack_all(struct unpacking *u, int archive)
{
	struct archive_entry *e;
	int r;

	if (archive_read_support_filter_gzip(u->in) != ARCHIVE_OK ||
	    archive_read_support_format_tar(u->in) != ARCHIVE_OK)
		return failed(u, u->in, "libarchive");
	if (archive_write_disk_set_options(u->out, EXTRACT_FLAGS) !=
	    ARCHIVE_OK)
		return failed(u, u->out, "libarchive");
	if (archive_read_open_fd(u->in, archive, BLOCK_BYTES) != ARCHIVE_OK)
		return failed(u, u->in, "the archive is damaged");
	if (archive_filter_count(u->in) > FILTERS_MAX)
		return reason_set(
		    u->why, "the archive is compressed more than once");
	while ((r = archive_read_next_header(u->in, &e)) == ARCHIVE_OK)
		if (unpack_entry(u, e))
			return -1;
	if (r != ARCHIVE_EOF)
		return failed(u, u->in, "the archive is damaged");
	if (u->entries == 0)
		return reason_set(u->why, "the archive is empty");
	return archive_write_close(u->out) == ARCHIVE_OK
		   ? 0
		   : cannot_write(u, "the last entry");
}

static int
unpack_here(int archive, const char *directory, struct reason *why)
{
	struct unpacking u = { .in = archive_read_new(),
		.out = archive_write_disk_new(),
		.directory = directory,
		.why = why };
	int result = -1;

	if (u.in && u.out)
		result = unpack_all(&u, archive);
	else
		reason_set(why, "out of memory");
	archive_read_free(u.in);
	archive_write_free(u.out);
	return result;
}

/*
 * libarchive's check for links walks the whole path, so names must be
 * relative to a directory that we vouch for: the working directory.
 */
static int
unpack_there(int archive, const char *directory, struct reason *why)
{
	int back = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC), result;

	if (back < 0)
		return reason_set(
		    why, "the working directory: %s", strerror(errno));
	if (chdir(directory)) {
		close(back);
		return reason_set(why, "%s: %s", directory, strerror(errno));
	}
	result = unpack_here(archive, directory, why);
	if (fchdir(back))
		result = reason_set(
		    why, "the working directory: %s", strerror(errno));
	close(back);
	return result;
}

int
unpack_archive(const char *archive, const char *directory, struct reason *why)
{
	int fd = open(archive, O_RDONLY | O_CLOEXEC), result;

	if (fd < 0)
		return reason_set(why, "%s: %s", archive, strerror(errno));
	result = unpack_there(fd, directory, why);
	close(fd);
	return result;
}
