/* JSON: the grammar, the places of faults, and members by type. */
#include "core/json.h"

#include <string.h>

#include "harness.h"

static struct json_object *
read_ok(const char *text)
{
	struct json_object *value;
	struct json_fault fault = { 0, "" };

	ck_assert_msg(json_read(text, strlen(text), &value, &fault) == 0,
	    "%s: %s at %zu", text, fault.why, fault.offset);
	return value;
}

static void
refused(const char *text, size_t len, size_t offset, const char *why)
{
	struct json_object *value;
	struct json_fault fault;

	ck_assert_msg(json_read(text, len, &value, &fault) == -1,
	    "%s is taken as %s", text, json_text(value));
	ck_assert_ptr_null(value);
	ck_assert_msg(fault.offset == offset, "%s: at %zu, not %zu: %s", text,
	    fault.offset, offset, fault.why);
	ck_assert_str_eq(fault.why, why);
}

START_TEST(faults_are_refused_with_their_place)
{
	static const struct {
		const char *text;
		size_t offset;
		const char *why;
	} wrong[] = {
		{ "", 0, "the text ends too early" },
		{ "  ", 2, "the text ends too early" },
		{ "{\"a\":1", 6, "the text ends too early" },
		{ "\"a", 0, "the text ends too early" },
		{ "[1,", 3, "the text ends too early" },
		{ "[\"a\\", 1, "the text ends too early" },
		{ "[\"\\u12", 3, "the text ends too early" },
		{ "[\"\\ud800\\u1x\"]", 9, "\\u needs four hex digits" },
		{ "tru", 0, "the text ends too early" },
		{ "truth", 0, "not JSON" },
		{ "{'a':1}", 1, "a member needs a name in double quotes" },
		{ "{\"a\":1,}", 7, "a member needs a name in double quotes" },
		{ "{\"a\" 1}", 5, "a colon must follow a member's name" },
		{ "[1 2]", 3, "a comma or the closing bracket is missing" },
		{ "[1,]", 3, "not JSON" },
		{ "[1.]", 2, "digits must follow the point" },
		{ "[1e]", 2, "digits must follow the exponent" },
		{ "[1e+]", 2, "digits must follow the exponent" },
		{ "[.5]", 1, "not JSON" },
		{ "[+5]", 1, "not JSON" },
		{ "[-]", 1, "not JSON" },
		{ "[NaN]", 1, "not JSON" },
		{ "[01]", 2, "a number must not begin with 0" },
		{ "[-00]", 3, "a number must not begin with 0" },
		{ "9223372036854775808", 0, "number out of range" },
		{ "[-9223372036854775809]", 2, "number out of range" },
		{ "\"a\nb\"", 2, "control character in a string" },
		{ "\"\\x\"", 1, "unknown escape in a string" },
		{ "\"\\u12g4\"", 2, "\\u needs four hex digits" },
		{ "\"\\ud800\"", 7, "lone surrogate: not valid Unicode" },
		{ "\"\\udc00\"", 7, "lone surrogate: not valid Unicode" },
		{ "\"\\u0000\"", 7, "NUL character in a string" },
		{ "{\"a\\u0000b\":1}", 9, "NUL character in a string" },
		{ "1 2", 2, "something follows the JSON text" },
		{ "{}x", 2, "something follows the JSON text" },
		{ "// c\n1", 0, "not JSON" },
		/* characters are counted, not bytes */
		{ "[\"\xc3\xa9\",x]", 5, "not JSON" },
		{ "[\"\xc3\xa9\",\"\xc3\"]", 6, "not valid UTF-8" },
	};

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		refused(wrong[i].text, strlen(wrong[i].text), wrong[i].offset,
		    wrong[i].why);
}
END_TEST

START_TEST(a_nul_byte_is_no_end_of_text)
{
	refused("1\0", 2, 1, "something follows the JSON text");
	refused("\"a\0b\"", 5, 2, "control character in a string");
}
END_TEST

