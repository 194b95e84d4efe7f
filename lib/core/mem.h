/*
 * Memory that is there or the program ends.
 *
 * A CGI program or a short-lived child has nothing better to do without
 * memory than to end with a line in the log; the agent is started again by
 * init and finds its state on disk.  So no caller checks for NULL.
 */
#ifndef CONSPECT_CORE_MEM_H
#define CONSPECT_CORE_MEM_H

#include <stddef.h>

/* Zeroed memory for n objects of size bytes; the caller frees it. */
void *mem_alloc(size_t n, size_t size)
    __attribute__((returns_nonnull, malloc, warn_unused_result));

/* As realloc() to n objects of size bytes; new bytes are not zeroed. */
void *mem_grow(void *old, size_t n, size_t size)
    __attribute__((returns_nonnull, warn_unused_result));

/* A copy of text, or NULL for NULL; the caller frees it. */
char *mem_copy(const char *text) __attribute__((warn_unused_result));

/* A formatted string; the caller frees it. */
char *mem_fmt(const char *format, ...)
    __attribute__((returns_nonnull, format(printf, 1, 2), warn_unused_result));

#endif
