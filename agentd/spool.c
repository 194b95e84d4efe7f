#include "agentd/spool.h"

#include "agentd/pace.h"
#include "agentd/tree.h"
#include "agentd/wire.h"
#include "core/clock.h"
#include "core/log.h"
#include "core/mem.h"
#include "core/result.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* With nothing to do, look around after this; after a failure of the state
 * (a full disk), after that. */
#define LOOK_MS 3600000
#define RETRY_MS 60000
/* Files that fail are tried again from this base on. */
#define SEND_BASE_MS 2000
/* Entries of a directory that are looked at: far more than runs leave. */
#define ENTRIES_MAX 10000

#define DAY_MS INT64_C(86400000)
#define MIB (INT64_C(1024) * 1024)

struct spool {
	const struct options *options;
	struct state *state;
	struct http_post put;
	struct pace pace;
	struct state_result sending; /* name NULL: none */
	char *path;                  /* that it is sent to */
	int64_t look_ms;
	bool waiting; /* the state may hold files to send */
};

/* Opens STATE/runs/COMMAND_ID or a directory in it, not through a link that a
 * run left; -1 with errno set. */
static int
open_directory(
    const struct spool *s, const char *command_id, const char *within)
{
	char *path = mem_fmt("%s/runs/%s%s%s", s->options->state_dir,
	    command_id, *within ? "/" : "", within);
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	free(path);
	return fd;
}

/* --- what a run left ----------------------------------------------------- */

/* The files of one run, while they are looked through. */
struct harvest {
	const char *command_id;
	struct state_result files[RESULT_FILES_MAX];
	size_t n;
	int64_t to_send, on_disk; /* bytes */
};

/* Why a file is not delivered, or NULL. */
static const char *
objection(const struct harvest *h, const char *name, const struct stat *st)
{
	if (!S_ISREG(st->st_mode))
		return "is no regular file";
	if (!result_name_ok(name))
		return "has a name that the server does not take";
	if (st->st_size > RESULT_FILE_BYTES_MAX)
		return "is larger than 16 MiB";
	if (h->n == RESULT_FILES_MAX)
		return "is one of more than 64";
	if (h->to_send + st->st_size > RESULT_BYTES_MAX)
		return "is too much: the files are more than 256 MiB";
	return NULL;
}

static void
take_entry(struct harvest *h, int directory, const char *name)
{
	const char *why;
	struct stat st;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
	    fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return;
	h->on_disk += st.st_size;
	why = objection(h, name, &st);
	if (why) {
		log_warn("command %s: %s %s and stays on this host",
		    h->command_id, name, why);
		return;
	}
	h->files[h->n++] = (struct state_result) { .name = mem_copy(name),
		.bytes = st.st_size };
	h->to_send += st.st_size;
}

/* The entries of such a directory, for closedir(), or NULL. */
static DIR *
list_directory(
    const struct spool *s, const char *command_id, const char *within)
{
	int fd = open_directory(s, command_id, within);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (fd >= 0 && !dir)
		(void)close(fd);
	return dir;
}

static void
look_through(const struct spool *s, struct harvest *h)
{
	DIR *dir = list_directory(s, h->command_id, "results");
	const struct dirent *e;

	for (int i = 0; dir && i < ENTRIES_MAX && (e = readdir(dir)); i++)
		take_entry(h, dirfd(dir), e->d_name);
	if (dir)
		(void)closedir(dir);
}

/* Adds the files beside the results, the profiler's output; false where the
 * run has no directory. */
static bool
measure_rest(const struct spool *s, struct harvest *h)
{
	DIR *dir = list_directory(s, h->command_id, "");
	const struct dirent *e;
	struct stat st;

	if (!dir)
		return false;
	for (int i = 0; i < ENTRIES_MAX && (e = readdir(dir)); i++)
		if (fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) ==
			0 &&
		    S_ISREG(st.st_mode))
			h->on_disk += st.st_size;
	(void)closedir(dir);
	return true;
}

