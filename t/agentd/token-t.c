/* The token file: whose it may be, and what may be in it. */
#include "t/agentd/suite.h"

#include "agentd/token.h"

#include <string.h>
#include <unistd.h>

static char *directory, *path, *token;
static struct reason why;

static void
set_up(void)
{
	directory = suite_directory();
	path = mem_fmt("%s/token", directory);
	token = NULL;
}

static void
tear_down(void)
{
	free(token);
	token = NULL; /* the next test may be in the same process */
	free(path);
	suite_remove(directory);
}

/* What reading it gives: the token, or after "token file PATH" the reason. */
static const char *
read_it(void)
{
	static char *after;

	free(after);
	after = NULL;
	free(token);
	token = NULL;
	why.text[0] = '\0';
	if (token_read(path, &token, &why) == 0)
		return token;
	ck_assert_ptr_null(token);
	after = mem_fmt("token file %s", path);
	ck_assert_int_eq(strncmp(why.text, after, strlen(after)), 0);
	return why.text + strlen(after);
}

static const char *
read_text(const char *text, size_t n)
{
	suite_write(path, text, n, 0600);
	return read_it();
}

START_TEST(one_line_is_a_token)
{
	static const char *const files[] = { "secret-token", "secret-token\n",
		"secret-token\r\n", "secret-token \t\n", "secret-token\n\n" };

	for (size_t i = 0; i < SUITE_N(files); i++)
		ck_assert_str_eq(
		    read_text(files[i], strlen(files[i])), "secret-token");
}
END_TEST

/* A line end in a token would be a header of its own. */
START_TEST(what_is_no_token_is_refused)
{
	static const struct {
		const char *text, *why;
	} files[] = {
		{ "", ": a token has at least 8 characters" },
		{ "\n", ": a token has at least 8 characters" },
		{ "   \n", ": a token has at least 8 characters" },
		{ "1234567\n", ": a token has at least 8 characters" },
		{ "secret-token\nX-Other: 1\n", ": more than one line" },
		{ "secret-token\r\nX-Other: 1", ": more than one line" },
		{ "secret-token\rX-Other: 1", ": more than one line" },
		{ "secret token\n",
		    ": a token holds no white space and no other than ASCII "
		    "characters" },
		{ "secret-t\xc3\xb6ken\n",
		    ": a token holds no white space and no other than ASCII "
		    "characters" },
		{ "secret-\x1btoken\n",
		    ": a token holds no white space and no other than ASCII "
		    "characters" },
	};

	for (size_t i = 0; i < SUITE_N(files); i++)
		ck_assert_str_eq(
		    read_text(files[i].text, strlen(files[i].text)),
		    files[i].why);
	ck_assert_str_eq(read_text("secret\0token", 12), ": holds a NUL");
}
END_TEST

START_TEST(length_has_a_bound)
{
	char text[1100];

	memset(text, 'x', sizeof text);
	ck_assert_uint_eq(strlen(read_text(text, 1024)), 1024);
	ck_assert_str_eq(read_text(text, 1025), ": longer than 1024 bytes");
	ck_assert_str_eq(
	    read_text(text, sizeof text), ": longer than 1024 bytes");
}
END_TEST

START_TEST(nobody_else_may_read_it)
{
	static const mode_t modes[] = { 0604, 0640, 0644, 0620, 0602, 0601,
		0610, 0666 };

	for (size_t i = 0; i < SUITE_N(modes); i++) {
		char *want = mem_fmt(" is open to other users (mode %04o): "
				     "chmod 600 %s",
		    (unsigned)modes[i], path);

		suite_write(path, "secret-token", 12, modes[i]);
		ck_assert_str_eq(read_it(), want);
		free(want);
	}
	suite_write(path, "secret-token", 12, 0400);
	ck_assert_str_eq(read_it(), "secret-token");
}
END_TEST

START_TEST(it_is_ours_or_roots)
{
	char *want = mem_fmt(" belongs to user 12345: chown it to root or to "
			     "user %ld",
	    (long)geteuid());

	suite_write(path, "secret-token", 12, 0600);
	if (geteuid() == 0) { /* who else may give a file away */
		ck_assert_int_eq(chown(path, 12345, 0), 0);
		ck_assert_str_eq(read_it(), want);
	}
	free(want);
}
END_TEST

START_TEST(it_is_a_file)
{
	ck_assert_str_eq(read_it(), ": No such file or directory");
	ck_assert_int_eq(mkdir(path, 0700), 0);
	ck_assert_str_eq(read_it(), ": not a regular file");
	ck_assert_int_eq(rmdir(path), 0);
	/* nobody writes to it: to wait for that would be for ever */
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_str_eq(read_it(), ": not a regular file");
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(symlink("/dev/zero", path), 0);
	ck_assert_str_eq(read_it(), ": not a regular file");
}
END_TEST

/* As a secret's mount has it; what it leads to has the rights that count. */
START_TEST(a_link_is_followed_and_its_target_checked)
{
	char *real = mem_fmt("%s/real", directory);

	suite_write(real, "secret-token", 12, 0600);
	ck_assert_int_eq(symlink("real", path), 0);
	ck_assert_str_eq(read_it(), "secret-token");
	ck_assert_int_eq(chmod(real, 0644), 0);
	ck_assert_ptr_nonnull(strstr(read_it(), "is open to other users"));
	free(real);
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = { one_line_is_a_token,
		what_is_no_token_is_refused, length_has_a_bound,
		nobody_else_may_read_it, it_is_ours_or_roots, it_is_a_file,
		a_link_is_followed_and_its_target_checked };

	return suite_run_with(
	    "token", tests, SUITE_N(tests), set_up, tear_down);
}
