/* The log: no forged lines, no secrets, the level, and the file. */
#include "core/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"

/* What one call logged; the caller frees it. */
static struct buf captured = BUF_INIT(100000);

static void
capture(void)
{
	buf_clear(&captured);
	log_to_buf(&captured);
	log_set_level(LOG_LEVEL_INFO);
}

/* Longer than a line of the log may be. */
static const char *
long_text(size_t n)
{
	static char text[10000];

	ck_assert_uint_lt(n, sizeof text);
	memset(text, 'x', n);
	text[n] = '\0';
	return text;
}

START_TEST(control_characters_cannot_forge_a_line)
{
	capture();
	log_info("host \"%s\"", "a\nerror: forged\r\t\x1b[2J\x7f");
	ck_assert_str_eq(
	    captured.data, "info: host \"a?error: forged???[2J?\"\n");
	buf_free(&captured);
}
END_TEST

START_TEST(secrets_are_masked_wherever_they_stand)
{
	capture();
	log_secret("hunter2-hunter2");
	log_secret("hunter2-hunter2");
	log_warn(
	    "hunter2-hunter2 and %s%s.", "hunter2-hunter2", "hunter2-hunter2");
	ck_assert_str_eq(captured.data, "warning: *** and ******.\n");
	buf_free(&captured);
}
END_TEST

START_TEST(short_secrets_are_not_masked)
{
	capture();
	log_secret("1234567");
	log_secret("12345678");
	log_info("1234567, 12345678");
	ck_assert_str_eq(captured.data, "info: 1234567, ***\n");
	buf_free(&captured);
}
END_TEST

START_TEST(a_secret_that_begins_another_does_not_show_its_end)
{
	capture();
	log_secret("password");
	log_secret("password-of-root");
	log_info("<password-of-root> <password>");
	ck_assert_str_eq(captured.data, "info: <***> <***>\n");
	buf_free(&captured);
}
END_TEST

START_TEST(a_secret_across_the_cut_of_a_long_line_is_masked)
{
	capture();
	log_secret("token-abcdefghijklmnopqrstuvwxyz");
	for (size_t n = 2000; n < 2060; n++) {
		buf_clear(&captured);
		log_info(
		    "%s%s", long_text(n), "token-abcdefghijklmnopqrstuvwxyz");
		ck_assert_msg(!strstr(captured.data, "token"),
		    "part of the secret after %zu bytes", n);
	}
	buf_free(&captured);
}
END_TEST

START_TEST(nothing_is_logged_above_the_level)
{
	capture();
	log_debug("hidden");
	ck_assert_uint_eq(captured.len, 0);
	log_set_level(LOG_LEVEL_DEBUG);
	log_debug("shown");
	log_set_level(LOG_LEVEL_ERROR);
	log_warn("hidden");
	log_error("shown");
	ck_assert_str_eq(captured.data, "debug: shown\nerror: shown\n");
	buf_free(&captured);
}
END_TEST

START_TEST(errno_survives_a_call)
{
	capture();
	errno = EXDEV;
	log_error("%s", strerror(EACCES));
	ck_assert_int_eq(errno, EXDEV);
	buf_free(&captured);
}
END_TEST

/* Reads a whole small file into text. */
static void
read_file(const char *path, char *text, size_t size)
{
	FILE *f = fopen(path, "re");
	size_t n;

	ck_assert_ptr_nonnull(f);
	n = fread(text, 1, size - 1, f);
	text[n] = '\0';
	(void)fclose(f);
}

START_TEST(a_file_gets_whole_lines_and_is_opened_again)
{
	char dir[] = "/tmp/conspect-log-XXXXXX", path[64], old[64];
	char text[4096], tail[64];
	struct stat st;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	(void)snprintf(path, sizeof path, "%s/log", dir);
	(void)snprintf(old, sizeof old, "%s/log.1", dir);
	(void)umask(0);
	log_to_buf(NULL);
	log_set_level(LOG_LEVEL_INFO);
	ck_assert_int_eq(log_to_file("tester", path), 0);
	log_info("first");
	ck_assert_int_eq(rename(path, old), 0);
	log_info("second");
	log_reopen();
	log_info("%s", long_text(5000));

	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(st.st_mode & 0777, 0640);
	read_file(old, text, sizeof text);
	(void)snprintf(
	    tail, sizeof tail, " tester[%ld] info: second\n", (long)getpid());
	ck_assert_str_eq(text + strlen(text) - strlen(tail), tail);
	ck_assert_ptr_nonnull(strstr(text, "info: first\n"));
	read_file(path, text, sizeof text);
	ck_assert_uint_gt(strlen(text), 2000);
	ck_assert_int_eq(text[strlen(text) - 1], '\n');
	(void)unlink(path);
	(void)unlink(old);
	(void)rmdir(dir);
}
END_TEST

START_TEST(a_file_that_cannot_be_opened_is_named)
{
	capture();
	ck_assert_int_eq(log_to_file("tester", "/nonexistent/log"), -1);
	ck_assert_str_eq(captured.data,
	    "error: log file /nonexistent/log: No such file or directory\n");
	buf_free(&captured);
}
END_TEST

HARNESS_MAIN("log", control_characters_cannot_forge_a_line,
    secrets_are_masked_wherever_they_stand, short_secrets_are_not_masked,
    a_secret_that_begins_another_does_not_show_its_end,
    a_secret_across_the_cut_of_a_long_line_is_masked,
    nothing_is_logged_above_the_level, errno_survives_a_call,
    a_file_gets_whole_lines_and_is_opened_again,
    a_file_that_cannot_be_opened_is_named)
