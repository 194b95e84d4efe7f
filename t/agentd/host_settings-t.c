/* The host's settings, noted and put back, on a host of files. */
#include "t/agentd/suite.h"

#include "agentd/host_settings.h"
#include "core/buf.h"
#include "core/log.h"

#include <string.h>
#include <unistd.h>

#define WATCHDOG "/proc/sys/kernel/nmi_watchdog"
#define CPU "/sys/devices/cpu/perf_event_mux_interval_ms"
#define IMC "/sys/devices/uncore_imc_0/perf_event_mux_interval_ms"

static char *host, *note;
static struct reason why;
static struct buf log_lines = BUF_INIT(10000);

static void
set_value(const char *name, const char *value)
{
	char *path = mem_fmt("%s%s", host, name);

	suite_write(path, value, strlen(value), 0600);
	free(path);
}

static void
expect_value(const char *name, const char *want)
{
	suite_expect(host, name, want);
}

static void
make_directories(const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char *path = mem_fmt("%s%s", host, names[i]);

		ck_assert_int_eq(mkdir(path, 0700), 0);
		free(path);
	}
}

static void
set_up(void)
{
	static const char *const names[] = { "/proc", "/proc/sys",
		"/proc/sys/kernel", "/sys", "/sys/devices", "/sys/devices/cpu",
		"/sys/devices/uncore_imc_0", "/sys/devices/system" };

	host = suite_directory();
	note = mem_fmt("%s/host-settings", host);
	make_directories(names, SUITE_N(names));
	set_value(WATCHDOG, "1\n");
	set_value(CPU, "4\n");
	set_value(IMC, "4\n");
	log_to_buf(&log_lines);
}

static void
tear_down(void)
{
	log_to_buf(NULL);
	buf_free(&log_lines);
	free(note);
	suite_remove(host);
}

START_TEST(what_changed_is_put_back)
{
	ck_assert_int_eq(host_settings_note(host, host, &why), 0);
	ck_assert_int_eq(access(note, F_OK), 0);
	set_value(WATCHDOG, "0");
	set_value(IMC, "9");
	host_settings_put_back(host, host);
	expect_value(WATCHDOG, "1");
	expect_value(CPU, "4\n"); /* not even written */
	expect_value(IMC, "4");
	ck_assert_int_eq(access(note, F_OK), -1);
	ck_assert_ptr_nonnull(strstr(buf_text(&log_lines),
	    WATCHDOG " was left at 0 and is put back to 1"));
	ck_assert_ptr_null(strstr(buf_text(&log_lines), CPU));
}
END_TEST

START_TEST(the_first_note_counts)
{
	ck_assert_int_eq(host_settings_note(host, host, &why), 0);
	set_value(WATCHDOG, "0");
	/* a run after one that was killed together with its agent */
	ck_assert_int_eq(host_settings_note(host, host, &why), 0);
	host_settings_put_back(host, host);
	expect_value(WATCHDOG, "1");
}
END_TEST

START_TEST(nothing_changed_and_nothing_noted_is_quiet)
{
	host_settings_put_back(host, host);
	ck_assert_int_eq(host_settings_note(host, host, &why), 0);
	host_settings_put_back(host, host);
	expect_value(WATCHDOG, "1\n");
	ck_assert_str_eq(buf_text(&log_lines), "");
	ck_assert_int_eq(access(note, F_OK), -1);
}
END_TEST

START_TEST(a_device_that_has_gone_is_passed_over)
{
	char *imc = mem_fmt("%s" IMC, host);

	ck_assert_int_eq(host_settings_note(host, host, &why), 0);
	ck_assert_int_eq(unlink(imc), 0);
	set_value(CPU, "9");
	host_settings_put_back(host, host);
	expect_value(CPU, "4");
	ck_assert_int_eq(access(note, F_OK), -1);
	free(imc);
}
END_TEST

START_TEST(a_note_names_only_these_settings)
{
	static const char text[] =
	    "7 /etc/passwd\n7 /sys/devices/../victim/"
	    "perf_event_mux_interval_ms\n7\n\n7 " CPU "\n";

	make_directories((const char *const[]) { "/etc", "/sys/victim" }, 2);
	set_value("/etc/passwd", "1");
	set_value("/sys/victim/perf_event_mux_interval_ms", "1");
	suite_write(note, text, sizeof text - 1, 0600);
	host_settings_put_back(host, host);
	expect_value("/etc/passwd", "1");
	expect_value("/sys/victim/perf_event_mux_interval_ms", "1");
	expect_value(CPU, "7\n");
}
END_TEST

START_TEST(without_a_note_perfspect_is_not_run)
{
	ck_assert_int_eq(
	    host_settings_note(host, "/nonexistent/state", &why), -1);
	ck_assert_str_eq(why.text,
	    "/nonexistent/state/host-settings cannot be written (No such "
	    "file or directory): without a note of the host's settings "
	    "PerfSpect is not run");
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = { what_changed_is_put_back,
		the_first_note_counts,
		nothing_changed_and_nothing_noted_is_quiet,
		a_device_that_has_gone_is_passed_over,
		a_note_names_only_these_settings,
		without_a_note_perfspect_is_not_run };

	return suite_run_with(
	    "host_settings", tests, SUITE_N(tests), set_up, tear_down);
}
