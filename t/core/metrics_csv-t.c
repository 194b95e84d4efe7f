/* PerfSpect's CSV: its samples, and everything that a file can have wrong. */
#include "core/metrics_csv.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/mem.h"
#include "harness.h"

#define HEADER "TS,SKT,CPU,CID,CPI,package power (watts)\n"

/* A summary's numbers come from values that had more decimals. */
#define LAST_DECIMAL 1.000001e-6

static char *directory, *series_path, *summary_path;

static void
make_directory(void)
{
	const char *under = getenv("TMPDIR");

	directory = mem_fmt("%s/metrics-t.XXXXXX", under ? under : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(directory));
	series_path = mem_fmt("%s/HOST_metrics.csv", directory);
	summary_path = mem_fmt("%s/HOST_metrics_summary.csv", directory);
}

static void
remove_directory(void)
{
	(void)unlink(series_path);
	(void)unlink(summary_path);
	/* it must be empty: nothing else may have been left in it */
	ck_assert_int_eq(rmdir(directory), 0);
	free(directory);
	free(series_path);
	free(summary_path);
}

static void
write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	ck_assert_ptr_nonnull(f);
	ck_assert_int_ge(fputs(text, f), 0);
	ck_assert_int_eq(fclose(f), 0);
}

static char *
sample_path(const char *name)
{
	const char *dir = getenv("SRCDIR");

	return mem_fmt("%s/t/core/metrics/%s", dir ? dir : ".", name);
}

static FILE *
open_text(const char *text, size_t len)
{
	FILE *f = fmemopen((void *)(uintptr_t)text, len, "r");

	ck_assert_ptr_nonnull(f);
	return f;
}

/* --- the series ---------------------------------------------------------- */

/* Reads all rows; the reason, or "" with their number. */
static const char *
read_series(const char *text, size_t len, int *rows)
{
	static struct reason why;
	FILE *f = open_text(text, len);
	struct metrics_series *s;
	struct metrics_row row;
	int more = -1;

	*rows = 0;
	why.text[0] = '\0';
	s = metrics_series_begin(f, "x.csv", &why);
	while (s && (more = metrics_series_next(s, &row, &why)) == 1)
		(*rows)++;
	ck_assert_int_eq(more, why.text[0] ? -1 : 0);
	metrics_series_free(s);
	(void)fclose(f);
	return why.text;
}

/* The second metric's value in a single row with this field. */
static double
value_of(const char *field)
{
	char *text = mem_fmt(HEADER "1764550000,,,,1.5,%s\n", field);
	FILE *f = open_text(text, strlen(text));
	struct reason why = { "" };
	struct metrics_series *s = metrics_series_begin(f, "x.csv", &why);
	struct metrics_row row;
	double value;

	ck_assert_msg(s != NULL, "%s", why.text);
	ck_assert_int_eq(metrics_series_next(s, &row, &why), 1);
	ck_assert(row.values[0] == 1.5);
	value = row.values[1];
	metrics_series_free(s);
	(void)fclose(f);
	free(text);
	return value;
}

