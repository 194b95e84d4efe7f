/* Time as text and back: real dates, their limits, and what is no date. */
#include "core/clock.h"

#include <inttypes.h>
#include <string.h>

#include "harness.h"

static void
formats_as(int64_t ms, const char *expected)
{
	char text[CLOCK_TEXT];

	clock_format(ms, text);
	ck_assert_str_eq(text, expected);
}

static void
parses_as(const char *text, int64_t expected)
{
	int64_t ms = -1;

	ck_assert_msg(clock_parse(text, &ms), "\"%s\" is refused", text);
	ck_assert_msg(ms == expected, "\"%s\" is %" PRId64, text, ms);
}

START_TEST(what_is_no_time_is_refused)
{
	static const char *const wrong[] = { "", "2026", "2026-12-01",
		"2026-12-01T", "2026-12-01T03",
		"2026-12-01T03:19:", "2026-12-01T03:19:00.",
		"2026-12-01T03:19:00.Z", "2026-12-01T03:19:00 Z",
		"2026-12-01T03:19:00ZZ", "2026-12-01T03:19:00+2",
		"2026-12-01T03:19:00+24:00", "2026-12-01T03:19:00+02:60",
		"2026-12-01T03:19:00+02:00 ", " 2026-12-01T03:19:00",
		"26-12-01T03:19:00", "2026-13-01T00:00:00",
		"2026-00-01T00:00:00", "2026-12-00T00:00:00",
		"2026-12-32T00:00:00", "2026-12-01T24:00:00",
		"2026-12-01T23:60:00", "2026-12-01T23:59:60",
		"2026-12-01X00:00:00", "12026-12-01T00:00:00",
		"-026-12-01T00:00:00", "2026-1-01T00:00:00", "1764559140",
		"now", "+026-12-01T00:00" };

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		int64_t ms;

		ck_assert_msg(
		    !clock_parse(wrong[i], &ms), "\"%s\" is taken", wrong[i]);
	}
}
END_TEST

START_TEST(a_day_that_does_not_exist_is_refused)
{
	int64_t ms;

	ck_assert(!clock_parse("2026-02-29T00:00:00", &ms));
	ck_assert(!clock_parse("2100-02-29T00:00:00", &ms));
	ck_assert(!clock_parse("2026-04-31T00:00:00", &ms));
	ck_assert(clock_parse("2000-02-29T00:00:00", &ms));
	ck_assert(clock_parse("2028-02-29T00:00:00", &ms));
}
END_TEST

START_TEST(known_times_are_read)
{
	parses_as("1970-01-01T00:00:00Z", 0);
	parses_as("2026-12-01T03:19:00.123Z", 1796095140123);
	parses_as("2026-12-01 03:19:00.123", 1796095140123);
	parses_as("2026-12-01t03:19:00.123z", 1796095140123);
	parses_as("2026-12-01T03:19", 1796095140000);
	parses_as("1969-12-31T23:59:59.999Z", -1);
	parses_as("1969-12-31T23:59:59Z", -1000);
	parses_as("0000-01-01T00:00:00Z", -62167219200000);
	parses_as("9999-12-31T23:59:59.999Z", 253402300799999);
}
END_TEST

START_TEST(offsets_lead_to_utc)
{
	parses_as("2026-12-01T05:19:00+02:00", 1796095140000);
	parses_as("2026-12-01T05:19:00+0200", 1796095140000);
	parses_as("2026-11-30T21:49:00-05:30", 1796095140000);
	parses_as("2026-12-01T03:19:00-00:00", 1796095140000);
}
END_TEST

START_TEST(fractions_count_as_milliseconds_and_are_cut)
{
	parses_as("1970-01-01T00:00:00.5", 500);
	parses_as("1970-01-01T00:00:00.05", 50);
	parses_as("1970-01-01T00:00:00.0009", 0);
	parses_as("1970-01-01T00:00:00.999999999Z", 999);
}
END_TEST

START_TEST(time_is_written_in_one_width)
{
	formats_as(0, "1970-01-01T00:00:00.000Z");
	formats_as(1796095140123, "2026-12-01T03:19:00.123Z");
	formats_as(-1, "1969-12-31T23:59:59.999Z");
	formats_as(-1000, "1969-12-31T23:59:59.000Z");
	formats_as(-62167219200000, "0000-01-01T00:00:00.000Z");
	formats_as(253402300799999, "9999-12-31T23:59:59.999Z");
}
END_TEST

START_TEST(time_outside_of_four_digit_years_is_clamped)
{
	formats_as(INT64_MIN, "0000-01-01T00:00:00.000Z");
	formats_as(-62167219200001, "0000-01-01T00:00:00.000Z");
	formats_as(253402300800000, "9999-12-31T23:59:59.999Z");
	formats_as(INT64_MAX, "9999-12-31T23:59:59.999Z");
}
END_TEST

START_TEST(text_read_and_written_is_the_same)
{
	/* a step that is no multiple of a day meets all fields */
	for (int64_t ms = -62167219200000; ms < 253402300799999;
	     ms += 86400000LL * 997 + 12345677) {
		char text[CLOCK_TEXT];
		int64_t back;

		clock_format(ms, text);
		ck_assert_uint_eq(strlen(text), CLOCK_TEXT - 1);
		ck_assert(clock_parse(text, &back));
		ck_assert_int_eq(back, ms);
	}
}
END_TEST

START_TEST(clocks_are_plausible)
{
	int64_t now = clock_now_ms(), mono = clock_mono_ms();

	ck_assert_int_gt(now, 1577836800000); /* 2020: milliseconds, not s */
	ck_assert_int_gt(mono, 0);
	ck_assert_int_ge(clock_mono_ms(), mono);
	ck_assert_int_lt(clock_mono_ms() - mono, 60000);
}
END_TEST

HARNESS_MAIN("clock", what_is_no_time_is_refused,
    a_day_that_does_not_exist_is_refused, known_times_are_read,
    offsets_lead_to_utc, fractions_count_as_milliseconds_and_are_cut,
    time_is_written_in_one_width, time_outside_of_four_digit_years_is_clamped,
    text_read_and_written_is_the_same, clocks_are_plausible)
