/* PerfSpectArchives. */
#include "store/archives.h"

#include "core/clock.h"
#include "store/db.h"

#include <stdlib.h>
#include <string.h>

#define ARCHIVE_COLUMNS "arch, version, sha256, bytes, file, added_at"

static const char upsert_archive[] =
    "INSERT INTO PerfSpectArchives (" ARCHIVE_COLUMNS ")"
    " VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (arch) DO UPDATE SET"
    " version = excluded.version, sha256 = excluded.sha256,"
    " bytes = excluded.bytes, file = excluded.file,"
    " added_at = excluded.added_at";
static const char select_archive[] =
    "SELECT " ARCHIVE_COLUMNS " FROM PerfSpectArchives WHERE arch = ?";
static const char select_archives[] =
    "SELECT " ARCHIVE_COLUMNS " FROM PerfSpectArchives ORDER BY arch";
static const char delete_archive[] =
    "DELETE FROM PerfSpectArchives WHERE arch = ?";

const char *const archive_archs[] = { "aarch64", "x86_64", NULL };

bool
archive_arch_known(const char *arch)
{
	for (int i = 0; archive_archs[i]; i++)
		if (strcmp(archive_archs[i], arch) == 0)
			return true;
	return false;
}

bool
archive_version_good(const char *version)
{
	size_t n = strlen(version);

	for (size_t i = 0; i < n; i++)
		if (version[i] <= ' ' || version[i] > '~')
			return false;
	return n > 0 && n <= ARCHIVE_VERSION_MAX;
}

void
archive_free(struct archive *archive)
{
	free(archive->arch);
	free(archive->version);
	free(archive->sha256);
	free(archive->file);
	free(archive->added_at);
	memset(archive, 0, sizeof *archive);
}

static void
archive_load(sqlite3_stmt *stmt, struct archive *archive)
{
	archive->arch = db_copy(stmt, 0);
	archive->version = db_copy(stmt, 1);
	archive->sha256 = db_copy(stmt, 2);
	archive->bytes = db_int(stmt, 3);
	archive->file = db_copy(stmt, 4);
	archive->added_at = db_copy(stmt, 5);
}

int
archive_pin(struct store *s, const struct archive *a)
{
	char now[CLOCK_TEXT];

	clock_format(clock_now_ms(), now);
	if (db_begin(s, DB_DURABLE) != 0)
		return -1;
	return db_end(s, db_run(s, upsert_archive, "tttitt", a->arch,
			     a->version, a->sha256, a->bytes, a->file, now));
}

int
archive_unpin(struct store *s, const char *arch)
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
archive_by_arch(struct store *s, const char *arch, struct archive *archive)
{
	sqlite3_stmt *stmt = db_query(s, select_archive, "t", arch);
	int n;

	memset(archive, 0, sizeof *archive);
	if (!stmt)
		return -1;
	n = db_step(s, stmt);
	if (n != 1)
		return n < 0 ? -1 : STORE_NOT_FOUND;
	archive_load(stmt, archive);
	(void)sqlite3_reset(stmt);
	return 0;
}

int
archive_list(struct store *s,
    void (*each)(void *context, const struct archive *archive), void *context)
{
	sqlite3_stmt *stmt = db_query(s, select_archives, "");
	int n;

	if (!stmt)
		return -1;
	while ((n = db_step(s, stmt)) == 1) {
		struct archive archive;

		archive_load(stmt, &archive);
		each(context, &archive);
		archive_free(&archive);
	}
	return n;
}