START_TEST(an_unknown_layout_is_refused_and_quoted)
{
	static const struct {
		const char *text, *why;
	} wrong[] = {
		{ "TS,SKT,CPU,CPI\n1,,,1\n",
		    "x.csv:1: there is no column TS, SKT, CPU or CID: "
		    "\"TS,SKT,CPU,CPI\"" },
		{ "metric,mean,min,max,stddev\nCPI,1,1,1,0\n",
		    "x.csv:1: there is no column TS, SKT, CPU or CID: "
		    "\"metric,mean,min,max,stddev\"" },
		{ "<!DOCTYPE html>\n",
		    "x.csv:1: there is no column TS, SKT, CPU or CID: "
		    "\"<!DOCTYPE html>\"" },
		{ "TS,SKT,CPU,CID\n1,,,\n",
		    "x.csv:1: there is no metric: \"TS,SKT,CPU,CID\"" },
		{ "TS,SKT,CPU,CID,a,,b\n", "x.csv:1: there is an empty name: "
					   "\"TS,SKT,CPU,CID,a,,b\"" },
		{ "TS,SKT,CPU,CID,a,b,a\n", "x.csv:1: there is a name twice: "
					    "\"TS,SKT,CPU,CID,a,b,a\"" },
		{ "TS,SKT,CPU,CID,a\x1b[2J\n",
		    "x.csv:1: there is a name with a control character: "
		    "\"TS,SKT,CPU,CID,a?[2J\"" },
		{ "TS,SKT,CPU,CID,a\xff\xc3\xa9\n",
		    "x.csv:1: the header is no text: "
		    "\"TS,SKT,CPU,CID,a?\xc3\xa9\"" },
		{ "\n", "x.csv:1: there is an empty name: \"\"" },
		{ "TS,SKT,CPU,CID,CPI", "x.csv has no header" },
		{ HEADER "1,,,,1,2,3\n",
		    "x.csv:2: the row has more fields than the header: "
		    "\"1,,,,1,2,3\"" },
		{ HEADER "1764550000.5,,,,1,2\n",
		    "x.csv:2: TS is no time in whole seconds: "
		    "\"1764550000.5,,,,1,2\"" },
		{ HEADER ",,,,1,2\n",
		    "x.csv:2: TS is no time in whole seconds: "
		    "\",,,,1,2\"" },
	};
	int rows;

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		ck_assert_str_eq(
		    read_series(wrong[i].text, strlen(wrong[i].text), &rows),
		    wrong[i].why);
}
END_TEST

START_TEST(an_empty_file_has_no_header)
{
	struct reason why = { "" };
	FILE *f = fopen("/dev/null", "re");

	ck_assert_ptr_null(metrics_series_begin(f, "x.csv", &why));
	ck_assert_str_eq(why.text, "x.csv has no header");
	(void)fclose(f);
}
END_TEST

/* PREFIX, then n times PART. */
static char *
repeated(const char *prefix, const char *part, size_t n, const char *end)
{
	size_t len = strlen(part), at = strlen(prefix);
	char *text = mem_alloc(at + n * len + strlen(end) + 1, 1);

	memcpy(text, prefix, at);
	for (size_t i = 0; i < n; i++, at += len)
		memcpy(text + at, part, len);
	memcpy(text + at, end, strlen(end) + 1);
	return text;
}

START_TEST(limits_are_held)
{
	char *text = repeated("TS", ",m", METRICS_COLUMNS_MAX, "\n");
	int rows;

	ck_assert_ptr_nonnull(strstr(read_series(text, strlen(text), &rows),
	    "x.csv:1: the header has more than 1024 columns: \"TS,m,m,m,"));
	free(text);
	text = repeated("TS,SKT,CPU,CID,", "m", METRICS_NAME_MAX + 1, "\n");
	ck_assert_ptr_nonnull(strstr(read_series(text, strlen(text), &rows),
	    "there is a name of more than 255 bytes: \"TS,SKT,CPU,CID,mmm"));
	free(text);
	text = repeated(HEADER "1,,,,", "9", METRICS_LINE_MAX, "\n");
	ck_assert_ptr_nonnull(strstr(read_series(text, strlen(text), &rows),
	    "x.csv:2: the line is longer than 64 KiB: \"1,,,,999"));
	ck_assert_int_eq(rows, 0);
	free(text);
}
END_TEST

START_TEST(a_quote_is_cut_between_characters)
{
	char *text = repeated("x", "\xc3\xa9", 150, "\n");
	const char *why;
	int rows;

	why = read_series(text, strlen(text), &rows);
	ck_assert_ptr_nonnull(strstr(why, "\xc3\xa9...\""));
	ck_assert_ptr_null(strchr(why, '?'));
	free(text);
	/* what is no text at all is quoted all the same */
	text = repeated("\x1f\x8b\x08", "x", 250, "\n");
	ck_assert_ptr_nonnull(
	    strstr(read_series(text, strlen(text), &rows), ": \"???xxx"));
	free(text);
}
END_TEST

