/* Reasons: a bounded text that is never cut inside of a character. */
#include "core/reason.h"

#include <string.h>

#include "core/utf8.h"
#include "harness.h"

#define ROOM (REASON_BYTES - 1)

/* n times 'x', then tail. */
static void
long_text(char *text, size_t n, const char *tail)
{
	memset(text, 'x', n);
	strcpy(text + n, tail);
}

START_TEST(setting_one_is_a_failure)
{
	struct reason why = { "" };

	ck_assert_int_eq(reason_set(&why, "%s: %d", "port", 80), -1);
	ck_assert_str_eq(why.text, "port: 80");
}
END_TEST

START_TEST(a_text_that_just_fits_is_whole)
{
	struct reason why;
	char text[2 * REASON_BYTES];

	long_text(text, ROOM - 2, "\xc3\xa9");
	(void)reason_set(&why, "%s", text);
	ck_assert_str_eq(why.text, text);
}
END_TEST

START_TEST(a_character_over_the_end_is_dropped_whole)
{
	static const char *const tails[] = { "\xc3\xa9", "\xe2\x82\xac",
		"\xf0\x9f\x98\x80" };

	for (size_t i = 0; i < sizeof tails / sizeof *tails; i++)
		for (size_t in = 1; in < strlen(tails[i]); in++) {
			struct reason why;
			char text[2 * REASON_BYTES];

			long_text(text, ROOM - in, tails[i]);
			(void)reason_set(&why, "%s", text);
			ck_assert_uint_eq(strlen(why.text), ROOM - in);
			ck_assert(utf8_is_valid(why.text, ROOM - in));
		}
}
END_TEST

START_TEST(a_whole_character_before_the_cut_stays)
{
	struct reason why;
	char text[2 * REASON_BYTES];

	long_text(text, ROOM - 3,
	    "\xe2\x82\xac"
	    "more");
	(void)reason_set(&why, "%s", text);
	ck_assert_uint_eq(strlen(why.text), ROOM);
	ck_assert_str_eq(why.text + ROOM - 3, "\xe2\x82\xac");
	long_text(text, ROOM + 5, "");
	(void)reason_set(&why, "%s", text);
	ck_assert_uint_eq(strlen(why.text), ROOM);
}
END_TEST

START_TEST(what_is_no_text_is_replaced)
{
	struct reason why;

	/* a value that was cut in a character, and one that never was any */
	(void)reason_set(&why, "not %.2s, %s", "\xe2\x82\xac", "\xff");
	ck_assert_str_eq(why.text, "not ??, ?");
}
END_TEST

START_TEST(a_reason_can_be_put_before_itself)
{
	struct reason why;

	(void)reason_set(&why, "no such file");
	(void)reason_set(&why, "%s: %s", "/etc/x", why.text);
	ck_assert_str_eq(why.text, "/etc/x: no such file");
}
END_TEST

HARNESS_MAIN("reason", setting_one_is_a_failure,
    a_text_that_just_fits_is_whole, a_character_over_the_end_is_dropped_whole,
    a_whole_character_before_the_cut_stays, what_is_no_text_is_replaced,
    a_reason_can_be_put_before_itself)
