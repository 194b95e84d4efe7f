/*
 * What every compiled test shares: Check's assertions, TAP on standard
 * output for prove, and one line of main().
 *
 *	START_TEST(test_something)
 *	{
 *		ck_assert_int_eq(answer(), 42);
 *	}
 *	END_TEST
 *
 *	HARNESS_MAIN("module", test_something, test_other)
 */
#ifndef CONSPECT_T_HARNESS_H
#define CONSPECT_T_HARNESS_H

#include <check.h>
#include <stdlib.h>

/* A test that takes longer hangs: far above what valgrind needs.  A long test
 * defines its own. */
#ifndef HARNESS_TIMEOUT_SECONDS
#	define HARNESS_TIMEOUT_SECONDS 120
#endif

static inline int
harness_run(const char *module, const TTest *const *tests, size_t n)
{
	Suite *suite = suite_create(module);
	TCase *tcase = tcase_create(module);
	SRunner *runner;
	int failed;

	tcase_set_timeout(tcase, HARNESS_TIMEOUT_SECONDS);
	for (size_t i = 0; i < n; i++)
		tcase_add_test(tcase, tests[i]);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_set_tap(runner, "-");
	srunner_run_all(runner, CK_SILENT);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#define HARNESS_MAIN(module, ...)                                             \
	int main(void)                                                        \
	{                                                                     \
		const TTest *const tests[] = { __VA_ARGS__ };                 \
                                                                              \
		return harness_run(                                           \
		    module, tests, sizeof tests / sizeof *tests);             \
	}

#endif