START_TEST(what_is_no_measured_number_is_missing)
{
	static const char *const missing[] = { "", "NaN", "nan", "+Inf",
		"-Inf", "inf", "-1", "n/a", "1.5x", " 1", "1 ", "0x10",
		"1e999", "-1e31", "--1", "1.2.3", ".", "-", "+", "e5", "1e" };

	for (size_t i = 0; i < sizeof missing / sizeof *missing; i++)
		ck_assert_msg(isnan(value_of(missing[i])), "\"%s\" is %g",
		    missing[i], value_of(missing[i]));
}
END_TEST

START_TEST(numbers_are_read)
{
	ck_assert(value_of("0.000000") == 0.0);
	ck_assert(value_of("521.440133") == 521.440133);
	ck_assert(value_of("-1.000000") == -1.0);
	ck_assert(value_of("-0.25") == -0.25);
	ck_assert(value_of("1e-07") == 1e-7);
	ck_assert(value_of("7") == 7.0);
}
END_TEST

START_TEST(a_cut_row_is_passed_over)
{
	static const char nul[] = HEADER "1,,,,1,2\n2,\0\0\0\n3,,,,1,2\n";
	const char *text = HEADER "1,,,,1,2\n2,,,,1.2";
	int rows;

	ck_assert_str_eq(read_series(text, strlen(text), &rows), "");
	ck_assert_int_eq(rows, 1);
	/* complete but for the end of the last number */
	text = HEADER "1,,,,1,2\n2,,,,1,20";
	ck_assert_str_eq(read_series(text, strlen(text), &rows), "");
	ck_assert_int_eq(rows, 1);
	text = HEADER "1,,,,1,2\n2,,\n\n3,,,,1,2\n";
	ck_assert_str_eq(read_series(text, strlen(text), &rows), "");
	ck_assert_int_eq(rows, 2);
	ck_assert_str_eq(read_series(nul, sizeof nul - 1, &rows), "");
	ck_assert_int_eq(rows, 2);
	ck_assert_str_eq(read_series(HEADER, strlen(HEADER), &rows), "");
	ck_assert_int_eq(rows, 0);
}
END_TEST

START_TEST(columns_are_found_by_name_and_crlf_ends_lines)
{
	const char *text = "CPI,CID,a b/c (%),TS,CPU,SKT\r\n"
			   "1.5,,2.5,1764550005,,\r\n"
			   "1.5,docker-1,2.5,1764550010,,\r\n"
			   "1.5,,2.5,1764550010,7,1\r\n"
			   "1.5,,2.5,1764550010,,1\r\n";
	static const struct {
		enum metrics_scope scope;
		const char *of;
	} want[] = { { METRICS_SYSTEM, "" }, { METRICS_CGROUP, "docker-1" },
		{ METRICS_CPU, "7" }, { METRICS_SOCKET, "1" } };
	FILE *f = open_text(text, strlen(text));
	struct reason why = { "" };
	struct metrics_series *s = metrics_series_begin(f, "x.csv", &why);
	struct metrics_row row;

	ck_assert_msg(s != NULL, "%s", why.text);
	ck_assert_uint_eq(metrics_series_metrics(s), 2);
	ck_assert_str_eq(metrics_series_name(s, 0), "CPI");
	ck_assert_str_eq(metrics_series_name(s, 1), "a b/c (%)");
	for (size_t i = 0; i < 4; i++) {
		ck_assert_int_eq(metrics_series_next(s, &row, &why), 1);
		ck_assert_int_eq(row.scope, want[i].scope);
		ck_assert_str_eq(row.of, want[i].of);
		ck_assert(row.values[0] == 1.5 && row.values[1] == 2.5);
	}
	ck_assert_int_eq(row.time, 1764550010);
	ck_assert_int_eq(metrics_series_next(s, &row, &why), 0);
	metrics_series_free(s);
	(void)fclose(f);
}
END_TEST

