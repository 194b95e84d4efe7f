#include "agentd/agent.h"

#include "agentd/daemon.h"
#include "agentd/loop.h"
#include "agentd/options.h"
#include "agentd/preflight.h"
#include "agentd/state.h"
#include "agentd/token.h"
#include "core/log.h"
#include "core/mem.h"

#include <curl/curl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROGRAM "conspect-agentd"

#define EXIT_USAGE 2

static int
open_log(const struct options *o)
{
	if (o->foreground && !o->log_file)
		return 0; /* standard error it is */
	if (o->log_file)
		return log_to_file(PROGRAM, o->log_file);
	log_to_syslog(PROGRAM);
	return 0;
}

/* With the state open nothing can fail that the starter should know of. */
static int
serve(const struct options *o, struct state *state, char *token, int ready)
{
	struct reason why;
	int result;

	if (o->pid_file && daemon_write_pid(o->pid_file, &why)) {
		log_error("%s", why.text);
		free(token);
		return EXIT_FAILURE;
	}
	if (open_log(o)) {
		free(token);
		return EXIT_FAILURE;
	}
	if (ready >= 0)
		daemon_ready(ready);
	log_info("version %s, agent %s, service %s, server %s",
	    PACKAGE_VERSION, state_agent_id(state), o->service_name,
	    o->api_server);
	result = loop_run(o, state, token, &why);
	if (result)
		log_error("%s", why.text);
	return result ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* A relative name means the directory that the agent was started in. */
static int
make_absolute(char **path, struct reason *why)
{
	char *here, *whole;

	if (!*path || **path == '/')
		return 0;
	here = getcwd(NULL, 0);
	if (!here)
		return reason_set(why, "the working directory is gone");
	whole = mem_fmt("%s/%s", here, *path);
	free(here);
	free(*path);
	*path = whole;
	return 0;
}

static int
make_paths_absolute(struct options *o, struct reason *why)
{
	if (strchr(o->gprofiler_path, '/') &&
	    make_absolute(&o->gprofiler_path, why))
		return -1;
	return make_absolute(&o->token_file, why) ||
		       make_absolute(&o->ca_file, why) ||
		       make_absolute(&o->state_dir, why) ||
		       make_absolute(&o->log_file, why) ||
		       make_absolute(&o->perfspect_data, why) ||
		       (*o->host_root && make_absolute(&o->host_root, why)) ||
		       make_absolute(&o->cgroup, why) ||
		       make_absolute(&o->pid_file, why)
		   ? -1
		   : 0;
}

static int
start(struct options *o)
{
	struct state *state = NULL;
	struct reason why;
	char *token = NULL;
	int ready = -1, result;

	/* who knows our pid may send what the loop waits for */
	loop_hold_signals();
	if (make_paths_absolute(o, &why) ||
	    token_read(o->token_file, &token, &why) ||
	    (!o->foreground && (ready = daemon_start(&why)) < 0) ||
	    state_open(o->state_dir, &state, &why)) {
		log_error("%s", why.text);
		free(token);
		return EXIT_FAILURE;
	}
	result = serve(o, state, token, ready);
	state_close(state);
	/* last of all: who sees that it is gone may start another agent on
	 * this state */
	if (o->pid_file)
		daemon_remove_pid(o->pid_file);
	return result;
}

/* For a person: prints what the heartbeats would carry. */
static int
print_preflight(const struct options *o)
{
	struct preflight_host host;

	preflight_this_host(&host, o);
	return preflight_print(&host, stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int
with_options(struct options *o, int argc, char **argv)
{
	struct reason why;

	switch (options_parse(o, argc, argv, &why)) {
	case OPTIONS_HELP:
		(void)fputs(options_help(), stdout);
		return EXIT_SUCCESS;
	case OPTIONS_VERSION:
		(void)puts(PROGRAM " " PACKAGE_VERSION);
		return EXIT_SUCCESS;
	case OPTIONS_PREFLIGHT:
		return print_preflight(o);
	case OPTIONS_RUN:
		return start(o);
	default:
		log_error("%s", why.text);
		return EXIT_USAGE;
	}
}

int
agent_main(int argc, char **argv)
{
	struct options o;
	int result;

	log_to_stderr(PROGRAM);
	/* what the agent writes is root's alone */
	(void)umask(077);
	if (sodium_init() < 0 || curl_global_init(CURL_GLOBAL_DEFAULT)) {
		log_error("libsodium or libcurl does not start");
		return EXIT_FAILURE;
	}
	result = with_options(&o, argc, argv);
	options_free(&o);
	curl_global_cleanup();
	return result;
}
