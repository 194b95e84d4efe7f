/*
 * Is a file a program, and for which machine?
 */
#ifndef CONSPECT_AGENTD_ELF_H
#define CONSPECT_AGENTD_ELF_H

#include "core/reason.h"

/* A machine's name, with room for a few words. */
#define ELF_MACHINE_BYTES 64

/*
 * The machine that the ELF executable at path, not followed when it is a
 * link, was built for: x86_64 and aarch64 as `uname -m` has them, others in
 * words.  Returns 0, or -1 with a reason that calls the file `name`.
 */
int elf_machine(const char *path, const char *name,
    char machine[ELF_MACHINE_BYTES], struct reason *why)
    __attribute__((nonnull, warn_unused_result));

/* The program that runs this. */
#define ELF_OURSELVES "/proc/self/exe"

/*
 * Checks that it is one for the same machine as the program at `like`.
 * Returns 0, or -1 with the reason.
 */
int elf_check(const char *path, const char *name, const char *like,
    struct reason *why) __attribute__((nonnull, warn_unused_result));

#endif
