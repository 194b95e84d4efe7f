/* Names that a result file may have. */
#include "core/result.h"

#include "harness.h"

#include <string.h>

START_TEST(plain_names_are_taken)
{
	static const char *const right[] = { "a", "a.csv", "a b",
		"spr-host-01_metrics_summary.csv", "profile_12:00:01.col",
		"a..", "a\\b", "%2f", "\"'<>&;", "\xc3\xa4.html",
		"\xf0\x9f\x94\xa5", "-rf", "~", "\xc2\xa0" };

	for (size_t i = 0; i < sizeof right / sizeof *right; i++)
		ck_assert_msg(result_name_ok(right[i]), "%s", right[i]);
}
END_TEST

START_TEST(other_names_are_not)
{
	static const char *const wrong[] = { "", ".", "..", ".a", "...", "/",
		"a/b", "/a", "a/", "a\n", "\x01", "\x1f", "a\x7f", "\xc2\x80",
		"a\xc2\x9f", "\xff", "\xc3", "a\xe2\x82", "\xc0\xaf",
		"\xed\xa0\x80" };

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		ck_assert_msg(!result_name_ok(wrong[i]), "%zu", i);
}
END_TEST

START_TEST(a_name_has_255_bytes_at_most)
{
	char name[RESULT_NAME_MAX + 2];

	memset(name, 'a', sizeof name);
	name[RESULT_NAME_MAX] = '\0';
	ck_assert(result_name_ok(name));
	name[RESULT_NAME_MAX] = 'a';
	name[RESULT_NAME_MAX + 1] = '\0';
	ck_assert(!result_name_ok(name));
}
END_TEST

HARNESS_MAIN("result", plain_names_are_taken, other_names_are_not,
    a_name_has_255_bytes_at_most)
