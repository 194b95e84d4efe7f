/* Preflight checks, on hosts that are played with a /proc and a /sys. */
#include "t/agentd/suite.h"

#include "agentd/preflight.h"
#include "core/buf.h"
#include "core/json.h"
#include "core/utf8.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

static char *root; /* of the host that is played; also its TMPDIR's parent */
static struct preflight_host host;
static char *tmp_dir, *state_dir, *gprofiler_path; /* what it has at first */

/* What its functions say. */
static int instructions_error, cycles_error, run_error;
static rlim_t hard_limit;
static const char *machine;
static int64_t free_mib;
static int tried; /* files that were run */

/* --- the host ------------------------------------------------------------ */

static int
count(enum preflight_event event)
{
	return event == PREFLIGHT_CYCLES ? cycles_error : instructions_error;
}

static int
stat_fs(const char *path, struct statvfs *fs)
{
	if (access(path, F_OK))
		return errno;
	*fs = (struct statvfs) { .f_frsize = 1 << 20,
		.f_bavail = (fsblkcnt_t)free_mib,
		.f_files = 1000,
		.f_favail = 10 };
	return 0;
}

static int
file_limit(struct rlimit *limit)
{
	limit->rlim_cur = 1024;
	limit->rlim_max = hard_limit;
	return 0;
}

static int
name(struct utsname *to)
{
	(void)snprintf(to->machine, sizeof to->machine, "%s", machine);
	return 0;
}

static int
run_file(char *path)
{
	tried += access(path, X_OK) == 0;
	return run_error;
}

static char *
in_root(const char *path)
{
	return mem_fmt("%s/%s", root, path);
}

/* Makes a directory with those above it. */
static void
make_dirs(const char *path)
{
	char *whole = in_root(path);

	for (char *c = whole + strlen(root) + 1; *c; c++)
		if (*c == '/') {
			*c = '\0';
			(void)mkdir(whole, 0755);
			*c = '/';
		}
	(void)mkdir(whole, 0755);
	ck_assert_int_eq(access(whole, F_OK), 0);
	free(whole);
}

static void
put(const char *path, const char *text, size_t n)
{
	char *directory = mem_copy(path), *whole = in_root(path);

	*strrchr(directory, '/') = '\0';
	make_dirs(directory);
	suite_write(whole, text, n, 0755);
	free(directory);
	free(whole);
}

static void
put_text(const char *path, const char *text)
{
	put(path, text, strlen(text));
}

/* A process with a name and, when not NULL, an open file. */
static void
put_process(int pid, const char *comm, const char *open_file)
{
	char *path = mem_fmt("proc/%d/fd", pid);

	make_dirs(path);
	free(path);
	path = mem_fmt("proc/%d/comm", pid);
	put_text(path, comm);
	free(path);
	path = mem_fmt("proc/%d/stat", pid);
	put_text(path, "1 (x) S 0 1 1");
	free(path);
	if (open_file) {
		path = mem_fmt("%s/proc/%d/fd/7", root, pid);
		ck_assert_int_eq(symlink(open_file, path), 0);
		free(path);
	}
}

/* A bare machine on which all is well. */
static void
set_up(void)
{
	root = suite_directory();
	make_dirs("tmp");
	make_dirs("state");
	put_text("bin/gprofiler", "#!/bin/sh\n");
	put_text("proc/sys/kernel/nmi_watchdog", "0\n");
	put_text("proc/sys/kernel/perf_event_paranoid", "2\n");
	put_text("proc/cpuinfo", "processor: 0\nflags\t\t: fpu vme\n");
	put_text("sys/devices/system/cpu/online", "0-3\n");
	make_dirs("sys/bus/event_source/devices/cpu");
	make_dirs("sys/bus/event_source/devices/uncore_imc_0");
	put_process(1, "init\n", "/dev/null");
	put_process(77, "postgres\n", "socket:[123]");
	tmp_dir = in_root("tmp");
	state_dir = in_root("state");
	gprofiler_path = in_root("bin/gprofiler");
	host = (struct preflight_host) { .root = root,
		.tmp_dir = tmp_dir,
		.state_dir = state_dir,
		.gprofiler_path = gprofiler_path,
		.min_free = INT64_C(100) << 20,
		.capabilities = ~UINT64_C(0),
		.count = count,
		.stat_fs = stat_fs,
		.file_limit = file_limit,
		.name = name,
		.run_file = run_file };
	instructions_error = cycles_error = run_error = tried = 0;
	hard_limit = 1048576;
	machine = "x86_64";
	free_mib = 100000;
}

