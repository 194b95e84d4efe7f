/*
 * A command's combined_config, checked and typed.
 */
#ifndef CONSPECT_AGENTD_SESSION_H
#define CONSPECT_AGENTD_SESSION_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/reason.h"

/* As many as one request may name; a host has not many more of interest. */
#define SESSION_PIDS_MAX 1000

/* gProfiler's own defaults where the config leaves a value out. */
#define SESSION_DURATION_DEFAULT 60
#define SESSION_MAX_PROCESSES_DEFAULT 10

struct session {
	long duration;         /* seconds, 0 when not given */
	long frequency;        /* Hz, 0 when not given */
	const char *mode;      /* a constant, NULL when not given */
	bool continuous;       /* runs until it is stopped */
	bool enable_perfspect; /* with hardware metrics */
	bool whole_host_stop;  /* of a stop: stop_level is host */
	bool is_rest;          /* of a start: what a process-level stop left */
	long max_processes;    /* 0 for no limit */
	long *pids;            /* NULL for the whole host */
	size_t n_pids;
	/* profiler_configs: name to setting; owned by the config, or NULL */
	struct json_object *profilers;
	/* checked flags of PerfSpect; likewise */
	struct json_object *perfspect_args;
	/* what it may use, 0 for the agent's own maximum */
	long cpu_percent; /* of one core */
	long memory_mib;
};

/*
 * Reads a config; keys that are not known are passed over.  Returns 0, or -1
 * with the reason.  session_free() in each case; the config must live on.
 */
int session_read(struct json_object *config, struct session *s,
    struct reason *why) __attribute__((nonnull(2, 3), warn_unused_result));

void session_free(struct session *s) __attribute__((nonnull));

/* What a stop does to a start. */
enum session_cut {
	SESSION_UNTOUCHED,
	SESSION_NARROWED,  /* some of its processes go, some stay */
	SESSION_ENDED,     /* nothing of it is left */
	SESSION_UNDIVIDED, /* it profiles the whole host: no process can be
			      taken out of it */
};

enum session_cut session_cut(const struct session *start,
    const struct session *stop) __attribute__((nonnull));

/* Takes the stop's processes out of a start that it narrows. */
void session_narrow(struct session *start, const struct session *stop)
    __attribute__((nonnull));

/* Whether all processes of `part` are among those of `whole`. */
bool session_is_part(const struct session *part, const struct session *whole)
    __attribute__((nonnull));

/* The shortest time in seconds that PerfSpect can measure for it. */
long session_perfspect_least(const struct session *s) __attribute__((nonnull));

#endif
