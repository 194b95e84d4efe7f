/* PerfSpect's files: which are taken, kept apart, and completed. */
#include "t/agentd/suite.h"

#include "agentd/metrics.h"
#include "core/buf.h"
#include "core/log.h"

#include <string.h>
#include <sys/time.h>
#include <unistd.h>

/* A host name may look like anything that files are matched by. */
#define HOST "db-1.corp_metrics.example.part"

static const char series[] = "TS,SKT,CPU,CID,CPI\n10,,,,0.5\n15,,,,1.5\n";

static char *from, *results;
static struct buf log_lines = BUF_INIT(10000);

static void
set_up(void)
{
	from = suite_directory();
	results = suite_directory();
	log_to_buf(&log_lines);
}

static void
tear_down(void)
{
	log_to_buf(NULL);
	buf_free(&log_lines);
	suite_remove(from);
	suite_remove(results);
}

static void
make_file(const char *directory, const char *name, const char *text, int mode)
{
	char *path = mem_fmt("%s/%s", directory, name);

	suite_write(path, text, strlen(text), (mode_t)mode);
	free(path);
}

static void
expect_file(const char *name, const char *want)
{
	suite_expect(results, name, want);
}

static void
make_old(const char *name)
{
	static const struct timeval then[2] = { { 1000, 0 }, { 1000, 0 } };
	char *path = mem_fmt("%s/%s", from, name);

	ck_assert_int_eq(utimes(path, then), 0);
	free(path);
}

START_TEST(its_own_files_are_taken)
{
	make_file(from, HOST "_metrics.csv", series, 0644);
	make_file(from, HOST "_metrics_summary.csv", "s", 0600);
	make_file(from, HOST "_metrics_summary.html", "h", 0600);
	make_file(from, HOST "_metadata.json", "j", 0600);
	make_file(from, "perfspect.log", "l", 0600);
	make_file(from, "_metrics.csv", "no host", 0600);
	make_file(from, "old_metrics.csv", "of an earlier run", 0600);
	make_old("old_metrics.csv");
	metrics_collect(from, results, 2000);
	expect_file(HOST "_metrics.csv", series);
	expect_file(HOST "_metrics_summary.csv", "s");
	expect_file(HOST "_metrics_summary.html", "h");
	expect_file(HOST "_metadata.json", "j");
	expect_file("perfspect.log", NULL);
	expect_file("_metrics.csv", NULL);
	expect_file("old_metrics.csv", NULL);
	ck_assert_str_eq(buf_text(&log_lines), "");
}
END_TEST

START_TEST(what_others_may_have_put_there_is_not)
{
	char *link = mem_fmt("%s/link_metrics.csv", from);
	char *fifo = mem_fmt("%s/fifo_metrics.csv", from);
	char *other = mem_fmt("%s/other_metrics.csv", from);

	ck_assert_int_eq(symlink("/etc/passwd", link), 0);
	ck_assert_int_eq(mkfifo(fifo, 0600), 0);
	make_file(from, "shared_metrics.csv", series, 0666);
	make_file(from, "other_metrics.csv", series, 0644);
	if (geteuid() == 0)
		ck_assert_int_eq(chown(other, 12345, 12345), 0);
	metrics_collect(from, results, 0);
	expect_file("link_metrics.csv", NULL);
	expect_file("fifo_metrics.csv", NULL);
	expect_file("shared_metrics.csv", NULL);
	if (geteuid() == 0)
		expect_file("other_metrics.csv", NULL);
	free(link);
	free(fifo);
	free(other);
}
END_TEST

START_TEST(nor_from_a_directory_of_others)
{
	char *want, *link = mem_fmt("%s/link", results);

	make_file(from, "a_metrics.csv", series, 0600);
	ck_assert_int_eq(chmod(from, 01777), 0);
	metrics_collect(from, results, 0);
	expect_file("a_metrics.csv", NULL);
	want = mem_fmt("%s belongs to user %ld with mode 1777: nothing is "
		       "taken from it",
	    from, (long)geteuid());
	ck_assert_ptr_nonnull(strstr(buf_text(&log_lines), want));
	ck_assert_int_eq(chmod(from, 0700), 0);
	ck_assert_int_eq(symlink(from, link), 0);
	metrics_collect(link, results, 0);
	expect_file("a_metrics.csv", NULL);
	metrics_collect("/nonexistent", results, 0);
	free(want);
	free(link);
}
END_TEST

START_TEST(a_summary_is_made_where_it_is_missing)
{
	ck_assert_int_eq(metrics_finish(results), METRICS_NONE);
	make_file(results, HOST "_metrics.csv", series, 0600);
	ck_assert_int_eq(metrics_finish(results), METRICS_RESTORED);
	expect_file(HOST "_metrics_summary.csv",
	    "metric,mean,min,max,stddev\n"
	    "CPI,1.000000,0.500000,1.500000,0.500000\n");
	/* now there is one */
	ck_assert_int_eq(metrics_finish(results), METRICS_WHOLE);
}
END_TEST

START_TEST(a_series_without_a_row_gives_none)
{
	make_file(results, HOST "_metrics.csv", "TS,SKT,CPU,CID,CPI\n", 0600);
	ck_assert_int_eq(metrics_finish(results), METRICS_NONE);
	ck_assert_ptr_nonnull(strstr(buf_text(&log_lines), "no summary: "));
	expect_file(HOST "_metrics_summary.csv", NULL);
}
END_TEST

START_TEST(parts_do_not_write_over_each_other)
{
	make_file(results, HOST "_metrics.csv", "one", 0600);
	make_file(results, HOST "_metrics_summary.csv", "one", 0600);
	make_file(results, "profile.html", "kept", 0600);
	metrics_set_aside(results, 1);
	expect_file(HOST "_metrics.csv", NULL);
	/* what is left of part 1 is no result of part 2 */
	ck_assert_int_eq(metrics_finish(results), METRICS_NONE);
	make_file(results, HOST "_metrics.csv", "two", 0600);
	metrics_set_aside(results, 2);
	expect_file(HOST ".part1_metrics.csv", "one");
	expect_file(HOST ".part1_metrics_summary.csv", "one");
	expect_file(HOST ".part2_metrics.csv", "two");
	expect_file("profile.html", "kept");
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = { its_own_files_are_taken,
		what_others_may_have_put_there_is_not,
		nor_from_a_directory_of_others,
		a_summary_is_made_where_it_is_missing,
		a_series_without_a_row_gives_none,
		parts_do_not_write_over_each_other };

	return suite_run_with(
	    "metrics", tests, SUITE_N(tests), set_up, tear_down);
}