/* Notes the files of one run that ended; a state_found, or -1. */
static int
collect_one(struct spool *s)
{
	char id[UUID_TEXT];
	struct harvest h = { .command_id = id };
	int found = state_next_run(s->state, id), result;

	if (found != STATE_THERE)
		return found;
	look_through(s, &h);
	if (!measure_rest(s, &h))
		result = state_forget_run(s->state, id); /* it never began */
	else
		result =
		    state_collect_run(s->state, id, h.files, h.n, h.on_disk);
	for (size_t i = 0; i < h.n; i++)
		free(h.files[i].name);
	s->waiting |= h.n > 0;
	return result ? -1 : STATE_THERE;
}

/* --- bounds -------------------------------------------------------------- */

/* Removes one run that is to go; a state_found, or -1. */
static int
remove_one(struct spool *s)
{
	const struct options *o = s->options;
	int64_t now = clock_now_ms();
	struct state_bounds bounds = {
		.delivered_ms = now - o->keep_runs_days * DAY_MS,
		.oldest_ms = now - o->spool_max_days * DAY_MS,
		.bytes = o->spool_max_mib * MIB,
	};
	char id[UUID_TEXT], *path;
	int left, found = state_surplus_run(s->state, &bounds, id, &left);

	if (found != STATE_THERE)
		return found;
	if (left)
		log_warn("command %s: %d result files are removed before they "
			 "could be delivered (spool-max-mib is %ld, "
			 "spool-max-days %ld)",
		    id, left, o->spool_max_mib, o->spool_max_days);
	else
		log_info("command %s: its files are removed", id);
	/* the directory first: one without a row would be looked through and
	 * sent again */
	path = mem_fmt("%s/runs/%s", o->state_dir, id);
	tree_remove(path);
	free(path);
	return state_forget_run(s->state, id) ? -1 : STATE_THERE;
}

static int
trim_reports(struct spool *s)
{
	int n, result = state_trim_reports(s->state, clock_now_ms(), &n);

	if (n)
		log_warn("%d reports are dropped, the oldest, before they "
			 "could be delivered",
		    n);
	return result ? -1 : STATE_ABSENT;
}

/* Does one thing, and says when to look again. */
static void
look(struct spool *s, int64_t now)
{
	int found = collect_one(s);

	if (found == STATE_ABSENT)
		found = remove_one(s);
	if (found == STATE_ABSENT)
		found = trim_reports(s);
	s->look_ms = now + (found == STATE_THERE       ? 0
			       : found == STATE_ABSENT ? LOOK_MS
						       : RETRY_MS);
}

/* --- sending ------------------------------------------------------------- */

/* Opens the file and measures it; -1 with the reason. */
static int
open_file(const struct spool *s, int64_t *bytes, struct reason *why)
{
	const struct state_result *r = &s->sending;
	int directory = open_directory(s, r->command_id, "results");
	int fd = directory < 0
		     ? -1
		     : openat(directory, r->name,
			   O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0)
		(void)reason_set(why, "%s", strerror(errno));
	else if (!S_ISREG(st.st_mode) || st.st_size > RESULT_FILE_BYTES_MAX)
		(void)reason_set(why, "it has changed since the run");
	else
		*bytes = st.st_size;
	if (directory >= 0)
		(void)close(directory);
	if (fd >= 0 && why->text[0]) {
		(void)close(fd);
		fd = -1;
	}
	return fd;
}

/* Where the server takes it; the caller frees it. */
static char *
address_of(const struct spool *s)
{
	char *name = curl_easy_escape(NULL, s->sending.name, 0),
	     *host = curl_easy_escape(NULL, s->options->host_name, 0),
	     *path = mem_fmt(WIRE_RESULTS_PATH "/%s/%s?hostname=%s",
		 s->sending.command_id, name ? name : "", host ? host : "");

	curl_free(name);
	curl_free(host);
	return path;
}

static void
forget_sending(struct spool *s)
{
	free(s->sending.name);
	s->sending.name = NULL;
	free(s->path);
	s->path = NULL;
}

/* It needs no further try: delivered, refused or gone. */
static void
drop(struct spool *s, int64_t now)
{
	if (state_drop_result(s->state, s->sending.number))
		s->pace.next_ms = now + RETRY_MS;
	else
		pace_again(&s->pace, now);
	forget_sending(s);
}