static void
tear_down(void)
{
	free(tmp_dir);
	free(state_dir);
	free(gprofiler_path);
	suite_remove(root);
}

/* --- asking -------------------------------------------------------------- */

static struct preflight_entry
ask(const char *check)
{
	struct preflight_entry entry;
	size_t i = 0;

	while (strcmp(preflight_check_name(i), check) != 0)
		ck_assert_uint_lt(++i, preflight_count());
	preflight_check(&host, i, &entry);
	ck_assert_str_eq(entry.check, check);
	return entry;
}

/* The outcome and a part of the text; "ROOT" in it stands for the root. */
static void
expect(const char *check, enum preflight_outcome outcome, const char *part)
{
	struct preflight_entry entry = ask(check);
	const char *at = strstr(part, "ROOT");
	char *want =
	    at ? mem_fmt("%.*s%s%s", (int)(at - part), part, root, at + 4)
	       : mem_copy(part);

	ck_assert_msg(entry.outcome == outcome, "%s: outcome %d, \"%s\"",
	    check, (int)entry.outcome, entry.text);
	ck_assert_msg(strstr(entry.text, want), "%s: \"%s\" without \"%s\"",
	    check, entry.text, want);
	free(want);
}

START_TEST(a_good_host_has_no_finding)
{
	struct buf found = BUF_INIT(4096);

	for (size_t i = 0; i < preflight_count(); i++) {
		struct preflight_entry entry;

		preflight_check(&host, i, &entry);
		if (entry.outcome != PREFLIGHT_OK)
			buf_fmt(&found, "%s: %s; ", entry.check, entry.text);
		ck_assert_str_ne(entry.text, "");
	}
	ck_assert_str_eq(buf_text(&found), "");
	buf_free(&found);
	ck_assert_uint_eq(preflight_count(), 11);
}
END_TEST

/* --- the kernel ---------------------------------------------------------- */

START_TEST(pmu)
{
	expect(
	    "pmu", PREFLIGHT_OK, "instructions and cycles are counted by cpu");
	instructions_error = ENOENT;
	expect("pmu", PREFLIGHT_PROBLEM,
	    "no PMU: instructions cannot be counted");
	put_text("proc/cpuinfo", "processor: 0\nflags\t: fpu hypervisor x\n");
	expect("pmu", PREFLIGHT_PROBLEM,
	    "no PMU: instructions cannot be counted in this virtual "
	    "machine");
	instructions_error = EOPNOTSUPP;
	expect("pmu", PREFLIGHT_PROBLEM, "no PMU");
	instructions_error = 0;
	cycles_error = ENOENT;
	expect("pmu", PREFLIGHT_PROBLEM, "no PMU: cycles cannot be counted");
	cycles_error = EACCES;
	host.uid = 1000;
	expect("pmu", PREFLIGHT_PROBLEM, "user 1000 may not count cycles");
	cycles_error = ENOSYS;
	expect("pmu", PREFLIGHT_PROBLEM, "this kernel has no perf events");
	cycles_error = EMFILE;
	expect("pmu", PREFLIGHT_WARNING, "cycles: Too many open files");
}
END_TEST

START_TEST(pmus_are_named)
{
	make_dirs("sys/bus/event_source/devices/cpu_atom");
	expect("pmu", PREFLIGHT_OK, "cpu_atom");
	for (int i = 0; i < 40; i++) {
		char path[64];

		(void)snprintf(path, sizeof path,
		    "sys/bus/event_source/devices/armv8_pmuv3_%d", i);
		make_dirs(path);
	}
	expect("pmu", PREFLIGHT_OK, "armv8_pmuv3_");
}
END_TEST

