#include "core/metrics_csv.h"

#include "core/mem.h"
#include "core/utf8.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* So much of a header or a line is quoted in a reason. */
#define QUOTE_BYTES 200
/* The longest character of UTF-8. */
#define CHARACTER_BYTES 4
/* The end of the year 9999, in seconds. */
#define TIME_MAX INT64_C(253402300799)

/* What reasons say of the limits. */
_Static_assert(METRICS_LINE_MAX == 64 * 1024, "\"longer than 64 KiB\"");
_Static_assert(METRICS_COLUMNS_MAX == 1024, "\"more than 1024\"");
_Static_assert(METRICS_NAME_MAX == 255, "\"more than 255 bytes\"");

/* A file of lines, and the one that was read last, cut into fields. */
struct lines {
	FILE *file;
	const char *what; /* names it in reasons */
	long number;      /* of the line, from 1 */
	char *fields[METRICS_COLUMNS_MAX];
	size_t n_fields;
	size_t n_columns; /* of the header */
	size_t len;
	char text[METRICS_LINE_MAX + 1]; /* the fields are in it */
};

/* --- lines --------------------------------------------------------------- */

/* Control characters become '?'. */
static void
make_printable(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			*text = '?';
}

/* Refuses the line, which is no longer cut into fields, and quotes it. */
static int
refuse(struct lines *l, const char *because, struct reason *why)
{
	bool cut = l->len > QUOTE_BYTES;
	size_t len = cut ? QUOTE_BYTES : l->len;
	size_t valid = utf8_valid_prefix(l->text, len);
	char quote[QUOTE_BYTES + 1];

	if (cut && len - valid < CHARACTER_BYTES)
		len = valid; /* the cut was in a character */
	memcpy(quote, l->text, len);
	quote[len] = '\0';
	make_printable(quote);
	return reason_set(why, "%s:%ld: %s: \"%s%s\"", l->what, l->number,
	    because, quote, cut ? "..." : "");
}

/* Puts the commas back between the fields. */
static void
join(struct lines *l)
{
	for (size_t i = 1; i < l->n_fields; i++)
		*(l->fields[i] - 1) = ',';
}

/* Cuts the line at its commas; fields after the last place are one. */
static void
split(struct lines *l)
{
	char *at = l->text;

	l->n_fields = 0;
	while (at && l->n_fields < METRICS_COLUMNS_MAX) {
		l->fields[l->n_fields++] = at;
		at = strchr(at, ',');
		if (at && l->n_fields < METRICS_COLUMNS_MAX)
			*at++ = '\0';
	}
}

/*
 * Reads up to the end of a line.  Returns 1, 0 at the end of the file, where
 * a line without an end counts as nothing, or -1 with the reason.
 */
static int
read_line(struct lines *l, struct reason *why)
{
	int c;

	l->len = 0;
	l->number++;
	while ((c = getc(l->file)) != EOF && c != '\n') {
		if (l->len == METRICS_LINE_MAX) {
			l->text[l->len] = '\0';
			return refuse(
			    l, "the line is longer than 64 KiB", why);
		}
		l->text[l->len++] = (char)c;
	}
	if (c == EOF && ferror(l->file))
		return reason_set(why, "%s: %s", l->what, strerror(errno));
	if (c == EOF)
		return 0;
	if (l->len > 0 && l->text[l->len - 1] == '\r')
		l->len--;
	l->text[l->len] = '\0';
	return 1;
}

/* As read_line() for the first line, which there must be. */
static int
read_header(struct lines *l, struct reason *why)
{
	int r = read_line(l, why);

	if (r < 0)
		return -1;
	if (r == 0)
		return reason_set(why, "%s has no header", l->what);
	if (memchr(l->text, '\0', l->len) || !utf8_is_valid(l->text, l->len))
		return refuse(l, "the header is no text", why);
	split(l);
	l->n_columns = l->n_fields;
	if (!strchr(l->fields[l->n_fields - 1], ','))
		return 0;
	join(l);
	return refuse(l, "the header has more than 1024 columns", why);
}

