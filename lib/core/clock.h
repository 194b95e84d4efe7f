/*
 * Time.  Inside it is milliseconds since 1970 UTC; on disk and on the wire
 * it is RFC 3339 with three decimals and Z, all of one width, so that text
 * sorts as time does.
 */
#ifndef CONSPECT_CORE_CLOCK_H
#define CONSPECT_CORE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* "2026-12-01T03:19:00.123Z" and the NUL. */
#define CLOCK_TEXT 25

/* Milliseconds since 1970, UTC, by this machine's clock. */
int64_t clock_now_ms(void);

/* Milliseconds of a clock that only goes forward, for waits and durations. */
int64_t clock_mono_ms(void);

/* Writes ms as text; a time outside of years 0 to 9999 is clamped to them. */
void clock_format(int64_t ms, char text[CLOCK_TEXT]) __attribute__((nonnull));

/*
 * Reads a date and time: `YYYY-MM-DD`, T or a space, `HH:MM[:SS[.fraction]]`,
 * then nothing (taken as UTC), Z or an offset +HH:MM.  Returns false for
 * anything else, also for a date that does not exist.
 */
bool clock_parse(const char *text, int64_t *ms) __attribute__((nonnull));

#endif
