/*
 * Checks of what other programs do on the host.
 */
#include "agentd/child.h"
#include "agentd/gprofiler.h"
#include "agentd/preflight_checks.h"
#include "agentd/procs.h"
#include "core/mem.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The kernel keeps so much of a program's name, and a NUL. */
#define COMM_BYTES 16
/* Programs that are named; of others there is a number. */
#define NAMED_MAX 3
/* Descriptors that one look goes through: seconds, also on a host with
 * thousands of busy servers. */
#define FDS_MAX (1 << 20)
/* One line of /proc/net/unix: eight columns and a name. */
#define UNIX_LINE_BYTES 512

/* What is hunted, and what was found. */
struct hunt {
	const struct preflight_host *host;
	const char *program; /* of gProfiler, as in its path */
	struct buf text;     /* of a file of /proc */
	struct buf names;
	unsigned others; /* that are not runs of ours */
	unsigned ours;
	unsigned fds; /* looked at */
};

static struct hunt
begin_hunt(const struct preflight_host *host)
{
	return (struct hunt) { .host = host,
		.text = BUF_INIT(PROCS_FILE_MAX),
		.names = BUF_INIT(PREFLIGHT_TEXT_BYTES) };
}

static void
end_hunt(struct hunt *h)
{
	buf_free(&h->text);
	buf_free(&h->names);
}

static void
read_comm(struct hunt *h, const char *pid, char comm[COMM_BYTES])
{
	size_t n;

	procs_read(h->host->root, pid, "comm", &h->text);
	n = h->text.len;
	if (n && buf_text(&h->text)[n - 1] == '\n')
		buf_cut(&h->text, n - 1);
	(void)snprintf(comm, COMM_BYTES, "%s", buf_text(&h->text));
}

static void
add_found(struct hunt *h, const char *pid, const char *comm)
{
	if (procs_carries(h->host->root, pid, CHILD_MARK "=", &h->text)) {
		h->ours++;
		return;
	}
	h->others++;
	if (h->others <= NAMED_MAX)
		buf_fmt(&h->names, "%s%s (pid %.10s)",
		    h->names.len ? ", " : "", comm, pid);
}

static void
say_found(const struct hunt *h, struct buf *to)
{
	buf_str(to, buf_text(&h->names));
	if (h->others > NAMED_MAX)
		buf_fmt(to, " and %u more", h->others - NAMED_MAX);
}

/* --- pmu_busy ------------------------------------------------------------ */

static bool
is_perf_event(int dir, const char *name)
{
	static const char want[] = "anon_inode:[perf_event]";
	char to[sizeof want];

	return readlinkat(dir, name, to, sizeof to) ==
		   (ssize_t)sizeof want - 1 &&
	       memcmp(to, want, sizeof want - 1) == 0;
}

static bool
has_perf_event(struct hunt *h, const char *pid)
{
	char *path = mem_fmt("%s/proc/%s/fd", h->host->root, pid);
	DIR *dir = opendir(path);
	struct dirent *e;
	bool found = false;

	free(path);
	while (dir && !found && h->fds < FDS_MAX && (e = readdir(dir))) {
		h->fds++;
		found = is_perf_event(dirfd(dir), e->d_name);
	}
	if (dir)
		(void)closedir(dir);
	return found;
}

static bool
see_perf_events(void *context, const char *pid)
{
	struct hunt *h = context;

	if (has_perf_event(h, pid)) {
		char comm[COMM_BYTES];

		read_comm(h, pid, comm);
		add_found(h, pid, comm);
	}
	return h->fds < FDS_MAX;
}

void
preflight_pmu_busy(
    const struct preflight_host *host, struct preflight_entry *e)
{
	struct hunt h = begin_hunt(host);
	struct buf text = BUF_INIT(PREFLIGHT_TEXT_BYTES);

	if (!procs_each(host->root, see_perf_events, &h)) {
		preflight_say(e, PREFLIGHT_WARNING,
		    "%s/proc cannot be read: who uses the PMU is not known",
		    host->root);
	} else if (h.others) {
		/* which events they are, /proc does not tell */
		say_found(&h, &text);
		preflight_say(e, PREFLIGHT_WARNING,
		    "perf events are held by %s: counters of the PMU may be "
		    "taken",
		    buf_text(&text));
	} else {
		preflight_say(e, PREFLIGHT_OK,
		    "no other program %shas perf "
		    "events open",
		    host->uid == 0 ? "" : "that this user may look at ");
	}
	buf_free(&text);
	end_hunt(&h);
}

/* --- gprofiler ----------------------------------------------------------- */

static bool
is_called(const char *comm, const char *program)
{
	return strncmp(comm, program, COMM_BYTES - 1) == 0;
}

static bool
see_gprofiler(void *context, const char *pid)
{
	struct hunt *h = context;
	char comm[COMM_BYTES];

	read_comm(h, pid, comm);
	if ((is_called(comm, "gprofiler") || is_called(comm, h->program)) &&
	    procs_is_alive(h->host->root, pid, &h->text))
		add_found(h, pid, comm);
	return true;
}

/* gProfiler's lock on the host: a socket in the first network name space. */
static bool
is_locked(const struct preflight_host *host)
{
	static const char name[] = " @gprofiler_lock\n";
	char *path = mem_fmt("%s/proc/1/net/unix", host->root);
	FILE *file = fopen(path, "re");
	char line[UNIX_LINE_BYTES];
	bool found = false;

	free(path);
	while (file && !found && fgets(line, sizeof line, file)) {
		size_t n = strlen(line);

		found = n >= sizeof name &&
			strcmp(line + n - (sizeof name - 1), name) == 0;
	}
	if (file)
		(void)fclose(file);
	return found;
}

/* Whether one runs that is not ours; then it is said. */
static bool
say_running(const struct preflight_host *host, struct preflight_entry *e)
{
	const char *slash = strrchr(host->gprofiler_path, '/');
	struct hunt h = begin_hunt(host);
	struct buf text = BUF_INIT(PREFLIGHT_TEXT_BYTES);
	bool runs;

	h.program = slash ? slash + 1 : host->gprofiler_path;
	(void)procs_each(host->root, see_gprofiler, &h);
	say_found(&h, &text);
	if (!h.others && !h.ours && is_locked(host))
		buf_str(&text, "a program that holds @gprofiler_lock");
	runs = text.len > 0;
	if (runs)
		preflight_say(e, PREFLIGHT_PROBLEM,
		    "gProfiler runs already: %s; a second one ends at once",
		    buf_text(&text));
	buf_free(&text);
	end_hunt(&h);
	return runs;
}

void
preflight_gprofiler(
    const struct preflight_host *host, struct preflight_entry *e)
{
	struct reason why;
	char *path;

	if (say_running(host, e))
		return;
	path = gprofiler_find(host->gprofiler_path, &why);
	preflight_say(e, path ? PREFLIGHT_OK : PREFLIGHT_WARNING, "%s",
	    path ? path : why.text);
	free(path);
}
