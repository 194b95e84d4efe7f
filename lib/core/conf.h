/*
 * Settings files: `key = value` lines, read with inih over a table of keys.
 * A line that begins with '#' or ';' is a comment, and so is what follows
 * " ;" in a line.  An unknown key, a key twice, a bad value, a section, a NUL
 * and a line longer than inih takes (198 bytes) are errors that name file and
 * line; a file with an error is not half applied by its caller, who is told
 * before using what was read.
 */
#ifndef CONSPECT_CORE_CONF_H
#define CONSPECT_CORE_CONF_H

#include <stdbool.h>
#include <stddef.h>

#include "core/reason.h"

enum conf_kind {
	CONF_TEXT,    /* char *: owned by the settings, freed by conf_free() */
	CONF_INTEGER, /* long, within min..max */
	CONF_BOOLEAN, /* bool: yes, no, true, false, 1, 0, on, off */
};

struct conf_key {
	const char *name;
	enum conf_kind kind;
	size_t offset; /* of the member in the settings structure */
	long min, max; /* of CONF_INTEGER */
};

/*
 * Sets one key, from a command line for example.  `place` names where the
 * value was found and begins the reason.  Returns 0 or -1 with the reason.
 */
int conf_set(const struct conf_key *keys, size_t n, void *settings,
    const char *name, const char *value, const char *place, struct reason *why)
    __attribute__((nonnull, warn_unused_result));

/*
 * Reads a file.  A missing file is no error where `optional`.
 * Returns 0 or -1 with the reason.
 */
int conf_read(const struct conf_key *keys, size_t n, void *settings,
    const char *path, bool optional, struct reason *why)
    __attribute__((nonnull, warn_unused_result));

/* Frees the texts of the settings and sets them NULL. */
void conf_free(const struct conf_key *keys, size_t n, void *settings)
    __attribute__((nonnull));

#endif
