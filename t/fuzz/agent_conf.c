/* The agent's settings file. */
#include "fuzz/files.h"

#include "agentd/options.h"
#include "core/buf.h"

/* Twice what a file of the longest lines has. */
#define TEXT_MAX 16384

const char *const fuzz_target = "agent_conf";

static int
parse(const char *path, struct options *o, struct reason *why)
{
	char program[] = "conspect-agentd", flag[] = "--config";
	char *file = mem_copy(path);
	char *argv[] = { program, flag, file, NULL };
	int outcome = options_parse(o, 3, argv, why);

	free(file);
	return outcome;
}

static void
check_options(const struct options *o)
{
	size_t n = strlen(o->api_server);

	FUZZ_CHECK(strncmp(o->api_server, "http", 4) == 0);
	FUZZ_CHECK(n > 0 && o->api_server[n - 1] != '/');
	FUZZ_CHECK(strlen(o->service_name) <= 255 && *o->service_name);
	FUZZ_CHECK(strlen(o->host_name) <= 255 && *o->host_name);
	FUZZ_CHECK(*o->token_file && *o->state_dir && *o->gprofiler_path);
	FUZZ_CHECK(o->heartbeat_interval >= 1);
	FUZZ_CHECK(o->heartbeat_interval <= 3600);
}

static void
add(struct buf *to, const char *key, const char *value)
{
	if (value)
		buf_fmt(to, "%s=%s\n", key, value);
}

static bool
same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static void
compose(const struct options *o, struct buf *to)
{
	add(to, "api-server", o->api_server);
	add(to, "service-name", o->service_name);
	add(to, "token-file", o->token_file);
	add(to, "server-host", o->server_host);
	add(to, "host-name", o->host_name);
	add(to, "ca-file", o->ca_file);
	add(to, "proxy", o->proxy);
	add(to, "state-dir", o->state_dir);
	add(to, "gprofiler-path", o->gprofiler_path);
	add(to, "log-file", o->log_file);
	add(to, "pid-file", o->pid_file);
	add(to, "host-root", *o->host_root ? o->host_root : NULL);
	add(to, "perfspect-data", o->perfspect_data);
	add(to, "cgroup", o->cgroup);
	buf_fmt(to, "heartbeat-interval=%ld\nno-verify=%d\nforeground=%d\n",
	    o->heartbeat_interval, o->no_verify, o->foreground);
	buf_fmt(to, "cpu-limit=%ld\nmemory-limit=%ld\nmin-free=%ld\n",
	    o->cpu_limit, o->memory_limit, o->min_free);
}

/* Settings that are written as they were read are read as they were. */
static void
check_comes_again(const struct options *o, const char *path)
{
	struct buf text = BUF_INIT(TEXT_MAX);
	struct options again;
	struct reason why = { "" };

	compose(o, &text);
	FUZZ_CHECK(!text.full);
	files_write(path, text.data, text.len);
	FUZZ_CHECK(parse(path, &again, &why) == OPTIONS_RUN);
	FUZZ_CHECK(same(o->api_server, again.api_server));
	FUZZ_CHECK(same(o->service_name, again.service_name));
	FUZZ_CHECK(same(o->token_file, again.token_file));
	FUZZ_CHECK(same(o->server_host, again.server_host));
	FUZZ_CHECK(same(o->host_name, again.host_name));
	FUZZ_CHECK(same(o->ca_file, again.ca_file));
	FUZZ_CHECK(same(o->proxy, again.proxy));
	FUZZ_CHECK(same(o->state_dir, again.state_dir));
	FUZZ_CHECK(same(o->gprofiler_path, again.gprofiler_path));
	FUZZ_CHECK(same(o->log_file, again.log_file));
	FUZZ_CHECK(same(o->pid_file, again.pid_file));
	FUZZ_CHECK(same(o->host_root, again.host_root));
	FUZZ_CHECK(same(o->perfspect_data, again.perfspect_data));
	FUZZ_CHECK(same(o->cgroup, again.cgroup));
	FUZZ_CHECK(o->heartbeat_interval == again.heartbeat_interval);
	FUZZ_CHECK(o->cpu_limit == again.cpu_limit);
	FUZZ_CHECK(o->memory_limit == again.memory_limit);
	FUZZ_CHECK(o->min_free == again.min_free);
	FUZZ_CHECK(o->no_verify == again.no_verify);
	FUZZ_CHECK(o->foreground == again.foreground);
	options_free(&again);
	buf_free(&text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *path = mem_fmt("%s/agentd.conf", files_begin());
	struct options o;
	struct reason why = { "" };
	int outcome;

	files_write(path, data, size);
	outcome = parse(path, &o, &why);
	fuzz_check_reason(outcome != OPTIONS_RUN, why.text);
	if (outcome == OPTIONS_RUN) {
		/* nothing was cut off */
		FUZZ_CHECK(!memchr(data, '\0', size));
		check_options(&o);
		check_comes_again(&o, path);
	}
	options_free(&o);
	FUZZ_CHECK(unlink(path) == 0);
	free(path);
	return 0;
}
