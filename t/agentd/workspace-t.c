/* Private directories: whose they are, and who removes them when. */
#include "t/agentd/suite.h"

#include "agentd/workspace.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char *directory;
static struct reason why;

static void
set_up(void)
{
	directory = suite_directory();
}

static void
tear_down(void)
{
	suite_remove(directory);
}

static char *
make(void)
{
	char *path = workspace_make(directory, &why), *inside;

	ck_assert_ptr_nonnull(path);
	inside = mem_fmt("%s/file", path);
	suite_write(inside, "data", 4, 0600);
	free(inside);
	return path;
}

/* Another process that makes one and waits; *path is what it made. */
static pid_t
start_other(char **path)
{
	char text[256] = "";
	int ends[2];
	pid_t pid;

	ck_assert_int_eq(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		char *made = make();

		if (write(ends[1], made, strlen(made)) < 0)
			_exit(1);
		for (;;)
			(void)pause();
	}
	ck_assert_int_gt(read(ends[0], text, sizeof text - 1), 0);
	close(ends[0]);
	close(ends[1]);
	*path = mem_copy(text);
	return pid;
}

static void
kill_other(pid_t pid)
{
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

START_TEST(one_is_private_and_goes_with_all_that_is_in_it)
{
	char *path = make();
	struct stat st;

	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0700);
	ck_assert_int_eq(strncmp(path, directory, strlen(directory)), 0);
	workspace_remove(path);
	ck_assert_int_eq(rmdir(directory), 0); /* it is empty */
	ck_assert_int_eq(mkdir(directory, 0700), 0);
	workspace_remove(NULL);
}
END_TEST

START_TEST(ours_and_those_of_others_that_live_stay)
{
	char *other, *first = make(), *second;
	pid_t pid = start_other(&other);

	second = make();
	ck_assert_str_ne(first, second);
	ck_assert_int_eq(access(first, F_OK), 0);
	ck_assert_int_eq(access(other, F_OK), 0);
	kill_other(pid);
	workspace_remove(first);
	workspace_remove(second);
	free(other);
}
END_TEST

START_TEST(what_a_killed_process_left_is_removed)
{
	char *other, *path;
	pid_t pid = start_other(&other);

	kill_other(pid);
	ck_assert_int_eq(access(other, F_OK), 0);
	path = make();
	ck_assert_int_eq(access(other, F_OK), -1);
	workspace_remove(path);
	free(other);
}
END_TEST

/* A name like ours is not all that it takes. */
START_TEST(what_is_no_directory_of_ours_stays)
{
	char *file = mem_fmt("%s/.conspect-perfspect.aaaaaa", directory);
	char *link = mem_fmt("%s/.conspect-perfspect.bbbbbb", directory);
	char *foreign = mem_fmt("%s/.conspect-perfspect.cccccc", directory);
	char *target = mem_fmt("%s/target", directory), *path;

	suite_write(file, "data", 4, 0600);
	ck_assert_int_eq(mkdir(target, 0700), 0);
	ck_assert_int_eq(symlink("target", link), 0);
	ck_assert_int_eq(mkdir(foreign, 0700), 0);
	if (geteuid() == 0) /* who else may give a directory away */
		ck_assert_int_eq(chown(foreign, 12345, 12345), 0);
	path = make();
	ck_assert_int_eq(access(file, F_OK), 0);
	ck_assert_int_eq(access(link, F_OK), 0);
	ck_assert_int_eq(access(target, F_OK), 0);
	if (geteuid() == 0)
		ck_assert_int_eq(access(foreign, F_OK), 0);
	workspace_remove(path);
	free(file);
	free(link);
	free(foreign);
	free(target);
}
END_TEST

START_TEST(a_directory_that_cannot_be_used_is_named_with_the_user)
{
	char *want = mem_fmt("temporary directory /nonexistent, as user %ld: "
			     "No such file or directory",
	    (long)geteuid());

	ck_assert_ptr_null(workspace_make("/nonexistent", &why));
	ck_assert_str_eq(why.text, want);
	ck_assert_int_eq(workspace_check("/nonexistent", &why), -1);
	ck_assert_str_eq(why.text, want);
	free(want);
	ck_assert_int_eq(workspace_check(directory, &why), 0);
	ck_assert_int_eq(chmod(directory, 0777), 0);
	ck_assert_int_eq(workspace_check(directory, &why), -1);
	ck_assert_ptr_nonnull(strstr(why.text, "(mode 0777)"));
	ck_assert_int_eq(chmod(directory, 01777), 0);
	ck_assert_int_eq(workspace_check(directory, &why), 0);
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = {
		one_is_private_and_goes_with_all_that_is_in_it,
		ours_and_those_of_others_that_live_stay,
		what_a_killed_process_left_is_removed,
		what_is_no_directory_of_ours_stays,
		a_directory_that_cannot_be_used_is_named_with_the_user
	};

	return suite_run_with(
	    "workspace", tests, SUITE_N(tests), set_up, tear_down);
}
