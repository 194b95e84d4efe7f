#include "agentd/elf.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
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

static const char *
machine_name(unsigned machine, char text[32])
{
	for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
		if (machines[i].machine == machine)
			return machines[i].name;
	(void)snprintf(text, 32, "machine type %u", machine);
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
	if (kind->type != ET_EXEC && kind->type != ET_DYN)
		return reason_set(why, "%s is ELF, but no executable", name);
	if (kind->machine != own.machine) {
		char here[32], there[32];

		return reason_set(why, "%s is a program for %s, this is %s",
		    name, machine_name(kind->machine, there),
		    machine_name(own.machine, here));
	}
	if (kind->ident[EI_CLASS] != own.ident[EI_CLASS] ||
	    kind->ident[EI_DATA] != own.ident[EI_DATA])
		return reason_set(why,
		    "%s is a program of another word size or byte order",
		    name);
	return 0;
}

int
elf_check(
    const char *path, const char *name, const char *like, struct reason *why)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK),
	    bad;
	struct elf_kind kind;
	struct stat st;

	if (fd < 0)
		return reason_set(why, "%s: %s", name, strerror(errno));
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return reason_set(why, "%s is not a regular file", name);
	}
	bad = read_kind(fd, &kind);
	close(fd);
	if (bad)
		return reason_set(why, "%s is not an ELF executable", name);
	if (!(st.st_mode & S_IXUSR))
		return reason_set(why, "%s is not executable", name);
	return compare(&kind, name, like, why);
}
