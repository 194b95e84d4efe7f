#include "agentd/version.h"

#include "core/clock.h"
#include "core/mem.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* `--version` answers at once; a program of 100 MB on a slow disk later. */
#define VERSION_MS 30000

/* As a shell says of what cannot be run. */
#define EXIT_CANNOT_RUN 126

static const char VERSION_PREFIX[] = "perfspect version ";

static int
run_version(void *context)
{
	char program[] = "perfspect", flag[] = "--version";
	char *argv[] = { program, flag, NULL };

	(void)execv(context, argv);
	dprintf(STDERR_FILENO, "%s\n", strerror(errno));
	return EXIT_CANNOT_RUN;
}

static void
wait_for(struct child *c, int64_t deadline)
{
	int fds[CHILD_FDS];

	for (;;) {
		struct pollfd wait[CHILD_FDS];
		int64_t now = clock_mono_ms(), next;
		size_t n;

		if (child_tick(c, now))
			return;
		if (now >= deadline)
			child_kill(c, now);
		next = child_next_ms(c);
		next = next < deadline || now >= deadline ? next : deadline;
		n = child_fds(c, fds);
		for (size_t i = 0; i < n; i++)
			wait[i] = (struct pollfd) { fds[i], POLLIN, 0 };
		now = clock_mono_ms();
		(void)poll(wait, n, next > now ? (int)(next - now) : 0);
	}
}

bool
perfspect_read_version(const char *line, char version[PERFSPECT_VERSION_BYTES])
{
	size_t n = sizeof VERSION_PREFIX - 1, len;

	if (strncmp(line, VERSION_PREFIX, n) != 0)
		return false;
	line += n;
	len = strlen(line);
	if (len == 0 || len >= PERFSPECT_VERSION_BYTES)
		return false;
	for (size_t i = 0; i < len; i++)
		if (line[i] <= ' ' || line[i] > '~')
			return false;
	memcpy(version, line, len + 1);
	return true;
}

static int
read_version(const struct child *c, const char *program,
    char version[PERFSPECT_VERSION_BYTES], struct reason *why)
{
	char ended[64];

	child_describe(c->status, ended);
	if (WIFSIGNALED(c->status) && WTERMSIG(c->status) == SIGKILL)
		return reason_set(why,
		    "%s --version did not answer within %d seconds", program,
		    VERSION_MS / 1000);
	if (WIFEXITED(c->status) && WEXITSTATUS(c->status) == EXIT_CANNOT_RUN)
		return reason_set(why,
		    "%s cannot be run by user %ld: %.200s (does its "
		    "directory allow execution?)",
		    program, (long)geteuid(), c->last);
	if (c->status != 0)
		return reason_set(
		    why, "%s --version %s: %.200s", program, ended, c->last);
	if (!perfspect_read_version(c->last, version))
		return reason_set(why,
		    "%s --version answered \"%.200s\" and no version", program,
		    c->last);
	return 0;
}

int
version_ask(struct child *c, const char *program, const char *directory,
    int64_t ms, struct reason *why)
{
	char *copy = mem_copy(program);
	struct child_plan plan = { .body = run_version,
		.context = copy,
		.directory = directory,
		.log_fd = -1 };
	int result = child_start(c, &plan, why);

	if (result == 0)
		wait_for(c, clock_mono_ms() + ms);
	free(copy);
	return result;
}

int
perfspect_version(const char *program, const char *directory,
    char version[PERFSPECT_VERSION_BYTES], struct reason *why)
{
	struct child c;

	if (version_ask(&c, program, directory, VERSION_MS, why))
		return -1;
	return read_version(&c, program, version, why);
}
