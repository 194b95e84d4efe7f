#include "core/json_check.h"

#include <ctype.h>
#include <string.h>

#include "core/utf8.h"

/* A reading position.  On a fault `at` stays at its place. */
struct scan {
	const char *at, *end;
	const char *why; /* NULL while nothing is wrong */
	int depth;
};

static bool
fault(struct scan *s, const char *why)
{
	s->why = s->at == s->end ? "the text ends too early" : why;
	return false;
}

/* A fault of all that begins at `start`: where JSON decoders place it. */
static bool
fault_from(struct scan *s, const char *start, const char *why)
{
	(void)fault(s, why);
	s->at = start;
	return false;
}

static int
peek(const struct scan *s)
{
	return s->at < s->end ? (unsigned char)*s->at : -1;
}

static bool
accept(struct scan *s, char c)
{
	if (peek(s) != (unsigned char)c)
		return false;
	s->at++;
	return true;
}

static void
skip_space(struct scan *s)
{
	while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' ||
				     *s->at == '\r' || *s->at == '\n'))
		s->at++;
}

static bool
scan_word(struct scan *s, const char *word)
{
	const char *start = s->at;

	for (; *word; word++)
		if (!accept(s, *word))
			return fault_from(s, start, "not JSON");
	return true;
}

/* The four digits of \uXXXX, whose value goes to *unit, after the u. */
static bool
scan_unit(struct scan *s, unsigned *unit)
{
	const char *u = s->at - 1;

	*unit = 0;
	for (int i = 0; i < 4; i++) {
		int c = tolower(peek(s));

		if (c < 0 || !isxdigit(c))
			return fault_from(s, u, "\\u needs four hex digits");
		*unit =
		    *unit * 16 + (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
		s->at++;
	}
	return true;
}

/* What follows a backslash, which is not the end. */
static bool
scan_escape(struct scan *s)
{
	static const char lone[] = "lone surrogate: not valid Unicode";
	unsigned unit, low;
	int c = peek(s);

	if (!c || !strchr("\"\\/bfnrtu", c))
		return fault_from(s, s->at - 1, "unknown escape in a string");
	s->at++;
	if (c != 'u')
		return true;
	if (!scan_unit(s, &unit))
		return false;
	/* would end the text for everyone who takes it as a C string */
	if (unit == 0)
		return fault(s, "NUL character in a string");
	if (unit < 0xd800 || unit > 0xdfff)
		return true;
	/* a high surrogate must be followed by a low one */
	if (unit > 0xdbff || !accept(s, '\\') || !accept(s, 'u'))
		return fault(s, lone);
	if (!scan_unit(s, &low))
		return false;
	return (low >= 0xdc00 && low <= 0xdfff) || fault(s, lone);
}

/* The rest of a string, after its opening quote. */
static bool
scan_string(struct scan *s)
{
	const char *quote = s->at - 1;

	while (s->at < s->end) {
		if (accept(s, '"'))
			return true;
		if (accept(s, '\\')) {
			if (s->at < s->end && !scan_escape(s))
				return false;
		} else if (peek(s) < 0x20) {
			return fault(s, "control character in a string");
		} else {
			s->at++;
		}
	}
	return fault_from(s, quote, "");
}

static size_t
scan_digits(struct scan *s)
{
	const char *start = s->at;

	while (s->at < s->end && isdigit((unsigned char)*s->at))
		s->at++;
	return (size_t)(s->at - start);
}

/* Whether the digits up to s->at make a signed 64-bit integer. */
static bool
fits_integer(const char *digits, size_t n, bool negative)
{
	const char *limit =
	    negative ? "9223372036854775808" : "9223372036854775807";
	size_t limit_digits = strlen(limit);

	return n < limit_digits ||
	       (n == limit_digits && memcmp(digits, limit, n) <= 0);
}

static bool
scan_number(struct scan *s)
{
	const char *start = s->at, *part;
	bool negative = accept(s, '-'), whole = true;
	const char *digits = s->at;
	size_t n = scan_digits(s);

	if (n == 0)
		return fault_from(s, start, "not JSON");
	if (n > 1 && *digits == '0') {
		s->at = digits + 1;
		return fault(s, "a number must not begin with 0");
	}
	part = s->at;
	if (accept(s, '.')) {
		whole = false;
		if (scan_digits(s) == 0)
			return fault_from(
			    s, part, "digits must follow the point");
	}
	part = s->at;
	if (accept(s, 'e') || accept(s, 'E')) {
		whole = false;
		if (!accept(s, '+'))
			(void)accept(s, '-');
		if (scan_digits(s) == 0)
			return fault_from(
			    s, part, "digits must follow the exponent");
	}
	if (whole && !fits_integer(digits, n, negative)) {
		s->at = digits;
		return fault(s, "number out of range");
	}
	return true;
}

static bool scan_value(struct scan *s);

static bool
scan_member(struct scan *s)
{
	skip_space(s);
	if (!accept(s, '"'))
		return fault(s, "a member needs a name in double quotes");
	if (!scan_string(s))
		return false;
	skip_space(s);
	if (!accept(s, ':'))
		return fault(s, "a colon must follow a member's name");
	return scan_value(s);
}

/* The rest of an object or array, after its opening bracket. */
static bool
scan_list(struct scan *s, char close, bool (*scan_item)(struct scan *))
{
	if (s->depth++ == JSON_DEPTH_MAX)
		return fault(s, "nested deeper than 32 levels");
	skip_space(s);
	if (!accept(s, close)) {
		do {
			if (!scan_item(s))
				return false;
			skip_space(s);
		} while (accept(s, ','));
		if (!accept(s, close))
			return fault(s, "a comma or the closing bracket is "
					"missing");
	}
	s->depth--;
	return true;
}

static bool
scan_value(struct scan *s)
{
	skip_space(s);
	switch (peek(s)) {
	case '{':
		s->at++;
		return scan_list(s, '}', scan_member);
	case '[':
		s->at++;
		return scan_list(s, ']', scan_value);
	case '"':
		s->at++;
		return scan_string(s);
	case 't':
		return scan_word(s, "true");
	case 'f':
		return scan_word(s, "false");
	case 'n':
		return scan_word(s, "null");
	default:
		return scan_number(s);
	}
}

const char *
json_check(const char *text, const char *end, const char **why)
{
	struct scan s = { .at = text, .end = end };
	size_t valid = utf8_valid_prefix(text, (size_t)(end - text));

	if (text + valid < end) {
		*why = "not valid UTF-8";
		return text + valid;
	}
	if (scan_value(&s)) {
		skip_space(&s);
		if (s.at == s.end)
			return NULL;
		(void)fault(&s, "something follows the JSON text");
	}
	*why = s.why;
	return s.at;
}
