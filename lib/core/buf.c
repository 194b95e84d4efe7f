#include "core/buf.h"

#include "core/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for n more bytes and the NUL; false when past the bound. */
static bool
reserve(struct buf *b, size_t n)
{
	size_t size = b->size ? b->size : 256;

	if (b->full || n > b->max - b->len) {
		b->full = true;
		return false;
	}
	while (size < b->len + n + 1)
		size *= 2;
	if (size != b->size) {
		b->data = mem_grow(b->data, size, 1);
		b->size = size;
	}
	return true;
}

void
buf_add(struct buf *b, const void *bytes, size_t n)
{
	if (!reserve(b, n))
		return;
	if (n)
		memcpy(b->data + b->len, bytes, n);
	b->len += n;
	b->data[b->len] = '\0';
}

void
buf_str(struct buf *b, const char *text)
{
	buf_add(b, text, strlen(text));
}

void
buf_chr(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

void
buf_fmt(struct buf *b, const char *format, ...)
{
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(NULL, 0, format, ap);
	va_end(ap);
	if (n < 0) /* no text of that can be had: the whole has a hole */
		b->full = true;
	if (n < 0 || !reserve(b, (size_t)n))
		return;
	va_start(ap, format);
	(void)vsnprintf(b->data + b->len, (size_t)n + 1, format, ap);
	va_end(ap);
	b->len += (size_t)n;
}

const char *
buf_text(const struct buf *b)
{
	return b->data ? b->data : "";
}

void
buf_clear(struct buf *b)
{
	b->len = 0;
	b->full = false;
	if (b->data)
		b->data[0] = '\0';
}

void
buf_cut(struct buf *b, size_t len)
{
	if (len < b->len) {
		b->len = len;
		b->data[len] = '\0';
	}
}

void
buf_free(struct buf *b)
{
	free(b->data);
	b->data = NULL;
	b->len = b->size = 0;
	b->full = false;
}
