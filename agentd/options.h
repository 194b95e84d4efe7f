/*
 * The agent's settings: flags and a settings file with the same keys.
 */
#ifndef CONSPECT_AGENTD_OPTIONS_H
#define CONSPECT_AGENTD_OPTIONS_H

#include <stdbool.h>

#include "core/reason.h"

struct options {
	char *api_server;     /* http(s)://HOST[:PORT][/PREFIX], no final / */
	char *service_name;   /* what this host's profiles belong to */
	char *token_file;     /* holds the agent's bearer token */
	char *server_host;    /* where gProfiler uploads to, or NULL */
	char *host_name;      /* as reported; the kernel's by default */
	char *ca_file;        /* PEM, for the API server, or NULL */
	char *proxy;          /* to the API server, or NULL */
	char *download_proxy; /* to elsewhere, for PerfSpect, or NULL */
	char *state_dir;      /* holds the database and the runs */
	char *gprofiler_path; /* a name is looked up in PATH */
	char *log_file;       /* NULL: syslog */
	char *pid_file;       /* NULL: none */
	char *host_root; /* where the host's /proc and /sys are, "" here */
	char *perfspect_data;    /* where gProfiler has PerfSpect write */
	char *cgroup;            /* to make the runs' cgroups in, or NULL */
	long heartbeat_interval; /* seconds */
	long cpu_limit;      /* of a run, percent of one core, 0 for none */
	long memory_limit;   /* of a run, MiB, 0 for none */
	long min_free;       /* of the state directory's disk, MiB */
	long spool_max_mib;  /* files of all runs */
	long spool_max_days; /* files that could not be delivered */
	long keep_runs_days; /* files that were delivered */
	bool no_verify;      /* accept any certificate of the API server */
	bool foreground;     /* do not become a daemon */
};

enum options_outcome {
	OPTIONS_RUN,       /* settings are complete */
	OPTIONS_HELP,      /* --help was given */
	OPTIONS_VERSION,   /* --version was given */
	OPTIONS_PREFLIGHT, /* --preflight was; no server need be set */
};

/*
 * Reads the command line and the settings file; the command line wins.
 * Returns an options_outcome, or -1 with the reason.  The caller gives the
 * texts back with options_free() in each case.
 */
int options_parse(struct options *o, int argc, char **argv, struct reason *why)
    __attribute__((nonnull, warn_unused_result));

void options_free(struct options *o) __attribute__((nonnull));

/* The text of --help. */
const char *options_help(void);

#endif