START_TEST(nmi_watchdog)
{
	expect("nmi_watchdog", PREFLIGHT_OK, "off");
	put_text("proc/sys/kernel/nmi_watchdog", "1\n");
	expect("nmi_watchdog", PREFLIGHT_OK,
	    "on: it takes one counter of each CPU; PerfSpect turns it off");
	host.uid = 1000;
	expect("nmi_watchdog", PREFLIGHT_PROBLEM,
	    "user 1000 cannot turn it off; set kernel.nmi_watchdog to 0");
	put_text("proc/sys/kernel/nmi_watchdog", "");
	expect("nmi_watchdog", PREFLIGHT_OK, "this kernel has none");
}
END_TEST

START_TEST(perf_event_paranoid)
{
	put_text("proc/sys/kernel/perf_event_paranoid", "4\n");
	expect("perf_event_paranoid", PREFLIGHT_OK,
	    "4, which does not bind this user");
	host.uid = 1000;
	host.capabilities = 0;
	expect("perf_event_paranoid", PREFLIGHT_PROBLEM,
	    "4, and user 1000 has neither CAP_PERFMON nor CAP_SYS_ADMIN: set "
	    "kernel.perf_event_paranoid to 0");
	host.capabilities = UINT64_C(1) << 38;
	expect("perf_event_paranoid", PREFLIGHT_OK, "4, which does not");
	host.capabilities = 0;
	put_text("proc/sys/kernel/perf_event_paranoid", "-1\n");
	expect("perf_event_paranoid", PREFLIGHT_OK, "-1");
	put_text("proc/sys/kernel/perf_event_paranoid", "");
	expect("perf_event_paranoid", PREFLIGHT_PROBLEM,
	    "this kernel has no perf events");
}
END_TEST

START_TEST(root_and_its_capabilities)
{
	expect("root", PREFLIGHT_OK, "the agent runs as root");
	host.capabilities = ~(UINT64_C(1) << 21);
	expect("root", PREFLIGHT_PROBLEM, "root without CAP_SYS_ADMIN: ");
	host.capabilities = 0;
	expect("root", PREFLIGHT_PROBLEM,
	    "root without CAP_SYS_ADMIN CAP_SYS_PTRACE: ");
	host.uid = 65534;
	expect("root", PREFLIGHT_PROBLEM, "the agent runs as user 65534");
}
END_TEST

START_TEST(file_limits)
{
	expect("file_limit", PREFLIGHT_OK,
	    "1048576 open files, enough for 4 CPUs");
	hard_limit = 1000;
	expect("file_limit", PREFLIGHT_WARNING,
	    "1000 open files: perf opens one for each event on each of 4 "
	    "CPUs; raise the hard limit of the agent to 1024");
	hard_limit = 512;
	expect("file_limit", PREFLIGHT_PROBLEM, "512 open files");
	hard_limit = 1024;
	expect("file_limit", PREFLIGHT_OK, "1024 open files");
	put_text("sys/devices/system/cpu/online", "0-127,256-383\n");
	hard_limit = 4096;
	expect("file_limit", PREFLIGHT_PROBLEM, "each of 256 CPUs");
	hard_limit = RLIM_INFINITY;
	expect("file_limit", PREFLIGHT_OK, "no limit");
	put_text("sys/devices/system/cpu/online", "nonsense");
	hard_limit = 1048576;
	expect("file_limit", PREFLIGHT_OK, "enough for");
}
END_TEST

START_TEST(architectures)
{
	expect("arch", PREFLIGHT_OK, "x86_64");
	machine = "aarch64";
	expect("arch", PREFLIGHT_OK, "aarch64");
	machine = "riscv64";
	expect("arch", PREFLIGHT_PROBLEM,
	    "there is no PerfSpect release for riscv64: set "
	    "PERFSPECT_DOWNLOAD_URL");
	host.has_url = true;
	expect("arch", PREFLIGHT_OK, "PERFSPECT_DOWNLOAD_URL is set");
}
END_TEST

