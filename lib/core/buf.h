/*
 * A growing byte buffer with an upper bound.
 *
 * Everything that is composed (a reply, a JSON text, a message) is composed
 * in one of these.  Past the bound nothing is added and `full` stays set, so
 * that a caller checks once, at the end.
 */
#ifndef CONSPECT_CORE_BUF_H
#define CONSPECT_CORE_BUF_H

#include <stdbool.h>
#include <stddef.h>

struct buf {
	char *data;  /* always NUL-terminated once something was added */
	size_t len;  /* bytes used, without the NUL */
	size_t size; /* bytes allocated */
	size_t max;  /* bound on len */
	bool full;   /* something did not fit, or could not be formatted */
};

/* An initialiser: an empty buffer that holds at most `bound` bytes. */
#define BUF_INIT(bound)                                                       \
	{                                                                     \
		NULL, 0, 0, (bound), false                                    \
	}

void buf_add(struct buf *b, const void *bytes, size_t n)
    __attribute__((nonnull(1)));
void buf_str(struct buf *b, const char *text) __attribute__((nonnull));
void buf_chr(struct buf *b, char c) __attribute__((nonnull));
void buf_fmt(struct buf *b, const char *format, ...)
    __attribute__((nonnull(1), format(printf, 2, 3)));

/* The text, "" when empty; valid until the next change. */
const char *buf_text(const struct buf *b) __attribute__((nonnull));

/* Empties it and keeps the memory. */
void buf_clear(struct buf *b) __attribute__((nonnull));

/* Drops what was added past len bytes. */
void buf_cut(struct buf *b, size_t len) __attribute__((nonnull));

/* Gives the memory back; the buffer is empty and may be used again. */
void buf_free(struct buf *b) __attribute__((nonnull));

#endif
