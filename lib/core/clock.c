#include "core/clock.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define MS_PER_SECOND 1000
/* 0000-01-01 and 9999-12-31T23:59:59.999, the years that four digits hold */
#define CLOCK_MIN_MS (-62167219200000)
#define CLOCK_MAX_MS 253402300799999

static int64_t
read_clock(clockid_t id)
{
	struct timespec ts;

	(void)clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * MS_PER_SECOND + ts.tv_nsec / 1000000;
}

int64_t
clock_now_ms(void)
{
	return read_clock(CLOCK_REALTIME);
}

int64_t
clock_mono_ms(void)
{
	return read_clock(CLOCK_BOOTTIME);
}

void
clock_format(int64_t ms, char text[CLOCK_TEXT])
{
	struct tm tm;
	time_t seconds;
	int rest;

	if (ms < CLOCK_MIN_MS)
		ms = CLOCK_MIN_MS;
	if (ms > CLOCK_MAX_MS)
		ms = CLOCK_MAX_MS;
	rest = (int)(ms % MS_PER_SECOND);
	if (rest < 0)
		rest += MS_PER_SECOND;
	seconds = (time_t)((ms - rest) / MS_PER_SECOND);
	(void)gmtime_r(&seconds, &tm);
	(void)snprintf(text, CLOCK_TEXT, "%04u-%02u-%02uT%02u:%02u:%02u.%03uZ",
	    (unsigned)(tm.tm_year + 1900) % 10000u,
	    (unsigned)(tm.tm_mon + 1) % 100u, (unsigned)tm.tm_mday % 100u,
	    (unsigned)tm.tm_hour % 100u, (unsigned)tm.tm_min % 100u,
	    (unsigned)tm.tm_sec % 100u, (unsigned)rest % 1000u);
}

/* Reads exactly n digits within min..max and moves on. */
static bool
digits(const char **at, int n, int min, int max, int *value)
{
	int v = 0;

	for (int i = 0; i < n; i++, (*at)++) {
		if (!isdigit((unsigned char)**at))
			return false;
		v = v * 10 + (**at - '0');
	}
	*value = v;
	return v >= min && v <= max;
}

static bool
literal(const char **at, char c)
{
	if (**at != c)
		return false;
	(*at)++;
	return true;
}

static bool
parse_date(const char **at, struct tm *tm)
{
	if (!digits(at, 4, 0, 9999, &tm->tm_year) || !literal(at, '-') ||
	    !digits(at, 2, 1, 12, &tm->tm_mon) || !literal(at, '-') ||
	    !digits(at, 2, 1, 31, &tm->tm_mday))
		return false;
	tm->tm_year -= 1900;
	tm->tm_mon -= 1;
	return true;
}

/* HH:MM[:SS[.fraction]]; digits after the third of the fraction are cut. */
static bool
parse_time(const char **at, struct tm *tm, int *ms)
{
	int weight = 100;

	*ms = 0;
	if (!digits(at, 2, 0, 23, &tm->tm_hour) || !literal(at, ':') ||
	    !digits(at, 2, 0, 59, &tm->tm_min))
		return false;
	if (!literal(at, ':'))
		return true;
	if (!digits(at, 2, 0, 59, &tm->tm_sec))
		return false;
	if (!literal(at, '.'))
		return true;
	if (!isdigit((unsigned char)**at))
		return false;
	for (; isdigit((unsigned char)**at); (*at)++, weight /= 10)
		*ms += (**at - '0') * weight;
	return true;
}

static bool
parse_zone(const char **at, int *minutes)
{
	int sign, h, m;

	*minutes = 0;
	if (**at == '\0')
		return true;
	if (literal(at, 'Z') || literal(at, 'z'))
		return true;
	sign = **at == '-' ? -1 : 1;
	if (!literal(at, '+') && !literal(at, '-'))
		return false;
	if (!digits(at, 2, 0, 23, &h))
		return false;
	(void)literal(at, ':');
	if (!digits(at, 2, 0, 59, &m))
		return false;
	*minutes = sign * (h * 60 + m);
	return true;
}

bool
clock_parse(const char *text, int64_t *ms)
{
	struct tm tm = { 0 };
	int fraction, zone, mday;
	time_t seconds;

	if (!parse_date(&text, &tm))
		return false;
	if (!literal(&text, 'T') && !literal(&text, 't') &&
	    !literal(&text, ' '))
		return false;
	if (!parse_time(&text, &tm, &fraction) || !parse_zone(&text, &zone) ||
	    *text)
		return false;
	mday = tm.tm_mday;
	seconds = timegm(&tm);
	/* timegm() turns 31 April into 1 May */
	if (tm.tm_mday != mday)
		return false;
	*ms =
	    ((int64_t)seconds - (int64_t)zone * 60) * MS_PER_SECOND + fraction;
	return true;
}
