#include "store/results.h"

#include "core/clock.h"
#include "core/log.h"
#include "core/mem.h"
#include "store/db.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* What an upload is called until it is whole: no file of an agent may begin
 * with a dot. */
#define PART_TEXT (UUID_TEXT + sizeof "..part")

static const char select_room[] =
    "SELECT hostname, service_name, sent_at,"
    " (SELECT count(*) FROM ResultFiles f"
    "  WHERE f.command_id = c.command_id AND f.name <> ?2),"
    " (SELECT coalesce(sum(bytes), 0) FROM ResultFiles f"
    "  WHERE f.command_id = c.command_id AND f.name <> ?2),"
    " EXISTS (SELECT 1 FROM ResultFiles f"
    "  WHERE f.command_id = c.command_id AND f.name = ?2)"
    " FROM ProfilingCommands c WHERE command_id = ?1";
static const char upsert_file[] =
    "INSERT INTO ResultFiles (command_id, name, bytes, sha256, received_at)"
    " VALUES (?1, ?2, ?3, ?4, ?5)"
    " ON CONFLICT (command_id, name) DO UPDATE SET bytes = excluded.bytes,"
    " sha256 = excluded.sha256, received_at = excluded.received_at";
static const char select_files[] =
    "SELECT f.name, f.bytes, f.sha256, f.received_at"
    " FROM ProfilingCommands c"
    " LEFT JOIN ResultFiles f ON f.command_id = c.command_id"
    " WHERE c.command_id = ? ORDER BY f.name";
static const char select_file[] =
    "SELECT 1 FROM ResultFiles WHERE command_id = ? AND name = ?";

/* --- the disk ------------------------------------------------------------ */

char *
results_path(const struct store *s)
{
	char *copy = mem_copy(s->path),
	     *path = mem_fmt("%s/" RESULTS_DIRECTORY, dirname(copy));

	free(copy);
	return path;
}

/* Notes and logs a failure of the disk as one of the store; returns -1 with
 * errno as it was. */
static int
disk_failed(struct store *s, const char *command_id, const char *what)
{
	char *path = results_path(s);
	int error = errno;

	s->failure = error == EACCES || error == EPERM || error == EROFS
			 ? STORE_READONLY
		     : error == ENOSPC || error == EDQUOT || error == EIO
			 ? STORE_FULL
			 : STORE_FAULT;
	(void)reason_set(
	    &s->why, "%s/%s/%s: %s", path, command_id, what, strerror(error));
	log_error("%s (user %ld)", s->why.text, (long)geteuid());
	free(path);
	errno = error;
	return -1;
}

/* Opens a directory in `parent`, which it closes, and where asked makes it
 * so that it outlives a loss of power.  Returns -1 with errno set. */
static int
enter(int parent, const char *name, bool make)
{
	int fd = -1, made = 0;

	if (parent < 0)
		return -1;
	if (make && mkdirat(parent, name, 0750) == 0)
		made = fsync(parent);
	else if (make && errno != EEXIST)
		made = -1;
	if (made == 0)
		fd = openat(parent, name,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	(void)close(parent);
	return fd;
}

/* A command's directory, or -1 with errno set. */
static int
open_directory(const struct store *s, const char *command_id, bool make)
{
	char *copy = mem_copy(s->path);
	int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	free(copy);
	return enter(enter(fd, RESULTS_DIRECTORY, make), command_id, make);
}

static int
write_all(int fd, const char *bytes, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, bytes, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		bytes += n;
		len -= (size_t)n;
	}
	return 0;
}

/* Writes the whole file to the disk, under a name of its own. */
static int
write_part(int directory, const char *part, const struct result_upload *u)
{
	int fd = openat(directory, part,
	    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640);
	int result;

	if (fd < 0)
		return -1;
	result = write_all(fd, u->bytes, u->len);
	if (result == 0)
		result = fsync(fd);
	if (close(fd) != 0)
		result = -1;
	return result;
}

/* --- taking a file ------------------------------------------------------- */

/* Whether the command takes the file: 0, STORE_NOT_FOUND, STORE_TOO_MANY. */
static int
check_room(struct store *s, const struct result_upload *u, bool *is_new)
{
	sqlite3_stmt *stmt =
	    db_query(s, select_room, "tt", u->command_id, u->name);
	int n = stmt ? db_step(s, stmt) : -1, result = 0;

	if (n != 1)
		return n < 0 ? -1 : STORE_NOT_FOUND;
	if (strcasecmp(db_text(stmt, 0), u->hostname) != 0 ||
	    (u->service_name &&
		strcmp(db_text(stmt, 1), u->service_name) != 0) ||
	    !db_text(stmt, 2)) /* it was never handed out */
		result = STORE_NOT_FOUND;
	else if (db_int(stmt, 3) >= RESULT_FILES_MAX ||
		 db_int(stmt, 4) + (int64_t)u->len > RESULT_BYTES_MAX)
		result = STORE_TOO_MANY;
	*is_new = db_int(stmt, 5) == 0;
	(void)sqlite3_reset(stmt);
	return result;
}

