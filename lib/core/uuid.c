#include "core/uuid.h"

#include <ctype.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

static bool
is_dash_place(size_t i)
{
	return i == 8 || i == 13 || i == 18 || i == 23;
}

void
uuid_make(char text[UUID_TEXT])
{
	unsigned char b[16];

	randombytes_buf(b, sizeof b);
	b[6] = (unsigned char)((b[6] & 0x0f) | 0x40); /* version 4 */
	b[8] = (unsigned char)((b[8] & 0x3f) | 0x80); /* RFC 4122 variant */
	(void)snprintf(text, UUID_TEXT,
	    "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
	    "%02x%02x%02x%02x%02x%02x",
	    b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10],
	    b[11], b[12], b[13], b[14], b[15]);
}

bool
uuid_parse(const char *text, char out[UUID_TEXT])
{
	if (strlen(text) != UUID_TEXT - 1)
		return false;
	for (size_t i = 0; i < UUID_TEXT - 1; i++) {
		unsigned char c = (unsigned char)text[i];

		if (is_dash_place(i) ? c != '-' : !isxdigit(c))
			return false;
	}
	for (size_t i = 0; i < UUID_TEXT - 1; i++)
		out[i] = (char)tolower((unsigned char)text[i]);
	out[UUID_TEXT - 1] = '\0';
	return true;
}
