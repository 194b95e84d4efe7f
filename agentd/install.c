#include "agentd/install.h"

#include "agentd/fetch.h"
#include "agentd/workspace.h"
#include "core/log.h"
#include "core/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#define RELEASES "https://github.com/intel/PerfSpect/releases/latest/download/"

#define TIMEOUT_DEFAULT 300
/* A day: more is a mistake. */
#define TIMEOUT_MAX 86400

/* How the child's last line begins.  Then comes the id or "-", the version
 * and a note for the log, or the reason. */
#define SAYS_OK "conspect: ok "
#define SAYS_FAILED "conspect: failed "

/* Releases are built for these. */
static const struct {
	const char *machine, *file;
} releases[] = {
	{ "x86_64", "perfspect.tgz" },
	{ "aarch64", "perfspect-aarch64.tgz" },
};

/* --- what to install ----------------------------------------------------- */

/* The file of a release for a machine, or NULL. */
static const char *
release_file(const char *machine)
{
	for (size_t i = 0; i < sizeof releases / sizeof *releases; i++)
		if (strcmp(releases[i].machine, machine) == 0)
			return releases[i].file;
	return NULL;
}

char *
install_release_url(const char *machine, struct reason *why)
{
	const char *file = release_file(machine);

	if (file)
		return mem_fmt(RELEASES "%s", file);
	reason_set(why,
	    "there is no PerfSpect release for %s: set "
	    "PERFSPECT_DOWNLOAD_URL",
	    machine);
	return NULL;
}

static char *
default_url(struct reason *why)
{
	struct utsname here = { 0 };

	(void)uname(&here);
	return install_release_url(here.machine, why);
}