static void
send_file(
    struct spool *s, const char *token, int64_t bytes, int fd, int64_t now)
{
	struct reason why;

	s->path = address_of(s);
	if (http_send_file(&s->put, token, s->path, fd, bytes, &why) == 0)
		return;
	pace_failed(&s->pace, SEND_BASE_MS, 0, &why, now);
	forget_sending(s);
}

static void
send_next(struct spool *s, const char *token, int64_t now)
{
	int found = state_next_result(s->state, &s->sending), fd;
	struct reason why = { "" };
	int64_t bytes = 0;

	if (found != STATE_THERE) {
		s->waiting = found != STATE_ABSENT;
		if (s->waiting)
			s->pace.next_ms = now + RETRY_MS;
		return;
	}
	pace_began(&s->pace, now);
	fd = open_file(s, &bytes, &why);
	if (fd >= 0) {
		send_file(s, token, bytes, fd, now);
		return;
	}
	log_warn("command %s: %s cannot be delivered: %s",
	    s->sending.command_id, s->sending.name, why.text);
	drop(s, now);
}

/* An answer that another try will not change.  A token (401, 403) may be
 * exchanged, a busy server (408, 429) less so. */
static bool
is_final(long status)
{
	return status >= 400 && status < 500 && status != 401 &&
	       status != 403 && status != 408 && status != 429;
}

void
spool_done(struct spool *s, const struct http_result *result, int64_t now)
{
	const struct state_result *r = &s->sending;

	if (result->ok) {
		log_info("command %s: %s is delivered, %lld bytes",
		    r->command_id, r->name, (long long)r->bytes);
		drop(s, now);
	} else if (is_final(result->status)) {
		log_warn("the server does not take a result file, which stays "
			 "on this host: %s",
		    result->why.text);
		drop(s, now);
	} else {
		(void)!state_postpone_result(s->state, r->number);
		pace_failed(&s->pace, SEND_BASE_MS,
		    (int64_t)result->retry_after * 1000, &result->why, now);
		forget_sending(s);
	}
}

/* --- from outside -------------------------------------------------------- */

/* Records runs that have a directory but no row: those of a layout before
 * there were rows, or of a state file that was lost. */
static void
adopt_runs(struct spool *s)
{
	char *path = mem_fmt("%s/runs", s->options->state_dir);
	DIR *dir = opendir(path);
	const struct dirent *e;

	for (int i = 0; dir && i < ENTRIES_MAX && (e = readdir(dir)); i++) {
		char id[UUID_TEXT];
		struct stat st;

		if (uuid_parse(e->d_name, id) && strcmp(id, e->d_name) == 0 &&
		    fstatat(dirfd(dir), id, &st, AT_SYMLINK_NOFOLLOW) == 0)
			(void)!state_adopt_run(
			    s->state, id, (int64_t)st.st_mtime * 1000);
	}
	if (dir)
		(void)closedir(dir);
	free(path);
}

struct spool *
spool_open(const struct options *o, struct state *state, CURLM *multi,
    struct reason *why)
{
	struct spool *s = mem_alloc(1, sizeof *s);

	*s = (struct spool) { .options = o, .state = state, .waiting = true };
	if (http_open(&s->put, multi, o, NULL, why)) {
		free(s);
		return NULL;
	}
	adopt_runs(s);
	return s;
}

void
spool_close(struct spool *s)
{
	if (!s)
		return;
	http_close(&s->put);
	forget_sending(s);
	free(s);
}

void
spool_wake(struct spool *s)
{
	s->look_ms = 0;
}

struct http_post *
spool_request(struct spool *s)
{
	return &s->put;
}

static bool
could_send(const struct spool *s, bool may_send)
{
	return may_send && s->waiting && !http_is_busy(&s->put);
}

void
spool_step(struct spool *s, const char *token, bool may_send, int64_t now)
{
	if (now >= s->look_ms)
		look(s, now);
	if (could_send(s, may_send) && now >= s->pace.next_ms)
		send_next(s, token, now);
}

int64_t
spool_next_ms(const struct spool *s, bool may_send)
{
	if (could_send(s, may_send) && s->pace.next_ms < s->look_ms)
		return s->pace.next_ms;
	return s->look_ms;
}
