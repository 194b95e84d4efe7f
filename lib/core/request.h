/*
 * A profiling request: what a user asks for, as the API takes it.
 *
 * The members, their defaults and the texts of faults are those of the
 * original (POST /api/metrics/profile_request), and expires_in is ours.
 */
#ifndef CONSPECT_CORE_REQUEST_H
#define CONSPECT_CORE_REQUEST_H

#include "core/fields.h"

enum request_type { REQUEST_START, REQUEST_STOP };
enum profiling_mode { MODE_CPU, MODE_ALLOCATION, MODE_NONE };
enum stop_level { STOP_PROCESS, STOP_HOST };

extern const char *const request_type_names[];   /* by enum request_type */
extern const char *const profiling_mode_names[]; /* by enum profiling_mode */
extern const char *const stop_level_names[];     /* by enum stop_level */

/* Hosts in one request: each becomes a row in one transaction, and a click
 * that reaches more was no click on purpose. */
#define REQUEST_HOSTS_MAX 10000

/* Processes of one host in one request. */
#define REQUEST_PIDS_MAX 1000

/* A pending command outlives no planning: 30 days. */
#define EXPIRES_IN_MAX (30 * 24 * 3600)

/*
 * additional_args.limits of a run: the CPU in percent of one core, up to
 * 1,000 of them, and memory.  gProfiler does not start with less than 64 MiB;
 * a TiB is more than a profiler ever needs.
 */
#define LIMIT_CPU_PERCENT_MAX 100000
#define LIMIT_MEMORY_MIB_MIN 64
#define LIMIT_MEMORY_MIB_MAX (1024 * 1024)

/* One host of a request. */
struct target {
	const char *hostname; /* borrowed from the request's JSON */
	int *pids;            /* owned; sorted, each once */
	size_t n_pids;        /* 0: the whole host */
};

struct profiling_request {
	const char *service_name;
	enum request_type type;
	bool continuous;
	int64_t duration;  /* s, or FIELD_NULL */
	int64_t frequency; /* Hz, or FIELD_NULL */
	enum profiling_mode mode;
	enum stop_level stop_level;
	struct json_object *target_hosts; /* borrowed, or NULL */
	struct target *targets;           /* the same, owned */
	size_t n_targets;                 /* 0 on a start: every active host */
	struct json_object *additional_args; /* borrowed, or NULL */
	int64_t expires_in;                  /* s, or FIELD_NULL */
};

/*
 * Reads a request from the body's JSON, which must outlive it (its texts
 * are borrowed).  Returns true when there are no faults; request_free() is
 * needed either way.
 */
bool request_read(struct json_object *body, struct profiling_request *request,
    struct faults *faults) __attribute__((nonnull(2, 3), warn_unused_result));

/* A request with the API's defaults, to be filled by code. */
void request_init(struct profiling_request *request) __attribute__((nonnull));

void request_free(struct profiling_request *request) __attribute__((nonnull));

/*
 * Checks additional_args: known keys by their rules, keys of the request
 * itself refused, others left alone.
 */
void additional_args_check(struct json_object *args, const struct place *at,
    struct faults *faults) __attribute__((nonnull(2, 3)));

/* The seconds between two PerfSpect samples that the arguments ask for. */
int64_t perfspect_interval(struct json_object *additional_args);

/* Whether the arguments ask for PerfSpect. */
bool perfspect_enabled(struct json_object *additional_args);

#endif
