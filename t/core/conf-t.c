/*
 * Settings files.  Each NAME.in in t/core/conf has a NAME.out beside it: the
 * settings as they are read, or the reason for which they are not.  Adding a
 * case is adding two files.
 */
#include "core/conf.h"

#include <dirent.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/buf.h"
#include "harness.h"

struct settings {
	char *text, *other;
	long number;
	bool flag;
};

static const struct conf_key keys[] = {
	{ "text", CONF_TEXT, offsetof(struct settings, text), 0, 0 },
	{ "other", CONF_TEXT, offsetof(struct settings, other), 0, 0 },
	{ "number", CONF_INTEGER, offsetof(struct settings, number), -5, 300 },
	{ "flag", CONF_BOOLEAN, offsetof(struct settings, flag), 0, 0 },
};
#define N_KEYS (sizeof keys / sizeof *keys)

static const char *
srcdir(void)
{
	const char *dir = getenv("SRCDIR");

	return dir ? dir : ".";
}

static void
slurp(const char *path, char *text, size_t size)
{
	FILE *f = fopen(path, "re");
	size_t n;

	ck_assert_msg(f != NULL, "%s is missing", path);
	n = fread(text, 1, size - 1, f);
	text[n] = '\0';
	(void)fclose(f);
}

/* What the file leads to, as its .out file has it. */
static void
outcome(const char *path, struct buf *out)
{
	struct settings s = { .number = 30 };
	struct reason why = { "" };

	if (conf_read(keys, N_KEYS, &s, path, false, &why) == 0)
		buf_fmt(out, "text=%s\nother=%s\nnumber=%ld\nflag=%d\n",
		    s.text ? s.text : "(none)", s.other ? s.other : "(none)",
		    s.number, s.flag);
	else /* the directory differs from one build to the next */
		buf_fmt(out, "%s\n", strrchr(why.text, '/') + 1);
	conf_free(keys, N_KEYS, &s);
}

START_TEST(files_are_read_as_their_pairs_say)
{
	char dir[1000], path[2000], expected[2000];
	int cases = 0;
	DIR *d;

	(void)snprintf(dir, sizeof dir, "%s/t/core/conf", srcdir());
	d = opendir(dir);
	ck_assert_msg(d != NULL, "%s is missing", dir);
	for (struct dirent *e; (e = readdir(d));) {
		size_t n = strlen(e->d_name);
		struct buf out = BUF_INIT(5000);

		if (n < 3 || strcmp(e->d_name + n - 3, ".in") != 0)
			continue;
		(void)snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
		outcome(path, &out);
		memcpy(path + strlen(path) - 3, ".out", 5);
		slurp(path, expected, sizeof expected);
		ck_assert_msg(strcmp(buf_text(&out), expected) == 0, "%s: %s",
		    e->d_name, buf_text(&out));
		buf_free(&out);
		cases++;
	}
	(void)closedir(d);
	ck_assert_int_ge(cases, 14);
}
END_TEST

START_TEST(a_missing_file_is_an_error_unless_optional)
{
	struct settings s = { .number = 30 };
	struct reason why;

	ck_assert_int_eq(
	    conf_read(keys, N_KEYS, &s, "/nonexistent/c", false, &why), -1);
	ck_assert_str_eq(
	    why.text, "/nonexistent/c: No such file or directory");
	ck_assert_int_eq(
	    conf_read(keys, N_KEYS, &s, "/nonexistent/c", true, &why), 0);
	ck_assert_int_eq(s.number, 30);
}
END_TEST

START_TEST(a_directory_is_no_settings_file)
{
	struct settings s = { .number = 30 };
	struct reason why;

	ck_assert_int_eq(conf_read(keys, N_KEYS, &s, "/tmp", true, &why), -1);
	ck_assert_str_eq(why.text, "/tmp: Is a directory");
}
END_TEST

START_TEST(a_key_can_be_set_from_elsewhere)
{
	struct settings s = { .number = 30 };
	struct reason why;

	ck_assert_int_eq(
	    conf_set(keys, N_KEYS, &s, "text", "a", "--text", &why), 0);
	ck_assert_int_eq(
	    conf_set(keys, N_KEYS, &s, "text", "b", "--text", &why), 0);
	ck_assert_str_eq(s.text, "b");
	ck_assert_int_eq(
	    conf_set(keys, N_KEYS, &s, "number", "301", "--number", &why), -1);
	ck_assert_str_eq(why.text, "--number: number must be a whole number "
				   "from -5 to 300, not \"301\"");
	ck_assert_int_eq(
	    conf_set(keys, N_KEYS, &s, "nothing", "1", "--nothing", &why), -1);
	ck_assert_str_eq(why.text, "--nothing: unknown key \"nothing\"");
	conf_free(keys, N_KEYS, &s);
	ck_assert_ptr_null(s.text);
}
END_TEST

START_TEST(numbers_are_whole_and_within_their_limits)
{
	static const char *const wrong[] = { "", "x", "1x", "1.0", "-6", "301",
		"99999999999999999999", "0x10", "1 2", "--1" };
	struct settings s = { .number = 30 };
	struct reason why;

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		ck_assert_msg(conf_set(keys, N_KEYS, &s, "number", wrong[i],
				  "-n", &why) == -1,
		    "\"%s\" is taken", wrong[i]);
	ck_assert_int_eq(s.number, 30);
	ck_assert_int_eq(
	    conf_set(keys, N_KEYS, &s, "number", "-5", "-n", &why), 0);
	ck_assert_int_eq(s.number, -5);
	ck_assert_int_eq(
	    conf_set(keys, N_KEYS, &s, "number", "300", "-n", &why), 0);
	ck_assert_int_eq(s.number, 300);
}
END_TEST

HARNESS_MAIN("conf", files_are_read_as_their_pairs_say,
    a_missing_file_is_an_error_unless_optional,
    a_directory_is_no_settings_file, a_key_can_be_set_from_elsewhere,
    numbers_are_whole_and_within_their_limits)
