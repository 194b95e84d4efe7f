#include "web/web.h"

#include "core/mem.h"
#include "core/utf8.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static int
hex_value(char c)
{
	int lower = tolower((unsigned char)c);

	if (!isxdigit((unsigned char)c))
		return -1;
	return lower <= '9' ? lower - '0' : lower - 'a' + 10;
}

/* Decodes a member in place; false for a bad escape or a NUL. */
static bool
decode(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++, to++) {
		*to = *from == '+' ? ' ' : *from;
		if (*from == '%') {
			int high = hex_value(from[1]),
			    low = high < 0 ? -1 : hex_value(from[2]);

			if (low < 0 || high * 16 + low == 0)
				return false;
			*to = (char)(high * 16 + low);
			from += 2;
		}
	}
	*to = '\0';
	return utf8_is_valid(text, (size_t)(to - text));
}

static int
add_member(struct params *p, char *member, struct reason *why)
{
	char *value = strchr(member, '=');

	if (value)
		*value++ = '\0';
	else
		value = member + strlen(member);
	if (!decode(member) || !decode(value))
		return reason_set(why,
		    "member %zu of the form or query is not UTF-8 in "
		    "percent-encoding",
		    p->n + 1);
	if (p->n == PARAMS_MAX)
		return reason_set(why,
		    "the form or query has more than %d members", PARAMS_MAX);
	p->list[p->n].name = member;
	p->list[p->n++].value = value;
	return 0;
}

static size_t
count_members(const char *text)
{
	size_t n = 1;

	for (; *text; text++)
		n += *text == '&';
	return n < PARAMS_MAX ? n : PARAMS_MAX;
}

int
params_read(struct params *p, const char *text, size_t len, struct reason *why)
{
	char *rest, *member;

	memset(p, 0, sizeof *p);
	p->text = mem_alloc(len + 1, 1);
	memcpy(p->text, text, len);
	if (strlen(p->text) != len)
		return reason_set(why, "the form or query holds a NUL");
	p->list = mem_alloc(count_members(p->text), sizeof *p->list);
	rest = p->text;
	while ((member = strsep(&rest, "&")))
		if (*member && add_member(p, member, why) != 0)
			return -1;
	return 0;
}

void
params_free(struct params *p)
{
	free(p->list);
	free(p->text);
	memset(p, 0, sizeof *p);
}

const char *
params_get(const struct params *p, const char *name)
{
	for (size_t i = 0; i < p->n; i++)
		if (strcmp(p->list[i].name, name) == 0)
			return p->list[i].value;
	return NULL;
}
