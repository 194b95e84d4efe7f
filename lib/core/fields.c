#include "core/fields.h"

#include "core/clock.h"
#include "core/mem.h"
#include "core/utf8.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A body with more faults than this is not worth describing further. */
#define FAULTS_MAX 100

static void
add_place(struct json_object *loc, const struct place *at)
{
	if (at->in)
		add_place(loc, at->in);
	json_object_array_add(
	    loc, at->key ? json_object_new_string(at->key)
			 : json_object_new_int64((int64_t)at->index));
}

static struct json_object *
fault_of(struct json_object *loc, const char *type, const char *msg)
{
	struct json_object *fault = json_object_new_object();

	json_object_object_add(fault, "loc", loc);
	json_object_object_add(fault, "msg", json_object_new_string(msg));
	json_object_object_add(fault, "type", json_object_new_string(type));
	return fault;
}

static void
append(struct faults *faults, struct json_object *fault)
{
	if (!faults->list)
		faults->list = json_object_new_array();
	if (json_object_array_length(faults->list) < FAULTS_MAX)
		json_object_array_add(faults->list, fault);
	else
		json_object_put(fault);
}

void
fault_add(struct faults *faults, const struct place *at, const char *type,
    const char *format, ...)
{
	struct json_object *loc = json_object_new_array();
	char msg[1024];
	va_list ap;

	va_start(ap, format);
	if (vsnprintf(msg, sizeof msg, format, ap) >= (int)sizeof msg)
		msg[utf8_valid_prefix(msg, sizeof msg - 1)] = '\0';
	va_end(ap);
	add_place(loc, at);
	append(faults, fault_of(loc, type, msg));
}

void
fault_json(struct faults *faults, const struct json_fault *fault)
{
	struct json_object *loc = json_object_new_array(), *entry, *ctx;

	faults_free(faults);
	json_object_array_add(loc, json_object_new_string("body"));
	json_object_array_add(
	    loc, json_object_new_int64((int64_t)fault->offset));
	entry = fault_of(loc, "json_invalid", "JSON decode error");
	ctx = json_object_new_object();
	json_object_object_add(
	    ctx, "error", json_object_new_string(fault->why));
	json_object_object_add(entry, "input", json_object_new_object());
	json_object_object_add(entry, "ctx", ctx);
	append(faults, entry);
}

struct json_object *
faults_take(struct faults *faults)
{
	struct json_object *reply = json_object_new_object();

	json_object_object_add(reply, "detail", faults->list);
	faults->list = NULL;
	return reply;
}

void
faults_free(struct faults *faults)
{
	json_object_put(faults->list);
	faults->list = NULL;
}

/* --- single values ------------------------------------------------------- */

bool
field_boolean_text(const char *text, bool *out)
{
	static const char *const words[][2] = { { "false", "true" },
		{ "no", "yes" }, { "off", "on" }, { "0", "1" }, { "f", "t" },
		{ "n", "y" } };

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		for (int v = 0; v < 2; v++)
			if (strcasecmp(text, words[i][v]) == 0) {
				*out = v;
				return true;
			}
	return false;
}

/* Decimal digits with an optional sign; saturates, so that the range check
 * that follows says «out of range» and not «no integer». */
bool
field_integer_text(const char *text, int64_t *out)
{
	char *end;

	if (!*text || strspn(text, "+-0123456789") != strlen(text))
		return false;
	errno = 0;
	*out = strtoll(text, &end, 10);
	/* INT64_MIN means «null» */
	if (*out == FIELD_NULL)
		*out = FIELD_NULL + 1;
	return end != text && !*end;
}

/* Beyond 2^53 a double is no exact integer: it saturates, and the range
 * check that follows refuses it. */
static bool
whole_double(double d, int64_t *out)
{
	const double exact = 9007199254740992.0;

	if (d > exact)
		*out = INT64_MAX;
	else if (d < -exact)
		*out = FIELD_NULL + 1;
	else if (!isfinite(d) || (double)(int64_t)d < d ||
		 (double)(int64_t)d > d)
		return false;
	else
		*out = (int64_t)d;
	return true;
}

/* What counts as an integer: 12, 12.0 and "12", but neither 1.9 nor true. */
static bool
as_integer(struct json_object *value, int64_t *out)
{
	switch (json_object_get_type(value)) {
	case json_type_int:
		*out = json_object_get_int64(value);
		return true;
	case json_type_string:
		return field_integer_text(json_object_get_string(value), out);
	case json_type_double:
		return whole_double(json_object_get_double(value), out);
	default:
		return false;
	}
}

