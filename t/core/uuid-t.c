/* UUIDs: what we make and what we take. */
#include "core/uuid.h"

#include <string.h>

#include "harness.h"

START_TEST(what_is_no_uuid_is_refused)
{
	static const char *const wrong[] = { "",
		"123e4567-e89b-12d3-a456-42661417400",
		"123e4567-e89b-12d3-a456-4266141740000",
		"123e4567e89b12d3a456426614174000",
		"123e4567-e89b-12d3-a456-42661417400g",
		"123e4567-e89b-12d3-a456_426614174000",
		"123e4567-e89b-12d3a-456-426614174000",
		"{23e4567-e89b-12d3-a456-42661417400}",
		" 23e4567-e89b-12d3-a456-426614174000",
		"123e4567-e89b-12d3-a456-42661417400\n" };
	char out[UUID_TEXT] = "untouched";

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		ck_assert_msg(
		    !uuid_parse(wrong[i], out), "\"%s\" is taken", wrong[i]);
	ck_assert_str_eq(out, "untouched");
}
END_TEST

START_TEST(upper_case_becomes_lower_case)
{
	char text[UUID_TEXT] = "123E4567-E89B-12D3-A456-42661417400F";
	char out[UUID_TEXT];

	ck_assert(uuid_parse(text, out));
	ck_assert_str_eq(out, "123e4567-e89b-12d3-a456-42661417400f");
	ck_assert(uuid_parse(text, text));
	ck_assert_str_eq(text, out);
}
END_TEST

START_TEST(made_ones_are_version_4_and_differ)
{
	char a[UUID_TEXT], b[UUID_TEXT], back[UUID_TEXT];

	for (int i = 0; i < 100; i++) {
		uuid_make(a);
		uuid_make(b);
		ck_assert_str_ne(a, b);
		ck_assert_int_eq(a[14], '4');
		ck_assert_ptr_nonnull(strchr("89ab", a[19]));
		ck_assert(uuid_parse(a, back));
		ck_assert_str_eq(back, a);
	}
}
END_TEST

HARNESS_MAIN("uuid", what_is_no_uuid_is_refused, upper_case_becomes_lower_case,
    made_ones_are_version_4_and_differ)
