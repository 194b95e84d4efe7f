/*
 * JSON as it comes from outside: checked strictly (core/json_check.h), then
 * built by json-c.
 */
#ifndef CONSPECT_CORE_JSON_H
#define CONSPECT_CORE_JSON_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/json_check.h"

/* Where and why a text is no JSON. */
struct json_fault {
	size_t offset;   /* in characters, not bytes, as JSON decoders count */
	const char *why; /* a constant */
};

/*
 * Parses exactly one JSON text of len bytes; a UTF-8 byte-order mark before
 * it is skipped.  Returns 0 and *value (NULL for the text `null`), which the
 * caller gives back with json_object_put(), or -1 and *fault.
 */
int json_read(const char *text, size_t len, struct json_object **value,
    struct json_fault *fault) __attribute__((nonnull, warn_unused_result));

/* A member, or NULL when it is absent, null or object is no object. */
struct json_object *json_member(struct json_object *object, const char *key);

/* A member that is a string, or NULL; owned by the object. */
const char *json_member_text(struct json_object *object, const char *key);

/* A member that is an integer, or fallback. */
int64_t json_member_int(
    struct json_object *object, const char *key, int64_t fallback);

/* A member that is a boolean, or fallback. */
bool json_member_bool(
    struct json_object *object, const char *key, bool fallback);

/*
 * Adding members: a text (NULL: null), an integer (FIELD_NULL of
 * core/fields.h: null), a boolean, and the value of a JSON text of our own
 * (NULL: null).
 */
void json_add_text(struct json_object *object, const char *key,
    const char *value) __attribute__((nonnull(1, 2)));
void json_add_int(struct json_object *object, const char *key, int64_t value)
    __attribute__((nonnull));
void json_add_bool(struct json_object *object, const char *key, bool value)
    __attribute__((nonnull));
void json_add_json(struct json_object *object, const char *key,
    const char *text) __attribute__((nonnull(1, 2)));

/* The compact text of a value; owned by the value. */
const char *json_text(struct json_object *value);

#endif
