#include "agentd/options.h"

#include "core/conf.h"
#include "core/mem.h"
#include "core/request.h"

#include <curl/curl.h>
#include <getopt.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Five seconds is the least that a server may ask for.  A person may set
 * one, so that a test of the whole takes seconds and not minutes.
 */
#define INTERVAL_MIN 1
#define INTERVAL_MAX 3600
#define INTERVAL_DEFAULT 30

/* A week of PerfSpect's files for a run each hour is a tenth of it. */
#define SPOOL_MIB_DEFAULT 512
#define SPOOL_MIB_MAX (1024 * 1024)
#define SPOOL_DAYS_DEFAULT 7
#define SPOOL_DAYS_MAX 3650
#define KEEP_DAYS_DEFAULT 3

/* A DNS name has at most 253 characters; a service name as many. */
#define NAME_MAX_BYTES 255

/* A run's own share of the memory of a small host; gProfiler is used to some
 * hundred MiB. */
#define MEMORY_LIMIT_DEFAULT 2048
/* A run's output and results, several times. */
#define MIN_FREE_DEFAULT 100
/* An exbibyte: more than a file system has. */
#define MIN_FREE_MAX (1024L * 1024 * 1024 * 1024)

#define DEFAULT_CONFIG SYSCONFDIR "/conspect-agentd.conf"
#define DEFAULT_STATE_DIR LOCALSTATEDIR "/lib/conspect-agent"

/* gProfiler's own choice. */
#define DEFAULT_PERFSPECT_DATA "/tmp/perfspect_data"

#define TEXT(name, member)                                                    \
	{                                                                     \
		(name), CONF_TEXT, offsetof(struct options, member), 0, 0     \
	}
#define INTEGER(name, member, min, max)                                       \
	{                                                                     \
		(name), CONF_INTEGER, offsetof(struct options, member),       \
		    (min), (max)                                              \
	}
#define BOOLEAN(name, member)                                                 \
	{                                                                     \
		(name), CONF_BOOLEAN, offsetof(struct options, member), 0, 0  \
	}

static const struct conf_key keys[] = {
	TEXT("api-server", api_server),
	TEXT("service-name", service_name),
	TEXT("token-file", token_file),
	TEXT("server-host", server_host),
	TEXT("host-name", host_name),
	TEXT("ca-file", ca_file),
	TEXT("proxy", proxy),
	TEXT("download-proxy", download_proxy),
	TEXT("state-dir", state_dir),
	TEXT("gprofiler-path", gprofiler_path),
	TEXT("log-file", log_file),
	TEXT("pid-file", pid_file),
	TEXT("host-root", host_root),
	TEXT("perfspect-data", perfspect_data),
	TEXT("cgroup", cgroup),
	INTEGER("heartbeat-interval", heartbeat_interval, INTERVAL_MIN,
	    INTERVAL_MAX),
	INTEGER("cpu-limit", cpu_limit, 0, LIMIT_CPU_PERCENT_MAX),
	INTEGER("memory-limit", memory_limit, 0, LIMIT_MEMORY_MIB_MAX),
	INTEGER("min-free", min_free, 0, MIN_FREE_MAX),
	INTEGER("spool-max-mib", spool_max_mib, 1, SPOOL_MIB_MAX),
	INTEGER("spool-max-days", spool_max_days, 1, SPOOL_DAYS_MAX),
	INTEGER("keep-runs-days", keep_runs_days, 0, SPOOL_DAYS_MAX),
	BOOLEAN("no-verify", no_verify),
	BOOLEAN("foreground", foreground),
};
#define N_KEYS (sizeof keys / sizeof *keys)

/* What getopt_long() returns for flags that are no key of the file. */
enum {
	FLAG_KEY = 1,
	FLAG_CONFIG,
	FLAG_HELP,
	FLAG_VERSION,
	FLAG_PREFLIGHT,
};