static bool
integer_in(struct json_object *value, int64_t min, int64_t max,
    const char *below, const struct place *at, int64_t *out,
    struct faults *faults)
{
	int64_t v;

	if (!as_integer(value, &v)) {
		fault_add(faults, at, FAULT_INTEGER, MSG_INTEGER);
		return false;
	}
	if (v < min && below) {
		fault_add(faults, at, FAULT_VALUE, "%s", below);
		return false;
	}
	if (v < min || v > max) {
		fault_add(faults, at, FAULT_VALUE,
		    "out of range: must be from %lld to %lld", (long long)min,
		    (long long)max);
		return false;
	}
	*out = v;
	return true;
}

bool
field_integer(struct json_object *value, int64_t min, int64_t max,
    const struct place *at, int64_t *out, struct faults *faults)
{
	return integer_in(value, min, max, NULL, at, out, faults);
}

static bool
has_control(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return true;
	return false;
}

bool
field_name(const char *text, size_t len, const char *what,
    const struct place *at, struct faults *faults)
{
	if (len == 0)
		fault_add(
		    faults, at, FAULT_VALUE, "%s must not be empty", what);
	else if (len > NAME_BYTES_MAX)
		fault_add(faults, at, FAULT_VALUE,
		    "%s must not be longer than %d bytes", what,
		    NAME_BYTES_MAX);
	else if (has_control(text, len))
		fault_add(faults, at, FAULT_VALUE,
		    "%s must not contain control characters", what);
	else
		return true;
	return false;
}

/* --- one function per kind ----------------------------------------------- */

static bool
counts_as_text(const struct field *f, struct json_object *value)
{
	switch (json_object_get_type(value)) {
	case json_type_string:
		return true;
	case json_type_int:
	case json_type_double:
		return f->flags & FIELD_NUMBER;
	default:
		return false;
	}
}

static void
read_text(const struct field *f, struct json_object *value,
    const struct place *at, const char **to, struct faults *faults)
{
	const char *text;
	size_t len;

	if (!counts_as_text(f, value)) {
		fault_add(faults, at, "type_error.str", "str type expected");
		return;
	}
	text = json_object_get_string(value);
	len = json_object_is_type(value, json_type_string)
		  ? (size_t)json_object_get_string_len(value)
		  : strlen(text);
	if (f->kind == FIELD_NAME) {
		if (field_name(text, len, f->name, at, faults))
			*to = text;
	} else if (strlen(text) != len) {
		fault_add(faults, at, FAULT_VALUE,
		    "%s must not contain NUL characters", f->name);
	} else if (f->max && len > (size_t)f->max) {
		fault_add(faults, at, FAULT_VALUE,
		    "%s must not be longer than %lld bytes", f->name,
		    (long long)f->max);
	} else {
		*to = text;
	}
}

/* true and false, 0 and 1, and the words for them. */
static bool
as_boolean(struct json_object *value, bool *out)
{
	int64_t number;

	if (json_object_is_type(value, json_type_boolean)) {
		*out = json_object_get_boolean(value);
		return true;
	}
	if (json_object_is_type(value, json_type_string))
		return field_boolean_text(json_object_get_string(value), out);
	if (!as_integer(value, &number) || number < 0 || number > 1)
		return false;
	*out = number == 1;
	return true;
}

static void
read_boolean(struct json_object *value, const struct place *at, bool *to,
    struct faults *faults)
{
	if (!as_boolean(value, to))
		fault_add(faults, at, FAULT_BOOLEAN, MSG_BOOLEAN);
}

static void
read_word(const struct field *f, struct json_object *value,
    const struct place *at, int *to, struct faults *faults)
{
	const char *text = NULL;

	if (json_object_is_type(value, json_type_string))
		text = json_object_get_string(value);
	else if (!(f->flags & FIELD_LOOSE) &&
		 !json_object_is_type(value, json_type_int)) {
		fault_add(faults, at, "type_error.str", "str type expected");
		return;
	}
	for (int i = 0; text && f->words[i]; i++)
		if (strcmp(text, f->words[i]) == 0) {
			*to = i;
			return;
		}
	/* a message may quote the value with %s */
	if (strstr(f->message, "%s")) {
		const char *gap = strstr(f->message, "%s");

		fault_add(faults, at, FAULT_VALUE, "%.*s%s%s",
		    (int)(gap - f->message), f->message,
		    text ? text : json_text(value), gap + 2);
	} else {
		fault_add(faults, at, FAULT_VALUE, "%s", f->message);
	}
}

