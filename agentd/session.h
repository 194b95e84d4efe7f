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
};

/*
 * Reads a config; keys that are not known are passed over.  Returns 0, or -1
 * with the reason.  session_free() in each case; the config must live on.
 */
int session_read(struct json_object *config, struct session *s,
    struct reason *why) __attribute__((nonnull(2, 3), warn_unused_result));

void session_free(struct session *s) __attribute__((nonnull));

/* Whether a process-level stop of `stop` leaves nothing of `running`. */
bool session_covered(const struct session *running, const struct session *stop)
    __attribute__((nonnull));

#endif
