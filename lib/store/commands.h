/*
 * Rows of ProfilingCommands, for the files of lib/store that move them.
 *
 * All of this happens inside the caller's transaction.
 */
#ifndef CONSPECT_STORE_COMMANDS_H
#define CONSPECT_STORE_COMMANDS_H

#include "store/db.h"

struct command {
	char command_id[UUID_TEXT];
	enum command_state state;
	enum command_kind kind;
	struct json_object *config; /* owned */
	int64_t expires_ms;         /* or FIELD_NULL */
};

/* The unfinished commands of one host and service, oldest first. */
struct commands {
	struct command *list; /* owned */
	size_t n;
};

int commands_load(struct store *s, const char *hostname,
    const char *service_name, struct commands *commands);
void commands_free(struct commands *commands);

/* The host's pending command of a kind, or STORE_NOT_FOUND; the caller puts
 * its config back. */
int command_pending(struct store *s, const char *hostname,
    const char *service_name, enum command_kind kind, struct command *command);

/* A command before it is a row. */
struct new_command {
	const char *hostname, *service_name;
	enum request_type type;
	struct json_object *config; /* borrowed */
	int64_t created_ms, expires_ms;
};

/* Inserts a pending command and returns its id in command_id. */
int command_insert(struct store *s, const struct new_command *command,
    char command_id[UUID_TEXT]);

/* Gives a pending command another config and, if later, another expiry. */
int command_reconfigure(struct store *s, const struct command *command,
    struct json_object *config, int64_t expires_ms);

/*
 * Moves a command by an event and keeps the requests that it serves in step;
 * command->state becomes the new one.  Where the event cannot happen in its
 * state nothing changes.  `why` is the reason for a person, or NULL.
 */
int command_move(struct store *s, struct command *command,
    enum command_event event, int64_t now_ms, const char *why);

/* Gives the command up if it has waited too long. */
int command_expire(struct store *s, struct command *command, int64_t now_ms);

/* Makes a command serve a request (once), and all requests of another. */
int command_link(struct store *s, const char *command_id,
    enum command_state state, const char *request_id);
int command_link_as(struct store *s, const char *command_id,
    enum command_state state, const char *other_command_id);

/*
 * A start that a process-level stop left stands for what remains of older
 * ones of its kind, and serves all of their requests.
 *
 * Whether a newer command stands for this one; one that expired does not,
 * since no host took it.
 */
int command_has_heir(
    struct store *s, const struct command *command, bool *has_heir);

/* Adds to a stop's pids those of the commands that this one stands for and
 * that may be running: handed out, with no end reported.  *stop is replaced;
 * *any becomes true where there are some. */
int command_add_elders(struct store *s, const struct command *command,
    struct json_object **stop, bool *any);

#endif
