/* What counts as a program for this machine. */
#include "t/agentd/suite.h"

#include "agentd/elf.h"
#include "agentd/install.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* The first bytes of this very program, to change and to write. */
static unsigned char head[64];
static char *directory, *path;

static void
set_up(void)
{
	FILE *f = fopen("/proc/self/exe", "re");

	directory = suite_directory();
	path = mem_fmt("%s/f", directory);
	ck_assert_uint_eq(fread(head, 1, sizeof head, f), sizeof head);
	(void)fclose(f);
}

static void
tear_down(void)
{
	free(path);
	suite_remove(directory);
}

static const char *
check(const void *bytes, size_t n, mode_t mode)
{
	static struct reason why;

	why.text[0] = '\0';
	suite_write(path, bytes, n, mode);
	ck_assert_int_eq(elf_check(path, "prog", ELF_OURSELVES, &why),
	    why.text[0] ? -1 : 0);
	return why.text;
}

START_TEST(our_own_program_passes)
{
	ck_assert_str_eq(check(head, sizeof head, 0755), "");
}
END_TEST

START_TEST(what_is_no_elf_is_refused)
{
	ck_assert_str_eq(
	    check("#!/bin/sh\necho perfspect version 1\n", 34, 0755),
	    "prog is not an ELF executable");
	ck_assert_str_eq(check("", 0, 0755), "prog is not an ELF executable");
	ck_assert_str_eq(
	    check(head, 19, 0755), "prog is not an ELF executable");
}
END_TEST

START_TEST(a_program_for_another_machine_is_named)
{
	unsigned char other[sizeof head];
	char want[128];

	memcpy(other, head, sizeof head);
	other[18] = EM_S390;
	other[19] = 0;
	(void)snprintf(want, sizeof want, "prog is a program for s390, ");
	ck_assert_int_eq(
	    strncmp(check(other, sizeof other, 0755), want, strlen(want)), 0);
	other[18] = head[18] == EM_AARCH64 ? EM_X86_64 : EM_AARCH64;
	ck_assert_ptr_nonnull(strstr(check(other, sizeof other, 0755),
	    head[18] == EM_AARCH64 ? "for x86_64, this is aarch64"
				   : "for aarch64, this is x86_64"));
}
END_TEST

/* As on a host of that machine: what counts is the program given. */
START_TEST(it_follows_the_machine)
{
	static const struct {
		unsigned char here, there;
		const char *why;
	} cases[] = {
		{ EM_AARCH64, EM_AARCH64, "" },
		{ EM_X86_64, EM_X86_64, "" },
		{ EM_AARCH64, EM_X86_64,
		    "prog is a program for x86_64, this is aarch64" },
		{ EM_X86_64, EM_AARCH64,
		    "prog is a program for aarch64, this is x86_64" },
	};
	char *like = mem_fmt("%s/like", directory);

	for (size_t i = 0; i < SUITE_N(cases); i++) {
		unsigned char ours[sizeof head], its[sizeof head];
		struct reason why = { "" };

		memcpy(ours, head, sizeof head);
		memcpy(its, head, sizeof head);
		ours[18] = cases[i].here;
		its[18] = cases[i].there;
		suite_write(like, ours, sizeof ours, 0755);
		suite_write(path, its, sizeof its, 0755);
		ck_assert_int_eq(elf_check(path, "prog", like, &why),
		    *cases[i].why ? -1 : 0);
		ck_assert_str_eq(why.text, cases[i].why);
	}
	free(like);
}
END_TEST

START_TEST(each_machine_has_its_release)
{
	static const char base[] =
	    "https://github.com/intel/PerfSpect/releases/latest/download/";
	struct reason why = { "" };
	char *url = install_release_url("x86_64", &why);
	char *other = install_release_url("aarch64", &why);

	ck_assert_int_eq(strncmp(url, base, strlen(base)), 0);
	ck_assert_str_eq(url + strlen(base), "perfspect.tgz");
	ck_assert_int_eq(strncmp(other, base, strlen(base)), 0);
	ck_assert_str_eq(other + strlen(base), "perfspect-aarch64.tgz");
	ck_assert_ptr_null(install_release_url("riscv64", &why));
	ck_assert_str_eq(why.text,
	    "there is no PerfSpect release for riscv64: set "
	    "PERFSPECT_DOWNLOAD_URL");
	free(url);
	free(other);
}
END_TEST