/* --- programs ------------------------------------------------------------ */

#define HELD "perf events are held by "
#define EVENT "anon_inode:[perf_event]"

START_TEST(pmu_busy)
{
	expect("pmu_busy", PREFLIGHT_OK, "no other program has perf events");
	put_process(200, "perf\n", EVENT);
	expect("pmu_busy", PREFLIGHT_WARNING, HELD "perf (pid 200): ");
	/* one of ours is not in anyone's way */
	put_process(300, "perf\n", EVENT);
	put("proc/300/environ", "A=1\0CONSPECT_RUN=3f0c\0B=2", 26);
	expect("pmu_busy", PREFLIGHT_WARNING, HELD "perf (pid 200): ");
	/* a value is no name */
	put("proc/200/environ", "A=CONSPECT_RUN=3\0B=\0", 20);
	expect("pmu_busy", PREFLIGHT_WARNING, HELD "perf (pid 200): ");
	put_process(400, "other", "anon_inode:[perf_event]x");
	put_process(401, "other", "anon_inode:[perf_even");
	expect("pmu_busy", PREFLIGHT_WARNING, HELD "perf (pid 200): ");
}
END_TEST

START_TEST(many_holders_are_counted)
{
	for (int i = 0; i < 25; i++)
		put_process(5000 + i, "bpftrace\n", EVENT);
	expect("pmu_busy", PREFLIGHT_WARNING, "bpftrace (pid 50");
	expect("pmu_busy", PREFLIGHT_WARNING, "and 22 more: ");
}
END_TEST

START_TEST(names_of_processes_are_not_trusted)
{
	static const char *const names[] = {
		"\x1b[2J\x1b]0;x\x07\n",  /* a terminal's orders */
		"\xff\xfe\xc3(\n",        /* no UTF-8 */
		"a\nok 1 - b\n",          /* another line */
		"<script>\"'\\\n",        /* markup, quotes */
		"\xc2\x9bxm\n",           /* C1: CSI */
		"%s%n%x\n",               /* a format */
		"0123456789abcde-longer", /* more than a kernel gives */
	};

	for (size_t i = 0; i < SUITE_N(names); i++) {
		struct preflight_entry entry;
		struct json_object *object;
		size_t n;

		put_process(900, names[i], NULL);
		if (i == 0) {
			char *link = in_root("proc/900/fd/3");

			ck_assert_int_eq(symlink(EVENT, link), 0);
			free(link);
		}
		entry = ask("pmu_busy");
		ck_assert_int_eq(entry.outcome, PREFLIGHT_WARNING);
		n = strlen(entry.text);
		ck_assert(utf8_is_valid(entry.text, n));
		for (size_t k = 0; k < n; k++)
			ck_assert_msg((unsigned char)entry.text[k] >= ' ',
			    "case %zu: \"%s\"", i, entry.text);
		ck_assert_ptr_null(strstr(entry.text, "\xc2\x9b"));
		object = preflight_json(&entry);
		ck_assert_ptr_nonnull(strstr(json_text(object), "(pid 900)"));
		json_object_put(object);
	}
	expect("pmu_busy", PREFLIGHT_WARNING, HELD "0123456789abcde (pid");
}
END_TEST

START_TEST(without_proc_nothing_is_claimed)
{
	host.root = "/nonexistent";
	expect(
	    "pmu_busy", PREFLIGHT_WARNING, "/nonexistent/proc cannot be read");
	host.root = root;
	host.uid = 1000;
	expect("pmu_busy", PREFLIGHT_OK, "that this user may look at");
}
END_TEST