static const char *
environment(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

static long
timeout_seconds(void)
{
	const char *text = environment("PERFSPECT_INSTALL_TIMEOUT");
	char *end;
	long n;

	if (!text)
		return TIMEOUT_DEFAULT;
	n = strtol(text, &end, 10);
	if (!*end && n >= 1 && n <= TIMEOUT_MAX)
		return n;
	log_warn("PERFSPECT_INSTALL_TIMEOUT must be a whole number of seconds "
		 "from 1 to %d, not \"%s\": %d is used",
	    TIMEOUT_MAX, text, TIMEOUT_DEFAULT);
	return TIMEOUT_DEFAULT;
}

/* Whether url is on the API server itself: same scheme, host and port. */
static bool
is_on_server(const char *url, const char *api_server)
{
	const char *host = strstr(api_server, "://");
	size_t n;

	if (!host)
		return false;
	n = (size_t)(host + 3 - api_server) + strcspn(host + 3, "/");
	return strncmp(url, api_server, n) == 0 &&
	       (url[n] == '/' || url[n] == '\0');
}

static int
fill_job(struct install *i, const struct command *c, const struct options *o,
    struct reason *why)
{
	const char *given = c->perfspect_url;

	if (!given)
		given = environment("PERFSPECT_DOWNLOAD_URL");
	i->job.url = given ? mem_copy(given) : default_url(why);
	if (!i->job.url)
		return -1;
	/* a digest belongs to the address that came with it */
	if (c->perfspect_url)
		i->job.sha256 = mem_copy(c->perfspect_sha256);
	if (is_on_server(i->job.url, o->api_server)) {
		i->job.ca_file = mem_copy(o->ca_file);
		i->job.no_verify = o->no_verify;
		i->job.proxy = mem_copy(o->proxy);
	} else {
		i->job.proxy = mem_copy(o->download_proxy);
	}
	i->job.timeout_seconds = timeout_seconds();
	i->job.stall_seconds = FETCH_STALL_SECONDS;
	i->job.bytes_max = FETCH_BYTES_MAX;
	i->job.space = PERFSPECT_SPACE;
	i->directory = mem_copy(workspace_tmpdir());
	i->job.tmpdir = mem_copy(i->directory);
	i->job.target = mem_fmt("%s/perfspect", i->directory);
	return 0;
}

/* --- the child ----------------------------------------------------------- */

/* What came over the network must not make a last line of its own. */
static const char *
one_line(struct reason *text)
{
	for (char *c = text->text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = ' ';
	return text->text;
}

/* The child's whole life; its last line is the result. */
static int
work(void *context)
{
	const struct install *i = context;
	struct perfspect_result r = { "", "", { "" } };
	struct reason why = { "" };

	if (perfspect_install(&i->job, i->workspace, &r, &why)) {
		dprintf(
		    STDOUT_FILENO, "\n" SAYS_FAILED "%s\n", one_line(&why));
		return EXIT_FAILURE;
	}
	dprintf(STDOUT_FILENO, "\n" SAYS_OK "%s %s %s\n", *r.id ? r.id : "-",
	    r.version, one_line(&r.note));
	return EXIT_SUCCESS;
}

int
install_start(struct install *i, const struct command *c,
    const struct options *o, int64_t now, struct reason *why)
{
	struct child_plan plan = {
		.body = work, .context = i, .mark = c->id, .log_fd = -1
	};

	*i = (struct install) { .held = -1 };
	if (fill_job(i, c, o, why) || workspace_check(i->directory, why))
		return -1;
	i->workspace = workspace_make(i->directory, why);
	if (!i->workspace)
		return -1;
	plan.directory = i->workspace;
	i->deadline_ms = now + i->job.timeout_seconds * 1000;
	log_info("command %s: PerfSpect from %s into %s", c->id, i->job.url,
	    i->job.target);
	return child_start(&i->child, &plan, why);
}

/* Takes a word and the blank after it off the text; false if it is longer
 * than size allows for. */
static bool
take_word(const char **text, char *word, size_t size)
{
	size_t n = strcspn(*text, " ");

	if (n == 0 || n >= size || (*text)[n] != ' ')
		return false;
	memcpy(word, *text, n);
	word[n] = '\0';
	*text += n + 1;
	return true;
}

/* Reads "ID VERSION NOTE".  Returns 0, or -1 when it is something else. */
static int
read_success(struct install *i, const char *text)
{
	char id[VERSIONS_ID];

	if (!take_word(&text, id, sizeof id) ||
	    !take_word(&text, i->version, sizeof i->version))
		return -1;
	if (strcmp(id, "-") == 0)
		id[0] = '\0';
	else if (!versions_is_id(id))
		return -1;
	i->program = versions_program(i->job.target, id);
	log_info("%s: %s", i->program, text);
	if (*id)
		i->held = versions_hold(i->job.target, id, &i->fault);
	return 0;
}

/* The child has ended: what does that mean? */
static void
settle(struct install *i)
{
	const char *says = i->child.last;
	size_t ok = sizeof SAYS_OK - 1, failed = sizeof SAYS_FAILED - 1;
	char ended[64];

	child_describe(i->child.status, ended);
	if (i->timed_out)
		reason_set(&i->fault,
		    "not done within %ld seconds (PERFSPECT_INSTALL_TIMEOUT), "
		    "from %s",
		    i->job.timeout_seconds, i->job.url);
	else if (strncmp(says, SAYS_FAILED, failed) == 0)
		reason_set(&i->fault, "%s", says + failed);
	else if (i->child.status != 0 || strncmp(says, SAYS_OK, ok) != 0 ||
		 read_success(i, says + ok))
		reason_set(&i->fault, "the installer %s: %.400s", ended, says);
}

bool
install_tick(struct install *i, int64_t now)
{
	if (now >= i->deadline_ms && i->child.stage == CHILD_RUNS) {
		i->timed_out = true;
		child_kill(&i->child, now);
	}
	if (!child_tick(&i->child, now))
		return false;
	if (!i->settled)
		settle(i);
	i->settled = true;
	return true;
}

int64_t
install_next_ms(const struct install *i)
{
	int64_t next = child_next_ms(&i->child);

	return i->child.stage == CHILD_RUNS && i->deadline_ms < next
		   ? i->deadline_ms
		   : next;
}

int
install_result(const struct install *i, char version[PERFSPECT_VERSION_BYTES],
    struct reason *why)
{
	if (i->fault.text[0])
		return reason_set(why, "%s", i->fault.text);
	(void)snprintf(version, PERFSPECT_VERSION_BYTES, "%s", i->version);
	return 0;
}

void
install_free(struct install *i)
{
	workspace_remove(i->workspace);
	if (i->held > 0)
		close(i->held);
	free(i->directory);
	free(i->program);
	free(i->job.url);
	free(i->job.sha256);
	free(i->job.ca_file);
	free(i->job.proxy);
	free(i->job.tmpdir);
	free(i->job.target);
	*i = (struct install) { 0 };
}