/*
 * The next line with as many fields as the header has.  Returns 1, 0 at the
 * end, or -1 with the reason.
 */
static int
read_row(struct lines *l, struct reason *why)
{
	int r;

	while ((r = read_line(l, why)) == 1) {
		if (l->number > METRICS_ROWS_MAX + 1)
			return reason_set(why, "%s has more than %d rows",
			    l->what, METRICS_ROWS_MAX);
		split(l);
		if (l->n_fields > l->n_columns ||
		    strchr(l->fields[l->n_fields - 1], ',')) {
			join(l);
			return refuse(l,
			    "the row has more fields than the "
			    "header",
			    why);
		}
		if (l->n_fields == l->n_columns)
			return 1;
	}
	return r;
}

/* --- fields -------------------------------------------------------------- */

/* A number, or NAN where it is missing: see the header. */
static double
read_value(const char *text)
{
	char *end;
	double value;

	if (strcmp(text, "-1") == 0 || !*text ||
	    text[strspn(text, "0123456789+-.eE")])
		return NAN;
	value = strtod(text, &end);
	return *end || !(fabs(value) <= METRICS_VALUE_MAX) ? NAN : value;
}

/* A whole number of at most `max`, or -1. */
static int64_t
read_whole(const char *text, int64_t max)
{
	int64_t value = 0;

	if (!*text)
		return -1;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return -1;
		value = 10 * value + (*text - '0');
		if (value > max)
			return -1;
	}
	return value;
}

static const char *
fault_of_name(const char *name)
{
	if (!*name)
		return "there is an empty name";
	if (strlen(name) > METRICS_NAME_MAX)
		return "there is a name of more than 255 bytes";
	for (; *name; name++)
		if ((unsigned char)*name < 0x20 || *name == 0x7f)
			return "there is a name with a control character";
	return NULL;
}

/* What is wrong with the header's names, or NULL. */
static const char *
fault_of_names(const struct lines *l)
{
	for (size_t i = 0; i < l->n_fields; i++) {
		const char *fault = fault_of_name(l->fields[i]);

		if (fault)
			return fault;
		for (size_t j = 0; j < i; j++)
			if (strcmp(l->fields[i], l->fields[j]) == 0)
				return "there is a name twice";
	}
	return NULL;
}

/* The place of a column, or -1. */
static int
find_column(const struct lines *l, const char *name)
{
	for (size_t i = 0; i < l->n_fields; i++)
		if (strcmp(l->fields[i], name) == 0)
			return (int)i;
	return -1;
}

/* --- the series ---------------------------------------------------------- */

/* The columns that are no metrics. */
enum { TS, SKT, CPU, CID, N_FIXED };
static const char *const fixed_names[N_FIXED] = { "TS", "SKT", "CPU", "CID" };

struct metrics_series {
	int fixed[N_FIXED];          /* where they are */
	int at[METRICS_COLUMNS_MAX]; /* where each metric is */
	char *names[METRICS_COLUMNS_MAX];
	double values[METRICS_COLUMNS_MAX];
	size_t n;
	struct lines lines;
};

static bool
is_fixed(const struct metrics_series *s, int column)
{
	for (int i = 0; i < N_FIXED; i++)
		if (s->fixed[i] == column)
			return true;
	return false;
}

/* What is wrong with the series' header, or NULL. */
static const char *
use_series_header(struct metrics_series *s)
{
	const char *fault = fault_of_names(&s->lines);

	for (int i = 0; i < N_FIXED && !fault; i++) {
		s->fixed[i] = find_column(&s->lines, fixed_names[i]);
		if (s->fixed[i] < 0)
			fault = "there is no column TS, SKT, CPU or CID";
	}
	if (fault)
		return fault;
	for (int i = 0; i < (int)s->lines.n_fields; i++)
		if (!is_fixed(s, i)) {
			s->at[s->n] = i;
			s->names[s->n++] = mem_copy(s->lines.fields[i]);
		}
	return s->n ? NULL : "there is no metric";
}

