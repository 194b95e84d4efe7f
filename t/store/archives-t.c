/* Pinned archives: what may be pinned, and which agent is told of it. */
#include "store/archives.h"

#include "store-helper.h"
#include "store/migrations.h"
#include "store/settings.h"

#define DIGEST                                                                \
	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define NEWEST "3.17.1_2026-08-07_c399daa0"

static int
pin(struct box *box, const char *arch, const char *version)
{
	struct pinned_archive archive = { .arch = mem_copy(arch),
		.version = mem_copy(version),
		.sha256 = mem_copy(DIGEST),
		.bytes = 41000000,
		.file = mem_fmt("perfspect-%s-0123456789abcdef.tgz", arch) };
	int result = archives_pin(box->store, &archive);

	pinned_archive_free(&archive);
	return result;
}

START_TEST(a_version_is_one_word)
{
	char long_one[ARCHIVES_VERSION_MAX + 2];

	memset(long_one, '1', sizeof long_one - 1);
	long_one[sizeof long_one - 1] = '\0';
	ck_assert(!archives_version_good(""));
	ck_assert(!archives_version_good("3.17 beta"));
	ck_assert(!archives_version_good("3.17\033[2J"));
	ck_assert(!archives_version_good("3.17\n"));
	ck_assert(!archives_version_good("3.17\xc3\xa9"));
	ck_assert(!archives_version_good(long_one));
	long_one[sizeof long_one - 2] = '\0';
	ck_assert(archives_version_good(long_one));
	ck_assert(archives_version_good(NEWEST));
}
END_TEST

START_TEST(architectures_are_those_of_releases)
{
	ck_assert(!archives_arch_known("riscv"));
	ck_assert(!archives_arch_known(""));
	ck_assert(!archives_arch_known("X86_64"));
	ck_assert(archives_arch_known("x86_64"));
	ck_assert(archives_arch_known("aarch64"));
}
END_TEST

/* The file holds to it, too, whoever writes it. */
START_TEST(what_cannot_be_right_is_not_pinned)
{
	struct buf log = BUF_INIT(10000);
	struct box box;

	box_open(&box);
	log_to_buf(&log);
	ck_assert_int_eq(pin(&box, "riscv", NEWEST), -1);
	ck_assert_ptr_nonnull(strstr(buf_text(&log), "CHECK constraint"));
	ck_assert_int_eq(pin(&box, "x86_64", ""), -1);
	ck_assert_int_eq(pin(&box, "x86_64", "3.17 beta"), -1);
	log_to_buf(NULL);
	buf_free(&log);
	rows_are(&box, "SELECT count(*) FROM PerfSpectArchives", "0");
	ck_assert_int_eq(pin(&box, "x86_64", NEWEST), 0);
	ck_assert_int_ne(sqlite3_exec(box.eye,
			     "UPDATE PerfSpectArchives SET sha256 = 'ABC'",
			     NULL, NULL, NULL),
	    SQLITE_OK);
	ck_assert_int_ne(
	    sqlite3_exec(box.eye, "UPDATE PerfSpectArchives SET file = '../x'",
		NULL, NULL, NULL),
	    SQLITE_OK);
	ck_assert_int_ne(
	    sqlite3_exec(box.eye, "UPDATE PerfSpectArchives SET bytes = 0",
		NULL, NULL, NULL),
	    SQLITE_OK);
	box_close(&box);
}
END_TEST

START_TEST(each_architecture_has_one)
{
	struct pinned_archive found;
	struct box box;

	box_open(&box);
	ck_assert_int_eq(
	    archives_by_arch(box.store, "x86_64", &found), STORE_NOT_FOUND);
	ck_assert_ptr_null(found.file);
	ck_assert_int_eq(pin(&box, "x86_64", "3.16"), 0);
	ck_assert_int_eq(pin(&box, "aarch64", "3.15"), 0);
	ck_assert_int_eq(pin(&box, "x86_64", NEWEST), 0);
	rows_are(&box,
	    "SELECT arch, version, sha256 = '" DIGEST "', bytes, file,"
	    " added_at GLOB '20*T*Z' FROM PerfSpectArchives ORDER BY arch",
	    "aarch64|3.15|1|41000000|perfspect-aarch64-0123456789abcdef.tgz|1"
	    "\nx86_64|" NEWEST
	    "|1|41000000|perfspect-x86_64-0123456789abcdef.tgz|1");
	ck_assert_int_eq(archives_by_arch(box.store, "x86_64", &found), 0);
	ck_assert_str_eq(found.arch, "x86_64");
	ck_assert_str_eq(found.version, NEWEST);
	ck_assert_str_eq(found.sha256, DIGEST);
	ck_assert_int_eq(found.bytes, 41000000);
	ck_assert_str_eq(found.file, "perfspect-x86_64-0123456789abcdef.tgz");
	pinned_archive_free(&found);
	box_close(&box);
}
END_TEST

static void
add_line(void *context, const struct pinned_archive *archive)
{
	buf_fmt(context, "%s %s\n", archive->arch, archive->version);
}

