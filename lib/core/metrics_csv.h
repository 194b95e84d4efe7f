/*
 * The two CSV files of `perfspect metrics`, read by the names in their
 * headers, and the second made from the first.
 *
 * The series (HOST_metrics.csv) has the columns TS, SKT, CPU and CID, and one
 * for each metric; a row for each interval.  The summary
 * (HOST_metrics_summary.csv) has a row for each metric: with the columns
 * metric, mean, min, max and stddev where the whole system was measured, or
 * with metric and a mean for each socket (SKT0, ...) or processor (CPU0, ...).
 *
 * Columns are found by name, in any order.  Fields are joined by commas with
 * no quoting, lines may end in CR LF, and an empty line is passed over.  A
 * header of another layout is refused and quoted, and so is a row of more
 * fields than the header.  One of fewer fields was cut when its writer was
 * killed, and so was a last line without its end: they are passed over, for a
 * number that lost its last digits is another number.
 *
 * A value is missing, never 0, where the field is empty, NaN, an infinity, no
 * decimal number or past METRICS_VALUE_MAX; and where it is the text -1, with
 * which PerfSpect's JSON stands for «missing»: a measured -1 has decimals.
 *
 * The files come from other machines, too: everything here has a bound.
 */
#ifndef CONSPECT_CORE_METRICS_CSV_H
#define CONSPECT_CORE_METRICS_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/reason.h"

/* A header with some hundred metrics has 5 KB; a row has less. */
#define METRICS_LINE_MAX 65536
/* PerfSpect knows some hundred metrics of a processor; also the processors of
 * a host that a summary can have. */
#define METRICS_COLUMNS_MAX 1024
/* The longest names that PerfSpect has are of some 80 bytes. */
#define METRICS_NAME_MAX 255
/* The longest run, 30 days, with a row each second. */
#define METRICS_ROWS_MAX 2592000
/* No counter of a host comes near it: what is larger was not measured. */
#define METRICS_VALUE_MAX 1e30

/* What a row, or a summary, is about. */
enum metrics_scope {
	METRICS_SYSTEM,
	METRICS_SOCKET,
	METRICS_CPU,
	METRICS_CGROUP, /* of a series only */
};

/* --- the series ---------------------------------------------------------- */

struct metrics_series; /* a series that is being read */

/* One row of it; all of it is valid until the next is read. */
struct metrics_row {
	int64_t time; /* s since 1970 */
	enum metrics_scope scope;
	const char *of;       /* number of the socket or processor, or name of
				 the cgroup; "" for the system */
	const double *values; /* one for each metric; NAN where missing */
};

/*
 * Reads the header.  `what` names the file in reasons.  Returns the series,
 * which borrows both, or NULL with the reason.
 */
struct metrics_series *metrics_series_begin(FILE *file, const char *what,
    struct reason *why) __attribute__((nonnull, warn_unused_result));

/* The metrics' names in the header's order, owned by the series. */
size_t metrics_series_metrics(const struct metrics_series *series)
    __attribute__((nonnull));
const char *metrics_series_name(const struct metrics_series *series, size_t i)
    __attribute__((nonnull));

/* Returns 1 and the next whole row, 0 at the end, or -1 with the reason. */
int metrics_series_next(struct metrics_series *series, struct metrics_row *row,
    struct reason *why) __attribute__((nonnull, warn_unused_result));

void metrics_series_free(struct metrics_series *series);

/* --- the summary --------------------------------------------------------- */

/* A socket's or processor's number is below: no kernel counts so far. */
#define METRICS_GROUPS_END 1000000

/* Whether text is such a number, without a zero before it. */
bool metrics_is_group(const char *text) __attribute__((nonnull));

/* One metric; each number is NAN where it is missing. */
struct metrics_of {
	char *name;
	double mean, min, max, stddev; /* METRICS_SYSTEM only */
	double *means; /* one for each group; NULL with METRICS_SYSTEM */
};

struct metrics_summary {
	enum metrics_scope scope;   /* not METRICS_CGROUP */
	struct metrics_of *metrics; /* in the file's order, each name once */
	size_t n_metrics;
	int *groups; /* number of each socket or processor, as in the header */
	size_t n_groups; /* 0 with METRICS_SYSTEM */
};

/*
 * Reads a summary; `what` names the file in reasons.  A file without a whole
 * row is a summary without metrics.  Returns 0, or -1 with the reason;
 * metrics_summary_free() in each case.
 */
int metrics_summary_read(FILE *file, const char *what,
    struct metrics_summary *summary, struct reason *why)
    __attribute__((nonnull, warn_unused_result));

void metrics_summary_free(struct metrics_summary *summary)
    __attribute__((nonnull));

/*
 * Makes a series' summary in PerfSpect's own layout, with six decimals and
 * NaN where no row has a value.  Mean, min, max and stddev (of the population,
 * as PerfSpect has it) are over the values that exist.  PerfSpect's `max`
 * starts from 0, so that a metric that is always negative has the max 0; ours
 * is the largest value.  Rows of cgroups are refused, for PerfSpect's layout
 * for them is not documented; and so are rows of more than one scope, and a
 * series without a whole row.
 *
 * The summary is there as a whole or not at all, with mode 0600; one that was
 * there is replaced.  Returns 0, or -1 with the reason.
 */
int metrics_summarize(const char *series_path, const char *summary_path,
    struct reason *why) __attribute__((nonnull, warn_unused_result));

#endif
