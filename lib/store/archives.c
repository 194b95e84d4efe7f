/* PerfSpectArchives. */
#include "store/archives.h"

#include "core/clock.h"
#include "store/db.h"

#include <stdlib.h>
#include <string.h>

#define ARCHIVES_COLUMNS "arch, version, sha256, bytes, file, added_at"

static const char upsert_archive[] =
    "INSERT INTO PerfSpectArchives (" ARCHIVES_COLUMNS ")"
    " VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (arch) DO UPDATE SET"
    " version = excluded.version, sha256 = excluded.sha256,"
    " bytes = excluded.bytes, file = excluded.file,"
    " added_at = excluded.added_at";
static const char select_archive[] =
    "SELECT " ARCHIVES_COLUMNS " FROM PerfSpectArchives WHERE arch = ?";
static const char select_archives[] =
    "SELECT " ARCHIVES_COLUMNS " FROM PerfSpectArchives ORDER BY arch";
static const char delete_archive[] =
    "DELETE FROM PerfSpectArchives WHERE arch = ?";

const char *const archives_archs[] = { "aarch64", "x86_64", NULL };

bool
archives_arch_known(const char *arch)
{
	for (int i = 0; archives_archs[i]; i++)
		if (strcmp(archives_archs[i], arch) == 0)
			return true;
	return false;
}

bool
archives_version_good(const char *version)
{
	size_t n = strlen(version);

	for (size_t i = 0; i < n; i++)
		if (version[i] <= ' ' || version[i] > '~')
			return false;
	return n > 0 && n <= ARCHIVES_VERSION_MAX;
}

void
pinned_archive_free(struct pinned_archive *archive)
{
	free(archive->arch);
	free(archive->version);
	free(archive->sha256);
	free(archive->file);
	free(archive->added_at);
	memset(archive, 0, sizeof *archive);
}

static void
load(sqlite3_stmt *stmt, struct pinned_archive *archive)
{
	archive->arch = db_copy(stmt, 0);
	archive->version = db_copy(stmt, 1);
	archive->sha256 = db_copy(stmt, 2);
	archive->bytes = db_int(stmt, 3);
	archive->file = db_copy(stmt, 4);
	archive->added_at = db_copy(stmt, 5);
}

int
archives_pin(struct store *s, const struct pinned_archive *a)
{
	char now[CLOCK_TEXT];

	clock_format(clock_now_ms(), now);
	if (db_begin(s, DB_DURABLE) != 0)
		return -1;
	return db_end(s, db_run(s, upsert_archive, "tttitt", a->arch,
			     a->version, a->sha256, a->bytes, a->file, now));
}

int
archives_unpin(struct store *s, const char *arch)
{
	int result;

	if (db_begin(s, DB_DURABLE) != 0)
		return -1;
	result = db_run(s, delete_archive, "t", arch);
	if (result == 0 && db_changes(s) == 0)
		result = STORE_NOT_FOUND;
	return db_end(s, result);
}

int
archives_by_arch(
    struct store *s, const char *arch, struct pinned_archive *archive)
{
	sqlite3_stmt *stmt = db_query(s, select_archive, "t", arch);
	int n;

	memset(archive, 0, sizeof *archive);
	if (!stmt)
		return -1;
	n = db_step(s, stmt);
	if (n != 1)
		return n < 0 ? -1 : STORE_NOT_FOUND;
	load(stmt, archive);
	(void)sqlite3_reset(stmt);
	return 0;
}

int
archives_list(struct store *s,
    void (*each)(void *context, const struct pinned_archive *archive),
    void *context)
{
	sqlite3_stmt *stmt = db_query(s, select_archives, "");
	int n;

	if (!stmt)
		return -1;
	while ((n = db_step(s, stmt)) == 1) {
		struct pinned_archive archive;

		load(stmt, &archive);
		each(context, &archive);
		pinned_archive_free(&archive);
	}
	return n;
}