const char *
options_help(void)
{
	return "usage: conspect-agentd --api-server URL --service-name NAME "
	       "--token-file FILE\n"
	       "           [option ...]\n\n"
	       "  --api-server URL        where the appliance answers\n"
	       "  --service-name NAME     the service of this host\n"
	       "  --token-file FILE       the agent token, mode 0600\n"
	       "  --heartbeat-interval N  seconds (30)\n"
	       "  --host-name NAME        in place of the kernel's\n"
	       "  --ca-file FILE          certificates to trust (PEM)\n"
	       "  --no-verify             trust any certificate\n"
	       "  --proxy URL             to the appliance\n"
	       "  --download-proxy URL    to where PerfSpect comes from\n"
	       "  --server-host URL       where gProfiler uploads profiles\n"
	       "  --gprofiler-path PATH   the profiler (gprofiler, in PATH)\n"
	       "  --perfspect-data DIR    where gProfiler has PerfSpect write "
	       "(" DEFAULT_PERFSPECT_DATA ")\n"
	       "  --cpu-limit PERCENT     of one core, for a run (none)\n"
	       "  --memory-limit MIB      for a run (2048; 0: none)\n"
	       "  --cgroup DIR            to make the runs' cgroups in\n"
	       "  --min-free MIB          for a run to begin (100)\n"
	       "  --host-root DIR         where the host's /proc and /sys "
	       "are\n"
	       "  --state-dir DIR         (" DEFAULT_STATE_DIR ")\n"
	       "  --spool-max-mib N       for the files of all runs (512)\n"
	       "  --spool-max-days N      until files that cannot be "
	       "delivered go (7)\n"
	       "  --keep-runs-days N      until delivered files go (3)\n"
	       "  --config FILE           (" DEFAULT_CONFIG ")\n"
	       "  --foreground            stay, and log to standard error\n"
	       "  --log-file FILE         in place of syslog\n"
	       "  --pid-file FILE\n"
	       "  --preflight             print what this host lacks, and "
	       "end\n"
	       "  --help, --version\n";
}

/* One long option for each key, then those that are only flags. */
static void
fill_long_options(struct option *to)
{
	static const struct option last[] = {
		{ "config", required_argument, NULL, FLAG_CONFIG },
		{ "help", no_argument, NULL, FLAG_HELP },
		{ "version", no_argument, NULL, FLAG_VERSION },
		{ "preflight", no_argument, NULL, FLAG_PREFLIGHT },
		{ NULL, 0, NULL, 0 },
	};

	for (size_t i = 0; i < N_KEYS; i++)
		to[i] = (struct option) { keys[i].name,
			keys[i].kind == CONF_BOOLEAN ? no_argument
						     : required_argument,
			NULL, FLAG_KEY };
	memcpy(to + N_KEYS, last, sizeof last);
}

/*
 * One walk over the flags.  With `apply` the keys are set; without, only
 * the place of the settings file and what is to be done are looked for.
 */
static int
walk(struct options *o, int argc, char **argv, bool apply, const char **config,
    struct reason *why)
{
	struct option longs[N_KEYS + 5];
	int c, at, outcome = OPTIONS_RUN;

	fill_long_options(longs);
	optind = 0; /* glibc: begin anew, also after an earlier walk */
	opterr = 0;
	while ((c = getopt_long(argc, argv, "+:", longs, &at)) != -1) {
		if (c == FLAG_HELP)
			return OPTIONS_HELP;
		if (c == FLAG_VERSION)
			return OPTIONS_VERSION;
		if (c == ':')
			return reason_set(
			    why, "%s needs a value", argv[optind - 1]);
		if (c == '?')
			return reason_set(why,
			    "%s is not a known option: see --help",
			    argv[optind - 1]);
		if (c == FLAG_PREFLIGHT)
			outcome = OPTIONS_PREFLIGHT;
		else if (c == FLAG_CONFIG)
			*config = optarg;
		else if (apply &&
			 conf_set(keys, N_KEYS, o, longs[at].name,
			     optarg ? optarg : "yes", "command line", why))
			return -1;
	}
	if (optind < argc)
		return reason_set(
		    why, "\"%s\" is not an option: see --help", argv[optind]);
	return outcome;
}

static void
set_default(char **text, const char *value)
{
	if (!*text)
		*text = mem_copy(value);
}

