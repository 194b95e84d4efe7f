/*
 * Identifiers: random UUIDs (RFC 4122 version 4) in lower case.
 */
#ifndef CONSPECT_CORE_UUID_H
#define CONSPECT_CORE_UUID_H

#include <stdbool.h>

/* 36 characters and the NUL. */
#define UUID_TEXT 37

void uuid_make(char text[UUID_TEXT]) __attribute__((nonnull));

/*
 * Whether text is a UUID of any version, in the 8-4-4-4-12 form; copies it
 * in lower case to out, which may be text itself.
 */
bool uuid_parse(const char *text, char out[UUID_TEXT])
    __attribute__((nonnull));

#endif
