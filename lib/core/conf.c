#include "core/conf.h"

#include "core/mem.h"

#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A table of keys is short; more would need a wider `seen`. */
#define KEYS_MAX 64

/* What inih's callback needs. */
struct reading {
	const struct conf_key *keys;
	size_t n;
	void *settings;
	struct reason why;
	unsigned long long seen; /* bit i: keys[i] was set by this file */
};

static const struct conf_key *
find(const struct conf_key *keys, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(keys[i].name, name) == 0)
			return &keys[i];
	return NULL;
}

static int
set_integer(const struct conf_key *key, long *to, const char *value,
    struct reason *why)
{
	char *end;
	long v;

	errno = 0;
	v = strtol(value, &end, 10);
	if (errno || end == value || *end || v < key->min || v > key->max)
		return reason_set(why,
		    "%s must be a whole number from %ld to %ld, not \"%s\"",
		    key->name, key->min, key->max, value);
	*to = v;
	return 0;
}

static int
set_boolean(const struct conf_key *key, bool *to, const char *value,
    struct reason *why)
{
	static const char *const words[][2] = { { "no", "yes" },
		{ "false", "true" }, { "0", "1" }, { "off", "on" } };

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		for (int v = 0; v < 2; v++)
			if (strcasecmp(value, words[i][v]) == 0) {
				*to = v;
				return 0;
			}
	return reason_set(
	    why, "%s must be yes or no, not \"%s\"", key->name, value);
}

static int
set_text(const struct conf_key *key, char **to, const char *value,
    struct reason *why)
{
	if (!*value)
		return reason_set(why, "%s must not be empty", key->name);
	free(*to);
	*to = mem_copy(value);
	return 0;
}

static int
set_key(const struct conf_key *key, void *settings, const char *name,
    const char *value, struct reason *why)
{
	void *to;

	if (!key)
		return reason_set(why, "unknown key \"%s\"", name);
	to = (char *)settings + key->offset;
	switch (key->kind) {
	case CONF_INTEGER:
		return set_integer(key, to, value, why);
	case CONF_BOOLEAN:
		return set_boolean(key, to, value, why);
	case CONF_TEXT:
		break;
	}
	return set_text(key, to, value, why);
}

int
conf_set(const struct conf_key *keys, size_t n, void *settings,
    const char *name, const char *value, const char *place, struct reason *why)
{
	struct reason inner;

	if (set_key(find(keys, n, name), settings, name, value, &inner) == 0)
		return 0;
	return reason_set(why, "%s: %s", place, inner.text);
}

/*
 * inih's callback: 1 goes on, 0 is an error.  It is not told the line; that
 * is what ini_parse_file() returns for the first error.
 */
static int
on_line(
    void *context, const char *section, const char *name, const char *value)
{
	struct reading *r = context;
	const struct conf_key *key = find(r->keys, r->n, name);

	if (r->why.text[0]) /* the first error is the one to report */
		return 0;
	if (*section)
		return reason_set(&r->why,
			   "sections are not known here: remove [%s]",
			   section) == 0;
	if (key && (r->seen & 1ULL << (key - r->keys)))
		return reason_set(&r->why, "%s is set twice", name) == 0;
	if (key)
		r->seen |= 1ULL << (key - r->keys);
	return set_key(key, r->settings, name, value, &r->why) == 0;
}

int
conf_read(const struct conf_key *keys, size_t n, void *settings,
    const char *path, bool optional, struct reason *why)
{
	struct reading r = { .keys = keys, .n = n, .settings = settings };
	FILE *file = fopen(path, "re");
	int line;

	if (n > KEYS_MAX)
		abort();
	if (!file) {
		if (optional && errno == ENOENT)
			return 0;
		return reason_set(why, "%s: %s", path, strerror(errno));
	}
	line = ini_parse_file(file, on_line, &r);
	(void)fclose(file);
	if (line == 0)
		return 0;
	return reason_set(why, "%s:%d: %s", path, line,
	    r.why.text[0] ? r.why.text : "not a line of the form key = value");
}

void
conf_free(const struct conf_key *keys, size_t n, void *settings)
{
	for (size_t i = 0; i < n; i++) {
		char **text;

		if (keys[i].kind != CONF_TEXT)
			continue;
		text = (char **)(void *)((char *)settings + keys[i].offset);
		free(*text);
		*text = NULL;
	}
}