/* --- the summary --------------------------------------------------------- */

static const char *
read_summary(const char *text, struct metrics_summary *summary)
{
	static struct reason why;
	FILE *f = open_text(text, strlen(text));
	int result;

	why.text[0] = '\0';
	result = metrics_summary_read(f, "s.csv", summary, &why);
	ck_assert_int_eq(result, why.text[0] ? -1 : 0);
	(void)fclose(f);
	return why.text;
}

static void
read_summary_file(const char *path, struct metrics_summary *summary)
{
	FILE *f = fopen(path, "re");
	struct reason why = { "" };

	ck_assert_msg(f != NULL, "%s is missing", path);
	ck_assert_msg(
	    metrics_summary_read(f, path, summary, &why) == 0, "%s", why.text);
	(void)fclose(f);
}

static const struct metrics_of *
find_metric(const struct metrics_summary *summary, const char *name)
{
	for (size_t i = 0; i < summary->n_metrics; i++)
		if (strcmp(summary->metrics[i].name, name) == 0)
			return &summary->metrics[i];
	ck_abort_msg("there is no metric %s", name);
	return NULL;
}

START_TEST(an_unknown_summary_is_refused_and_quoted)
{
	static const char layout[] =
	    "there is neither mean, min, max and stddev, nor SKT0, ... or "
	    "CPU0, ... only: ";
	static const struct {
		const char *text, *why, *quote;
	} wrong[] = {
		{ "name,mean,min,max,stddev\n", "there is no column metric: ",
		    "\"name,mean,min,max,stddev\"" },
		{ "metric,mean,min,max\n", layout, "\"metric,mean,min,max\"" },
		{ "metric,SKT0,CPU1\n", layout, "\"metric,SKT0,CPU1\"" },
		{ "metric,SKT\n", layout, "\"metric,SKT\"" },
		{ "metric,SKT-1\n", layout, "\"metric,SKT-1\"" },
		{ "metric,SKT1000000\n", layout, "\"metric,SKT1000000\"" },
		/* one processor twice */
		{ "metric,CPU3,CPU03\n", layout, "\"metric,CPU3,CPU03\"" },
		{ "metric\n", layout, "\"metric\"" },
		{ "metric,SKT0,SKT0\n",
		    "there is a name twice: ", "\"metric,SKT0,SKT0\"" },
		{ "metric,SKT0\na,1\na,2\n",
		    "the metric is there twice: ", "\"a,2\"" },
		{ "metric,SKT0\n,1\n", "there is an empty name: ", "\",1\"" },
		{ "metric,SKT0\n\xff,1\n",
		    "the name is no text: ", "\"?,1\"" },
		{ "metric,SKT0\na,b,1\n",
		    "the row has more fields than the header: ", "\"a,b,1\"" },
	};
	struct metrics_summary s;

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		const char *why = read_summary(wrong[i].text, &s);

		ck_assert_ptr_nonnull(strstr(why, wrong[i].why));
		ck_assert_ptr_nonnull(strstr(why, wrong[i].quote));
		metrics_summary_free(&s);
	}
}
END_TEST

START_TEST(a_summary_has_a_bounded_number_of_metrics)
{
	char *text = mem_copy("metric,SKT0\n");
	struct metrics_summary s;

	for (int i = 0; i <= METRICS_COLUMNS_MAX; i++) {
		char *longer = mem_fmt("%sm%d,1\n", text, i);

		free(text);
		text = longer;
	}
	ck_assert_ptr_nonnull(strstr(
	    read_summary(text, &s), "there are more than 1024 metrics"));
	ck_assert_uint_eq(s.n_metrics, METRICS_COLUMNS_MAX);
	metrics_summary_free(&s);
	free(text);
}
END_TEST