START_TEST(they_are_listed_and_unpinned_by_architecture)
{
	struct buf lines = BUF_INIT(1000);
	struct box box;

	box_open(&box);
	ck_assert_int_eq(archives_unpin(box.store, "x86_64"), STORE_NOT_FOUND);
	ck_assert_int_eq(pin(&box, "x86_64", "2"), 0);
	ck_assert_int_eq(pin(&box, "aarch64", "1"), 0);
	ck_assert_int_eq(archives_list(box.store, add_line, &lines), 0);
	ck_assert_str_eq(buf_text(&lines), "aarch64 1\nx86_64 2\n");
	ck_assert_int_eq(archives_unpin(box.store, "aarch64"), 0);
	buf_clear(&lines);
	ck_assert_int_eq(archives_list(box.store, add_line, &lines), 0);
	ck_assert_str_eq(buf_text(&lines), "x86_64 2\n");
	buf_free(&lines);
	box_close(&box);
}
END_TEST

/* --- what a heartbeat is told -------------------------------------------- */

#define OUR_AGENT ",'agent_id':'a','arch':'x86_64'"
#define WITH_PERFSPECT ",'additional_args':{'enable_perfspect':true}"

/* The version that the heartbeat of host h is told to install, "" for none;
 * the caller has asked for a start. */
static const char *
told(struct box *box, const char *more)
{
	static char version[ARCHIVES_VERSION_MAX + 1];
	struct offer offer;

	beat(box, "h", more, &offer);
	(void)snprintf(version, sizeof version, "%s",
	    offer.perfspect.version ? offer.perfspect.version : "");
	ck_assert_str_ne(offer.command_id, "");
	offer_free(&offer);
	return version;
}

START_TEST(a_start_with_perfspect_tells_our_agent)
{
	struct box box;

	box_open(&box);
	(void)asked(&box, START_HOSTS "{'h':null}" WITH_PERFSPECT);
	ck_assert_str_eq(told(&box, OUR_AGENT), "");
	ck_assert_int_eq(pin(&box, "aarch64", "1"), 0);
	ck_assert_str_eq(told(&box, OUR_AGENT), "");
	ck_assert_int_eq(pin(&box, "x86_64", NEWEST), 0);
	ck_assert_str_eq(told(&box, OUR_AGENT), NEWEST);
	ck_assert_str_eq(told(&box, ",'agent_id':'a','arch':'aarch64'"), "1");
	ck_assert_str_eq(told(&box, ",'agent_id':'a','arch':'riscv64'"), "");
	ck_assert_str_eq(told(&box, ",'agent_id':'a'"), "");
	/* gProfiler's agent knows nothing of it */
	ck_assert_str_eq(told(&box, ",'arch':'x86_64'"), "");
	box_close(&box);
}
END_TEST

START_TEST(nothing_else_tells_of_it)
{
	struct box box;

	box_open(&box);
	ck_assert_int_eq(pin(&box, "x86_64", NEWEST), 0);
	(void)asked(&box, START_HOSTS "{'h':null}");
	ck_assert_str_eq(told(&box, OUR_AGENT), "");
	(void)asked(&box, STOP_HOST);
	ck_assert_str_eq(told(&box, OUR_AGENT), "");
	box_close(&box);
}
END_TEST

static int64_t
interval(struct box *box, const char *more)
{
	struct offer offer;
	int64_t seconds;

	beat(box, "h", more, &offer);
	seconds = offer.heartbeat_interval;
	offer_free(&offer);
	return seconds;
}

START_TEST(an_interval_is_told_once_it_is_set)
{
	struct box box;

	box_open(&box);
	ck_assert_int_eq(interval(&box, OUR_AGENT), FIELD_NULL);
	ck_assert_int_eq(
	    setting_set(box.store, SETTING_HEARTBEAT_INTERVAL, 45), 0);
	ck_assert_int_eq(interval(&box, OUR_AGENT), 45);
	ck_assert_int_eq(interval(&box, ""), FIELD_NULL);
	ck_assert_int_eq(
	    setting_unset(box.store, SETTING_HEARTBEAT_INTERVAL), 0);
	ck_assert_int_eq(interval(&box, OUR_AGENT), FIELD_NULL);
	box_close(&box);
}
END_TEST

/* A database of the version before, with a host in it. */
START_TEST(a_database_of_version_2_gains_the_table)
{
	struct box box;

	box_place(&box);
	box_look(&box);
	for (size_t i = 0; i < n_migrations; i++)
		if (migrations[i].version <= 2)
			box_run(&box, migrations[i].sql);
	box_run(&box,
	    "PRAGMA user_version = 2;"
	    " INSERT INTO HostHeartbeats (hostname, service_name,"
	    " heartbeat_timestamp, arch) VALUES ('h', 's', '2026', 'x86_64')");
	box.store = open_at(box.path);
	ck_assert_int_eq(
	    store_schema_version(box.store), store_schema_newest());
	ck_assert_int_eq(pin(&box, "x86_64", NEWEST), 0);
	rows_are(&box,
	    "SELECT h.hostname, a.version FROM HostHeartbeats h"
	    " JOIN PerfSpectArchives a USING (arch)",
	    "h|" NEWEST);
	box_close(&box);
}
END_TEST

HARNESS_MAIN("archives", a_version_is_one_word,
    architectures_are_those_of_releases, what_cannot_be_right_is_not_pinned,
    each_architecture_has_one, they_are_listed_and_unpinned_by_architecture,
    a_start_with_perfspect_tells_our_agent, nothing_else_tells_of_it,
    an_interval_is_told_once_it_is_set,
    a_database_of_version_2_gains_the_table)