START_TEST(gprofiler)
{
	expect("gprofiler", PREFLIGHT_OK, "ROOT/bin/gprofiler");
	put_process(4321, "gprofiler\n", NULL);
	expect("gprofiler", PREFLIGHT_PROBLEM,
	    "gProfiler runs already: gprofiler (pid 4321); a second one ends");
	put("proc/4321/environ", "CONSPECT_RUN=1\0", 15);
	expect("gprofiler", PREFLIGHT_OK, "ROOT/bin/gprofiler");
	/* ours holds the lock then */
	put_text("proc/1/net/unix",
	    "Num RefCount Protocol Flags Type St Inode Path\n"
	    "0: 2 0 0 1 1 99 @gprofiler_lock\n");
	expect("gprofiler", PREFLIGHT_OK, "ROOT/bin/gprofiler");
	put_text("proc/4321/stat", "4321 (gprofiler) Z 1 2 3");
	expect("gprofiler", PREFLIGHT_PROBLEM,
	    "runs already: a program that holds @gprofiler_lock;");
	put_text("proc/1/net/unix", "0: 2 0 0 1 1 99 @gprofiler_lock2\n");
	expect("gprofiler", PREFLIGHT_OK, "ROOT/bin/gprofiler");
}
END_TEST

START_TEST(gprofiler_by_another_name)
{
	host.gprofiler_path = "/opt/gprofiler-1.57-x86_64";
	expect("gprofiler", PREFLIGHT_WARNING,
	    "gProfiler was not found: \"/opt/gprofiler-1.57-x86_64\" is no "
	    "program");
	put_process(55, "gprofiler-1.57-\n", NULL);
	expect("gprofiler", PREFLIGHT_PROBLEM, "gprofiler-1.57- (pid 55)");
}
END_TEST

/* --- directories --------------------------------------------------------- */

static int
entries_in_tmp(void)
{
	char *command = mem_fmt("test -z \"$(ls -A '%s')\"", host.tmp_dir);
	int status = system(command);

	free(command);
	return status;
}

START_TEST(a_temporary_directory_is_tried)
{
	expect("tmpdir", PREFLIGHT_OK,
	    "ROOT/tmp: user 0 can write and run files there");
	ck_assert_int_eq(tried, 1);
	run_error = EACCES;
	expect("tmpdir", PREFLIGHT_PROBLEM,
	    "ROOT/tmp: user 0 cannot run a file there: Permission denied (is "
	    "it mounted noexec?); set TMPDIR");
	ck_assert_int_eq(tried, 2);
	ck_assert_int_eq(entries_in_tmp(), 0);
}
END_TEST

START_TEST(a_temporary_directory_must_be_safe)
{
	char *missing = in_root("missing"), *file = in_root("bin/gprofiler");

	ck_assert_int_eq(chmod(tmp_dir, 0777), 0);
	expect("tmpdir", PREFLIGHT_PROBLEM,
	    "temporary directory ROOT/tmp, as user ");
	expect("tmpdir", PREFLIGHT_PROBLEM,
	    "others could replace what is in ROOT/tmp (mode 0777): set its "
	    "sticky bit");
	ck_assert_int_eq(chmod(tmp_dir, 01777), 0);
	expect("tmpdir", PREFLIGHT_OK, "can write and run");
	host.tmp_dir = missing;
	expect("tmpdir", PREFLIGHT_PROBLEM, "No such file or directory");
	host.tmp_dir = file;
	expect("tmpdir", PREFLIGHT_PROBLEM,
	    "ROOT/bin/gprofiler is not a directory");
	host.tmp_dir = tmp_dir;
	ck_assert_int_eq(tried, 1);
	if (geteuid() == 0) {
		ck_assert_int_eq(chown(tmp_dir, 12345, 0), 0);
		expect("tmpdir", PREFLIGHT_PROBLEM,
		    "ROOT/tmp belongs to user 12345");
	}
	free(missing);
	free(file);
}
END_TEST