struct metrics_series *
metrics_series_begin(FILE *file, const char *what, struct reason *why)
{
	struct metrics_series *s = mem_alloc(1, sizeof *s);
	const char *fault = NULL;

	s->lines.file = file;
	s->lines.what = what;
	if (read_header(&s->lines, why) == 0) {
		fault = use_series_header(s);
		if (!fault)
			return s;
		join(&s->lines);
		(void)refuse(&s->lines, fault, why);
	}
	metrics_series_free(s);
	return NULL;
}

size_t
metrics_series_metrics(const struct metrics_series *series)
{
	return series->n;
}

const char *
metrics_series_name(const struct metrics_series *series, size_t i)
{
	return series->names[i];
}

/* A processor's row has its socket, too: the narrower one counts. */
static void
use_scope(struct metrics_series *s, struct metrics_row *row)
{
	static const struct {
		int column;
		enum metrics_scope scope;
	} narrow_first[] = { { CID, METRICS_CGROUP }, { CPU, METRICS_CPU },
		{ SKT, METRICS_SOCKET } };

	row->scope = METRICS_SYSTEM;
	row->of = "";
	for (size_t i = 0;
	     i < sizeof narrow_first / sizeof *narrow_first && !*row->of;
	     i++) {
		row->of = s->lines.fields[s->fixed[narrow_first[i].column]];
		if (*row->of)
			row->scope = narrow_first[i].scope;
	}
}

int
metrics_series_next(
    struct metrics_series *s, struct metrics_row *row, struct reason *why)
{
	int r = read_row(&s->lines, why);

	if (r != 1)
		return r;
	row->time = read_whole(s->lines.fields[s->fixed[TS]], TIME_MAX);
	if (row->time < 0) {
		join(&s->lines);
		return refuse(
		    &s->lines, "TS is no time in whole seconds", why);
	}
	use_scope(s, row);
	for (size_t i = 0; i < s->n; i++)
		s->values[i] = read_value(s->lines.fields[s->at[i]]);
	row->values = s->values;
	return 1;
}

void
metrics_series_free(struct metrics_series *s)
{
	for (size_t i = 0; s && i < s->n; i++)
		free(s->names[i]);
	free(s);
}

/* --- the summary --------------------------------------------------------- */

/* The columns that the summary of a system has beside the name. */
enum { MEAN, MIN, MAX, STDDEV, N_NUMBERS };
static const char *const number_names[N_NUMBERS] = { "mean", "min", "max",
	"stddev" };

/* A summary that is being read. */
struct reading {
	struct metrics_summary *to;
	int metric;             /* the column of the names */
	int numbers[N_NUMBERS]; /* of METRICS_SYSTEM */
	struct lines lines;
};

bool
metrics_is_group(const char *text)
{
	return read_whole(text, METRICS_GROUPS_END - 1) >= 0 &&
	       (text[0] != '0' || !text[1]);
}

static bool
find_numbers(struct reading *r)
{
	for (int i = 0; i < N_NUMBERS; i++) {
		r->numbers[i] = find_column(&r->lines, number_names[i]);
		if (r->numbers[i] < 0)
			return false;
	}
	return true;
}

/* Whether all columns but the names' are PREFIX and a number. */
static bool
find_groups(struct reading *r, const char *prefix, enum metrics_scope scope)
{
	struct metrics_summary *to = r->to;

	to->scope = scope;
	to->n_groups = 0;
	for (size_t i = 0; i < r->lines.n_fields; i++) {
		const char *name = r->lines.fields[i];

		if ((int)i == r->metric)
			continue;
		if (strncmp(name, prefix, 3) != 0 ||
		    !metrics_is_group(name + 3))
			return false;
		to->groups[to->n_groups++] = atoi(name + 3);
	}
	return to->n_groups > 0;
}

