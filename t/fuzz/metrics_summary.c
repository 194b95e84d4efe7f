/* PerfSpect's summary, as a host sends it. */
#include "fuzz/fuzz.h"

#include <math.h>

#include "core/buf.h"
#include "core/metrics_csv.h"

/* Numbers are written longer than they came. */
#define TEXT_MAX (4 * 1024 * 1024)

const char *const fuzz_target = "metrics_summary";

static int
read_text(const void *text, size_t len, struct metrics_summary *summary,
    struct reason *why)
{
	/* fmemopen() takes no empty text */
	FILE *f = len ? fmemopen((void *)(uintptr_t)text, len, "r")
		      : fopen("/dev/null", "re");
	int result;

	FUZZ_CHECK(f);
	result = metrics_summary_read(f, "summary", summary, why);
	(void)fclose(f);
	return result;
}

static bool
same(double a, double b)
{
	return isnan(a) ? isnan(b) : a == b;
}

/* Always with decimals: -1 without them would be a missing value. */
static void
add_number(struct buf *to, double value)
{
	buf_fmt(to, ",%.17e", value);
}

static void
compose(const struct metrics_summary *s, struct buf *to)
{
	buf_str(to, "metric");
	if (s->scope == METRICS_SYSTEM)
		buf_str(to, ",mean,min,max,stddev");
	for (size_t g = 0; g < s->n_groups; g++)
		buf_fmt(to, ",%s%d", s->scope == METRICS_CPU ? "CPU" : "SKT",
		    s->groups[g]);
	for (size_t i = 0; i < s->n_metrics; i++) {
		const struct metrics_of *m = &s->metrics[i];

		buf_fmt(to, "\n%s", m->name);
		for (size_t g = 0; g < s->n_groups; g++)
			add_number(to, m->means[g]);
		if (s->scope != METRICS_SYSTEM)
			continue;
		add_number(to, m->mean);
		add_number(to, m->min);
		add_number(to, m->max);
		add_number(to, m->stddev);
	}
	buf_chr(to, '\n');
}

static void
check_same(const struct metrics_summary *a, const struct metrics_summary *b)
{
	FUZZ_CHECK(a->scope == b->scope && a->n_groups == b->n_groups);
	FUZZ_CHECK(a->n_metrics == b->n_metrics);
	for (size_t g = 0; g < a->n_groups; g++)
		FUZZ_CHECK(a->groups[g] == b->groups[g]);
	for (size_t i = 0; i < a->n_metrics; i++) {
		const struct metrics_of *m = &a->metrics[i];
		const struct metrics_of *n = &b->metrics[i];

		FUZZ_CHECK(strcmp(m->name, n->name) == 0);
		FUZZ_CHECK(same(m->mean, n->mean) && same(m->min, n->min));
		FUZZ_CHECK(same(m->max, n->max));
		FUZZ_CHECK(same(m->stddev, n->stddev));
		for (size_t g = 0; g < a->n_groups; g++)
			FUZZ_CHECK(same(m->means[g], n->means[g]));
	}
}

static void
check_names(const struct metrics_summary *s)
{
	for (size_t i = 0; i < s->n_metrics; i++) {
		const char *name = s->metrics[i].name;

		FUZZ_CHECK(*name && strlen(name) <= METRICS_NAME_MAX);
		FUZZ_CHECK(utf8_is_valid(name, strlen(name)));
		FUZZ_CHECK(!strpbrk(name, ",\r\n"));
	}
}

/* What was read is written and read again. */
static void
check_comes_again(const struct metrics_summary *s)
{
	struct buf text = BUF_INIT(TEXT_MAX);
	struct metrics_summary again;
	struct reason why = { "" };

	compose(s, &text);
	FUZZ_CHECK(!text.full);
	FUZZ_CHECK(read_text(text.data, text.len, &again, &why) == 0);
	check_same(s, &again);
	metrics_summary_free(&again);
	buf_free(&text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct metrics_summary summary;
	struct reason why = { "" };
	int result = read_text(data, size, &summary, &why);

	fuzz_check_reason(result != 0, why.text);
	FUZZ_CHECK(summary.n_metrics <= METRICS_COLUMNS_MAX);
	check_names(&summary);
	if (result == 0)
		check_comes_again(&summary);
	metrics_summary_free(&summary);
	return 0;
}
