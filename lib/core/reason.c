#include "core/reason.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Drops the bytes of a UTF-8 character that the cut left incomplete. */
static void
trim_partial_character(char *text, size_t len)
{
	size_t start = len;

	while (start > 0 && ((unsigned char)text[start - 1] & 0xc0) == 0x80)
		start--;
	if (start > 0 && ((unsigned char)text[start - 1] & 0xc0) == 0xc0)
		start--;
	text[start] = '\0';
}

int
reason_set(struct reason *why, const char *format, ...)
{
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(why->text, sizeof why->text, format, ap);
	va_end(ap);
	if (n >= (int)sizeof why->text)
		trim_partial_character(why->text, sizeof why->text - 1);
	return -1;
}
