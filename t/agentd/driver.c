/*
 * One call of the agent's network functions, for tests that play faults to
 * many of them at once:
 *
 *	driver fetch URL FILE [KEY=VALUE ...]
 *	driver install URL TMPDIR [KEY=VALUE ...]
 *	driver look TARGET -
 *	driver post API-SERVER TEXT [KEY=VALUE ...]
 *
 * Prints the outcome as a line of JSON.
 */
#include "agentd/fetch.h"
#include "agentd/http.h"
#include "agentd/perfspect.h"
#include "agentd/workspace.h"
#include "core/log.h"
#include "core/mem.h"

#include <json-c/json.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define POLL_MS 1000

static char **arguments;

/* The value of KEY=VALUE, or NULL. */
static const char *
text(const char *key)
{
	size_t n = strlen(key);

	for (char **a = arguments; *a; a++)
		if (strncmp(*a, key, n) == 0 && (*a)[n] == '=')
			return *a + n + 1;
	return NULL;
}

static long
number(const char *key, long otherwise)
{
	const char *value = text(key);

	return value ? strtol(value, NULL, 10) : otherwise;
}

static void
add(struct json_object *to, const char *key, const char *value)
{
	json_object_object_add(to, key, json_object_new_string(value));
}

static int
print(struct json_object *o, int failed, const struct reason *why)
{
	json_object_object_add(o, "ok", json_object_new_boolean(!failed));
	if (failed)
		add(o, "why", why->text);
	(void)puts(json_object_to_json_string(o));
	json_object_put(o);
	return 0;
}

static int
fetch(const char *url, const char *path)
{
	struct fetch_job job = { .url = url,
		.path = path,
		.sha256 = text("sha256"),
		.peer = { text("ca-file"), text("proxy"),
		    number("no-verify", 0) },
		.total_seconds = number("total", 60),
		.stall_seconds = number("stall", 30),
		.bytes_max = number("max", FETCH_BYTES_MAX) };
	struct json_object *o = json_object_new_object();
	struct fetch_result result;
	struct reason why = { "" };
	int failed = fetch_archive(&job, &result, &why);

	add(o, "sha256", result.sha256);
	add(o, "note", result.note.text);
	return print(o, failed, &why);
}

/* What the agent's child does, with limits of the test's own. */
static int
install(char *url, char *tmpdir)
{
	struct perfspect_job job = { .url = url,
		.sha256 = mem_copy(text("sha256")),
		.proxy = mem_copy(text("proxy")),
		.tmpdir = tmpdir,
		.target = mem_fmt("%s/perfspect", tmpdir),
		.timeout_seconds = number("total", 60),
		.stall_seconds = number("stall", 30),
		.bytes_max = number("max", FETCH_BYTES_MAX),
		.space = number("space", PERFSPECT_SPACE) };
	struct json_object *o = json_object_new_object();
	struct perfspect_result result = { "", "", { "" } };
	struct reason why = { "" };
	char *workspace = workspace_check(tmpdir, &why)
			      ? NULL
			      : workspace_make(tmpdir, &why);
	int failed =
	    !workspace || perfspect_install(&job, workspace, &result, &why);

	workspace_remove(workspace);
	add(o, "id", result.id);
	add(o, "version", result.version);
	add(o, "note", result.note.text);
	free(job.sha256);
	free(job.proxy);
	free(job.target);
	return print(o, failed, &why);
}

static int
look(const char *target)
{
	struct json_object *o = json_object_new_object();
	struct perfspect_note note;
	struct reason why = { "" };
	int failed = perfspect_look(target, &note, &why);

	json_object_object_add(
	    o, "there", json_object_new_boolean(note.there));
	add(o, "version", note.version);
	add(o, "sha256", note.sha256);
	return print(o, failed, &why);
}

static CURLcode
perform(CURLM *multi)
{
	int n = 1;

	for (;;) {
		const struct CURLMsg *m;

		(void)curl_multi_perform(multi, &n);
		while ((m = curl_multi_info_read(multi, &n)))
			if (m->msg == CURLMSG_DONE)
				return m->data.result;
		(void)curl_multi_poll(multi, NULL, 0, POLL_MS, NULL);
	}
}

static int
post(char *server, const char *body)
{
	struct options options = { .api_server = server,
		.ca_file = mem_copy(text("ca-file")),
		.proxy = mem_copy(text("proxy")),
		.no_verify = number("no-verify", 0) };
	struct json_object *o = json_object_new_object();
	CURLM *multi = curl_multi_init();
	struct http_result result = { 0 };
	struct http_post p;
	struct reason why = { "" };
	int failed = http_open(&p, multi, &options, "/x", &why) ||
		     http_send(&p, "secret-token", mem_copy(body), 0, &why);

	if (!failed) {
		http_finish(&p, perform(multi), &result);
		failed = !result.ok;
		why = result.why;
	}
	json_object_object_add(
	    o, "retry_after", json_object_new_int64(result.retry_after));
	add(o, "reply", buf_text(&p.reply));
	http_close(&p);
	(void)curl_multi_cleanup(multi);
	free(options.ca_file);
	free(options.proxy);
	return print(o, failed, &why);
}

int
main(int argc, char **argv)
{
	int result = EXIT_FAILURE;

	if (argc < 4 || sodium_init() < 0 ||
	    curl_global_init(CURL_GLOBAL_DEFAULT))
		return EXIT_FAILURE;
	log_to_stderr("driver");
	(void)umask(077);
	arguments = argv + 4;
	if (strcmp(argv[1], "fetch") == 0)
		result = fetch(argv[2], argv[3]);
	else if (strcmp(argv[1], "install") == 0)
		result = install(argv[2], argv[3]);
	else if (strcmp(argv[1], "look") == 0)
		result = look(argv[2]);
	else if (strcmp(argv[1], "post") == 0)
		result = post(argv[2], argv[3]);
	curl_global_cleanup();
	return result;
}