static bool
is_plain(const char *text)
{
	for (const unsigned char *c = (const unsigned char *)text; *c; c++)
		if (*c < 0x20 || *c == 0x7f)
			return false;
	return strlen(text) <= NAME_MAX_BYTES;
}

static int
check_name(const char *key, const char *value, struct reason *why)
{
	if (is_plain(value))
		return 0;
	return reason_set(why,
	    "%s must be at most %d bytes without control characters", key,
	    NAME_MAX_BYTES);
}

static bool
url_has(CURLU *url, CURLUPart part)
{
	char *text = NULL;
	bool there = curl_url_get(url, part, &text, 0) == CURLUE_OK;

	curl_free(text);
	return there;
}

static bool
is_base_address(const char *text)
{
	CURLU *url = curl_url();
	bool ok = url &&
		  (strncmp(text, "http://", 7) == 0 ||
		      strncmp(text, "https://", 8) == 0) &&
		  curl_url_set(url, CURLUPART_URL, text, 0) == CURLUE_OK &&
		  !url_has(url, CURLUPART_USER) &&
		  !url_has(url, CURLUPART_QUERY) &&
		  !url_has(url, CURLUPART_FRAGMENT);

	curl_url_cleanup(url);
	return ok;
}

static int
check_api_server(char *address, struct reason *why)
{
	size_t n = strlen(address);

	if (!is_base_address(address) || !is_plain(address))
		return reason_set(why,
		    "api-server must be an address like "
		    "https://appliance.example, not \"%s\"",
		    address);
	while (n && address[n - 1] == '/')
		address[--n] = '\0';
	return 0;
}

static int
check_required(const struct options *o, struct reason *why)
{
	const char *missing = !o->api_server     ? "api-server"
			      : !o->service_name ? "service-name"
			      : !o->token_file   ? "token-file"
						 : NULL;

	if (!missing)
		return 0;
	return reason_set(why,
	    "%s is not set: give --%s or put it into the settings file",
	    missing, missing);
}

static int
check(struct options *o, struct reason *why)
{
	if (check_required(o, why) || check_api_server(o->api_server, why) ||
	    check_name("service-name", o->service_name, why) ||
	    check_name("host-name", o->host_name, why))
		return -1;
	if (o->server_host)
		return check_name("server-host", o->server_host, why);
	return 0;
}

static void
set_defaults(struct options *o)
{
	const char *state_dir = getenv("STATE_DIRECTORY");
	char name[NAME_MAX_BYTES + 1] = "";

	(void)gethostname(name, sizeof name - 1);
	set_default(&o->host_name, *name ? name : "localhost");
	/* as systemd tells where it made StateDirectory= */
	set_default(&o->state_dir,
	    state_dir && *state_dir ? state_dir : DEFAULT_STATE_DIR);
	set_default(&o->gprofiler_path, "gprofiler");
	set_default(&o->perfspect_data, DEFAULT_PERFSPECT_DATA);
	set_default(&o->host_root, "");
}

int
options_parse(struct options *o, int argc, char **argv, struct reason *why)
{
	const char *config = NULL;
	int outcome;

	*o = (struct options) { .heartbeat_interval = INTERVAL_DEFAULT,
		.memory_limit = MEMORY_LIMIT_DEFAULT,
		.min_free = MIN_FREE_DEFAULT,
		.spool_max_mib = SPOOL_MIB_DEFAULT,
		.spool_max_days = SPOOL_DAYS_DEFAULT,
		.keep_runs_days = KEEP_DAYS_DEFAULT };
	outcome = walk(o, argc, argv, false, &config, why);
	if (outcome != OPTIONS_RUN && outcome != OPTIONS_PREFLIGHT)
		return outcome;
	if (conf_read(keys, N_KEYS, o, config ? config : DEFAULT_CONFIG,
		!config, why))
		return -1;
	if (walk(o, argc, argv, true, &config, why) < 0)
		return -1;
	set_defaults(o);
	if (outcome == OPTIONS_RUN && check(o, why))
		return -1;
	return outcome;
}

void
options_free(struct options *o)
{
	conf_free(keys, N_KEYS, o);
}
