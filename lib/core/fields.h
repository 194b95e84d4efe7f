/*
 * Validation at the border, by tables.
 *
 * A table of fields says what a JSON object from outside may hold; reading
 * it fills a C structure with typed values and collects every fault, in the
 * form that clients of the original know:
 *
 *   {"loc": ["body", "duration"], "msg": "...", "type": "value_error"}
 *
 * Inside, the values are trusted.  Texts are borrowed from the JSON value,
 * which must outlive the structure.
 */
#ifndef CONSPECT_CORE_FIELDS_H
#define CONSPECT_CORE_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/json.h"

/* An int64_t member that was null, or absent without a default. */
#define FIELD_NULL INT64_MIN

/* A 32-bit column on the original's side: nobody relies on more. */
#define FIELD_INT32_MAX 2147483647

/* Longest name of a host (DNS allows 253) or a service, in bytes. */
#define NAME_BYTES_MAX 255

/* The largest process id that Linux gives out (PID_MAX_LIMIT). */
#define PID_MAX 4194304

/* Where a value stands: a list from the inside out, on the stack. */
struct place {
	const struct place *in; /* NULL for the outermost */
	const char *key;        /* NULL: an index */
	size_t index;
};

/* The faults found so far. */
struct faults {
	struct json_object *list; /* an array, NULL while empty */
};

/* Types of faults that code outside of this module adds. */
#define FAULT_VALUE "value_error"
#define FAULT_MISSING "value_error.missing"
#define FAULT_DICT "type_error.dict"
#define FAULT_LIST "type_error.list"
#define FAULT_INTEGER "type_error.integer"
#define FAULT_BOOLEAN "type_error.bool"

#define MSG_MISSING "field required"
#define MSG_DICT "value is not a valid dict"
#define MSG_LIST "value is not a valid list"
#define MSG_INTEGER "value is not a valid integer"
#define MSG_BOOLEAN "value could not be parsed to a boolean"

void fault_add(struct faults *faults, const struct place *at, const char *type,
    const char *format, ...)
    __attribute__((nonnull(1, 2, 3), format(printf, 4, 5)));

/* The body is no JSON: the whole list becomes that one fault. */
void fault_json(struct faults *faults, const struct json_fault *fault)
    __attribute__((nonnull));

/* {"detail": [...]}, a new value that the caller puts back; ends `faults`. */
struct json_object *faults_take(struct faults *faults)
    __attribute__((nonnull, warn_unused_result));

void faults_free(struct faults *faults) __attribute__((nonnull));

enum field_kind {
	FIELD_TEXT,    /* const char *; any text without NUL */
	FIELD_NAME,    /* const char *; 1..NAME_BYTES_MAX bytes, no controls */
	FIELD_INTEGER, /* int64_t within min..max; "12" and 12.0 count */
	FIELD_BOOLEAN, /* bool; 0, 1, "yes", "off", ... count */
	FIELD_WORD,    /* an enum: index in `words` */
	FIELD_OBJECT,  /* struct json_object *, borrowed */
	FIELD_LIST,    /* struct json_object *, borrowed */
	FIELD_TIME,    /* int64_t, ms: a text or a number (s, ms, us) */
};

enum field_flag {
	FIELD_REQUIRED = 1, /* absent is a fault */
	FIELD_NULLABLE = 2, /* null leaves FIELD_NULL, NULL or the default */
	FIELD_LOOSE = 4,    /* FIELD_WORD: any other type, null too, gets
			       `message` and not its type's own */
	FIELD_NUMBER = 8,   /* FIELD_TEXT: a number counts, as its text */
};

struct field {
	const char *name;
	enum field_kind kind;
	unsigned flags;   /* of enum field_flag */
	size_t offset;    /* of the member in the structure */
	int64_t min, max; /* FIELD_INTEGER; FIELD_TEXT: bytes up to max, 0 for
			     no bound of its own */
	const char *const *words; /* FIELD_WORD: ends with NULL */
	const char *message;      /* FIELD_WORD: the fault's text, in which %s
				     stands for the value; FIELD_INTEGER: the
				     text when below min */
	/* FIELD_OBJECT, FIELD_LIST: looks inside, when not NULL; `out` is
	 * the whole structure */
	void (*check)(struct json_object *value, const struct place *at,
	    void *out, struct faults *faults);
};

/*
 * Reads the members of `object` that the table names into `out`, in the
 * table's order.  Absent members leave `out` as it is: the caller puts
 * defaults there first.  Unknown members are ignored.
 */
void fields_read(const struct field *table, size_t n,
    struct json_object *object, const struct place *at, void *out,
    struct faults *faults) __attribute__((nonnull(1, 4, 5, 6)));

/*
 * Reads a request's body: as fields_read() at the place "body".  No body,
 * null, or something that is no object is a fault ([] counts as {}, as with
 * the original).  Returns whether no fault was found.
 */
bool body_read(const struct field *table, size_t n, struct json_object *body,
    void *out, struct faults *faults)
    __attribute__((nonnull(1, 4, 5), warn_unused_result));

/* One integer, by the rules of FIELD_INTEGER; false adds the fault. */
bool field_integer(struct json_object *value, int64_t min, int64_t max,
    const struct place *at, int64_t *out, struct faults *faults)
    __attribute__((nonnull(4, 5, 6)));

/* As field_integer() for a boolean, and for one given as text. */
bool field_boolean_text(const char *text, bool *out) __attribute__((nonnull));
bool field_integer_text(const char *text, int64_t *out)
    __attribute__((nonnull));

/*
 * Checks a name of a host or a service: not empty, at most NAME_BYTES_MAX
 * bytes, no control characters.  `what` is used in the fault's text.
 */
bool field_name(const char *text, size_t len, const char *what,
    const struct place *at, struct faults *faults) __attribute__((nonnull));

#endif
