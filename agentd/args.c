#include "agentd/args.h"

#include "core/buf.h"
#include "core/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* The longest text of a number, and a comma. */
#define NUMBER_BYTES 21

void
args_add(struct args *a, const char *format, ...)
{
	va_list ap;
	char *one;
	int n;

	va_start(ap, format);
	n = vsnprintf(NULL, 0, format, ap);
	va_end(ap);
	one = mem_alloc((size_t)(n < 0 ? 0 : n) + 1, 1);
	va_start(ap, format);
	(void)vsnprintf(one, (size_t)(n < 0 ? 0 : n) + 1, format, ap);
	va_end(ap);
	a->v = mem_grow(a->v, a->n + 2, sizeof *a->v);
	a->v[a->n++] = one;
	a->v[a->n] = NULL;
}

void
args_add_number(struct args *a, const char *flag, long n)
{
	args_add(a, "%s", flag);
	args_add(a, "%ld", n);
}

void
args_add_list(struct args *a, const char *flag, const long *numbers, size_t n)
{
	struct buf list = BUF_INIT(n * NUMBER_BYTES + 1);

	for (size_t i = 0; i < n; i++)
		buf_fmt(&list, "%s%ld", i ? "," : "", numbers[i]);
	args_add(a, "%s", flag);
	args_add(a, "%s", buf_text(&list));
	buf_free(&list);
}

void
args_free(struct args *a)
{
	for (size_t i = 0; i < a->n; i++)
		free(a->v[i]);
	free(a->v);
	*a = (struct args) { 0 };
}
