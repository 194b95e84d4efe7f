/* Memory that is let go: less is held, and nothing is lost. */
#include "t/agentd/suite.h"

#include "agentd/footprint.h"

#include <curl/curl.h>
#include <sqlite3.h>
#include <string.h>

/* In segments of each kind. */
static char written[100000];
static const char constant[] = "read only";

/* KiB of files' pages that this process has mapped. */
static long
file_pages(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[256];
	long n = -1;

	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof line, f))
		if (sscanf(line, "RssFile: %ld", &n) == 1)
			break;
	(void)fclose(f);
	return n;
}

/* Each library's text is used. */
static void
use_libraries(void)
{
	sqlite3 *db = NULL;

	ck_assert_int_eq(sqlite3_open(":memory:", &db), SQLITE_OK);
	ck_assert_int_eq(sqlite3_exec(db, "CREATE TABLE t (a); DROP TABLE t",
			     NULL, NULL, NULL),
	    SQLITE_OK);
	(void)sqlite3_close(db);
	ck_assert_int_eq(curl_global_init(CURL_GLOBAL_DEFAULT), CURLE_OK);
	curl_easy_cleanup(curl_easy_init());
	curl_global_cleanup();
}

START_TEST(what_was_written_stays)
{
	char *heap = mem_alloc(1, 100000);

	memset(written, 'w', sizeof written);
	memset(heap, 'h', 100000);
	use_libraries();
	footprint_reduce();
	for (size_t i = 0; i < sizeof written; i++) {
		ck_assert_int_eq(written[i], 'w');
		ck_assert_int_eq(heap[i], 'h');
	}
	ck_assert_str_eq(constant, "read only");
	free(heap);
	use_libraries();
}
END_TEST

START_TEST(pages_of_libraries_are_let_go)
{
	long before, after;

	use_libraries();
	before = file_pages();
	footprint_reduce();
	after = file_pages();
	ck_assert_int_gt(before, 0);
	ck_assert_int_lt(after, before);
	use_libraries();
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = { what_was_written_stays,
		pages_of_libraries_are_let_go };

	return suite_run("footprint", tests, SUITE_N(tests));
}
