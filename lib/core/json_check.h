/*
 * The grammar of RFC 8259, checked before json-c builds a value.
 *
 * json-c, even when strict, takes {'a':1} and [1.], puts U+FFFD for half of
 * a surrogate pair, keeps control characters in strings and turns an integer
 * that does not fit into the largest that does.  What a client meant must
 * not change on its way, so all of that is refused here, with the place; and
 * so is \u0000, at which a C string would be cut.
 */
#ifndef CONSPECT_CORE_JSON_CHECK_H
#define CONSPECT_CORE_JSON_CHECK_H

#include <stdbool.h>

/* Deeper texts are refused: nothing that we are sent needs half of it. */
#define JSON_DEPTH_MAX 32

/*
 * Checks that text up to end is valid UTF-8 and exactly one JSON text.
 * Returns NULL, or the place of the fault with *why set to a constant.
 */
const char *json_check(const char *text, const char *end, const char **why)
    __attribute__((nonnull, warn_unused_result));

#endif
