/* Tables of fields: values by kind, and every fault with its place. */
#include "core/fields.h"

#include "core/utf8.h"
#include "json-helper.h"

struct sample {
	const char *text, *name;
	int64_t number, any_number, time;
	bool flag;
	int word;
	/* cppcheck-suppress unusedStructMember ; by its offset in the table */
	int loose;
	/* cppcheck-suppress unusedStructMember ; likewise */
	struct json_object *object;
	struct json_object *list;
};

static const char *const colours[] = { "red", "green", NULL };

#define AT(member) offsetof(struct sample, member)

static const struct field table[] = {
	{ .name = "text", .kind = FIELD_TEXT, .offset = AT(text), .max = 5 },
	{ .name = "name", .kind = FIELD_NAME, .offset = AT(name) },
	{ .name = "number",
	    .kind = FIELD_INTEGER,
	    .flags = FIELD_NULLABLE,
	    .offset = AT(number),
	    .min = 1,
	    .max = 100,
	    .message = "must be positive" },
	{ .name = "any",
	    .kind = FIELD_INTEGER,
	    .offset = AT(any_number),
	    .min = -9000000000000000000,
	    .max = 9000000000000000000 },
	{ .name = "time", .kind = FIELD_TIME, .offset = AT(time) },
	{ .name = "flag", .kind = FIELD_BOOLEAN, .offset = AT(flag) },
	{ .name = "word",
	    .kind = FIELD_WORD,
	    .offset = AT(word),
	    .words = colours,
	    .message = "no colour: %s!" },
	{ .name = "loose",
	    .kind = FIELD_WORD,
	    .flags = FIELD_LOOSE,
	    .offset = AT(loose),
	    .words = colours,
	    .message = "red or green" },
	{ .name = "object", .kind = FIELD_OBJECT, .offset = AT(object) },
	{ .name = "list",
	    .kind = FIELD_LIST,
	    .flags = FIELD_NULLABLE,
	    .offset = AT(list) },
};

/* Reads the body, which the caller puts back, and expects these faults. */
static struct json_object *
read_body(const char *text, struct sample *out, const char *expected)
{
	struct json_object *body = json_of(text);
	struct faults faults = { NULL };
	bool ok =
	    body_read(table, sizeof table / sizeof *table, body, out, &faults);

	ck_assert_msg(ok == !*expected, "%s", text);
	faults_are(&faults, text, expected);
	return body;
}

static void
body_has(const char *text, const char *expected)
{
	struct sample out = { .word = 0 };

	json_object_put(read_body(text, &out, expected));
}

START_TEST(what_counts_as_an_integer)
{
	static const struct {
		const char *text;
		int64_t value;
	} right[] = { { "12", 12 }, { "12.0", 12 }, { "'12'", 12 },
		{ "'+12'", 12 }, { "'-012'", -12 }, { "1e3", 1000 },
		{ "-1e3", -1000 }, { "9007199254740992", 9007199254740992 },
		{ "9007199254740992.0", 9007199254740992 } };

	for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
		struct sample out = { .any_number = 0 };
		char *body = mem_fmt("{'any':%s}", right[i].text);

		json_object_put(read_body(body, &out, ""));
		ck_assert_int_eq(out.any_number, right[i].value);
		free(body);
	}
}
END_TEST

START_TEST(what_is_no_integer)
{
	static const char *const wrong[] = { "1.9", "true", "false", "''",
		"'abc'", "' 12'", "'12 '", "'1.0'", "'0x10'", "'+'", "'--1'",
		"'1-'", "'+-1'", "[1]", "{}", "'\\u0661'", "1e-3" };

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		char *body = mem_fmt("{'any':%s}", wrong[i]);

		body_has(body, "body.any: value is not a valid integer "
			       "[type_error.integer]\n");
		free(body);
	}
}
END_TEST

START_TEST(integers_beyond_the_bounds_are_out_of_range)
{
	static const char *const large[] = { "101", "'101'", "1e300",
		"9223372036854775807", "1e400",
		"'99999999999999999999999999'" };
	static const char *const small[] = { "0", "-1", "-1e300", "'0'",
		"-9223372036854775808", "'-99999999999999999999'" };

	for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
		char *body = mem_fmt("{'number':%s}", large[i]);

		body_has(body,
		    "body.number: out of range: must be from 1 to 100 "
		    "[value_error]\n");
		free(body);
		body = mem_fmt("{'number':%s}", small[i]);
		body_has(
		    body, "body.number: must be positive [value_error]\n");
		free(body);
	}
}
END_TEST

