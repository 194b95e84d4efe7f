/*
 * The messages between agent and server: what is sent is composed here, and
 * what comes back is read here.
 */
#ifndef CONSPECT_AGENTD_WIRE_H
#define CONSPECT_AGENTD_WIRE_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

#include "agentd/command.h"
#include "agentd/options.h"
#include "agentd/state.h"

#define WIRE_HEARTBEAT_PATH "/api/metrics/heartbeat"
#define WIRE_COMPLETION_PATH "/api/metrics/command_completion"
#define WIRE_RESULTS_PATH "/api/metrics/results"

/* What a heartbeat says of this moment. */
struct wire_moment {
	bool active;  /* something runs */
	bool offline; /* the last heartbeat of an agent */
	/* [{command_id, state}], taken */
	struct json_object *in_hand;
	/* [{check, outcome, text}], borrowed, or NULL: not known yet */
	struct json_object *preflight;
};

/*
 * The heartbeat's JSON without ip_address, which is only known once there is
 * a connection: see wire_text_with_room().  The caller puts the object.
 */
struct json_object *wire_heartbeat(const struct options *o,
    struct state *state, const struct wire_moment *moment)
    __attribute__((nonnull, warn_unused_result));

/*
 * The text of a heartbeat with room for an address; the caller frees it.
 * *room is set to where wire_set_address() writes.
 */
char *wire_text_with_room(struct json_object *heartbeat, size_t *room)
    __attribute__((nonnull, warn_unused_result));

/* Writes the address; the text keeps its length and stays valid JSON. */
void wire_set_address(char *text, size_t room, const char *address)
    __attribute__((nonnull));

/* How a command ended. */
struct wire_report {
	const char *command_id;
	const char *host_name;
	const char *status;            /* completed, failed or stopped */
	long seconds;                  /* that it ran */
	const char *error;             /* or NULL */
	const char *results_path;      /* or NULL */
	int exit_status;               /* of the profiler, or -1 */
	const char *perfspect_version; /* or NULL */
	char *const *arguments;        /* that it ran with, or NULL */
	bool partial; /* its metrics cover less time than was asked for */
};

/* The JSON of a report; the caller frees it. */
char *wire_report_text(const struct wire_report *report)
    __attribute__((nonnull, warn_unused_result));

/* What the server said to a heartbeat. */
struct wire_reply {
	struct command *command; /* or NULL; the caller frees it */
	long interval;           /* seconds between them, 0: the agent's own */
};

/*
 * Reads the body of a 200.  Relative addresses in it are taken relative to
 * api_server.  A command that cannot be carried out is returned with its
 * fault set.  Returns 0, or -1 with the reason.
 */
int wire_read_reply(const char *text, size_t len, const char *api_server,
    struct wire_reply *reply, struct reason *why)
    __attribute__((nonnull, warn_unused_result));

enum wire_verdict {
	WIRE_TAKEN,   /* the server has the report */
	WIRE_REFUSED, /* it never will; the reason is its message */
};

/* Reads the body of a 200 to a report: a wire_verdict, or -1. */
int wire_read_verdict(const char *text, size_t len, struct reason *why)
    __attribute__((nonnull, warn_unused_result));

#endif
