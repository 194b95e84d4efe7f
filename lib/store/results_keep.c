/* How long result files are kept. */
#include "store/results.h"

#include "core/clock.h"
#include "core/log.h"
#include "core/mem.h"
#include "store/db.h"
#include "store/settings.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Files in one transaction, which is not over before they are removed. */
#define BATCH 50

#define DAY_MS (24 * 3600 * 1000LL)

/* No upload takes so long: web servers give up after a minute. */
#define UNTOUCHED_SECONDS 3600

static const char select_aged[] =
    "SELECT id, command_id, name, bytes FROM ResultFiles"
    " WHERE received_at < ?1 ORDER BY received_at, id LIMIT ?2";
static const char select_oldest[] =
    "SELECT id, command_id, name, bytes FROM ResultFiles"
    " ORDER BY received_at, id LIMIT ?1";
static const char select_bytes[] =
    "SELECT coalesce(sum(bytes), 0) FROM ResultFiles";
static const char delete_file[] = "DELETE FROM ResultFiles WHERE id = ?";
static const char select_known[] =
    "SELECT 1 FROM ResultFiles WHERE command_id = ? AND name = ?";

struct doomed {
	int64_t id, bytes;
	char *path; /* COMMAND_ID/NAME */
};

/* --- by age and size ----------------------------------------------------- */

/* Loads up to BATCH rows of a query; 0, or -1. */
static int
load(struct store *s, sqlite3_stmt *stmt, struct doomed list[BATCH], size_t *n)
{
	int row = -1;

	*n = 0;
	while (stmt && *n < BATCH && (row = db_step(s, stmt)) == 1)
		list[(*n)++] = (struct doomed) { db_int(stmt, 0),
			db_int(stmt, 3),
			mem_fmt("%s/%s", db_text(stmt, 1), db_text(stmt, 2)) };
	if (stmt)
		(void)sqlite3_reset(stmt);
	return row < 0 ? -1 : 0;
}

/* Removes file and row, and the directory where it was the last; without
 * its row a file that stays is found by results_tidy(). */
static int
remove_file(struct store *s, int results, const struct doomed *one)
{
	char *directory = mem_copy(one->path);

	if (results >= 0 && unlinkat(results, one->path, 0) != 0 &&
	    errno != ENOENT)
		log_warn("result file %s: %s", one->path, strerror(errno));
	*strchr(directory, '/') = '\0';
	(void)unlinkat(results, directory, AT_REMOVEDIR);
	free(directory);
	return db_run(s, delete_file, "i", one->id);
}

/* Removes of the list what is older, or until `excess` bytes are gone. */
static int
remove_batch(struct store *s, int results, const char *until, int64_t *excess,
    int64_t *removed)
{
	struct doomed list[BATCH];
	size_t n = 0;
	int result = load(s,
	    until ? db_query(s, select_aged, "ti", until, (int64_t)BATCH)
		  : db_query(s, select_oldest, "i", (int64_t)BATCH),
	    list, &n);

	*removed = 0;
	for (size_t i = 0; i < n; i++) {
		if (result == 0 && (until || *excess > 0)) {
			result = remove_file(s, results, &list[i]);
			*excess -= list[i].bytes;
			++*removed;
		}
		free(list[i].path);
	}
	return result;
}

static int
remove_all(struct store *s, int results, const char *until, int64_t excess,
    int64_t *deleted)
{
	int64_t removed = BATCH;

	while (removed == BATCH && (until || excess > 0)) {
		if (db_begin(s, DB_RELAXED) != 0 ||
		    db_end(s, remove_batch(
				  s, results, until, &excess, &removed)) != 0)
			return -1;
		*deleted += removed;
	}
	return 0;
}

static int
bytes_of_all(struct store *s, int64_t *bytes)
{
	sqlite3_stmt *stmt = db_query(s, select_bytes, "");

	if (!stmt || db_step(s, stmt) != 1)
		return -1;
	*bytes = db_int(stmt, 0);
	(void)sqlite3_reset(stmt);
	return 0;
}

static int
open_results(const struct store *s)
{
	char *path = results_path(s);
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 && errno != ENOENT)
		log_warn("%s: %s", path, strerror(errno));
	free(path);
	return fd;
}

int
results_trim(struct store *s, int64_t now_ms, int64_t *deleted)
{
	char until[CLOCK_TEXT];
	int64_t days, mib, bytes;
	int results, result;

	if (setting_get(s, SETTING_RESULTS_KEEP_DAYS, &days) != 0 ||
	    setting_get(s, SETTING_RESULTS_KEEP_MIB, &mib) != 0)
		return -1;
	clock_format(now_ms - days * DAY_MS, until);
	/* where it cannot be opened, rows go all the same */
	results = open_results(s);
	result = remove_all(s, results, until, 0, deleted);
	if (result == 0)
		result = bytes_of_all(s, &bytes);
	if (result == 0)
		result = remove_all(
		    s, results, NULL, bytes - mib * 1024 * 1024, deleted);
	if (results >= 0)
		(void)close(results);
	return result;
}

/* --- what nobody knows of ------------------------------------------------ */

/* Whether it has not been touched for long. */
static bool
is_old(int directory, const char *name, int64_t now_ms)
{
	struct stat st;

	return fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       st.st_mtime < now_ms / 1000 - UNTOUCHED_SECONDS;
}

/* 1, 0 or -1. */
static int
is_known(struct store *s, const char *command_id, const char *name)
{
	sqlite3_stmt *stmt = db_query(s, select_known, "tt", command_id, name);
	int n = stmt ? db_step(s, stmt) : -1;

	if (n == 1)
		(void)sqlite3_reset(stmt);
	return n;
}

static bool
is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* The entries of a directory in `parent`, for closedir(), or NULL. */
static DIR *
list_directory(int parent, const char *name)
{
	int fd = openat(
	    parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (fd >= 0 && !dir)
		(void)close(fd);
	return dir;
}

static int
tidy_directory(struct store *s, int results, const char *command_id,
    int64_t now_ms, int64_t *deleted)
{
	DIR *dir = list_directory(results, command_id);
	const struct dirent *e;
	int known = 0;

	while (dir && known >= 0 && (e = readdir(dir))) {
		if (is_dots(e->d_name) ||
		    !is_old(dirfd(dir), e->d_name, now_ms))
			continue;
		known = is_known(s, command_id, e->d_name);
		if (known == 0 && unlinkat(dirfd(dir), e->d_name, 0) == 0)
			++*deleted;
	}
	if (dir)
		(void)closedir(dir);
	return known < 0 ? -1 : 0;
}

int
results_tidy(struct store *s, int64_t now_ms, int64_t *deleted)
{
	int results = open_results(s), result = 0;
	DIR *dir = results < 0 ? NULL : list_directory(results, ".");
	const struct dirent *e;

	while (dir && result == 0 && (e = readdir(dir))) {
		bool old = is_old(results, e->d_name, now_ms);

		if (is_dots(e->d_name))
			continue;
		result =
		    tidy_directory(s, results, e->d_name, now_ms, deleted);
		/* it stays while anything is in it */
		if (old)
			(void)unlinkat(results, e->d_name, AT_REMOVEDIR);
	}
	if (dir)
		(void)closedir(dir);
	if (results >= 0)
		(void)close(results);
	return result;
}
