#include "core/metrics_csv.h"

#include "core/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* As many as metrics_summary_read() takes beside the names' column. */
#define GROUPS_MAX (METRICS_COLUMNS_MAX - 1)

/* Of one metric in one group: its values so far, by Welford's method. */
struct tally {
	size_t n;
	double mean, squares; /* sum of squared distances from the mean */
	double min, max;
};

/* What the rows are summed up to. */
struct summing {
	struct metrics_series *series;
	size_t n_metrics;
	size_t n_rows;
	enum metrics_scope scope;
	char *groups[GROUPS_MAX]; /* in the order in which they came */
	size_t n_groups;
	struct tally *tallies; /* n_metrics for each group */
};

/* --- summing up ---------------------------------------------------------- */

static void
tally_add(struct tally *t, double value)
{
	double before = value - t->mean;

	if (t->n == 0)
		t->min = t->max = value;
	t->n++;
	t->mean += before / (double)t->n;
	t->squares += before * (value - t->mean);
	t->min = fmin(t->min, value);
	t->max = fmax(t->max, value);
}

/* Sets *group to the row's, a new one where it is the first of it. */
static int
find_group(
    struct summing *s, const char *of, size_t *group, struct reason *why)
{
	for (*group = 0; *group < s->n_groups; (*group)++)
		if (strcmp(s->groups[*group], of) == 0)
			return 0;
	if (s->n_groups == GROUPS_MAX)
		return reason_set(why,
		    "it has rows of more than %d sockets or processors",
		    GROUPS_MAX);
	s->groups[s->n_groups++] = mem_copy(of);
	s->tallies = mem_grow(
	    s->tallies, s->n_groups * s->n_metrics, sizeof *s->tallies);
	memset(s->tallies + *group * s->n_metrics, 0,
	    s->n_metrics * sizeof *s->tallies);
	return 0;
}

/* A group becomes part of a column's name: nothing but a number may. */
static int
check_scope(
    struct summing *s, const struct metrics_row *row, struct reason *why)
{
	if (row->scope == METRICS_CGROUP)
		return reason_set(why,
		    "it has rows of cgroups, of which no summary is made");
	if (s->n_rows == 0)
		s->scope = row->scope;
	if (s->scope != row->scope)
		return reason_set(why,
		    "its rows are not all of the system, or all of sockets, "
		    "or all of processors");
	if (row->scope != METRICS_SYSTEM && !metrics_is_group(row->of))
		return reason_set(why,
		    "it has a row of the socket or processor \"%.20s\", which "
		    "is no number",
		    row->of);
	return 0;
}

static int
add_row(struct summing *s, const struct metrics_row *row, struct reason *why)
{
	size_t group;

	if (check_scope(s, row, why) || find_group(s, row->of, &group, why))
		return -1;
	s->n_rows++;
	for (size_t i = 0; i < s->n_metrics; i++)
		if (!isnan(row->values[i]))
			tally_add(&s->tallies[group * s->n_metrics + i],
			    row->values[i]);
	return 0;
}

static int
add_rows(struct summing *s, const char *what, struct reason *why)
{
	struct metrics_row row;
	int more;

	while ((more = metrics_series_next(s->series, &row, why)) == 1)
		if (add_row(s, &row, why))
			return reason_set(why, "%s: %s", what, why->text);
	if (more < 0)
		return -1;
	if (s->n_rows == 0)
		return reason_set(why, "%s has no whole row", what);
	return 0;
}

static int
sum_up(struct summing *s, FILE *file, const char *what, struct reason *why)
{
	s->series = metrics_series_begin(file, what, why);
	if (!s->series)
		return -1;
	s->n_metrics = metrics_series_metrics(s->series);
	return add_rows(s, what, why);
}

static void
free_summing(struct summing *s)
{
	for (size_t i = 0; i < s->n_groups; i++)
		free(s->groups[i]);
	free(s->tallies);
	metrics_series_free(s->series);
}

