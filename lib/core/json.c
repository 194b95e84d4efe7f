#include "core/json.h"

#include "core/fields.h"
#include "core/utf8.h"

#include <limits.h>
#include <string.h>

static const char UTF8_BOM[] = "\xef\xbb\xbf";

/*
 * Builds the value of a text that json_check() has passed.  Returns 0, or -1
 * where json-c does not agree with it.
 */
static int
build(const char *text, const char *end, struct json_object **value)
{
	struct json_tokener *tok = json_tokener_new_ex(JSON_DEPTH_MAX + 1);
	enum json_tokener_error error;

	if (!tok)
		return -1;
	*value = json_tokener_parse_ex(tok, text, (int)(end - text));
	/* a number at the end may go on, as far as json-c knows */
	if (json_tokener_get_error(tok) == json_tokener_continue)
		*value = json_tokener_parse_ex(tok, "", 1);
	error = json_tokener_get_error(tok);
	json_tokener_free(tok);
	return error == json_tokener_success ? 0 : -1;
}

int
json_read(const char *text, size_t len, struct json_object **value,
    struct json_fault *fault)
{
	const char *end = text + len, *bad;

	*value = NULL;
	if (len >= 3 && memcmp(text, UTF8_BOM, 3) == 0)
		text += 3;
	if (len > INT_MAX) {
		fault->offset = 0;
		fault->why = "too long";
		return -1;
	}
	bad = json_check(text, end, &fault->why);
	if (bad) {
		fault->offset = utf8_length(text, (size_t)(bad - text));
		return -1;
	}
	/* else a text that json-c cannot take would pass for `null` */
	if (build(text, end, value) != 0) {
		fault->offset = 0;
		fault->why = "not JSON";
		return -1;
	}
	return 0;
}

struct json_object *
json_member(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	if (!json_object_is_type(object, json_type_object))
		return NULL;
	(void)json_object_object_get_ex(object, key, &value);
	return value;
}

const char *
json_member_text(struct json_object *object, const char *key)
{
	struct json_object *value = json_member(object, key);

	return json_object_is_type(value, json_type_string)
		   ? json_object_get_string(value)
		   : NULL;
}

int64_t
json_member_int(struct json_object *object, const char *key, int64_t fallback)
{
	struct json_object *value = json_member(object, key);

	return json_object_is_type(value, json_type_int)
		   ? json_object_get_int64(value)
		   : fallback;
}

bool
json_member_bool(struct json_object *object, const char *key, bool fallback)
{
	struct json_object *value = json_member(object, key);

	return json_object_is_type(value, json_type_boolean)
		   ? json_object_get_boolean(value)
		   : fallback;
}

void
json_add_text(struct json_object *object, const char *key, const char *value)
{
	json_object_object_add(
	    object, key, value ? json_object_new_string(value) : NULL);
}

void
json_add_int(struct json_object *object, const char *key, int64_t value)
{
	json_object_object_add(object, key,
	    value == FIELD_NULL ? NULL : json_object_new_int64(value));
}

void
json_add_bool(struct json_object *object, const char *key, bool value)
{
	json_object_object_add(object, key, json_object_new_boolean(value));
}

void
json_add_json(struct json_object *object, const char *key, const char *text)
{
	json_object_object_add(
	    object, key, text ? json_tokener_parse(text) : NULL);
}

const char *
json_text(struct json_object *value)
{
	return json_object_to_json_string_ext(
	    value, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
}