/* What is wrong with the summary's header, or NULL. */
static const char *
use_summary_header(struct reading *r)
{
	const char *fault = fault_of_names(&r->lines);

	if (fault)
		return fault;
	r->metric = find_column(&r->lines, "metric");
	if (r->metric < 0)
		return "there is no column metric";
	if (find_numbers(r))
		return NULL;
	r->to->groups = mem_alloc(r->lines.n_fields, sizeof *r->to->groups);
	if (find_groups(r, "SKT", METRICS_SOCKET) ||
	    find_groups(r, "CPU", METRICS_CPU))
		return NULL;
	r->to->n_groups = 0;
	return "there is neither mean, min, max and stddev, nor SKT0, ... or "
	       "CPU0, ... only";
}

static void
take_numbers(const struct reading *r, struct metrics_of *m)
{
	char *const *fields = r->lines.fields;

	m->mean = read_value(fields[r->numbers[MEAN]]);
	m->min = read_value(fields[r->numbers[MIN]]);
	m->max = read_value(fields[r->numbers[MAX]]);
	m->stddev = read_value(fields[r->numbers[STDDEV]]);
}

/* The groups' columns are all but the names', in order. */
static void
take_means(const struct reading *r, struct metrics_of *m)
{
	size_t n = 0;

	m->mean = m->min = m->max = m->stddev = NAN;
	m->means = mem_alloc(r->to->n_groups, sizeof *m->means);
	for (size_t i = 0; i < r->lines.n_fields; i++)
		if ((int)i != r->metric)
			m->means[n++] = read_value(r->lines.fields[i]);
}

/* What is wrong with the row, or NULL. */
static const char *
take_row(struct reading *r)
{
	const char *name = r->lines.fields[r->metric];
	const char *fault = fault_of_name(name);
	struct metrics_summary *to = r->to;
	struct metrics_of *m;

	if (fault)
		return fault;
	for (size_t i = 0; i < to->n_metrics; i++)
		if (strcmp(to->metrics[i].name, name) == 0)
			return "the metric is there twice";
	if (!utf8_is_valid(name, strlen(name)))
		return "the name is no text";
	if (to->n_metrics == METRICS_COLUMNS_MAX)
		return "there are more than 1024 metrics";
	m = &to->metrics[to->n_metrics++];
	m->name = mem_copy(name);
	if (to->scope == METRICS_SYSTEM)
		take_numbers(r, m);
	else
		take_means(r, m);
	return NULL;
}

static int
read_summary(struct reading *r, struct reason *why)
{
	const char *fault;
	int more = 1;

	if (read_header(&r->lines, why))
		return -1;
	fault = use_summary_header(r);
	r->to->metrics =
	    mem_alloc(METRICS_COLUMNS_MAX, sizeof *r->to->metrics);
	while (!fault && (more = read_row(&r->lines, why)) == 1)
		fault = take_row(r);
	if (!fault)
		return more;
	join(&r->lines);
	return refuse(&r->lines, fault, why);
}

int
metrics_summary_read(FILE *file, const char *what,
    struct metrics_summary *summary, struct reason *why)
{
	struct reading *r = mem_alloc(1, sizeof *r);
	int result;

	*summary = (struct metrics_summary) { .scope = METRICS_SYSTEM };
	r->to = summary;
	r->lines.file = file;
	r->lines.what = what;
	result = read_summary(r, why);
	free(r);
	return result;
}

void
metrics_summary_free(struct metrics_summary *summary)
{
	for (size_t i = 0; i < summary->n_metrics; i++) {
		free(summary->metrics[i].name);
		free(summary->metrics[i].means);
	}
	free(summary->metrics);
	free(summary->groups);
	*summary = (struct metrics_summary) { .scope = METRICS_SYSTEM };
}
