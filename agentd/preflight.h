/*
 * Can this host be profiled?  Told before anyone presses Start.
 *
 * Each check looks at one thing and says one sentence.  All that it sees of
 * the host goes through struct preflight_host, so that a test can play any
 * host.  Checks block (a temporary directory may hang): the agent runs them
 * in a child, see agentd/preflight_watch.h.
 */
#ifndef CONSPECT_AGENTD_PREFLIGHT_H
#define CONSPECT_AGENTD_PREFLIGHT_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/types.h>
#include <sys/utsname.h>

#include "agentd/options.h"

/* A sentence and the NUL; it is valid UTF-8 without control characters. */
#define PREFLIGHT_TEXT_BYTES 301

enum preflight_outcome {
	PREFLIGHT_OK,
	PREFLIGHT_WARNING, /* runs go, but not with all that they could have */
	PREFLIGHT_PROBLEM, /* a run, or part of what it measures, will fail */
};

enum preflight_event { PREFLIGHT_INSTRUCTIONS, PREFLIGHT_CYCLES };

struct preflight_host {
	const char *root; /* where proc and sys are: "" or a directory */
	const char *tmp_dir, *state_dir;
	const char *gprofiler_path; /* a name is looked up in PATH */
	int64_t min_free; /* bytes that a run needs in the state directory */
	uid_t uid;
	uint64_t capabilities; /* effective ones, bit by number */
	bool has_url;          /* PERFSPECT_DOWNLOAD_URL is set */
	/* each returns 0, or errno */
	int (*count)(enum preflight_event event); /* on this process */
	int (*stat_fs)(const char *path, struct statvfs *fs);
	int (*file_limit)(struct rlimit *limit);
	int (*name)(struct utsname *name);
	int (*run_file)(char *path); /* until it ends */
};

struct preflight_entry {
	const char *check; /* its name, a constant */
	enum preflight_outcome outcome;
	char text[PREFLIGHT_TEXT_BYTES];
};

/* This host, by the settings, which must live on. */
void preflight_this_host(struct preflight_host *host, const struct options *o)
    __attribute__((nonnull));

/* How many checks there are, and the name of each. */
size_t preflight_count(void);
const char *preflight_check_name(size_t i);

/* Makes one of them. */
void preflight_check(const struct preflight_host *host, size_t i,
    struct preflight_entry *entry) __attribute__((nonnull));

/* {"check", "outcome", "text"}; the caller puts it. */
struct json_object *preflight_json(const struct preflight_entry *entry)
    __attribute__((nonnull, warn_unused_result));

/*
 * Makes all of them and prints a line for each.  Returns whether there is a
 * problem.
 */
bool preflight_print(const struct preflight_host *host, FILE *to)
    __attribute__((nonnull));

#endif
