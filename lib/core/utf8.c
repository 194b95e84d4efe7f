#include "core/utf8.h"

#include <string.h>

/* Length that the first byte announces, or 0 for one that begins nothing. */
static size_t
announced_length(unsigned char first)
{
	if (first < 0x80)
		return 1;
	if (first < 0xc2 || first > 0xf4)
		return 0;
	return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/* Length of the valid sequence at s, n bytes left, or 0. */
static size_t
sequence(const unsigned char *s, size_t n)
{
	size_t len = announced_length(s[0]);

	if (len == 0 || len > n)
		return 0;
	for (size_t i = 1; i < len; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || /* overlong */
	    (s[0] == 0xed && s[1] > 0x9f) || /* surrogates */
	    (s[0] == 0xf0 && s[1] < 0x90) || /* overlong */
	    (s[0] == 0xf4 && s[1] > 0x8f))   /* past U+10FFFF */
		return 0;
	return len;
}

size_t
utf8_valid_prefix(const char *text, size_t len)
{
	size_t done = 0;

	while (done < len) {
		size_t n =
		    sequence((const unsigned char *)text + done, len - done);

		if (n == 0)
			break;
		done += n;
	}
	return done;
}

bool
utf8_is_valid(const char *text, size_t len)
{
	return utf8_valid_prefix(text, len) == len;
}

void
utf8_repair(char *text)
{
	size_t len = strlen(text), at = utf8_valid_prefix(text, len);

	while (at < len) {
		text[at++] = '?';
		at += utf8_valid_prefix(text + at, len - at);
	}
}

size_t
utf8_length(const char *text, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += ((unsigned char)text[i] & 0xc0) != 0x80;
	return n;
}
