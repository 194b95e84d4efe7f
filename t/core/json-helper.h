/*
 * JSON in tests: written with ' for ", and the faults of a reader as lines
 *
 *	body.target_hosts.h1.0: value is not a valid integer
 *	[type_error.integer]
 *
 * (place, text and type, each fault on one line, in their order).
 */
#ifndef CONSPECT_T_CORE_JSON_HELPER_H
#define CONSPECT_T_CORE_JSON_HELPER_H

#include <stdio.h>
#include <string.h>

#include "core/buf.h"
#include "core/fields.h"
#include "core/mem.h"
#include "harness.h"

/* The value of a text, which the caller puts back. */
static inline struct json_object *
json_of(const char *text)
{
	struct json_fault fault = { 0, "" };
	struct json_object *value = NULL;
	char *copy = mem_copy(text);

	for (char *p = copy; (p = strchr(p, '\'')) != NULL; p++)
		*p = '"';
	ck_assert_msg(json_read(copy, strlen(copy), &value, &fault) == 0,
	    "%s: %s at %zu", copy, fault.why, fault.offset);
	free(copy);
	return value;
}

/* Puts the value back. */
static inline void
json_is(struct json_object *value, const char *text)
{
	struct json_object *wanted = json_of(text);

	ck_assert_msg(json_object_equal(value, wanted), "%s is not %s",
	    json_text(value), json_text(wanted));
	json_object_put(wanted);
	json_object_put(value);
}

static inline void
add_fault_line(struct buf *lines, struct json_object *fault)
{
	struct json_object *loc = json_member(fault, "loc");

	for (size_t i = 0; i < json_object_array_length(loc); i++)
		buf_fmt(lines, "%s%s", i ? "." : "",
		    json_object_get_string(json_object_array_get_idx(loc, i)));
	buf_fmt(lines, ": %s [%s]\n", json_member_text(fault, "msg"),
	    json_member_text(fault, "type"));
}

/* Whether the faults are those; ends them.  `about` is shown if not. */
static inline void
faults_are(struct faults *faults, const char *about, const char *expected)
{
	struct buf lines = BUF_INIT(1000000);
	size_t n = faults->list ? json_object_array_length(faults->list) : 0;

	for (size_t i = 0; i < n; i++)
		add_fault_line(
		    &lines, json_object_array_get_idx(faults->list, i));
	ck_assert_msg(strcmp(buf_text(&lines), expected) == 0,
	    "%s has the faults\n%snot\n%s", about, buf_text(&lines), expected);
	buf_free(&lines);
	faults_free(faults);
}

#endif