/* Real file systems, in a name space of this test's own. */
START_TEST(a_real_directory_that_allows_no_execution)
{
	struct preflight_host real;
	struct options o = {
		.host_root = root, .state_dir = root, .gprofiler_path = root
	};

	preflight_this_host(&real, &o);
	host.run_file = real.run_file;
	expect("tmpdir", PREFLIGHT_OK, "can write and run files there");
	if (unshare(CLONE_NEWNS) ||
	    mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", host.tmp_dir, "tmpfs", MS_NOEXEC, "size=1m"))
		return; /* not root: the function above had its say */
	/* valgrind, which runs the file itself, has another word for it */
	expect("tmpdir", PREFLIGHT_PROBLEM,
	    getenv("CONSPECT_VALGRIND")
		? "ROOT/tmp: user 0 cannot run a file there: "
		: "ROOT/tmp: user 0 cannot run a file there: Permission "
		  "denied (is it mounted noexec?)");
	ck_assert_int_eq(
	    mount("none", host.tmp_dir, "none", MS_REMOUNT | MS_RDONLY, NULL),
	    0);
	expect("tmpdir", PREFLIGHT_PROBLEM,
	    "temporary directory ROOT/tmp, as user 0: Read-only file system");
	host.stat_fs = real.stat_fs;
	expect("free_space", PREFLIGHT_PROBLEM,
	    "ROOT/tmp: Read-only file system");
	ck_assert_int_eq(umount(host.tmp_dir), 0);
	ck_assert_int_eq(
	    mount("none", host.tmp_dir, "tmpfs", 0, "size=1m,nr_inodes=3"), 0);
	expect("tmpdir", PREFLIGHT_OK, "can write and run files there");
	expect("free_space", PREFLIGHT_PROBLEM,
	    "ROOT/tmp: 1 MiB free, 200 MiB are needed");
	put_text("tmp/a", "");
	put_text("tmp/b", "");
	expect("tmpdir", PREFLIGHT_PROBLEM, "No space left on device");
	expect("free_space", PREFLIGHT_PROBLEM,
	    "ROOT/tmp: No space left on device");
	ck_assert_int_eq(umount(host.tmp_dir), 0);
}
END_TEST

START_TEST(free_space)
{
	expect("free_space", PREFLIGHT_OK, "ROOT/tmp: 97 GiB free");
	free_mib = 500;
	expect("free_space", PREFLIGHT_OK, "ROOT/tmp: 500 MiB free; ");
	free_mib = 399;
	expect("free_space", PREFLIGHT_WARNING,
	    "ROOT/tmp: 399 MiB free, 400 MiB are needed");
	expect("free_space", PREFLIGHT_WARNING,
	    "ROOT/state: 399 MiB free, 500 MiB are needed");
	free_mib = 199;
	expect("free_space", PREFLIGHT_PROBLEM,
	    "ROOT/tmp: 199 MiB free, 200 MiB are needed");
	host.min_free = INT64_C(300) << 20;
	expect("free_space", PREFLIGHT_PROBLEM,
	    "ROOT/state: 199 MiB free, 300 MiB are needed");
	free_mib = 0;
	expect("free_space", PREFLIGHT_PROBLEM, "ROOT/state: 0 MiB free, 300");
}
END_TEST

START_TEST(a_state_directory_may_not_be_made_yet)
{
	char *deep = in_root("a/b/c");

	host.state_dir = deep;
	expect("free_space", PREFLIGHT_OK, "ROOT/a/b/c: 97 GiB free");
	host.state_dir = "relative";
	expect("free_space", PREFLIGHT_PROBLEM,
	    "relative: No such file or directory");
	free(deep);
}
END_TEST

#define SHA256                                                                \
	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

START_TEST(perfspect)
{
	char *target = in_root("tmp/perfspect");
	char *program = in_root("tmp/perfspect/perfspect");

	expect("perfspect", PREFLIGHT_OK,
	    "not in ROOT/tmp: the first run that asks for hardware metrics");
	make_dirs("tmp/perfspect");
	expect("perfspect", PREFLIGHT_OK, "not in ROOT/tmp");
	put_text("tmp/perfspect/perfspect", "\177ELF");
	expect("perfspect", PREFLIGHT_OK,
	    "in ROOT/tmp/perfspect, version unknown");
	/* a link to one of the versions, with the installer's note */
	ck_assert_int_eq(unlink(program), 0);
	ck_assert_int_eq(symlink("versions/" SHA256 "/perfspect", program), 0);
	expect("perfspect", PREFLIGHT_OK, "not in ROOT/tmp");
	put_text("tmp/perfspect/versions/" SHA256 "/perfspect", "\177ELF");
	expect("perfspect", PREFLIGHT_OK,
	    "version unknown in ROOT/tmp/perfspect, archive SHA-256 " SHA256);
	put_text("tmp/perfspect/versions/" SHA256 "/.conspect-version",
	    "3.17.1_2026_c399\x1b");
	expect("perfspect", PREFLIGHT_OK,
	    "version 3.17.1_2026_c399? in ROOT/tmp/perfspect, archive "
	    "SHA-256 " SHA256);
	ck_assert_int_eq(chmod(target, 0777), 0);
	expect("perfspect", PREFLIGHT_PROBLEM,
	    "ROOT/tmp/perfspect can be written by other users (mode 0777): "
	    "remove it");
	tree_remove(target);
	ck_assert_int_eq(symlink("/usr/bin", target), 0);
	expect("perfspect", PREFLIGHT_PROBLEM,
	    "ROOT/tmp/perfspect is a link: remove it");
	free(target);
	free(program);
}
END_TEST

/* --- what is made of it -------------------------------------------------- */

START_TEST(a_text_is_cut_at_a_whole_character)
{
	struct preflight_entry entry;
	char long_name[400];
	size_t n;

	memset(long_name, 'a', sizeof long_name);
	long_name[0] = '/';
	for (size_t i = 1; i + 2 < sizeof long_name; i += 3)
		memcpy(long_name + i, "\xe2\x82\xac", 3);
	long_name[sizeof long_name - 1] = '\0';
	host.gprofiler_path = long_name;
	entry = ask("gprofiler");
	n = strlen(entry.text);
	ck_assert_uint_le(n, 300);
	ck_assert_uint_gt(n, 296);
	ck_assert(utf8_is_valid(entry.text, n));
}
END_TEST

START_TEST(the_table_has_a_line_for_each_check)
{
	char *text = NULL, *line;
	size_t size = 0, lines = 0;
	FILE *to = open_memstream(&text, &size);

	ck_assert_ptr_nonnull(to);
	ck_assert(!preflight_print(&host, to));
	instructions_error = ENOENT;
	ck_assert(preflight_print(&host, to));
	ck_assert_int_eq(fclose(to), 0);
	for (line = text; *line; line = strchr(line, '\n') + 1)
		lines++;
	ck_assert_uint_eq(lines, 2 * preflight_count());
	ck_assert_ptr_nonnull(
	    strstr(text, "nmi_watchdog         ok       off\n"));
	ck_assert_ptr_nonnull(
	    strstr(text, "\npmu                  problem  no PMU: "));
	free(text);
}
END_TEST

START_TEST(json_has_three_members)
{
	struct preflight_entry entry = { .check = "pmu",
		.outcome = PREFLIGHT_WARNING,
		.text = "a \"text\"" };
	struct json_object *object = preflight_json(&entry);

	ck_assert_str_eq(json_text(object),
	    "{\"check\":\"pmu\",\"outcome\":\"warning\","
	    "\"text\":\"a \\\"text\\\"\"}");
	json_object_put(object);
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = { a_good_host_has_no_finding, pmu,
		pmus_are_named, nmi_watchdog, perf_event_paranoid,
		root_and_its_capabilities, file_limits, architectures,
		pmu_busy, many_holders_are_counted,
		names_of_processes_are_not_trusted,
		without_proc_nothing_is_claimed, gprofiler,
		gprofiler_by_another_name, a_temporary_directory_is_tried,
		a_temporary_directory_must_be_safe,
		a_real_directory_that_allows_no_execution, free_space,
		a_state_directory_may_not_be_made_yet, perfspect,
		a_text_is_cut_at_a_whole_character,
		the_table_has_a_line_for_each_check, json_has_three_members };

	return suite_run_with(
	    "preflight", tests, SUITE_N(tests), set_up, tear_down);
}