/* depth times '[', then as many ']'. */
static void
nested(char *text, size_t depth)
{
	memset(text, '[', depth);
	memset(text + depth, ']', depth);
	text[2 * depth] = '\0';
}

START_TEST(depth_is_bounded)
{
	char text[2 * 40 + 1];
	struct json_object *value;

	nested(text, JSON_DEPTH_MAX);
	value = read_ok(text);
	ck_assert_str_eq(json_text(value), text);
	json_object_put(value);
	nested(text, JSON_DEPTH_MAX + 1);
	refused(text, strlen(text), JSON_DEPTH_MAX + 1,
	    "nested deeper than 32 levels");
}
END_TEST

START_TEST(texts_are_read_and_written_unchanged)
{
	static const char *const right[] = { "null", "true", "false", "0",
		"-0", "-1", "9223372036854775807", "-9223372036854775808",
		"1.5", "1e400", "1E-3", "0.1", "\"\"", "\"a/b\"",
		"\"\xc3\xa9\xf0\x9f\x98\x80\"", "[]", "{}",
		"[1,\"b\",null,{\"c\":[true]}]", "\"\\\"\\\\\\n\"" };

	for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
		struct json_object *value = read_ok(right[i]);

		if (strcmp(right[i], "-0") != 0)
			ck_assert_str_eq(json_text(value), right[i]);
		json_object_put(value);
	}
}
END_TEST

START_TEST(escapes_become_characters)
{
	struct json_object *value =
	    read_ok("\"\\u00e9\\ud83d\\ude00\\/\\t\\u0001\"");

	ck_assert_str_eq(
	    json_object_get_string(value), "\xc3\xa9\xf0\x9f\x98\x80/\t\x01");
	json_object_put(value);
}
END_TEST

START_TEST(a_byte_order_mark_and_space_are_skipped)
{
	struct json_object *value = read_ok("\xef\xbb\xbf \t\r\n[1] \n");

	ck_assert_str_eq(json_text(value), "[1]");
	json_object_put(value);
	refused("\xef\xbb\xbf{x", 5, 1,
	    "a member needs a name in double "
	    "quotes");
}
END_TEST

START_TEST(the_last_of_two_members_counts)
{
	struct json_object *value = read_ok("{\"a\":1,\"a\":2}");

	ck_assert_int_eq(json_member_int(value, "a", 0), 2);
	json_object_put(value);
}
END_TEST

START_TEST(members_are_had_by_type_only)
{
	struct json_object *o =
	    read_ok("{\"t\":\"x\",\"i\":7,\"b\":true,\"n\":null,\"d\":1.0}");
	struct json_object *list = read_ok("[1]");

	ck_assert_str_eq(json_member_text(o, "t"), "x");
	ck_assert_ptr_null(json_member_text(o, "i"));
	ck_assert_ptr_null(json_member_text(o, "n"));
	ck_assert_ptr_null(json_member_text(o, "none"));
	ck_assert_int_eq(json_member_int(o, "i", -5), 7);
	ck_assert_int_eq(json_member_int(o, "d", -5), -5);
	ck_assert_int_eq(json_member_int(o, "t", -5), -5);
	ck_assert_int_eq(json_member_int(o, "b", -5), -5);
	ck_assert(json_member_bool(o, "b", false));
	ck_assert(json_member_bool(o, "i", true));
	ck_assert(!json_member_bool(o, "i", false));
	ck_assert_ptr_null(json_member(list, "t"));
	ck_assert_ptr_null(json_member(NULL, "t"));
	ck_assert_str_eq(json_text(NULL), "null");
	json_object_put(list);
	json_object_put(o);
}
END_TEST

HARNESS_MAIN("json", faults_are_refused_with_their_place,
    a_nul_byte_is_no_end_of_text, depth_is_bounded,
    texts_are_read_and_written_unchanged, escapes_become_characters,
    a_byte_order_mark_and_space_are_skipped, the_last_of_two_members_counts,
    members_are_had_by_type_only)
