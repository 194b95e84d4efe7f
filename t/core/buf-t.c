/* Buffers: growth, the bound, and what stays after it was met. */
#include "core/buf.h"

#include <string.h>

#include "harness.h"

START_TEST(empty_buffer_reads_as_empty_text)
{
	struct buf b = BUF_INIT(10);

	ck_assert_str_eq(buf_text(&b), "");
	buf_add(&b, NULL, 0);
	ck_assert_str_eq(buf_text(&b), "");
	ck_assert(!b.full);
	buf_free(&b);
}
END_TEST

START_TEST(text_is_composed_in_order)
{
	struct buf b = BUF_INIT(100);

	buf_str(&b, "one");
	buf_chr(&b, ',');
	buf_fmt(&b, "%d%s", 2, "!");
	buf_add(&b, "\0x", 2);
	ck_assert_uint_eq(b.len, 8);
	ck_assert_mem_eq(b.data, "one,2!\0x", 9);
	buf_free(&b);
}
END_TEST

START_TEST(bound_itself_fits)
{
	struct buf b = BUF_INIT(4);

	buf_str(&b, "abcd");
	ck_assert(!b.full);
	ck_assert_str_eq(buf_text(&b), "abcd");
	buf_free(&b);
}
END_TEST

START_TEST(one_past_the_bound_adds_nothing_ever_after)
{
	struct buf b = BUF_INIT(4);

	buf_str(&b, "ab");
	buf_str(&b, "cde");
	ck_assert(b.full);
	ck_assert_str_eq(buf_text(&b), "ab");
	/* would fit, but a text with a hole in it is worse than a short one */
	buf_chr(&b, 'x');
	buf_fmt(&b, "%s", "y");
	ck_assert_str_eq(buf_text(&b), "ab");
	buf_free(&b);
}
END_TEST

START_TEST(formatted_text_meets_the_same_bound)
{
	struct buf b = BUF_INIT(4);

	buf_fmt(&b, "%s", "12345");
	ck_assert(b.full);
	ck_assert_uint_eq(b.len, 0);
	buf_clear(&b);
	ck_assert(!b.full);
	buf_fmt(&b, "%s", "1234");
	ck_assert_str_eq(buf_text(&b), "1234");
	buf_free(&b);
}
END_TEST

START_TEST(text_that_cannot_be_formatted_counts_as_not_fitting)
{
	struct buf b = BUF_INIT(1000);
	wchar_t wrong[] = { 0xd800, 0 }; /* has no multibyte form */

	buf_fmt(&b, "%ls", wrong);
	ck_assert(b.full);
	ck_assert_str_eq(buf_text(&b), "");
	buf_free(&b);
}
END_TEST

START_TEST(growth_keeps_what_was_there)
{
	struct buf b = BUF_INIT(100000);

	for (int i = 0; i < 20000; i++)
		buf_fmt(&b, "%04d,", i % 10000);
	ck_assert(!b.full);
	ck_assert_uint_eq(b.len, 100000);
	ck_assert_int_eq(strncmp(b.data, "0000,0001,", 10), 0);
	ck_assert_str_eq(b.data + b.len - 10, "9998,9999,");
	buf_free(&b);
}
END_TEST

START_TEST(freed_buffer_can_be_used_again)
{
	struct buf b = BUF_INIT(8);

	buf_str(&b, "123456789");
	buf_free(&b);
	ck_assert_str_eq(buf_text(&b), "");
	buf_str(&b, "again");
	ck_assert_str_eq(buf_text(&b), "again");
	buf_free(&b);
}
END_TEST

HARNESS_MAIN("buf", empty_buffer_reads_as_empty_text,
    text_is_composed_in_order, bound_itself_fits,
    one_past_the_bound_adds_nothing_ever_after,
    formatted_text_meets_the_same_bound,
    text_that_cannot_be_formatted_counts_as_not_fitting,
    growth_keeps_what_was_there, freed_buffer_can_be_used_again)
