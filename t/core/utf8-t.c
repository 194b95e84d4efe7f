/* UTF-8: the boundaries of RFC 3629, from both sides. */
#include "core/utf8.h"

#include <string.h>

#include "harness.h"

START_TEST(malformed_bytes_are_refused)
{
	static const char *const wrong[] = { "\x80", "\xbf", "\xc0\x80",
		"\xc1\xbf", "\xc3", "\xc3(", "\xe0\x9f\xbf", "\xe2\x82",
		"\xed\xa0\x80", "\xed\xbf\xbf", "\xf0\x8f\xbf\xbf",
		"\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xf0\x9f\x98", "\xff",
		"\xfe", "\xe2\x82\xac\xac" };

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		ck_assert_msg(!utf8_is_valid(wrong[i], strlen(wrong[i])),
		    "case %zu is taken", i);
}
END_TEST

START_TEST(first_and_last_of_each_length_are_valid)
{
	static const char *const right[] = { "", "\x7f", "\xc2\x80",
		"\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
		"\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf" };

	for (size_t i = 0; i < sizeof right / sizeof *right; i++)
		ck_assert_msg(utf8_is_valid(right[i], strlen(right[i])),
		    "case %zu is refused", i);
}
END_TEST

START_TEST(nul_is_a_character_like_any_other)
{
	ck_assert(utf8_is_valid("a\0b", 3));
	ck_assert_uint_eq(utf8_length("a\0b", 3), 3);
}
END_TEST

START_TEST(prefix_ends_before_the_first_fault)
{
	ck_assert_uint_eq(utf8_valid_prefix("", 0), 0);
	ck_assert_uint_eq(utf8_valid_prefix("ab\xff"
					    "cd",
			      5),
	    2);
	ck_assert_uint_eq(utf8_valid_prefix("\xe2\x82\xac\xe2\x82", 5), 3);
	/* the length given is the end, also in mid-character */
	ck_assert_uint_eq(utf8_valid_prefix("a\xe2\x82\xac", 3), 1);
}
END_TEST

START_TEST(bytes_of_no_character_are_replaced)
{
	static const struct {
		const char *text, *want;
	} cases[] = { { "", "" }, { "a\xc3\xa9", "a\xc3\xa9" },
		{ "\xff", "?" }, { "\xe2\x82", "??" },
		{ "a\xe2\x82\xe2\x82\xac\xac", "a??\xe2\x82\xac?" } };

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char text[16];

		strcpy(text, cases[i].text);
		utf8_repair(text);
		ck_assert_str_eq(text, cases[i].want);
	}
}
END_TEST

START_TEST(characters_are_counted_not_bytes)
{
	ck_assert_uint_eq(utf8_length("", 0), 0);
	ck_assert_uint_eq(utf8_length("a\xc3\xa9\xe2\x82\xac", 6), 3);
	ck_assert_uint_eq(utf8_length("\xf0\x9f\x98\x80", 4), 1);
}
END_TEST

HARNESS_MAIN("utf8", malformed_bytes_are_refused,
    first_and_last_of_each_length_are_valid, nul_is_a_character_like_any_other,
    prefix_ends_before_the_first_fault, bytes_of_no_character_are_replaced,
    characters_are_counted_not_bytes)
