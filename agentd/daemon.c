#include "agentd/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void __attribute__((noreturn)) wait_for_child(int fd)
{
	char byte;
	ssize_t n;

	do
		n = read(fd, &byte, 1);
	while (n < 0 && errno == EINTR);
	_exit(n == 1 ? EXIT_SUCCESS : EXIT_FAILURE);
}

int
daemon_start(struct reason *why)
{
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return reason_set(why, "pipe: %s", strerror(errno));
	pid = fork();
	if (pid < 0)
		return reason_set(why, "fork: %s", strerror(errno));
	if (pid > 0) {
		close(ends[1]);
		wait_for_child(ends[0]);
	}
	close(ends[0]);
	(void)setsid();
	if (chdir("/"))
		return reason_set(why, "/: %s", strerror(errno));
	return ends[1];
}

void
daemon_ready(int fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null >= 0) {
		(void)dup2(null, STDIN_FILENO);
		(void)dup2(null, STDOUT_FILENO);
		(void)dup2(null, STDERR_FILENO);
		if (null > STDERR_FILENO)
			close(null);
	}
	(void)!write(fd, "", 1);
	close(fd);
}

int
daemon_write_pid(const char *path, struct reason *why)
{
	int fd = open(
	    path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	int n;

	if (fd < 0)
		return reason_set(
		    why, "pid file %s: %s", path, strerror(errno));
	n = fchmod(fd, 0644) ? -1 : dprintf(fd, "%ld\n", (long)getpid());
	if (close(fd) || n < 0)
		return reason_set(
		    why, "pid file %s: %s", path, strerror(errno));
	return 0;
}

void
daemon_remove_pid(const char *path)
{
	FILE *file = fopen(path, "re");
	long pid = 0;

	if (!file)
		return;
	if (fscanf(file, "%ld", &pid) == 1 && pid == (long)getpid())
		(void)unlink(path);
	(void)fclose(file);
}
