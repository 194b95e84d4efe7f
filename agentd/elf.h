/*
 * Is a file a program for this machine?
 */
#ifndef CONSPECT_AGENTD_ELF_H
#define CONSPECT_AGENTD_ELF_H

#include <stdbool.h>

#include "core/reason.h"

/*
 * Checks that the file at path, not followed when it is a link, is an ELF
 * executable for the machine that this program itself was built for.
 * Returns 0, or -1 with a reason that calls the file `name`.
 */
int elf_check(const char *path, const char *name, struct reason *why)
    __attribute__((nonnull, warn_unused_result));

#endif
