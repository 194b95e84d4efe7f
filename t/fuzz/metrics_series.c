/* PerfSpect's series, and the summary that is made from it. */
#include "fuzz/files.h"

#include <math.h>

#include "core/metrics_csv.h"

/* What six decimals and a sum of rounded numbers may be off by. */
#define OFF_BY(value) (1e-6 + 1e-9 * fabs(value))

const char *const fuzz_target = "metrics_series";

/* The metrics' names, and what a summary must agree with. */
struct seen {
	size_t n_metrics, n_rows;
	char *names[METRICS_COLUMNS_MAX];
	size_t values[METRICS_COLUMNS_MAX]; /* that were not missing */
	double least[METRICS_COLUMNS_MAX], most[METRICS_COLUMNS_MAX];
};

static void
see_row(struct seen *seen, const struct metrics_row *row)
{
	FUZZ_CHECK(row->time >= 0);
	FUZZ_CHECK((row->scope == METRICS_SYSTEM) == !*row->of);
	seen->n_rows++;
	for (size_t i = 0; i < seen->n_metrics; i++) {
		double value = row->values[i];

		if (isnan(value))
			continue;
		FUZZ_CHECK(fabs(value) <= METRICS_VALUE_MAX);
		if (seen->values[i]++ == 0)
			seen->least[i] = seen->most[i] = value;
		seen->least[i] = fmin(seen->least[i], value);
		seen->most[i] = fmax(seen->most[i], value);
	}
}

/* Reads the series; returns whether all of it was readable. */
static bool
see(const char *path, struct seen *seen)
{
	FILE *f = fopen(path, "re");
	struct reason why = { "" };
	struct metrics_row row;
	struct metrics_series *s;
	int more = -1;

	FUZZ_CHECK(f);
	s = metrics_series_begin(f, path, &why);
	fuzz_check_reason(!s, why.text);
	if (s) {
		seen->n_metrics = metrics_series_metrics(s);
		for (size_t i = 0; i < seen->n_metrics; i++)
			seen->names[i] = mem_copy(metrics_series_name(s, i));
		while ((more = metrics_series_next(s, &row, &why)) == 1)
			see_row(seen, &row);
		fuzz_check_reason(more != 0, why.text);
	}
	metrics_series_free(s);
	(void)fclose(f);
	return more == 0;
}

static void
check_metric(const struct seen *seen, size_t i, const struct metrics_of *m)
{
	double least = seen->least[i] - OFF_BY(seen->least[i]);
	double most = seen->most[i] + OFF_BY(seen->most[i]);

	FUZZ_CHECK(strcmp(m->name, seen->names[i]) == 0);
	if (m->means)
		return;
	FUZZ_CHECK(isnan(m->mean) == (seen->values[i] == 0));
	if (isnan(m->mean))
		return;
	FUZZ_CHECK(m->mean >= least && m->mean <= most);
	FUZZ_CHECK(m->min >= least && m->min <= m->max && m->max <= most);
	FUZZ_CHECK(m->stddev >= 0 && m->stddev <= most - least);
}

/* A summary that was made can be read, and is right. */
static void
check_summary(const struct seen *seen, const char *path)
{
	FILE *f = fopen(path, "re");
	struct metrics_summary summary;
	struct reason why = { "" };

	FUZZ_CHECK(f);
	FUZZ_CHECK(metrics_summary_read(f, path, &summary, &why) == 0);
	FUZZ_CHECK(summary.n_metrics == seen->n_metrics);
	for (size_t i = 0; i < seen->n_metrics; i++)
		check_metric(seen, i, &summary.metrics[i]);
	metrics_summary_free(&summary);
	(void)fclose(f);
	FUZZ_CHECK(unlink(path) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *from = mem_fmt("%s/series.csv", files_begin());
	char *to = mem_fmt("%s/summary.csv", files_begin());
	struct seen *seen = mem_alloc(1, sizeof *seen);
	struct reason why = { "" };
	bool readable;
	int result;

	files_write(from, data, size);
	readable = see(from, seen);
	result = metrics_summarize(from, to, &why);
	fuzz_check_reason(result != 0, why.text);
	FUZZ_CHECK(result == -1 || (readable && seen->n_rows > 0));
	if (result == 0)
		check_summary(seen, to);
	/* the directory's end shows that nothing else was left in it */
	FUZZ_CHECK(access(to, F_OK) != 0 && unlink(from) == 0);
	for (size_t i = 0; i < seen->n_metrics; i++)
		free(seen->names[i]);
	free(seen);
	free(from);
	free(to);
	return 0;
}