START_TEST(a_summary_is_read_by_its_names)
{
	struct metrics_summary s;

	ck_assert_str_eq(
	    read_summary("max,metric,median,stddev,min,mean\r\n"
			 "4,a (b/c) %,9,1.5,2,3\r\nNaN,d,,,-1,+Inf\r\n1,cut",
		&s),
	    "");
	ck_assert_int_eq(s.scope, METRICS_SYSTEM);
	ck_assert_uint_eq(s.n_metrics, 2);
	ck_assert_uint_eq(s.n_groups, 0);
	ck_assert_str_eq(s.metrics[0].name, "a (b/c) %");
	ck_assert(s.metrics[0].mean == 3 && s.metrics[0].min == 2 &&
		  s.metrics[0].max == 4 && s.metrics[0].stddev == 1.5);
	ck_assert(isnan(s.metrics[1].mean) && isnan(s.metrics[1].min) &&
		  isnan(s.metrics[1].max) && isnan(s.metrics[1].stddev));
	metrics_summary_free(&s);
}
END_TEST

START_TEST(a_summary_of_sockets_is_read)
{
	char *path = sample_path("spr-host-02-socket_metrics_summary.csv");
	struct metrics_summary s;
	const struct metrics_of *m;

	read_summary_file(path, &s);
	ck_assert_int_eq(s.scope, METRICS_SOCKET);
	ck_assert_uint_eq(s.n_metrics, 96);
	ck_assert_uint_eq(s.n_groups, 2);
	ck_assert_int_eq(s.groups[0], 0);
	ck_assert_int_eq(s.groups[1], 1);
	m = find_metric(&s, "CPI");
	ck_assert(m->means[0] == 0.92 && m->means[1] == 0.9476);
	ck_assert(isnan(m->mean));
	metrics_summary_free(&s);
	free(path);
	ck_assert_str_eq(read_summary("metric,CPU12,CPU3\na,1,NaN\n", &s), "");
	ck_assert_int_eq(s.scope, METRICS_CPU);
	ck_assert_int_eq(s.groups[0], 12);
	ck_assert_int_eq(s.groups[1], 3);
	ck_assert(s.metrics[0].means[0] == 1);
	ck_assert(isnan(s.metrics[0].means[1]));
	metrics_summary_free(&s);
}
END_TEST

/* --- one from the other -------------------------------------------------- */

static void
check_close(const char *name, double ours, double theirs)
{
	if (isnan(theirs))
		ck_assert_msg(
		    isnan(ours), "%s is %f, not missing", name, ours);
	else
		ck_assert_msg(fabs(ours - theirs) <= LAST_DECIMAL,
		    "%s is %f, not %f", name, ours, theirs);
}

static void
check_same(
    const struct metrics_summary *ours, const struct metrics_summary *theirs)
{
	ck_assert_uint_eq(ours->n_metrics, theirs->n_metrics);
	for (size_t i = 0; i < theirs->n_metrics; i++) {
		const struct metrics_of *a = &ours->metrics[i];
		const struct metrics_of *b = &theirs->metrics[i];

		ck_assert_str_eq(a->name, b->name);
		check_close(a->name, a->mean, b->mean);
		check_close(a->name, a->stddev, b->stddev);
		ck_assert(isnan(b->min) ? isnan(a->min) : a->min == b->min);
		ck_assert(isnan(b->max) ? isnan(a->max) : a->max == b->max);
	}
}

START_TEST(the_samples_summaries_come_out)
{
	static const char *const hosts[] = { "spr-host-01",
		"genoa-host.example.net", "graviton-host" };
	struct reason why = { "" };

	make_directory();
	for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
		char *name = mem_fmt("%s_metrics.csv", hosts[i]);
		char *sum = mem_fmt("%s_metrics_summary.csv", hosts[i]);
		char *from = sample_path(name), *want = sample_path(sum);
		struct metrics_summary ours, theirs;

		ck_assert_msg(metrics_summarize(from, summary_path, &why) == 0,
		    "%s", why.text);
		read_summary_file(summary_path, &ours);
		read_summary_file(want, &theirs);
		check_same(&ours, &theirs);
		metrics_summary_free(&ours);
		metrics_summary_free(&theirs);
		free(name);
		free(sum);
		free(from);
		free(want);
	}
	remove_directory();
}
END_TEST

