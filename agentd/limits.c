#include "agentd/limits.h"

#include "core/buf.h"
#include "core/log.h"
#include "core/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define MOUNT "/sys/fs/cgroup"
/* Of a run: this and the command's id. */
#define PREFIX "run-"
/* The agent's own place: a cgroup that has others below holds no process. */
#define AGENT "agent"

/* cpu.max is microseconds of CPU in each period of so many. */
#define CPU_PERIOD_US 100000L
/* More than an agent and its profilers ever have. */
#define PIDS_MAX "4096"
/* Below all that the host itself does, above what is idle. */
#define NICE 10
/* Files of the cgroup file system are short, and names of cgroups are. */
#define FILE_BYTES 4096
/* Leftovers looked at; an agent has two runs at a time. */
#define LEFTOVERS_MAX 1000

#define MIB (1024L * 1024L)

/* --- files of a cgroup --------------------------------------------------- */

static int
write_file(const char *cgroup, const char *name, const char *text)
{
	char *path = mem_fmt("%s/%s", cgroup, name);
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	size_t n = strlen(text);
	int result = fd >= 0 && write(fd, text, n) == (ssize_t)n ? 0 : -1;
	int error = errno;

	if (fd >= 0)
		close(fd);
	free(path);
	errno = error;
	return result;
}

static int
write_number(const char *cgroup, const char *name, long n)
{
	char text[24];

	(void)snprintf(text, sizeof text, "%ld", n);
	return write_file(cgroup, name, text);
}

static bool
read_file(const char *path, char text[FILE_BYTES])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, FILE_BYTES - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* --- where the agent may make cgroups ------------------------------------ */

/* The agent's own cgroup, as a path; NULL without cgroup v2. */
static char *
own_cgroup(void)
{
	char text[FILE_BYTES], *at;

	if (access(MOUNT "/cgroup.controllers", F_OK) ||
	    !read_file("/proc/self/cgroup", text))
		return NULL;
	at = strncmp(text, "0::/", 4) == 0 ? text + 3 : NULL;
	if (!at)
		return NULL;
	at[strcspn(at, "\n")] = '\0';
	return mem_fmt(MOUNT "%s", strcmp(at, "/") == 0 ? "" : at);
}

/* systemd marks what it has delegated. */
static bool
is_delegated(const char *cgroup)
{
	char value[2];

	return (getxattr(cgroup, "trusted.delegate", value, 1) == 1 ||
		   getxattr(cgroup, "user.delegate", value, 1) == 1) &&
	       value[0] == '1';
}

/* Leaves the delegated cgroup free of processes, as its controllers need. */
static int
move_down(const char *cgroup, struct reason *why)
{
	char *own = mem_fmt("%s/" AGENT, cgroup);
	int result = 0;

	if ((mkdir(own, 0755) && errno != EEXIST) ||
	    write_file(own, "cgroup.procs", "0"))
		result = reason_set(why, "%s: %s", own, strerror(errno));
	free(own);
	return result;
}

static void
remove_leftovers(const char *cgroup)
{
	DIR *dir = opendir(cgroup);
	struct dirent *e;

	for (int i = 0; dir && i < LEFTOVERS_MAX && (e = readdir(dir)); i++) {
		char *path;

		if (strncmp(e->d_name, PREFIX, sizeof PREFIX - 1) != 0)
			continue;
		path = mem_fmt("%s/%s", cgroup, e->d_name);
		(void)!write_file(path, "cgroup.kill", "1");
		(void)rmdir(path);
		free(path);
	}
	if (dir)
		(void)closedir(dir);
}

char *
limits_find_cgroup(const struct options *o, struct reason *why)
{
	char *cgroup = o->cgroup ? mem_copy(o->cgroup) : own_cgroup();

	if (!cgroup) {
		reason_set(why, "this host has no cgroup v2 at " MOUNT);
		return NULL;
	}
	if (!o->cgroup && !is_delegated(cgroup))
		reason_set(why, "%s is not delegated to the agent", cgroup);
	else if (!o->cgroup && move_down(cgroup, why))
		; /* the reason is set */
	else if (write_file(
		     cgroup, "cgroup.subtree_control", "+cpu +memory +pids"))
		reason_set(why,
		    "%s: cpu, memory and pids cannot be switched on: %s",
		    cgroup, strerror(errno));
	else {
		remove_leftovers(cgroup);
		return cgroup;
	}
	free(cgroup);
	return NULL;
}

/* --- one run ------------------------------------------------------------- */

