/*
 * What agents send: heartbeats and completions.
 *
 * Members, faults and texts are the original's; those marked «ours» come
 * from conspect-agentd only.
 */
#ifndef CONSPECT_CORE_REPORT_H
#define CONSPECT_CORE_REPORT_H

#include "core/command.h"
#include "core/uuid.h"

/* The original's agent sends up to 1,000 in each list. */
#define COMMAND_IDS_MAX 1000

/* What our agent has in hand; it holds a running command of each kind and a
 * short queue. */
#define COMMAND_STATES_MAX 100

/* Longest error message that is kept; agents cut theirs well before. */
#define ERROR_MESSAGE_MAX 4096

/* Longest path on a host (PATH_MAX). */
#define PATH_BYTES_MAX 4096

/* What the agent found out about its host: the checks that there are, and
 * room for as many more. */
#define PREFLIGHT_MAX 32
#define PREFLIGHT_TEXT_MAX 300

/* A run ends within a year, or its clock is wrong. */
#define EXECUTION_TIME_MAX (366 * 24 * 3600)

enum host_status { HOST_ACTIVE, HOST_IDLE, HOST_OFFLINE };

extern const char *const host_status_names[]; /* by enum host_status */

/* How far the agent has come with a command. */
struct command_progress {
	char command_id[UUID_TEXT];
	enum command_state state; /* accepted, installing or running */
};

struct heartbeat {
	const char *ip_address;
	const char *hostname;
	const char *service_name;
	const char *last_command_id; /* NULL, or a UUID */
	enum host_status status;
	int64_t timestamp; /* ms by the agent's clock, or FIELD_NULL */
	struct json_object *received_command_ids; /* array of texts or NULL */
	struct json_object *executed_command_ids; /* likewise */
	/* ours */
	const char *agent_id, *boot_id, *agent_version, *arch; /* or NULL */
	struct json_object *commands;      /* what it has in hand, or NULL */
	struct command_progress *progress; /* the same, owned */
	size_t n_progress;
	/* array of {check, outcome, text}, these members only; or NULL */
	struct json_object *preflight; /* owned */
};

struct completion {
	const char *command_id_as_sent; /* for replies */
	char command_id[UUID_TEXT];     /* lower case */
	const char *hostname;
	enum command_state state; /* completed, failed or stopped */
	int64_t execution_time;   /* s, or FIELD_NULL */
	const char *error_message, *results_path; /* or NULL */
	/* ours */
	int64_t exit_status;           /* or FIELD_NULL */
	const char *perfspect_version; /* or NULL */
	struct json_object *arguments; /* array of texts that ran, or NULL */
	bool partial; /* results cover less than the asked duration */
};

/*
 * Each reads from the body's JSON, which must outlive the structure, and
 * returns true when there are no faults.
 */
bool heartbeat_read(struct json_object *body, struct heartbeat *heartbeat,
    struct faults *faults) __attribute__((nonnull(2, 3), warn_unused_result));
bool completion_read(struct json_object *body, struct completion *completion,
    struct faults *faults) __attribute__((nonnull(2, 3), warn_unused_result));

/* Needed after heartbeat_read(), whatever it returned. */
void heartbeat_free(struct heartbeat *heartbeat) __attribute__((nonnull));

/* Whether the agent has shown that it knows the command. */
bool heartbeat_shows(const struct heartbeat *heartbeat, const char *command_id)
    __attribute__((nonnull));

#endif
