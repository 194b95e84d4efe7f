#include "agentd/footprint.h"

#include <elf.h>
#include <link.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * An object with relocations in its text has pages there that exist nowhere
 * but in memory.
 */
static bool
writes_its_text(const struct dl_phdr_info *object)
{
	for (size_t i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &object->dlpi_phdr[i];
		const ElfW(Dyn) * d;

		if (p->p_type != PT_DYNAMIC)
			continue;
		d = (const void *)(object->dlpi_addr + p->p_vaddr);
		for (; d->d_tag != DT_NULL; d++)
			if (d->d_tag == DT_TEXTREL ||
			    (d->d_tag == DT_FLAGS &&
				d->d_un.d_val & DF_TEXTREL))
				return true;
	}
	return false;
}

/* A segment that is not writable is its file's, byte for byte. */
static int
let_go(struct dl_phdr_info *object, size_t size, void *context)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	(void)size;
	(void)context;
	if (writes_its_text(object))
		return 0;
	for (size_t i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &object->dlpi_phdr[i];
		uintptr_t begin = object->dlpi_addr + p->p_vaddr;
		uintptr_t end = (begin + p->p_filesz + page - 1) & ~(page - 1);

		begin &= ~(page - 1);
		if (p->p_type == PT_LOAD && !(p->p_flags & PF_W))
			(void)madvise(
			    (void *)begin, end - begin, MADV_DONTNEED);
	}
	return 0;
}

void
footprint_reduce(void)
{
	(void)malloc_trim(0);
	(void)dl_iterate_phdr(let_go, NULL);
}
