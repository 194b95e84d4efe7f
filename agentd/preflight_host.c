/*
 * The host that the agent runs on, as preflight checks see it.
 */
#include "agentd/preflight.h"
#include "agentd/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* As a shell says of what cannot be run. */
#define EXIT_CANNOT_RUN 126

/* Opened and not switched on: nothing that runs notices. */
static int
count(enum preflight_event event)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_HARDWARE,
		.size = sizeof attr,
		.config = event == PREFLIGHT_CYCLES
			      ? PERF_COUNT_HW_CPU_CYCLES
			      : PERF_COUNT_HW_INSTRUCTIONS,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1 };
	long fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1,
	    (unsigned long)PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return errno;
	close((int)fd);
	return 0;
}

static int
stat_fs(const char *path, struct statvfs *fs)
{
	return statvfs(path, fs) ? errno : 0;
}

static int
file_limit(struct rlimit *limit)
{
	return getrlimit(RLIMIT_NOFILE, limit) ? errno : 0;
}

static int
name(struct utsname *to)
{
	return uname(to) ? errno : 0;
}

/* In the child; the reason goes through the pipe. */
static void __attribute__((noreturn)) become(char *path, int out)
{
	char *argv[] = { path, NULL };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), error;

	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		(void)dup2(null, fd);
	(void)execv(path, argv);
	error = errno;
	(void)!write(out, &error, sizeof error);
	_exit(EXIT_CANNOT_RUN);
}

/* The pipe closes when the program begins: nothing came, it runs. */
static int
run_file(char *path)
{
	int ends[2], error = 0, status;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return errno;
	pid = fork();
	if (pid == 0)
		become(path, ends[1]);
	if (pid < 0)
		error = errno;
	close(ends[1]);
	if (!error && read(ends[0], &error, sizeof error) < 0)
		error = errno;
	close(ends[0]);
	if (pid > 0 && waitpid(pid, &status, 0) == pid && !error &&
	    status != 0)
		error = ENOEXEC;
	return error;
}

static uint64_t
effective_capabilities(void)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };

	if (syscall(SYS_capget, &header, data))
		return 0;
	return (uint64_t)data[1].effective << 32 | data[0].effective;
}

void
preflight_this_host(struct preflight_host *host, const struct options *o)
{
	const char *url = getenv("PERFSPECT_DOWNLOAD_URL");

	*host = (struct preflight_host) { .root = o->host_root,
		.tmp_dir = workspace_tmpdir(),
		.state_dir = o->state_dir,
		.gprofiler_path = o->gprofiler_path,
		.min_free = (int64_t)o->min_free << 20,
		.uid = geteuid(),
		.capabilities = effective_capabilities(),
		.has_url = url && *url,
		.count = count,
		.stat_fs = stat_fs,
		.file_limit = file_limit,
		.name = name,
		.run_file = run_file };
}
