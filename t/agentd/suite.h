/*
 * What each compiled test of the agent begins and ends with.
 */
#ifndef CONSPECT_T_AGENTD_SUITE_H
#define CONSPECT_T_AGENTD_SUITE_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "agentd/tree.h"
#include "core/mem.h"

/* Runs one list of tests, each between set_up and tear_down where they are
 * not NULL, with TAP on standard output. */
static inline int
suite_run_with(const char *name, const TTest *const *tests, size_t n,
    void (*set_up)(void), void (*tear_down)(void))
{
	Suite *suite = suite_create(name);
	TCase *tcase = tcase_create(name);
	SRunner *runner;

	for (size_t i = 0; i < n; i++)
		tcase_add_test(tcase, tests[i]);
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_set_timeout(tcase, 120);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_set_tap(runner, "-");
	srunner_run_all(runner, CK_SILENT);
	n = (size_t)srunner_ntests_failed(runner);
	srunner_free(runner);
	return n ? EXIT_FAILURE : EXIT_SUCCESS;
}

static inline int
suite_run(const char *name, const TTest *const *tests, size_t n)
{
	return suite_run_with(name, tests, n, NULL, NULL);
}

/* A new private directory; the caller removes and frees it. */
static inline char *
suite_directory(void)
{
	const char *under = getenv("TMPDIR");
	char *path = mem_fmt("%s/conspect-t.XXXXXX", under ? under : "/tmp");

	ck_assert_ptr_nonnull(mkdtemp(path));
	return path;
}

static inline void
suite_remove(char *directory)
{
	tree_remove(directory);
	free(directory);
}

/* Writes a file; fails the test where it cannot. */
static inline void
suite_write(const char *path, const void *bytes, size_t n, mode_t mode)
{
	FILE *f = fopen(path, "we");

	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(bytes, 1, n, f), n);
	ck_assert_int_eq(fclose(f), 0);
	ck_assert_int_eq(chmod(path, mode), 0);
}

/* Asserts what DIRECTORY/NAME holds, up to 255 bytes; NULL: it is not
 * there. */
static inline void
suite_expect(const char *directory, const char *name, const char *want)
{
	char *path = mem_fmt("%s/%s", directory, name), text[256] = "";
	FILE *f = fopen(path, "re");

	if (f) {
		text[fread(text, 1, sizeof text - 1, f)] = '\0';
		(void)fclose(f);
	}
	ck_assert_msg((f != NULL) == (want != NULL), "%s is%s there", path,
	    f ? "" : " not");
	ck_assert_str_eq(text, want ? want : "");
	free(path);
}

#define SUITE_N(tests) (sizeof(tests) / sizeof *(tests))

#endif