/* In a transaction: the row, and the file takes its place. */
static int
note(struct store *s, const struct result_upload *u, int directory,
    const char *part, struct result_file *file, bool *is_new)
{
	int result = check_room(s, u, is_new);

	if (result != 0)
		return result;
	if (db_run(s, upsert_file, "ttitt", u->command_id, u->name,
		file->bytes, file->sha256, file->received_at) != 0)
		return -1;
	if (renameat(directory, part, directory, u->name) != 0 ||
	    fsync(directory) != 0)
		return disk_failed(s, u->command_id, u->name);
	return 0;
}

static int
take_file(struct store *s, const struct result_upload *u, int directory,
    struct result_file *file, bool *is_new)
{
	char id[UUID_TEXT], part[PART_TEXT];
	int result;

	uuid_make(id);
	(void)snprintf(part, sizeof part, ".%s.part", id);
	if (write_part(directory, part, u) != 0) {
		result = disk_failed(s, u->command_id, part);
	} else {
		result = db_begin(s, DB_DURABLE);
		if (result == 0)
			result = db_end(
			    s, note(s, u, directory, part, file, is_new));
	}
	if (result != 0)
		(void)unlinkat(directory, part, 0);
	return result;
}

int
result_put(struct store *s, const struct result_upload *u, bool *is_new,
    void (*visit)(void *context, const struct result_file *file),
    void *context)
{
	char now[CLOCK_TEXT], sha256[SECRET_TEXT];
	struct result_file file = { u->name, sha256, now, (int64_t)u->len };
	int result = check_room(s, u, is_new), directory;

	if (result != 0)
		return result;
	directory = open_directory(s, u->command_id, true);
	if (directory < 0)
		return disk_failed(s, u->command_id, "");
	clock_format(clock_now_ms(), now);
	secret_sha256(u->bytes, u->len, sha256);
	result = take_file(s, u, directory, &file, is_new);
	(void)close(directory);
	if (result == 0)
		visit(context, &file);
	return result;
}

/* --- giving files -------------------------------------------------------- */

int
result_list(struct store *s, const char *command_id,
    void (*visit)(void *context, const struct result_file *file),
    void *context)
{
	sqlite3_stmt *stmt = db_query(s, select_files, "t", command_id);
	int row = -1, n = 0;

	while (stmt && (row = db_step(s, stmt)) == 1) {
		struct result_file file = { db_text(stmt, 0), db_text(stmt, 2),
			db_text(stmt, 3), db_int(stmt, 1) };

		n++;
		if (file.name)
			visit(context, &file);
	}
	return row < 0 ? -1 : n ? 0 : STORE_NOT_FOUND;
}

/* Appends what there is of an open file, RESULT_FILE_BYTES_MAX at most. */
static int
read_file(int fd, struct buf *to)
{
	char part[65536];
	size_t left = RESULT_FILE_BYTES_MAX;
	ssize_t n = 1;

	while (left > 0 && n > 0) {
		n = read(fd, part, left < sizeof part ? left : sizeof part);
		if (n > 0) {
			buf_add(to, part, (size_t)n);
			left -= (size_t)n;
		} else if (n < 0 && errno == EINTR) {
			n = 1;
		}
	}
	return n < 0 ? -1 : 0;
}

int
result_read(
    struct store *s, const char *command_id, const char *name, struct buf *to)
{
	sqlite3_stmt *stmt = db_query(s, select_file, "tt", command_id, name);
	int n = stmt ? db_step(s, stmt) : -1, directory, fd, result;

	if (n != 1)
		return n < 0 ? -1 : STORE_NOT_FOUND;
	(void)sqlite3_reset(stmt);
	directory = open_directory(s, command_id, false);
	fd = directory < 0
		 ? -1
		 : openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	result = fd < 0 ? -1 : read_file(fd, to);
	if (result != 0)
		result = disk_failed(s, command_id, name);
	/* somebody removed it by hand: no try will bring it back */
	if (result != 0 && fd < 0 && errno == ENOENT)
		result = STORE_NOT_FOUND;
	if (fd >= 0)
		(void)close(fd);
	if (directory >= 0)
		(void)close(directory);
	return result;
}