static void
read_container(const struct field *f, struct json_object *value,
    const struct place *at, void *out, struct faults *faults)
{
	bool object = f->kind == FIELD_OBJECT;

	if (json_object_is_type(
		value, object ? json_type_object : json_type_array)) {
		struct json_object **to = (void *)((char *)out + f->offset);

		*to = value;
		if (f->check)
			f->check(value, at, out, faults);
	} else if (object)
		fault_add(faults, at, FAULT_DICT, MSG_DICT);
	else
		fault_add(faults, at, FAULT_LIST, MSG_LIST);
}

/* 12, 12.5 and "12.5". */
static bool
as_number(struct json_object *value, double *out)
{
	const char *text;
	char *end;

	switch (json_object_get_type(value)) {
	case json_type_int:
	case json_type_double:
		*out = json_object_get_double(value);
		return isfinite(*out);
	case json_type_string:
		text = json_object_get_string(value);
		if (!*text || text[strspn(text, "0123456789.")])
			return false;
		*out = strtod(text, &end);
		return isfinite(*out) && !*end;
	default:
		return false;
	}
}

static void
read_time(struct json_object *value, const struct place *at, int64_t *to,
    struct faults *faults)
{
	/* seconds up to this, a thousandth of them above, and so on: as the
	 * original reads it */
	const double seconds_max = 20000000000;
	double number;

	if (json_object_is_type(value, json_type_string) &&
	    clock_parse(json_object_get_string(value), to))
		return;
	if (as_number(value, &number) && number >= 0) {
		while (number > seconds_max)
			number /= 1000;
		*to = (int64_t)(number * 1000 + 0.5);
		return;
	}
	fault_add(
	    faults, at, "value_error.datetime", "invalid datetime format");
}

static void
read_value(const struct field *f, struct json_object *value,
    const struct place *at, void *out, struct faults *faults)
{
	void *to = (char *)out + f->offset;

	switch (f->kind) {
	case FIELD_TEXT:
	case FIELD_NAME:
		read_text(f, value, at, to, faults);
		break;
	case FIELD_INTEGER:
		(void)integer_in(
		    value, f->min, f->max, f->message, at, to, faults);
		break;
	case FIELD_BOOLEAN:
		read_boolean(value, at, to, faults);
		break;
	case FIELD_WORD:
		read_word(f, value, at, to, faults);
		break;
	case FIELD_OBJECT:
	case FIELD_LIST:
		read_container(f, value, at, out, faults);
		break;
	case FIELD_TIME:
		read_time(value, at, to, faults);
		break;
	}
}

void
fields_read(const struct field *table, size_t n, struct json_object *object,
    const struct place *at, void *out, struct faults *faults)
{
	for (size_t i = 0; i < n; i++) {
		const struct field *f = &table[i];
		struct place here = { at, f->name, 0 };
		struct json_object *value = NULL;

		if (!json_object_object_get_ex(object, f->name, &value)) {
			if (f->flags & FIELD_REQUIRED)
				fault_add(
				    faults, &here, FAULT_MISSING, MSG_MISSING);
		} else if (value || f->flags & FIELD_LOOSE) {
			read_value(f, value, &here, out, faults);
		} else if (!(f->flags & FIELD_NULLABLE)) {
			fault_add(faults, &here, "type_error.none.not_allowed",
			    "none is not an allowed value");
		} else if (f->kind == FIELD_INTEGER) {
			memcpy((char *)out + f->offset,
			    &(int64_t) { FIELD_NULL }, sizeof(int64_t));
		}
	}
}

/* The object to read, as a new reference, or NULL with the fault. */
static struct json_object *
body_object(
    struct json_object *body, const struct place *at, struct faults *faults)
{
	if (!body)
		fault_add(faults, at, FAULT_MISSING, MSG_MISSING);
	else if (json_object_is_type(body, json_type_object))
		return json_object_get(body);
	else if (json_object_is_type(body, json_type_array) &&
		 json_object_array_length(body) == 0)
		return json_object_new_object();
	else
		fault_add(faults, at, FAULT_DICT, MSG_DICT);
	return NULL;
}

bool
body_read(const struct field *table, size_t n, struct json_object *body,
    void *out, struct faults *faults)
{
	struct place at = { NULL, "body", 0 };
	struct json_object *object = body_object(body, &at, faults);

	if (!object)
		return false;
	fields_read(table, n, object, &at, out, faults);
	json_object_put(object);
	return !faults->list;
}
