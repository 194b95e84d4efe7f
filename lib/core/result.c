#include "core/result.h"

#include "core/utf8.h"

#include <string.h>

/* C1 is two bytes in UTF-8: c2 80 to c2 9f. */
static bool
is_control(const unsigned char *c)
{
	return c[0] < 0x20 || c[0] == 0x7f ||
	       (c[0] == 0xc2 && c[1] >= 0x80 && c[1] <= 0x9f);
}

bool
result_name_ok(const char *name)
{
	size_t len = strlen(name);

	if (len == 0 || len > RESULT_NAME_MAX || name[0] == '.' ||
	    strchr(name, '/') || !utf8_is_valid(name, len))
		return false;
	for (size_t i = 0; i < len; i++)
		if (is_control((const unsigned char *)name + i))
			return false;
	return true;
}
