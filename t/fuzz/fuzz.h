/*
 * A fuzz target: one parser of what comes from outside, and what must hold
 * of it for any input.
 *
 * Each t/fuzz/NAME.c is linked twice: with libFuzzer by `make fuzz`, which
 * looks for new inputs, and with t/fuzz/replay.c as the test t/fuzz/NAME-t,
 * which goes through the files of t/fuzz/corpus/NAME.  An input that once
 * failed stays there.
 */
#ifndef CONSPECT_T_FUZZ_H
#define CONSPECT_T_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/utf8.h"

/* The target's name, NAME above. */
extern const char *const fuzz_target;

/* libFuzzer's entry: one input, in memory of exactly its size. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must hold; where it does not, libFuzzer keeps the input. */
#define FUZZ_CHECK(holds)                                                     \
	do {                                                                  \
		if (!(holds)) {                                               \
			(void)fprintf(stderr, "%s:%d: does not hold: %s\n",   \
			    __FILE__, __LINE__, #holds);                      \
			abort();                                              \
		}                                                             \
	} while (0)

/* A failure has a reason, which is text, and a success has none. */
static inline void
fuzz_check_reason(bool failed, const char *why)
{
	FUZZ_CHECK(failed == (*why != '\0'));
	FUZZ_CHECK(utf8_is_valid(why, strlen(why)));
}

#endif
