/* Forms and queries: what is refused, and what is decoded to what. */
#include "web/web.h"

#include "core/mem.h"

#include <string.h>

#include "harness.h"

static struct params
read_ok(const char *text)
{
	struct params p;
	struct reason why = { "" };

	ck_assert_msg(params_read(&p, text, strlen(text), &why) == 0, "%s: %s",
	    text, why.text);
	return p;
}

static void
refused(const char *text, size_t len, const char *why_part)
{
	struct params p;
	struct reason why = { "" };

	ck_assert_msg(
	    params_read(&p, text, len, &why) == -1, "%s is taken", text);
	ck_assert_msg(
	    strstr(why.text, why_part) != NULL, "%s: %s", text, why.text);
	params_free(&p);
}

START_TEST(bad_escapes_are_refused)
{
	static const char *const wrong[] = { "a=%", "a=%4", "a=%4g", "a=%g4",
		"%=1", "a=1&b=%%41", "a=%-1", "a=% 41" };

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		refused(wrong[i], strlen(wrong[i]), "percent-encoding");
}
END_TEST

START_TEST(a_nul_is_refused)
{
	refused("a=1\0&b=2", 8, "holds a NUL");
	refused("\0", 1, "holds a NUL");
	refused("a=%00", 5, "percent-encoding");
	refused("a%00b=1", 7, "percent-encoding");
}
END_TEST

START_TEST(what_is_not_utf8_is_refused_with_its_number)
{
	refused("a=%ff", 5, "member 1 ");
	refused("a=1&b=2&%c3=1", 13, "member 3 ");
	refused("a=\xff", 3, "member 1 ");
	/* overlong, a surrogate, past the last character */
	refused("a=%c0%af", 8, "not UTF-8");
	refused("a=%ed%a0%80", 11, "not UTF-8");
	refused("a=%f4%90%80%80", 14, "not UTF-8");
}
END_TEST

/* n members "a=". */
static char *
members(size_t n)
{
	char *text = mem_alloc(3 * n + 1, 1);

	for (size_t i = 0; i < n; i++)
		memcpy(text + 3 * i, "a=&", 3);
	return text;
}

START_TEST(as_many_as_allowed_and_no_more)
{
	char *text = members(PARAMS_MAX);
	struct params p = read_ok(text);

	ck_assert_uint_eq(p.n, PARAMS_MAX);
	params_free(&p);
	free(text);
	text = members(PARAMS_MAX + 1);
	refused(text, strlen(text), "more than 20000 members");
	free(text);
}
END_TEST

START_TEST(names_and_values_are_decoded)
{
	static const struct {
		const char *text, *name, *value;
	} right[] = {
		{ "a=1", "a", "1" },
		{ "a+b=c+d", "a b", "c d" },
		{ "%61%3D=%26%2b%25", "a=", "&+%" },
		{ "a=%C3%A9%e2%82%ac", "a", "\xc3\xa9\xe2\x82\xac" },
		{ "a=b=c", "a", "b=c" },
		{ "a=", "a", "" },
		{ "a", "a", "" },
		{ "=b", "", "b" },
		{ "a=%0a%0d", "a", "\n\r" },
		{ "a=%253C", "a", "%3C" },
	};

	for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
		struct params p = read_ok(right[i].text);

		ck_assert_uint_eq(p.n, 1);
		ck_assert_str_eq(p.list[0].name, right[i].name);
		ck_assert_str_eq(p.list[0].value, right[i].value);
		params_free(&p);
	}
}
END_TEST

START_TEST(order_is_kept_and_the_first_of_a_name_is_got)
{
	struct params p = read_ok("b=2&&a=1&b=3&");

	ck_assert_uint_eq(p.n, 3);
	ck_assert_str_eq(p.list[0].name, "b");
	ck_assert_str_eq(p.list[1].name, "a");
	ck_assert_str_eq(p.list[2].value, "3");
	ck_assert_str_eq(params_get(&p, "b"), "2");
	ck_assert_str_eq(params_get(&p, "a"), "1");
	ck_assert_ptr_null(params_get(&p, "B"));
	ck_assert_ptr_null(params_get(&p, ""));
	params_free(&p);
}
END_TEST

START_TEST(nothing_is_no_member)
{
	static const char *const empty[] = { "", "&", "&&&" };

	for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
		struct params p = read_ok(empty[i]);

		ck_assert_uint_eq(p.n, 0);
		ck_assert_ptr_null(params_get(&p, "a"));
		params_free(&p);
	}
}
END_TEST

START_TEST(only_the_length_given_is_read)
{
	struct params p;
	struct reason why;

	ck_assert_int_eq(params_read(&p, "a=12&b=3", 3, &why), 0);
	ck_assert_uint_eq(p.n, 1);
	ck_assert_str_eq(p.list[0].value, "1");
	params_free(&p);
}
END_TEST

HARNESS_MAIN("params", bad_escapes_are_refused, a_nul_is_refused,
    what_is_not_utf8_is_refused_with_its_number,
    as_many_as_allowed_and_no_more, names_and_values_are_decoded,
    order_is_kept_and_the_first_of_a_name_is_got, nothing_is_no_member,
    only_the_length_given_is_read)
