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

/* What inih's callbacks need. */
struct reading {
	const struct conf_key *keys;
	size_t n;
	void *settings;
	FILE *file;
	int line;                /* that is being read, from 1 */
	struct reason why;       /* the first fault that we found ... */
	int fault_line;          /* ... and its line, 0 while there is none */
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

/* Notes the first fault; inih goes on reading after it. */
static void
note_fault(struct reading *r, const struct reason *why)
{
	if (r->fault_line == 0) {
		r->why = *why;
		r->fault_line = r->line;
	}
}

/* As fgets(), but says how much was read: a line may hold a NUL. */
static size_t
get_line(char *text, size_t size, FILE *file)
{
	size_t len = 0;
	int c = 0;

	while (len < size - 1 && c != '\n' && (c = getc(file)) != EOF)
		text[len++] = (char)c;
	text[len] = '\0';
	return len;
}

/* What is wrong with a line as a line: false with the fault noted. */
static bool
check_line(struct reading *r, const char *text, size_t len, size_t size)
{
	struct reason why;

	if (strlen(text) != len)
		(void)reason_set(&why, "the line holds a NUL");
	else if (len == size - 1 && text[len - 1] != '\n')
		(void)reason_set(
		    &why, "the line is longer than %zu bytes", size - 2);
	else
		return true;
	note_fault(r, &why);
	return false;
}

/*
 * inih's reader, in the manner of fgets().  A byte-order mark is taken off,
 * for sections are looked for here, and indentation too,
 * because inih would append an indented line to the value before it, and a
 * line that does not fit ends the reading, because inih would cut it.
 */
static char *
next_line(char *text, int size, void *context)
{
	struct reading *r = context;
	struct reason why;
	size_t len, skip;

	if (r->fault_line)
		return NULL;
	len = get_line(text, (size_t)size, r->file);
	if (len == 0)
		return NULL;
	r->line++;
	if (!check_line(r, text, len, (size_t)size))
		return NULL;
	skip = r->line == 1 && strncmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
	skip += strspn(text + skip, " \t");
	memmove(text, text + skip, len + 1 - skip);
	if (*text == '[') {
		text[strcspn(text, "\r\n")] = '\0';
		(void)reason_set(
		    &why, "sections are not known here: remove %s", text);
		note_fault(r, &why);
		return NULL;
	}
	return text;
}

/* inih's handler of one setting: 1 goes on, 0 is an error. */
static int
on_setting(
    void *context, const char *section, const char *name, const char *value)
{
	struct reading *r = context;
	const struct conf_key *key = find(r->keys, r->n, name);
	struct reason why;
	int failed;

	(void)section; /* next_line() lets none through */
	if (key && (r->seen & 1ULL << (key - r->keys)))
		failed = reason_set(&why, "%s is set twice", name);
	else
		failed = set_key(key, r->settings, name, value, &why);
	if (failed)
		note_fault(r, &why);
	else
		r->seen |= 1ULL << (key - r->keys);
	return !failed;
}

/* Reads all lines; returns 0 or -1 with the reason. */
static int
read_lines(struct reading *r, const char *path, struct reason *why)
{
	/* inih's result is the line of the first fault that it knows of */
	int line = ini_parse_stream(next_line, r, on_setting, r);

	if (ferror(r->file))
		return reason_set(why, "%s: %s", path, strerror(errno));
	if (line > 0 && line != r->fault_line)
		return reason_set(why,
		    "%s:%d: not a line of the form key = value", path, line);
	if (r->fault_line)
		return reason_set(
		    why, "%s:%d: %s", path, r->fault_line, r->why.text);
	return 0;
}

int
conf_read(const struct conf_key *keys, size_t n, void *settings,
    const char *path, bool optional, struct reason *why)
{
	struct reading r = { .keys = keys, .n = n, .settings = settings };
	int result;

	if (n > KEYS_MAX)
		abort();
	r.file = fopen(path, "re");
	if (!r.file) {
		if (optional && errno == ENOENT)
			return 0;
		return reason_set(why, "%s: %s", path, strerror(errno));
	}
	result = read_lines(&r, path, why);
	(void)fclose(r.file);
	return result;
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
