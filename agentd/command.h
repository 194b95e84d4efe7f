/*
 * A command as it came from the server.
 */
#ifndef CONSPECT_AGENTD_COMMAND_H
#define CONSPECT_AGENTD_COMMAND_H

#include <json-c/json.h>

#include "agentd/session.h"
#include "core/uuid.h"

enum command_kind { COMMAND_START, COMMAND_STOP };

struct command {
	char id[UUID_TEXT];
	enum command_kind kind;
	struct json_object *config; /* combined_config; keeps session alive */
	struct session session;
	char *perfspect_url;    /* where to get PerfSpect, or NULL */
	char *perfspect_sha256; /* of what is there, or NULL */
	/* why it cannot be carried out; "" when it can */
	struct reason fault;
};

/* Frees it and what it holds; NULL is taken. */
void command_free(struct command *c);

#endif
