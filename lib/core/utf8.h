/*
 * UTF-8 (RFC 3629): no overlong forms, no surrogates, up to U+10FFFF.
 */
#ifndef CONSPECT_CORE_UTF8_H
#define CONSPECT_CORE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* How many bytes from the start are whole, valid characters. */
size_t utf8_valid_prefix(const char *text, size_t len)
    __attribute__((nonnull));

/* Whether all of the bytes are. */
bool utf8_is_valid(const char *text, size_t len) __attribute__((nonnull));

/* Puts '?' for each byte of a text that is part of no valid character. */
void utf8_repair(char *text) __attribute__((nonnull));

/* Number of characters in valid UTF-8. */
size_t utf8_length(const char *text, size_t len) __attribute__((nonnull));

#endif
