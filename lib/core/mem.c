#include "core/mem.h"

#include "core/log.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void
out_of_memory(size_t wanted)
{
	log_error("out of memory: %zu bytes could not be had", wanted);
	exit(EXIT_FAILURE);
}

void *
mem_alloc(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size ? size : 1);

	if (!p)
		out_of_memory(n * size);
	return p;
}

void *
mem_grow(void *old, size_t n, size_t size)
{
	void *p;

	if (size && n > SIZE_MAX / size)
		out_of_memory(SIZE_MAX);
	n *= size;
	p = realloc(old, n > 0 ? n : 1);
	if (!p)
		out_of_memory(n);
	return p;
}

char *
mem_copy(const char *text)
{
	char *copy;

	if (!text)
		return NULL;
	copy = strdup(text);
	if (!copy)
		out_of_memory(strlen(text) + 1);
	return copy;
}

char *
mem_fmt(const char *format, ...)
{
	char *text = NULL;
	va_list ap;
	int n;

	va_start(ap, format);
	n = vasprintf(&text, format, ap);
	va_end(ap);
	if (n < 0 || !text)
		out_of_memory(0);
	return text;
}
