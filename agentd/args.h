/*
 * The argument vector of a program to be run.
 */
#ifndef CONSPECT_AGENTD_ARGS_H
#define CONSPECT_AGENTD_ARGS_H

#include <stddef.h>

/* It grows; v ends with NULL once something is in. */
struct args {
	char **v;
	size_t n;
};

/* Adds one argument. */
void args_add(struct args *a, const char *format, ...)
    __attribute__((nonnull, format(printf, 2, 3)));

/* Adds a flag and its number. */
void args_add_number(struct args *a, const char *flag, long n)
    __attribute__((nonnull));

/* Adds a flag and a list of numbers, "1,2,3". */
void args_add_list(struct args *a, const char *flag, const long *numbers,
    size_t n) __attribute__((nonnull));

void args_free(struct args *a) __attribute__((nonnull));

#endif