START_TEST(bounds_themselves_are_taken)
{
	struct sample out = { .number = 0 };

	json_object_put(read_body("{'number':1}", &out, ""));
	ck_assert_int_eq(out.number, 1);
	json_object_put(read_body("{'number':100}", &out, ""));
	ck_assert_int_eq(out.number, 100);
}
END_TEST

START_TEST(what_counts_as_a_boolean)
{
	static const char *const words[][2] = { { "false", "true" },
		{ "0", "1" }, { "'no'", "'YES'" }, { "'off'", "'On'" },
		{ "'0'", "'1'" }, { "'F'", "'t'" }, { "'n'", "'Y'" },
		{ "0.0", "1.0" }, { "'False'", "'TRUE'" } };

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		for (int v = 0; v < 2; v++) {
			struct sample out = { .flag = !v };
			char *body = mem_fmt("{'flag':%s}", words[i][v]);

			json_object_put(read_body(body, &out, ""));
			ck_assert_msg(out.flag == v, "%s", body);
			free(body);
		}
}
END_TEST

START_TEST(what_is_no_boolean)
{
	static const char *const wrong[] = { "2", "-1", "0.5", "''", "'maybe'",
		"'2'", "[]", "{}", "'yes '" };

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		char *body = mem_fmt("{'flag':%s}", wrong[i]);

		body_has(body,
		    "body.flag: value could not be parsed to a boolean "
		    "[type_error.bool]\n");
		free(body);
	}
}
END_TEST

START_TEST(times_are_texts_or_numbers)
{
	static const struct {
		const char *text;
		int64_t ms;
	} right[] = { { "'2026-01-02T03:04:05+02:00'", 1767315845000 },
		{ "'2026-01-02T03:04:05'", 1767323045000 },
		{ "'2026-01-02 03:04:05.25Z'", 1767323045250 },
		{ "1767322800", 1767322800000 }, { "0", 0 },
		{ "'1767322800'", 1767322800000 },
		{ "1767322800000", 1767322800000 },
		{ "20000000000", 20000000000000 },
		{ "20000000001", 20000000001 } };

	for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
		struct sample out = { .time = -1 };
		char *body = mem_fmt("{'time':%s}", right[i].text);

		json_object_put(read_body(body, &out, ""));
		ck_assert_msg(out.time == right[i].ms, "%s: %lld", body,
		    (long long)out.time);
		free(body);
	}
}
END_TEST

START_TEST(what_is_no_time)
{
	static const char *const wrong[] = { "'2026-01-02'", "''", "'now'",
		"'2026-02-30T00:00:00Z'", "-1", "true", "[]", "{}",
		"'2026-01-02T25:00:00Z'" };

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		char *body = mem_fmt("{'time':%s}", wrong[i]);

		body_has(body, "body.time: invalid datetime format "
			       "[value_error.datetime]\n");
		free(body);
	}
}
END_TEST

START_TEST(a_name_is_bounded_and_has_no_controls)
{
	char name[NAME_BYTES_MAX + 2], *body;
	struct sample out = { .name = NULL };
	struct json_object *value;

	memset(name, 'n', sizeof name);
	name[NAME_BYTES_MAX] = '\0';
	body = mem_fmt("{'name':'%s'}", name);
	value = read_body(body, &out, "");
	ck_assert_str_eq(out.name, name);
	json_object_put(value);
	free(body);
	body = mem_fmt("{'name':'%sx'}", name);
	body_has(body, "body.name: name must not be longer than 255 bytes "
		       "[value_error]\n");
	free(body);
	body_has("{'name':''}",
	    "body.name: name must not be empty [value_error]\n");
	body_has("{'name':'a\\tb'}",
	    "body.name: name must not contain control characters "
	    "[value_error]\n");
	body_has("{'name':'a\x7f'}",
	    "body.name: name must not contain control characters "
	    "[value_error]\n");
}
END_TEST

START_TEST(a_nul_in_a_text_is_refused)
{
	struct json_object *body = json_object_new_object();
	struct faults faults = { NULL };
	struct sample out;

	/* the parser refuses it already; the table does not rely on that */
	json_object_object_add(
	    body, "text", json_object_new_string_len("a\0b", 3));
	json_object_object_add(
	    body, "name", json_object_new_string_len("a\0b", 3));
	ck_assert(!body_read(table, 2, body, &out, &faults));
	faults_are(&faults, "NUL",
	    "body.text: text must not contain NUL characters [value_error]\n"
	    "body.name: name must not contain control characters "
	    "[value_error]\n");
	json_object_put(body);
}
END_TEST