/* Summarizes a series; its summary's text, or the reason. */
static const char *
summarized(const char *series)
{
	static char text[4096];
	struct reason why = { "" };
	FILE *f;

	write_file(series_path, series);
	if (metrics_summarize(series_path, summary_path, &why)) {
		ck_assert_str_ne(why.text, "");
		(void)snprintf(text, sizeof text, "%s", why.text);
		return text;
	}
	f = fopen(summary_path, "re");
	ck_assert_ptr_nonnull(f);
	text[fread(text, 1, sizeof text - 1, f)] = '\0';
	(void)fclose(f);
	return text;
}

START_TEST(a_summary_is_over_what_is_there)
{
	make_directory();
	ck_assert_str_eq(
	    summarized(HEADER "1,,,,2,\n2,,,,NaN,+Inf\n3,,,,4,-1\n"
			      "4,,,,6,-Inf\n5,,,,999999,7"),
	    "metric,mean,min,max,stddev\n"
	    "CPI,4.000000,2.000000,6.000000,1.632993\n"
	    "package power (watts),NaN,NaN,NaN,NaN\n");
	/* where PerfSpect's max is 0 */
	ck_assert_str_eq(summarized(HEADER "1,,,,-2,5\n2,,,,-4,5\n"),
	    "metric,mean,min,max,stddev\n"
	    "CPI,-3.000000,-4.000000,-2.000000,1.000000\n"
	    "package power (watts),5.000000,5.000000,5.000000,0.000000\n");
	remove_directory();
}
END_TEST

/* What is at the limits when it is read is not past them when written. */
START_TEST(a_summary_of_the_largest_numbers_can_be_read)
{
	struct metrics_summary s;

	make_directory();
	ck_assert_str_eq(read_summary(summarized(HEADER "1,,,,1e30,-1e30\n"
							"2,,,,-1e30,-1e30\n"
							"3,,,,1e30,-1e30\n"
							"4,,,,-1e30,-1e30\n"),
			     &s),
	    "");
	ck_assert(s.metrics[0].max == 1e30 && s.metrics[0].stddev == 1e30);
	ck_assert(s.metrics[1].mean == -1e30 && s.metrics[1].stddev == 0);
	metrics_summary_free(&s);
	remove_directory();
}
END_TEST

START_TEST(a_summary_of_groups_has_their_means)
{
	make_directory();
	ck_assert_str_eq(
	    summarized(HEADER "1,1,,,2,\n1,0,,,4,8\n2,1,,,6,\n2,0,,,,10\n"),
	    "metric,SKT1,SKT0\nCPI,4.000000,4.000000\n"
	    "package power (watts),NaN,9.000000\n");
	ck_assert_str_eq(summarized(HEADER "1,0,3,,2,1\n1,1,12,,4,8\n"),
	    "metric,CPU3,CPU12\nCPI,2.000000,4.000000\n"
	    "package power (watts),1.000000,8.000000\n");
	remove_directory();
}
END_TEST

START_TEST(a_series_without_a_summary_is_refused)
{
	static const struct {
		const char *text, *why;
	} wrong[] = {
		{ HEADER, " has no whole row" },
		{ HEADER "1,,,,1,", " has no whole row" },
		{ HEADER "1,,,/kubepods/x,1,2\n",
		    ": it has rows of cgroups, of which no summary is made" },
		{ HEADER "1,,,,1,2\n1,0,,,1,2\n",
		    ": its rows are not all of the system, or all of sockets, "
		    "or all of processors" },
		{ HEADER "1,node/0,,,1,2\n",
		    ": it has a row of the socket or processor \"node/0\", "
		    "which is no number" },
		{ HEADER "1,3,,,1,2\n1,03,,,1,2\n",
		    ": it has a row of the socket or processor \"03\", "
		    "which is no number" },
		{ HEADER "1,,,,1,2\n2,,,,1,2,3\n",
		    ":3: the row has more fields than the header: "
		    "\"2,,,,1,2,3\"" },
		{ "TS\n",
		    ":1: there is no column TS, SKT, CPU or CID: \"TS\"" },
	};

	make_directory();
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		char *want = mem_fmt("%s%s", series_path, wrong[i].why);

		ck_assert_str_eq(summarized(wrong[i].text), want);
		ck_assert_int_ne(access(summary_path, F_OK), 0);
		free(want);
	}
	remove_directory();
}
END_TEST

