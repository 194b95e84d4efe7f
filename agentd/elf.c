#include "agentd/elf.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What the beginning of an ELF file says, as far as it matters here. */
struct elf_kind {
	unsigned char ident[EI_NIDENT];
	unsigned type, machine;
};

static const struct {
	unsigned machine;
	const char *name;
} machines[] = {
	{ EM_X86_64, "x86_64" },
	{ EM_AARCH64, "aarch64" },
	{ EM_386, "32-bit x86" },
	{ EM_ARM, "32-bit ARM" },
	{ EM_PPC64, "ppc64" },
	{ EM_S390, "s390" },
	{ EM_RISCV, "riscv" },
};

/* Both of the releases' machines are so; `uname -m` has other words for
 * their 32-bit and big-endian kin. */
static bool
is_64_bit_little_endian(const struct elf_kind *kind)
{
	return kind->ident[EI_CLASS] == ELFCLASS64 &&
	       kind->ident[EI_DATA] == ELFDATA2LSB;
}

static const char *
machine_name(const struct elf_kind *kind, char text[ELF_MACHINE_BYTES])
{
	const char *name = NULL;
	bool other_form =
	    (kind->machine == EM_X86_64 || kind->machine == EM_AARCH64) &&
	    !is_64_bit_little_endian(kind);

	for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
		if (machines[i].machine == kind->machine)
			name = machines[i].name;
	if (!name)
		(void)snprintf(
		    text, ELF_MACHINE_BYTES, "machine type %u", kind->machine);
	else
		(void)snprintf(text, ELF_MACHINE_BYTES, "%s%s", name,
		    other_form ? " of another word size or byte order" : "");
	return text;
}

static unsigned
half(const unsigned char *at, bool big_endian)
{
	return big_endian ? (unsigned)(at[0] << 8 | at[1])
			  : (unsigned)(at[1] << 8 | at[0]);
}

/* Type and machine stand at the same place in 32- and 64-bit files. */
static int
read_kind(int fd, struct elf_kind *kind)
{
	unsigned char head[EI_NIDENT + 4];
	bool big_endian;

	if (pread(fd, head, sizeof head, 0) != (ssize_t)sizeof head ||
	    memcmp(head, ELFMAG, SELFMAG) != 0)
		return -1;
	big_endian = head[EI_DATA] == ELFDATA2MSB;
	memcpy(kind->ident, head, EI_NIDENT);
	kind->type = half(head + EI_NIDENT, big_endian);
	kind->machine = half(head + EI_NIDENT + 2, big_endian);
	return 0;
}

static int
kind_of(const char *path, struct elf_kind *kind)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), result;

	if (fd < 0)
		return -1;
	result = read_kind(fd, kind);
	close(fd);
	return result;
}

static int
compare(const struct elf_kind *kind, const char *name, const char *like,
    struct reason *why)
{
	struct elf_kind own;

	if (kind_of(like, &own))
		return reason_set(why, "%s cannot be read", like);
	if (kind->machine != own.machine) {
		char here[ELF_MACHINE_BYTES], there[ELF_MACHINE_BYTES];

		return reason_set(why, "%s is a program for %s, this is %s",
		    name, machine_name(kind, there), machine_name(&own, here));
	}
	if (kind->ident[EI_CLASS] != own.ident[EI_CLASS] ||
	    kind->ident[EI_DATA] != own.ident[EI_DATA])
		return reason_set(why,
		    "%s is a program of another word size or byte order",
		    name);
	return 0;
}

static int
read_program(const char *path, const char *name, struct elf_kind *kind,
    struct reason *why)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK),
	    bad;
	struct stat st;

	if (fd < 0)
		return reason_set(why, "%s: %s", name, strerror(errno));
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return reason_set(why, "%s is not a regular file", name);
	}
	bad = read_kind(fd, kind);
	close(fd);
	if (bad)
		return reason_set(why, "%s is not an ELF executable", name);
	if (!(st.st_mode & S_IXUSR))
		return reason_set(why, "%s is not executable", name);
	if (kind->type != ET_EXEC && kind->type != ET_DYN)
		return reason_set(why, "%s is ELF, but no executable", name);
	return 0;
}

int
elf_machine(const char *path, const char *name,
    char machine[ELF_MACHINE_BYTES], struct reason *why)
{
	struct elf_kind kind;

	if (read_program(path, name, &kind, why))
		return -1;
	(void)machine_name(&kind, machine);
	return 0;
}

int
elf_check(
    const char *path, const char *name, const char *like, struct reason *why)
{
	struct elf_kind kind;

	if (read_program(path, name, &kind, why))
		return -1;
	return compare(&kind, name, like, why);
}
