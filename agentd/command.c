#include "agentd/command.h"

#include <stdlib.h>

void
command_free(struct command *c)
{
	if (!c)
		return;
	session_free(&c->session);
	json_object_put(c->config);
	free(c->perfspect_url);
	free(c->perfspect_sha256);
	free(c);
}