/* --- writing ------------------------------------------------------------- */

/* Rounding leads neither past the smallest and largest value, ... */
static double
mean_of(const struct tally *t)
{
	return fmin(fmax(t->mean, t->min), t->max);
}

/* ... nor past half of their distance, the most that there can be. */
static double
deviation_of(const struct tally *t)
{
	return fmin(sqrt(t->squares / (double)t->n), (t->max - t->min) / 2);
}

static void
write_number(FILE *f, const struct tally *t, double value)
{
	if (t->n == 0)
		(void)fputs(",NaN", f);
	else
		(void)fprintf(f, ",%.6f", value);
}

static void
write_system(const struct summing *s, FILE *f)
{
	(void)fputs("metric,mean,min,max,stddev\n", f);
	for (size_t i = 0; i < s->n_metrics; i++) {
		const struct tally *t = &s->tallies[i];

		(void)fputs(metrics_series_name(s->series, i), f);
		write_number(f, t, mean_of(t));
		write_number(f, t, t->min);
		write_number(f, t, t->max);
		write_number(f, t, deviation_of(t));
		(void)fputc('\n', f);
	}
}

static void
write_groups(const struct summing *s, FILE *f)
{
	const char *prefix = s->scope == METRICS_SOCKET ? "SKT" : "CPU";

	(void)fputs("metric", f);
	for (size_t g = 0; g < s->n_groups; g++)
		(void)fprintf(f, ",%s%s", prefix, s->groups[g]);
	(void)fputc('\n', f);
	for (size_t i = 0; i < s->n_metrics; i++) {
		(void)fputs(metrics_series_name(s->series, i), f);
		for (size_t g = 0; g < s->n_groups; g++) {
			const struct tally *t =
			    &s->tallies[g * s->n_metrics + i];

			write_number(f, t, mean_of(t));
		}
		(void)fputc('\n', f);
	}
}

/* Writes and closes; returns whether all of it is on the disk. */
static bool
write_file(const struct summing *s, FILE *f)
{
	bool ok;

	if (s->scope == METRICS_SYSTEM)
		write_system(s, f);
	else
		write_groups(s, f);
	ok = fflush(f) == 0 && !ferror(f) && fsync(fileno(f)) == 0;
	return fclose(f) == 0 && ok;
}

/* To a file beside it, which then takes its place. */
static int
write_summary(const struct summing *s, const char *path, struct reason *why)
{
	char *beside = mem_fmt("%s.XXXXXX", path);
	int fd = mkostemp(beside, O_CLOEXEC); /* with mode 0600 */
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
	bool ok = f && write_file(s, f) && rename(beside, path) == 0;

	if (!ok) {
		reason_set(why, "%s: %s", path, strerror(errno));
		if (fd >= 0)
			(void)unlink(beside);
		if (fd >= 0 && !f)
			close(fd);
	}
	free(beside);
	return ok ? 0 : -1;
}

/* --- from file to file --------------------------------------------------- */

/* Opens a regular file; a link is not followed and a pipe not waited for. */
static FILE *
open_series(const char *path, struct reason *why)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;
	FILE *file = NULL;

	if (fd < 0 || fstat(fd, &st))
		reason_set(why, "%s: %s", path, strerror(errno));
	else if (!S_ISREG(st.st_mode))
		reason_set(why, "%s is not a regular file", path);
	else if (!(file = fdopen(fd, "r")))
		reason_set(why, "%s: %s", path, strerror(errno));
	if (fd >= 0 && !file)
		close(fd);
	return file;
}

int
metrics_summarize(
    const char *series_path, const char *summary_path, struct reason *why)
{
	struct summing s = { .scope = METRICS_SYSTEM };
	FILE *file = open_series(series_path, why);
	int result;

	if (!file)
		return -1;
	result = sum_up(&s, file, series_path, why);
	(void)fclose(file);
	if (result == 0)
		result = write_summary(&s, summary_path, why);
	free_summing(&s);
	return result;
}
