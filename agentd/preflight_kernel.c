/*
 * Checks of what the kernel offers and allows.
 */
#include "agentd/install.h"
#include "agentd/preflight_checks.h"
#include "core/mem.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Numbers of capabilities(7). */
#define CAP_BIT_SYS_PTRACE 19
#define CAP_BIT_SYS_ADMIN 21
#define CAP_BIT_PERFMON 38

/* One number. */
#define NUMBER_BYTES 64
/* The first processor's part of /proc/cpuinfo, with all its flags. */
#define CPUINFO_BYTES 16384
/* Names of PMUs that are told. */
#define NAMES_BYTES 120
/* A list like 0-63,128-191. */
#define CPU_LIST_BYTES 4096

/*
 * perf opens one file for each CPU and event.  Below the first number of
 * events not even the four top-down values can be had; PerfSpect's whole list
 * is near the second.
 */
#define EVENTS_LEAST 16
#define EVENTS_USUAL 128
/* Whatever else a profiler opens. */
#define FILES_BESIDE 512

static bool
has_capability(const struct preflight_host *h, unsigned bit)
{
	return h->capabilities >> bit & 1;
}

/* Whether a file of one number could be read. */
static bool
read_number(const struct preflight_host *h, const char *path, long *n)
{
	struct buf text = BUF_INIT(NUMBER_BYTES);
	char *end;
	bool ok;

	preflight_read(h, path, &text);
	*n = strtol(buf_text(&text), &end, 10);
	ok = end != buf_text(&text);
	buf_free(&text);
	return ok;
}

/* --- pmu ----------------------------------------------------------------- */

/* A PMU of the cores, as cpu, cpu_atom or armv8_pmuv3_0. */
static bool
is_core_pmu(const char *name)
{
	return strncmp(name, "cpu", 3) == 0 || strncmp(name, "armv", 4) == 0;
}

static void
find_pmus(const struct preflight_host *h, struct buf *names)
{
	char *path = mem_fmt("%s/sys/bus/event_source/devices", h->root);
	DIR *dir = opendir(path);
	struct dirent *e;

	free(path);
	while (dir && (e = readdir(dir)))
		if (is_core_pmu(e->d_name))
			buf_fmt(
			    names, "%s%s", names->len ? ", " : "", e->d_name);
	if (dir)
		(void)closedir(dir);
}

static bool
is_virtual(const struct preflight_host *h)
{
	struct buf text = BUF_INIT(CPUINFO_BYTES);
	bool found;

	preflight_read(h, "/proc/cpuinfo", &text);
	found = strstr(buf_text(&text), " hypervisor") != NULL;
	buf_free(&text);
	return found;
}

static void
say_no_pmu(const struct preflight_host *h, struct preflight_entry *e,
    const char *event, int error)
{
	switch (error) {
	case ENOENT:
	case ENODEV:
	case EOPNOTSUPP:
		preflight_say(e, PREFLIGHT_PROBLEM,
		    "no PMU: %s cannot be counted%s", event,
		    is_virtual(h) ? " in this virtual machine" : "");
		return;
	case EACCES:
	case EPERM:
		preflight_say(e, PREFLIGHT_PROBLEM,
		    "user %ld may not count %s: see perf_event_paranoid, "
		    "capabilities, and the seccomp filter of a container",
		    (long)h->uid, event);
		return;
	case ENOSYS:
		preflight_say(
		    e, PREFLIGHT_PROBLEM, "this kernel has no perf events");
		return;
	default:
		preflight_say(
		    e, PREFLIGHT_WARNING, "%s: %s", event, strerror(error));
	}
}

void
preflight_pmu(const struct preflight_host *h, struct preflight_entry *e)
{
	struct buf names = BUF_INIT(NAMES_BYTES);
	int error = h->count(PREFLIGHT_INSTRUCTIONS);

	if (error) {
		say_no_pmu(h, e, "instructions", error);
		return;
	}
	error = h->count(PREFLIGHT_CYCLES);
	if (error) {
		say_no_pmu(h, e, "cycles", error);
		return;
	}
	find_pmus(h, &names);
	preflight_say(e, PREFLIGHT_OK,
	    "instructions and cycles are counted%s"
	    "%s",
	    names.len ? " by " : "", buf_text(&names));
	buf_free(&names);
}

/* --- settings of the kernel ---------------------------------------------- */

void
preflight_nmi_watchdog(
    const struct preflight_host *h, struct preflight_entry *e)
{
	long n;

	if (!read_number(h, "/proc/sys/kernel/nmi_watchdog", &n))
		preflight_say(e, PREFLIGHT_OK, "this kernel has none");
	else if (n == 0)
		preflight_say(e, PREFLIGHT_OK, "off");
	else if (h->uid == 0)
		preflight_say(e, PREFLIGHT_OK,
		    "on: it takes one counter of each CPU; PerfSpect turns it "
		    "off while it runs, unless with noroot");
	else
		preflight_say(e, PREFLIGHT_PROBLEM,
		    "on: it takes one counter of each CPU, and user %ld "
		    "cannot turn it off; set kernel.nmi_watchdog to 0",
		    (long)h->uid);
}