/* The smaller of two limits, where 0 is none. */
static long
least(long a, long b)
{
	return a && b ? (a < b ? a : b) : a + b;
}

static int
set_memory(const char *cgroup, long mib)
{
	if (!mib)
		return 0;
	/* swapping would only hide it; the group is ended as a whole */
	(void)!write_file(cgroup, "memory.swap.max", "0");
	(void)!write_file(cgroup, "memory.oom.group", "1");
	return write_number(cgroup, "memory.max", mib * MIB);
}

static int
set_cpu(const char *cgroup, long percent)
{
	char text[64];

	if (!percent)
		return 0;
	(void)snprintf(text, sizeof text, "%ld %ld",
	    percent * CPU_PERIOD_US / 100, CPU_PERIOD_US);
	return write_file(cgroup, "cpu.max", text);
}

void
limits_begin(struct limits *l, const struct options *o,
    const struct session *s, const char *parent, const char *command_id)
{
	*l = (struct limits) {
		.cpu_percent = least(s->cpu_percent, o->cpu_limit),
		.memory_mib = least(s->memory_mib, o->memory_limit),
	};
	if (!parent)
		return;
	l->cgroup = mem_fmt("%s/" PREFIX "%s", parent, command_id);
	if ((mkdir(l->cgroup, 0755) == 0 || errno == EEXIST) &&
	    set_memory(l->cgroup, l->memory_mib) == 0 &&
	    set_cpu(l->cgroup, l->cpu_percent) == 0 &&
	    write_file(l->cgroup, "pids.max", PIDS_MAX) == 0)
		return;
	log_warn("%s: %s; the run is limited without it", l->cgroup,
	    strerror(errno));
	(void)rmdir(l->cgroup);
	free(l->cgroup);
	l->cgroup = NULL;
}

static int
set_rlimits(const struct limits *l, struct reason *why)
{
	rlim_t bytes = (rlim_t)(l->memory_mib * MIB);
	struct rlimit limit = { bytes, bytes };

	if (l->memory_mib && setrlimit(RLIMIT_DATA, &limit))
		return reason_set(why, "a memory limit of %ld MiB: %s",
		    l->memory_mib, strerror(errno));
	return 0;
}

int
limits_enter(const struct limits *l, struct reason *why)
{
	static const struct rlimit none = { 0, 0 };

	/* a core file of root's would show what was in memory */
	(void)setrlimit(RLIMIT_CORE, &none);
	(void)setpriority(PRIO_PROCESS, 0, NICE);
	if (!l->cgroup)
		return set_rlimits(l, why);
	if (write_file(l->cgroup, "cgroup.procs", "0"))
		return reason_set(why, "%s: %s", l->cgroup, strerror(errno));
	return 0;
}

/* The number that memory.events has for oom_kill. */
static long
kills(const char *cgroup)
{
	static const char key[] = "oom_kill ";
	char *path = mem_fmt("%s/memory.events", cgroup);
	char text[FILE_BYTES];
	const char *at = read_file(path, text) ? strstr(text, key) : NULL;

	free(path);
	return at ? strtol(at + sizeof key - 1, NULL, 10) : 0;
}

/* What programs say when they get no more memory. */
static bool
sounds_exhausted(const char *words)
{
	static const char *const phrases[] = { "MemoryError", "out of memory",
		"Out of memory", "Cannot allocate memory", "bad_alloc" };

	for (size_t i = 0; i < sizeof phrases / sizeof *phrases; i++)
		if (strstr(words, phrases[i]))
			return true;
	return false;
}

bool
limits_exceeded(
    const struct limits *l, const char *last_words, struct reason *why)
{
	if (!l->memory_mib)
		return false;
	if (l->cgroup ? kills(l->cgroup) == 0 : !sounds_exhausted(last_words))
		return false;
	reason_set(why,
	    "the run exceeded its memory limit of %ld MiB%s%s (limits."
	    "memory_mib of the request, memory-limit of the agent)",
	    l->memory_mib, *last_words ? ": " : "", last_words);
	return true;
}

void
limits_end(struct limits *l)
{
	if (l->cgroup) {
		(void)!write_file(l->cgroup, "cgroup.kill", "1");
		if (rmdir(l->cgroup) && errno != ENOENT)
			log_info("%s is not empty yet (%s); it goes when the "
				 "agent starts the next time",
			    l->cgroup, strerror(errno));
	}
	free(l->cgroup);
	*l = (struct limits) { 0 };
}
