#include "store/db.h"

#include "core/clock.h"
#include "core/log.h"
#include "core/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/magic.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* A web request waits this long for another writer, then answers 503. */
#define BUSY_MS 5000
#define RETRY_MS 5

#define SET_WAL "PRAGMA journal_mode = WAL"

/* The write-ahead log is cut back to this after a checkpoint: long readers
 * let it grow. */
#define SET_WAL_LIMIT "PRAGMA journal_size_limit = 8388608"

/* These two are not in linux/magic.h of every kernel. */
#define CIFS_MAGIC 0xff534d42u
#define SMB2_MAGIC 0xfe534d42u

/* --- before SQLite is asked ---------------------------------------------- */

/* Leaves errno alone: it stands beside strerror(errno). */
static const char *
user_name(void)
{
	int error = errno;
	const struct passwd *user = getpwuid(geteuid());

	errno = error;
	return user ? user->pw_name : "?";
}

/* WAL needs shared memory between its users, which a network file system
 * does not give. */
static int
refuse_network(const char *directory, struct reason *why)
{
	struct statfs fs;

	if (statfs(directory, &fs) != 0)
		return 0;
	switch ((unsigned)fs.f_type) {
	case NFS_SUPER_MAGIC:
	case SMB_SUPER_MAGIC:
	case CIFS_MAGIC:
	case SMB2_MAGIC:
		return reason_set(why,
		    "directory %s is on a network file system, where a "
		    "SQLite database in WAL mode is not safe: put the "
		    "database on a local disk",
		    directory);
	default:
		return 0;
	}
}

static int
check_directory(const char *directory, struct reason *why)
{
	struct stat st;

	if (stat(directory, &st) != 0)
		return reason_set(why, "database directory %s: %s (user %s)",
		    directory, strerror(errno), user_name());
	if (access(directory, W_OK | X_OK) != 0)
		return reason_set(why,
		    "database directory %s may not be written by user %s: "
		    "SQLite makes files beside the database, so a writable "
		    "file is not enough",
		    directory, user_name());
	return refuse_network(directory, why);
}

/* A new database is for its owner and group only. */
static int
make_file(const char *path, struct reason *why)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0640);

	/* a read-only database is for SQLite to refuse when it is written */
	if (fd < 0 && errno != EACCES && errno != EROFS)
		return reason_set(why, "database %s: %s (user %s)", path,
		    strerror(errno), user_name());
	if (fd >= 0)
		close(fd);
	return 0;
}

static int
check_place(const char *path, enum store_failure *failure, struct reason *why)
{
	char *copy = mem_copy(path);
	int result = check_directory(dirname(copy), why);

	free(copy);
	*failure = STORE_MISSING;
	if (result == 0)
		result = make_file(path, why);
	return result;
}

/* --- opening ------------------------------------------------------------- */

/*
 * Here SQLite does not wait for a lock, since two connections that wait for
 * each other's would do so for ever: programs that open a new database at
 * once need another try.
 */
static int
set_wal(struct store *s)
{
	int64_t until = clock_mono_ms() + BUSY_MS;
	int code;

	do
		code = sqlite3_exec(s->db, SET_WAL, NULL, NULL, NULL);
	while ((code & 0xff) == SQLITE_BUSY && clock_mono_ms() < until &&
	       sqlite3_sleep(RETRY_MS) >= 0);
	return code == SQLITE_OK ? 0 : db_fail(s, SET_WAL);
}

/*
 * SQLite's own handler waits up to 100 ms between two tries, so that among
 * many writers one can miss every gap; short waits give each its turn.
 */
static int
wait_for_lock(void *store, int tries)
{
	struct store *s = store;

	if (tries == 0)
		s->waits_since = clock_mono_ms();
	return clock_mono_ms() - s->waits_since < BUSY_MS &&
	       sqlite3_sleep(RETRY_MS) >= 0;
}

static int
configure(struct store *s)
{
	static const char *const pragmas[] = {
		SET_WAL_LIMIT,
		"PRAGMA foreign_keys = ON",
		"PRAGMA synchronous = FULL",
	};

	(void)sqlite3_extended_result_codes(s->db, 1);
	(void)sqlite3_busy_handler(s->db, wait_for_lock, s);
	if (set_wal(s) != 0)
		return -1;
	for (size_t i = 0; i < sizeof pragmas / sizeof *pragmas; i++)
		if (db_run(s, pragmas[i], "") != 0)
			return -1;
	s->durable = true;
	return 0;
}

static void
note_file(struct store *s)
{
	struct stat st;

	if (stat(s->path, &st) == 0) {
		s->device = st.st_dev;
		s->inode = st.st_ino;
	}
}

int
store_open(const char *path, struct store **store, enum store_failure *failure,
    struct reason *why)
{
	struct store *s;

	*store = NULL;
	if (check_place(path, failure, why) != 0)
		return -1;
	s = mem_alloc(1, sizeof *s);
	s->path = mem_copy(path);
	if (sqlite3_open_v2(path, &s->db,
		SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
		NULL) != SQLITE_OK ||
	    configure(s) != 0) {
		if (!s->why.text[0])
			(void)db_fail(s, "opening");
		*why = s->why;
	} else if (db_migrate(s, why) == 0) {
		note_file(s);
		*store = s;
		return 0;
	}
	*failure = s->failure;
	store_close(s);
	return -1;
}

int
store_check(struct store *s, struct reason *why)
{
	struct stat st;

	if (stat(s->path, &st) != 0 || st.st_dev != s->device ||
	    st.st_ino != s->inode)
		return reason_set(why, "database %s was replaced", s->path);
	return db_check_version(s, why);
}

void
store_close(struct store *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n_statements; i++)
		(void)sqlite3_finalize(s->statements[i].stmt);
	(void)sqlite3_close(s->db);
	free(s->path);
	free(s);
}

enum store_failure
store_failure(const struct store *s)
{
	return s->failure;
}

const char *
store_path(const struct store *s)
{
	return s->path;
}