START_TEST(only_a_regular_file_is_summarized)
{
	struct reason why = { "" };
	char *want;

	make_directory();
	want = mem_fmt("%s is not a regular file", series_path);
	ck_assert_int_eq(
	    metrics_summarize(series_path, summary_path, &why), -1);
	ck_assert_ptr_nonnull(strstr(why.text, "No such file"));
	ck_assert_int_eq(mkfifo(series_path, 0600), 0);
	ck_assert_int_eq(
	    metrics_summarize(series_path, summary_path, &why), -1);
	ck_assert_str_eq(why.text, want);
	ck_assert_int_eq(unlink(series_path), 0);
	ck_assert_int_eq(symlink("/etc/passwd", series_path), 0);
	ck_assert_int_eq(
	    metrics_summarize(series_path, summary_path, &why), -1);
	ck_assert_ptr_nonnull(strstr(why.text, series_path));
	free(want);
	remove_directory();
}
END_TEST

START_TEST(a_summary_replaces_another_and_is_private)
{
	struct stat st;

	make_directory();
	write_file(summary_path, "old\n");
	ck_assert_int_eq(chmod(summary_path, 0666), 0);
	ck_assert_str_eq(summarized(HEADER "1,,,,1,2\n"),
	    "metric,mean,min,max,stddev\n"
	    "CPI,1.000000,1.000000,1.000000,0.000000\n"
	    "package power (watts),2.000000,2.000000,2.000000,0.000000\n");
	ck_assert_int_eq(stat(summary_path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0600);
	remove_directory();
}
END_TEST

START_TEST(where_it_cannot_be_written_the_reason_says_so)
{
	struct reason why = { "" };

	make_directory();
	write_file(series_path, HEADER "1,,,,1,2\n");
	ck_assert_int_eq(
	    metrics_summarize(series_path, "/nonexistent/s.csv", &why), -1);
	ck_assert_str_eq(
	    why.text, "/nonexistent/s.csv: No such file or directory");
	/* a directory is in its place: nothing is left beside it */
	ck_assert_int_eq(mkdir(summary_path, 0700), 0);
	ck_assert_int_eq(
	    metrics_summarize(series_path, summary_path, &why), -1);
	ck_assert_ptr_nonnull(strstr(why.text, summary_path));
	ck_assert_int_eq(rmdir(summary_path), 0);
	remove_directory();
}
END_TEST

HARNESS_MAIN("metrics_csv", an_unknown_layout_is_refused_and_quoted,
    an_empty_file_has_no_header, limits_are_held,
    a_quote_is_cut_between_characters, what_is_no_measured_number_is_missing,
    numbers_are_read, a_cut_row_is_passed_over,
    columns_are_found_by_name_and_crlf_ends_lines,
    an_unknown_summary_is_refused_and_quoted,
    a_summary_has_a_bounded_number_of_metrics, a_summary_is_read_by_its_names,
    a_summary_of_sockets_is_read, the_samples_summaries_come_out,
    a_summary_is_over_what_is_there,
    a_summary_of_the_largest_numbers_can_be_read,
    a_summary_of_groups_has_their_means, a_series_without_a_summary_is_refused,
    only_a_regular_file_is_summarized,
    a_summary_replaces_another_and_is_private,
    where_it_cannot_be_written_the_reason_says_so)