START_TEST(what_cannot_run_is_refused)
{
	unsigned char other[sizeof head];

	ck_assert_str_eq(
	    check(head, sizeof head, 0644), "prog is not executable");
	memcpy(other, head, sizeof head);
	other[16] = ET_REL;
	ck_assert_str_eq(check(other, sizeof other, 0755),
	    "prog is ELF, but no executable");
}
END_TEST

START_TEST(a_link_or_a_directory_is_refused)
{
	struct reason why;

	ck_assert_int_eq(symlink("/proc/self/exe", path), 0);
	ck_assert_int_eq(elf_check(path, "prog", ELF_OURSELVES, &why), -1);
	ck_assert_int_eq(
	    elf_check(directory, "prog", ELF_OURSELVES, &why), -1);
	ck_assert_str_eq(why.text, "prog is not a regular file");
	ck_assert_int_eq(
	    elf_check("/nonexistent", "prog", ELF_OURSELVES, &why), -1);
	ck_assert_str_eq(why.text, "prog: No such file or directory");
}
END_TEST

/* What elf_machine() says of the header with this class, byte order and
 * machine. */
static const char *
machine_of(int class, int order, int machine)
{
	static char text[ELF_MACHINE_BYTES];
	unsigned char other[sizeof head];
	struct reason why = { "" };
	bool big = order == ELFDATA2MSB;

	memcpy(other, head, sizeof head);
	other[EI_CLASS] = (unsigned char)class;
	other[EI_DATA] = (unsigned char)order;
	other[big ? 17 : 16] = ET_EXEC;
	other[big ? 16 : 17] = 0;
	other[big ? 19 : 18] = (unsigned char)machine;
	other[big ? 18 : 19] = 0;
	suite_write(path, other, sizeof other, 0755);
	ck_assert_msg(
	    elf_machine(path, "prog", text, &why) == 0, "%s", why.text);
	return text;
}

START_TEST(a_machine_is_told_as_uname_has_it)
{
	ck_assert_str_eq(
	    machine_of(ELFCLASS64, ELFDATA2LSB, EM_X86_64), "x86_64");
	ck_assert_str_eq(
	    machine_of(ELFCLASS64, ELFDATA2LSB, EM_AARCH64), "aarch64");
	ck_assert_str_eq(
	    machine_of(ELFCLASS32, ELFDATA2LSB, EM_386), "32-bit x86");
	ck_assert_str_eq(
	    machine_of(ELFCLASS64, ELFDATA2LSB, 99), "machine type 99");
	ck_assert_str_eq(machine_of(ELFCLASS32, ELFDATA2LSB, EM_X86_64),
	    "x86_64 of another word size or byte order");
	ck_assert_str_eq(machine_of(ELFCLASS64, ELFDATA2MSB, EM_AARCH64),
	    "aarch64 of another word size or byte order");
}
END_TEST

START_TEST(no_machine_is_told_of_what_is_no_program)
{
	char text[ELF_MACHINE_BYTES];
	struct reason why;

	suite_write(path, "#!/bin/sh\n", 10, 0755);
	ck_assert_int_eq(elf_machine(path, "prog", text, &why), -1);
	ck_assert_str_eq(why.text, "prog is not an ELF executable");
	suite_write(path, head, sizeof head, 0644);
	ck_assert_int_eq(elf_machine(path, "prog", text, &why), -1);
	ck_assert_str_eq(why.text, "prog is not executable");
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = { our_own_program_passes,
		what_is_no_elf_is_refused,
		a_program_for_another_machine_is_named, it_follows_the_machine,
		each_machine_has_its_release, what_cannot_run_is_refused,
		a_link_or_a_directory_is_refused,
		a_machine_is_told_as_uname_has_it,
		no_machine_is_told_of_what_is_no_program };

	return suite_run_with("elf", tests, SUITE_N(tests), set_up, tear_down);
}