void
preflight_paranoid(const struct preflight_host *h, struct preflight_entry *e)
{
	long n;

	if (!read_number(h, "/proc/sys/kernel/perf_event_paranoid", &n))
		preflight_say(e, PREFLIGHT_PROBLEM,
		    "this kernel has no perf events: there is no "
		    "perf_event_paranoid");
	else if (has_capability(h, CAP_BIT_SYS_ADMIN) ||
		 has_capability(h, CAP_BIT_PERFMON))
		preflight_say(
		    e, PREFLIGHT_OK, "%ld, which does not bind this user", n);
	else if (n > 0)
		preflight_say(e, PREFLIGHT_PROBLEM,
		    "%ld, and user %ld has neither CAP_PERFMON nor "
		    "CAP_SYS_ADMIN: set kernel.perf_event_paranoid to 0",
		    n, (long)h->uid);
	else
		preflight_say(e, PREFLIGHT_OK, "%ld", n);
}

/* --- what the agent may -------------------------------------------------- */

void
preflight_root(const struct preflight_host *h, struct preflight_entry *e)
{
	bool admin = has_capability(h, CAP_BIT_SYS_ADMIN),
	     ptrace = has_capability(h, CAP_BIT_SYS_PTRACE);

	if (h->uid != 0)
		preflight_say(e, PREFLIGHT_PROBLEM,
		    "the agent runs as user %ld: gProfiler needs root, and "
		    "PerfSpect needs it for all but a few metrics",
		    (long)h->uid);
	else if (!admin || !ptrace)
		preflight_say(e, PREFLIGHT_PROBLEM,
		    "root without%s%s: a container or the service's unit "
		    "takes away what profilers need",
		    admin ? "" : " CAP_SYS_ADMIN",
		    ptrace ? "" : " CAP_SYS_PTRACE");
	else
		preflight_say(e, PREFLIGHT_OK, "the agent runs as root");
}

/* How many CPUs a list like 0-3,8 names; 0 when it is none. */
static unsigned long
count_cpus(const char *list)
{
	unsigned long n = 0;

	while (*list >= '0' && *list <= '9') {
		char *end;
		unsigned long first = strtoul(list, &end, 10), last = first;

		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		if (last < first)
			return 0;
		n += last - first + 1;
		list = *end == ',' ? end + 1 : "";
	}
	return n;
}

static unsigned long
online_cpus(const struct preflight_host *h)
{
	struct buf text = BUF_INIT(CPU_LIST_BYTES);
	unsigned long n;

	preflight_read(h, "/sys/devices/system/cpu/online", &text);
	n = count_cpus(buf_text(&text));
	buf_free(&text);
	if (n == 0) /* no such list: this machine's own number */
		n = (unsigned long)sysconf(_SC_NPROCESSORS_ONLN);
	return n;
}

void
preflight_file_limit(const struct preflight_host *h, struct preflight_entry *e)
{
	unsigned long cpus = online_cpus(h), hard;
	unsigned long least = FILES_BESIDE + EVENTS_LEAST * cpus;
	unsigned long usual = FILES_BESIDE + EVENTS_USUAL * cpus;
	struct rlimit limit = { 0 };
	int error = h->file_limit(&limit);

	hard = (unsigned long)limit.rlim_max;
	if (error)
		preflight_say(e, PREFLIGHT_WARNING, "%s", strerror(error));
	else if (limit.rlim_max == RLIM_INFINITY)
		preflight_say(e, PREFLIGHT_OK, "no limit on open files");
	else if (hard >= usual)
		preflight_say(e, PREFLIGHT_OK,
		    "%lu open files, enough for %lu CPUs", hard, cpus);
	else
		preflight_say(e,
		    hard < least ? PREFLIGHT_PROBLEM : PREFLIGHT_WARNING,
		    "%lu open files: perf opens one for each event on each of "
		    "%lu CPUs; raise the hard limit of the agent to %lu "
		    "(LimitNOFILE, ulimit -Hn)",
		    hard, cpus, usual);
}

void
preflight_arch(const struct preflight_host *h, struct preflight_entry *e)
{
	struct utsname name = { 0 };
	int error = h->name(&name);
	char *release;
	struct reason why;

	if (error) {
		preflight_say(e, PREFLIGHT_WARNING, "%s", strerror(error));
		return;
	}
	release = install_release_url(name.machine, &why);
	if (release)
		preflight_say(e, PREFLIGHT_OK, "%s", name.machine);
	else if (h->has_url)
		preflight_say(e, PREFLIGHT_OK,
		    "%s, for which PERFSPECT_DOWNLOAD_URL is set",
		    name.machine);
	else
		preflight_say(e, PREFLIGHT_PROBLEM, "%s", why.text);
	free(release);
}
