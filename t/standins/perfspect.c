/*
 * Stands in for PerfSpect: a compiled program, since the agent takes no
 * other, with its --version and the files of `metrics`.
 *
 * The environment changes it, for tests only:
 * PERFSPECT_FAIL      prints "Error: ..." and exits 1
 * PERFSPECT_NO_FILES  exits 0 without any
 * PERFSPECT_KILLED    is killed once it has written three rows
 * PERFSPECT_MIB       takes so much memory first
 * PERFSPECT_HOST      directory with proc/ and sys/, whose settings it
 *                     changes while it runs, and puts back
 * PERFSPECT_ARGV_LOG  file that gets its arguments, one per line
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifndef STANDIN_VERSION
#	define STANDIN_VERSION "3.17.1_2026-08-07_c399daa0"
#endif
#define INTERVAL 5
#define ROWS_MAX 100

static volatile sig_atomic_t told_to_end;

struct settings {
	long duration, interval;
	const char *output;
};

static void
on_signal(int sig)
{
	(void)sig;
	told_to_end = 1;
}

/* gProfiler's stand-in holds signals back until we are ready for them. */
static void
take_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	sigset_t none;

	(void)sigaction(SIGINT, &action, NULL);
	(void)sigaction(SIGTERM, &action, NULL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Seconds that no change of the host's clock moves. */
static double
seconds(void)
{
	struct timespec now = { 0 };

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int
fail(const char *what, const char *about)
{
	(void)fprintf(stderr, "Error: %s%s\n", what, about);
	return 1;
}

static FILE *
create(const char *directory, const char *name)
{
	char host[256] = "", path[1024];

	(void)gethostname(host, sizeof host - 1);
	(void)snprintf(path, sizeof path, "%s/%s_%s", directory, host, name);
	return fopen(path, "we");
}

static void
write_row(FILE *f, long i, time_t began)
{
	(void)fprintf(f,
	    "%lld,,,,%.6f,0.900000,20.000000,5.000000,45.000000,"
	    "30.000000,\n",
	    (long long)began + i * INTERVAL, 40.0 + (double)i);
}

/* One row per interval that went by, at least one; with `killed` three, and
 * half of another before the end. */
static int
write_series(const char *directory, long rows, time_t began, int killed)
{
	FILE *f = create(directory, "metrics.csv");

	if (!f)
		return -1;
	(void)fputs("TS,SKT,CPU,CID,CPU utilization %,CPI,"
		    "TMA_Frontend_Bound(%),TMA_Bad_Speculation(%),"
		    "TMA_Backend_Bound(%),TMA_Retiring(%),"
		    "package power (watts)\n",
	    f);
	for (long i = 0; i < rows; i++)
		write_row(f, i, began);
	if (killed) {
		(void)fprintf(f, "%lld,,,,4", (long long)began);
		(void)fclose(f);
		(void)kill(getpid(), SIGKILL);
	}
	return fclose(f);
}

static int
write_summary(const char *directory)
{
	FILE *f = create(directory, "metrics_summary.csv");

	if (!f)
		return -1;
	(void)fputs("metric,mean,min,max,stddev\n"
		    "CPU utilization %,40.000000,40.000000,40.000000,"
		    "0.000000\n"
		    "CPI,0.900000,0.900000,0.900000,0.000000\n"
		    "TMA_Frontend_Bound(%),20.000000,20.000000,20.000000,"
		    "0.000000\n"
		    "TMA_Bad_Speculation(%),5.000000,5.000000,5.000000,"
		    "0.000000\n"
		    "TMA_Backend_Bound(%),45.000000,45.000000,45.000000,"
		    "0.000000\n"
		    "TMA_Retiring(%),30.000000,30.000000,30.000000,0.000000\n"
		    "package power (watts),NaN,NaN,NaN,NaN\n",
	    f);
	return fclose(f);
}

static int
write_rest(const char *directory)
{
	FILE *html = create(directory, "metrics_summary.html");
	FILE *json = create(directory, "metadata.json");

	if (!html || !json)
		return -1;
	(void)fputs("<!doctype html><title>PerfSpect</title>\n", html);
	(void)fputs("{\"ModelName\":\"stand-in\",\"Microarchitecture\":\"SPR\""
		    ",\"SocketCount\":1}\n",
	    json);
	return fclose(html) | fclose(json);
}

static int
write_log(void)
{
	FILE *f = fopen("perfspect.log", "ae");

	if (!f)
		return -1;
	(void)fputs("level=INFO msg=\"Starting up\" app=perfspect\n", f);
	return fclose(f);
}

/* --- what it does to the host -------------------------------------------- */

static int
set_host(const char *name, const char *value)
{
	char path[1024];
	FILE *f;

	(void)snprintf(
	    path, sizeof path, "%s/%s", getenv("PERFSPECT_HOST"), name);
	f = fopen(path, "r+e");
	if (!f)
		return -1;
	(void)fputs(value, f);
	return fclose(f);
}

static int
change_host(const char *watchdog, const char *interval)
{
	if (!getenv("PERFSPECT_HOST"))
		return 0;
	return set_host("proc/sys/kernel/nmi_watchdog", watchdog) |
	       set_host(
		   "sys/devices/cpu/perf_event_mux_interval_ms", interval);
}

static int
take_memory(void)
{
	long mib = getenv("PERFSPECT_MIB")
		       ? strtol(getenv("PERFSPECT_MIB"), NULL, 10)
		       : 0;

	for (; mib > 0; mib--) {
		/* never given back; volatile, or a compiler may see that
		 * nobody needs it */
		static char *volatile block;

		block = malloc(1024 * 1024);
		if (!block)
			return -1;
		memset(block, 1, 1024 * 1024);
	}
	return 0;
}

static void
log_arguments(int argc, char **argv)
{
	const char *path = getenv("PERFSPECT_ARGV_LOG");
	FILE *f = path ? fopen(path, "we") : NULL;

	if (!f)
		return;
	for (int i = 1; i < argc; i++)
		(void)fprintf(f, "%s\n", argv[i]);
	(void)fclose(f);
}

/* --- metrics ------------------------------------------------------------- */

/* Flags with a value; --noupdate and --noroot have none. */
static int
takes_value(const char *flag)
{
	static const char *const flags[] = { "--duration", "--interval",
		"--output", "--tempdir", "--scope", "--pids", "--cids",
		"--filter", "--count", "--refresh", "--cpus", "--granularity",
		"--metrics", "--muxinterval", "--txnrate" };

	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
		if (strcmp(flags[i], flag) == 0)
			return 1;
	return 0;
}

/* Flags with a value that follows. */
static int
parse(int argc, char **argv, struct settings *s)
{
	for (int i = 2; i < argc; i++) {
		const char *flag = argv[i], *value;

		if (strcmp(flag, "--noupdate") == 0 ||
		    strcmp(flag, "--noroot") == 0)
			continue;
		if (!takes_value(flag))
			return fail("unknown flag: ", flag);
		value = argv[++i];
		if (!value)
			return fail("flag needs an argument: ", flag);
		if (strcmp(flag, "--duration") == 0)
			s->duration = strtol(value, NULL, 10);
		else if (strcmp(flag, "--interval") == 0)
			s->interval = strtol(value, NULL, 10);
		else if (strcmp(flag, "--output") == 0)
			s->output = value;
	}
	if (s->duration && s->duration < s->interval)
		return fail("duration must be at least the interval", "");
	return 0;
}

static int
measure(const struct settings *s)
{
	double began = seconds();
	time_t since = time(NULL);
	int killed = getenv("PERFSPECT_KILLED") != NULL;
	long rows;

	while (!told_to_end && !killed &&
	       (s->duration == 0 || seconds() - began < (double)s->duration))
		(void)usleep(20000);
	if (getenv("PERFSPECT_NO_FILES"))
		return 0;
	rows = (long)(seconds() - began) / s->interval;
	rows = killed ? 3 : rows < 1 ? 1 : rows > ROWS_MAX ? ROWS_MAX : rows;
	if (write_series(s->output, rows, since, killed) ||
	    write_summary(s->output) || write_rest(s->output))
		return fail("cannot write to ", s->output);
	return 0;
}

static int
metrics(int argc, char **argv)
{
	struct settings s = { .interval = INTERVAL, .output = "." };
	int status;

	if (getenv("PERFSPECT_FAIL"))
		return fail(getenv("PERFSPECT_FAIL"), "");
	if (parse(argc, argv, &s))
		return 1;
	if (write_log())
		return fail("cannot write perfspect.log", "");
	if (take_memory())
		return fail("runtime: out of memory", "");
	take_signals();
	log_arguments(argc, argv);
	if (change_host("0", "16"))
		return fail("cannot change the host's settings", "");
	status = measure(&s);
	return change_host("1", "4") ? fail("settings", "") : status;
}

int
main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		(void)puts("perfspect version " STANDIN_VERSION);
		return 0;
	}
	if (argc >= 2 && strcmp(argv[1], "metrics") == 0)
		return metrics(argc, argv);
	return fail("unknown command", "");
}
