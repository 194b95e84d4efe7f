#include "web/html.h"

#include <inttypes.h>
#include <string.h>

/* Escapes for a text and for an attribute in double quotes alike. */
static void
escaped(struct buf *b, const char *text)
{
	for (; *text; text++) {
		size_t plain = strcspn(text, "&<>\"'");

		buf_add(b, text, plain);
		text += plain;
		switch (*text) {
		case '&':
			buf_str(b, "&amp;");
			break;
		case '<':
			buf_str(b, "&lt;");
			break;
		case '>':
			buf_str(b, "&gt;");
			break;
		case '"':
			buf_str(b, "&quot;");
			break;
		case '\'':
			buf_str(b, "&#39;");
			break;
		default:
			return;
		}
	}
}

void
html_text(struct buf *b, const char *text)
{
	if (text)
		escaped(b, text);
}

void
html_int(struct buf *b, int64_t number)
{
	buf_fmt(b, "%" PRId64, number);
}

void
html_attr(struct buf *b, const char *name, const char *value)
{
	buf_fmt(b, " %s=\"", name);
	html_text(b, value);
	buf_chr(b, '"');
}

void
html_attr_int(struct buf *b, const char *name, int64_t value)
{
	buf_fmt(b, " %s=\"%" PRId64 "\"", name, value);
}
