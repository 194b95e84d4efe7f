#include "core/reason.h"

#include "core/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Length without the bytes of a character that the cut left incomplete. */
static size_t
whole_characters(const char *text, size_t len)
{
	size_t start = len;

	while (start > 0 && len - start < 3 &&
	       ((unsigned char)text[start - 1] & 0xc0) == 0x80)
		start--;
	if (start > 0 && ((unsigned char)text[start - 1] & 0xc0) == 0xc0)
		start--;
	return utf8_is_valid(text + start, len - start) ? len : start;
}

int
reason_set(struct reason *why, const char *format, ...)
{
	char text[REASON_BYTES]; /* why->text may be among the arguments */
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	if (n < 0)
		(void)strcpy(text, "a reason that cannot be formatted");
	else if (n >= (int)sizeof text)
		text[whole_characters(text, sizeof text - 1)] = '\0';
	utf8_repair(text);
	memcpy(why->text, text, strlen(text) + 1);
	return -1;
}