START_TEST(texts_words_and_containers_keep_their_types)
{
	body_has("{'text':5,'name':[],'word':true,'loose':7,'object':[],"
		 "'list':{}}",
	    "body.text: str type expected [type_error.str]\n"
	    "body.name: str type expected [type_error.str]\n"
	    "body.word: str type expected [type_error.str]\n"
	    "body.loose: red or green [value_error]\n"
	    "body.object: value is not a valid dict [type_error.dict]\n"
	    "body.list: value is not a valid list [type_error.list]\n");
	body_has("{'text':'123456','word':'blue','loose':'Red'}",
	    "body.text: text must not be longer than 5 bytes [value_error]\n"
	    "body.word: no colour: blue! [value_error]\n"
	    "body.loose: red or green [value_error]\n");
}
END_TEST

START_TEST(null_counts_only_where_it_may)
{
	struct sample out = { .number = 7, .list = NULL };

	json_object_put(read_body("{'number':null,'list':null}", &out, ""));
	ck_assert_int_eq(out.number, FIELD_NULL);
	ck_assert_ptr_null(out.list);
	body_has("{'text':null,'flag':null,'loose':null}",
	    "body.text: none is not an allowed value "
	    "[type_error.none.not_allowed]\n"
	    "body.flag: none is not an allowed value "
	    "[type_error.none.not_allowed]\n"
	    "body.loose: red or green [value_error]\n");
}
END_TEST

START_TEST(absent_members_keep_the_default_and_unknown_ones_pass)
{
	struct sample out = { .number = 60, .word = 1, .text = "default" };

	json_object_put(read_body("{'unknown':[1,{}],'flag':1}", &out, ""));
	ck_assert_int_eq(out.number, 60);
	ck_assert_int_eq(out.word, 1);
	ck_assert_str_eq(out.text, "default");
	ck_assert(out.flag);
}
END_TEST

START_TEST(a_body_is_an_object)
{
	body_has("null", "body: field required [value_error.missing]\n");
	body_has("[]", "");
	body_has("[1]", "body: value is not a valid dict [type_error.dict]\n");
	body_has("'x'", "body: value is not a valid dict [type_error.dict]\n");
	body_has("5", "body: value is not a valid dict [type_error.dict]\n");
}
END_TEST

START_TEST(at_most_a_hundred_faults_are_kept)
{
	struct place at = { NULL, "body", 0 };
	struct faults faults = { NULL };

	for (int i = 0; i < 1000; i++)
		fault_add(&faults, &at, FAULT_VALUE, "%d", i);
	ck_assert_uint_eq(json_object_array_length(faults.list), 100);
	faults_free(&faults);
}
END_TEST

START_TEST(a_fault_of_the_json_stands_alone)
{
	struct json_fault fault = { 22, "the text ends too early" };
	struct place at = { NULL, "body", 0 };
	struct faults faults = { NULL };

	fault_add(&faults, &at, FAULT_VALUE, "earlier");
	fault_json(&faults, &fault);
	json_is(faults_take(&faults),
	    "{'detail':[{'loc':['body',22],'msg':'JSON decode error',"
	    "'type':'json_invalid','input':{},"
	    "'ctx':{'error':'the text ends too early'}}]}");
	ck_assert_ptr_null(faults.list);
}
END_TEST

START_TEST(a_long_text_is_not_cut_inside_of_a_character)
{
	struct place at = { NULL, "body", 0 };

	for (int shift = 0; shift < 4; shift++) {
		struct buf text = BUF_INIT(10000);
		struct faults faults = { NULL };
		const char *msg;

		for (int i = 0; i < shift; i++)
			buf_chr(&text, 'x');
		for (int i = 0; i < 400; i++)
			buf_str(&text, "\xf0\x9f\x98\x80");
		fault_add(
		    &faults, &at, FAULT_VALUE, "\"%s\"", buf_text(&text));
		msg = json_member_text(
		    json_object_array_get_idx(faults.list, 0), "msg");
		ck_assert_uint_gt(strlen(msg), 1000);
		ck_assert(utf8_is_valid(msg, strlen(msg)));
		faults_free(&faults);
		buf_free(&text);
	}
}
END_TEST

HARNESS_MAIN("fields", what_counts_as_an_integer, what_is_no_integer,
    integers_beyond_the_bounds_are_out_of_range, bounds_themselves_are_taken,
    what_counts_as_a_boolean, what_is_no_boolean, times_are_texts_or_numbers,
    what_is_no_time, a_name_is_bounded_and_has_no_controls,
    a_nul_in_a_text_is_refused, texts_words_and_containers_keep_their_types,
    null_counts_only_where_it_may,
    absent_members_keep_the_default_and_unknown_ones_pass, a_body_is_an_object,
    at_most_a_hundred_faults_are_kept, a_fault_of_the_json_stands_alone,
    a_long_text_is_not_cut_inside_of_a_character)
