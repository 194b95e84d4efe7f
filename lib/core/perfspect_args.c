#include "core/perfspect_args.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Longest text value of a PerfSpect flag. */
#define PERFSPECT_TEXT_MAX 4096

/* PerfSpect's own default, seconds between two samples. */
#define PERFSPECT_INTERVAL 5

enum flag_kind { FLAG_INTEGER, FLAG_BOOLEAN, FLAG_TEXT, FLAG_WORD };

static const char *const scopes[] = { "system", "process", "cgroup", NULL };
static const char *const granularities[] = { "system", "socket", "cpu", NULL };

static const struct flag {
	const char *name;
	enum flag_kind kind;
	int64_t min, max;
	const char *const *words;
	const char *alphabet; /* FLAG_TEXT: only these, NULL: any but NUL */
} perfspect_flags[] = {
	{ "scope", FLAG_WORD, 0, 0, scopes, NULL },
	{ "pids", FLAG_TEXT, 0, 0, NULL, "0123456789," },
	{ "cids", FLAG_TEXT, 0, 0, NULL,
	    "0123456789abcdefABCDEF,/._-:"
	    "ghijklmnopqrstuvwxyzGHIJKLMNOPQRSTUVWXYZ" },
	{ "filter", FLAG_TEXT, 0, 0, NULL, NULL },
	{ "count", FLAG_INTEGER, 1, 1000, NULL, NULL },
	{ "refresh", FLAG_INTEGER, 1, 86400, NULL, NULL },
	{ "cpus", FLAG_TEXT, 0, 0, NULL, "0123456789,-" },
	{ "granularity", FLAG_WORD, 0, 0, granularities, NULL },
	{ "metrics", FLAG_TEXT, 0, 0, NULL, NULL },
	{ "interval", FLAG_INTEGER, 1, 3600, NULL, NULL },
	{ "muxinterval", FLAG_INTEGER, 1, 10000, NULL, NULL },
	{ "txnrate", FLAG_INTEGER, 1, 1000000000, NULL, NULL },
	{ "noroot", FLAG_BOOLEAN, 0, 0, NULL, NULL },
};

static const struct flag *
find_flag(const char *name)
{
	for (size_t i = 0;
	     i < sizeof perfspect_flags / sizeof *perfspect_flags; i++)
		if (strcmp(perfspect_flags[i].name, name) == 0)
			return &perfspect_flags[i];
	return NULL;
}

static bool
is_word(const char *const *words, const char *text)
{
	for (; *words; words++)
		if (strcmp(*words, text) == 0)
			return true;
	return false;
}

/* A text must not begin with '-', or PerfSpect would read it as a flag. */
static void
check_text_flag(const struct flag *flag, struct json_object *value,
    const struct place *at, struct faults *faults)
{
	const char *text;
	size_t len;

	if (!json_object_is_type(value, json_type_string)) {
		fault_add(faults, at, "type_error.str", "str type expected");
		return;
	}
	text = json_object_get_string(value);
	len = (size_t)json_object_get_string_len(value);
	if (len == 0 || len > PERFSPECT_TEXT_MAX || strlen(text) != len)
		fault_add(faults, at, FAULT_VALUE,
		    "must be a text of 1 to %d bytes", PERFSPECT_TEXT_MAX);
	else if (*text == '-')
		fault_add(faults, at, FAULT_VALUE, "must not begin with '-'");
	else if (flag->words && !is_word(flag->words, text))
		fault_add(faults, at, FAULT_VALUE,
		    "\"%s\" is not a value of --%s", text, flag->name);
	else if (flag->alphabet && text[strspn(text, flag->alphabet)])
		fault_add(faults, at, FAULT_VALUE,
		    "\"%s\" is not a value of --%s", text, flag->name);
}

static void
check_flag(const struct flag *flag, struct json_object *value,
    const struct place *at, struct faults *faults)
{
	int64_t number;

	if (flag->kind == FLAG_INTEGER)
		(void)field_integer(
		    value, flag->min, flag->max, at, &number, faults);
	else if (flag->kind != FLAG_BOOLEAN)
		check_text_flag(flag, value, at, faults);
	else if (!json_object_is_type(value, json_type_boolean))
		fault_add(faults, at, FAULT_BOOLEAN, MSG_BOOLEAN);
}

void
perfspect_args_check(
    struct json_object *args, const struct place *at, struct faults *faults)
{
	struct json_object_iter it;

	if (!json_object_is_type(args, json_type_object)) {
		fault_add(faults, at, FAULT_DICT, MSG_DICT);
		return;
	}
	json_object_object_foreachC(args, it)
	{
		struct place here = { at, it.key, 0 };
		const struct flag *flag = find_flag(it.key);

		if (flag)
			check_flag(flag, it.val, &here, faults);
		else
			fault_add(faults, &here, FAULT_VALUE,
			    "this PerfSpect flag may not be set by a "
			    "request: allowed are scope, pids, cids, filter, "
			    "count, refresh, cpus, granularity, metrics, "
			    "interval, muxinterval, txnrate, noroot");
	}
}

/* A number may have come as a text of digits, or as 2.0. */
static void
add_value(const struct flag *flag, struct json_object *value,
    void (*add)(void *context, const char *word), void *context)
{
	char number[24];

	if (flag->kind != FLAG_INTEGER) {
		add(context, json_object_get_string(value));
		return;
	}
	(void)snprintf(
	    number, sizeof number, "%" PRId64, json_object_get_int64(value));
	add(context, number);
}

void
perfspect_args_words(struct json_object *args,
    void (*add)(void *context, const char *word), void *context)
{
	char word[32];

	for (size_t i = 0;
	     i < sizeof perfspect_flags / sizeof *perfspect_flags; i++) {
		const struct flag *flag = &perfspect_flags[i];
		struct json_object *value = json_member(args, flag->name);

		if (!value || (flag->kind == FLAG_BOOLEAN &&
				  !json_object_get_boolean(value)))
			continue;
		(void)snprintf(word, sizeof word, "--%s", flag->name);
		add(context, word);
		if (flag->kind != FLAG_BOOLEAN)
			add_value(flag, value, add, context);
	}
}

int64_t
perfspect_args_interval(struct json_object *args)
{
	struct json_object *interval = json_member(args, "interval");

	/* "5" was accepted as a number: json-c reads it as one */
	return interval ? json_object_get_int64(interval) : PERFSPECT_INTERVAL;
}
