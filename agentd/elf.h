/*
 * Is a file a program for this machine?
 */
#ifndef CONSPECT_AGENTD_ELF_H
#define CONSPECT_AGENTD_ELF_H

#include <stdbool.h>

#include "core/reason.h"

/* The program that runs this. */
#define ELF_OURSELVES "/proc/self/exe"

/*
 * Checks that the file at path, not followed when it is a link, is an ELF
 * executable for the same machine as the program at `like`.
 * Returns 0, or -1 with a reason that calls the file `name`.
 */
int elf_check(const char *path, const char *name, const char *like,
    struct reason *why) __attribute__((nonnull, warn_unused_result));

#endif
