#include "agentd/metrics.h"

#include "core/buf.h"
#include "core/log.h"
#include "core/mem.h"
#include "core/metrics_csv.h"
#include "core/perfspect_args.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SERIES "_metrics.csv"
#define SUMMARY "_metrics_summary.csv"

/* A file that a later part would have written over: ASIDE, a number, and
 * then its ending. */
#define ASIDE ".part"

/* What PerfSpect's files end with. */
static const char *const endings[] = { SERIES, SUMMARY,
	"_metrics_summary.html", "_metadata.json" };

/* Entries of a directory that are looked at; PerfSpect leaves four files. */
#define ENTRIES_MAX 1000
/* A day of a metric of each of a thousand CPUs; a larger one is not its. */
#define FILE_BYTES_MAX (256L * 1024 * 1024)
/* All flags with the longest texts that are allowed, quoted. */
#define WRAPPER_MAX (128 * 1024)

/* --- command lines ------------------------------------------------------- */

static void
add_word(void *context, const char *word)
{
	args_add(context, "%s", word);
}

static bool
names_processes(struct json_object *flags)
{
	return json_member(flags, "scope") || json_member(flags, "pids") ||
	       json_member(flags, "cids");
}

void
metrics_args(const struct session *s, const struct metrics_paths *paths,
    long seconds, struct args *args)
{
	args_add(args, "%s", paths->program);
	args_add(args, "metrics");
	args_add_number(args, "--duration", seconds);
	args_add(args, "--output");
	args_add(args, "%s", paths->output);
	args_add(args, "--tempdir");
	args_add(args, "%s", paths->tempdir);
	args_add(args, "--noupdate");
	if (s->n_pids && !names_processes(s->perfspect_args)) {
		args_add(args, "--scope");
		args_add(args, "process");
		args_add_list(args, "--pids", s->pids, s->n_pids);
	}
	perfspect_args_words(s->perfspect_args, add_word, args);
}

/* Inside of single quotes the shell takes all but one as it is. */
static void
add_quoted(void *context, const char *word)
{
	struct buf *to = context;

	buf_str(to, " '");
	for (; *word; word++)
		if (*word == '\'')
			buf_str(to, "'\\''");
		else
			buf_chr(to, *word);
	buf_chr(to, '\'');
}

int
metrics_write_wrapper(const char *path, const char *program,
    const struct session *s, struct reason *why)
{
	struct buf text = BUF_INIT(WRAPPER_MAX);
	int fd = open(
	    path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0700);
	bool ok;

	if (fd < 0)
		return reason_set(why, "%s: %s", path, strerror(errno));
	buf_str(&text, "#!/bin/sh\n# made by conspect-agentd for one run\n"
		       "exec");
	add_quoted(&text, program);
	buf_str(&text, " \"$@\"");
	perfspect_args_words(s->perfspect_args, add_quoted, &text);
	buf_chr(&text, '\n');
	ok = !text.full &&
	     write(fd, buf_text(&text), text.len) == (ssize_t)text.len;
	buf_free(&text);
	if (close(fd) || !ok)
		return reason_set(why, "%s: cannot be written", path);
	return 0;
}

/* --- files --------------------------------------------------------------- */

static bool
ends_with(const char *name, const char *ending)
{
	size_t n = strlen(name), tail = strlen(ending);

	return n > tail && strcmp(name + n - tail, ending) == 0;
}

/* Which ending of PerfSpect's the name has, unless it was set aside before;
 * NULL for none. */
static const char *
ending_of(const char *name)
{
	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
		size_t n;

		if (name[0] == '.' || !ends_with(name, endings[i]))
			continue;
		n = strlen(name) - strlen(endings[i]);
		while (n && isdigit((unsigned char)name[n - 1]))
			n--;
		if (n >= sizeof ASIDE - 1 &&
		    strncmp(name + n - (sizeof ASIDE - 1), ASIDE,
			sizeof ASIDE - 1) == 0 &&
		    isdigit((unsigned char)name[n]))
			return NULL;
		return endings[i];
	}
	return NULL;
}

/* Written by our user, and by nobody else since. */
static bool
is_private(const struct stat *st)
{
	return st->st_uid == geteuid() && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

static int
copy_bytes(int in, int out)
{
	char block[65536];
	ssize_t n;

	while ((n = read(in, block, sizeof block)) > 0)
		if (write(out, block, (size_t)n) != n)
			return -1;
	return n < 0 ? -1 : 0;
}

static int
copy_file(int in, int results, const char *name)
{
	int out = openat(results, name,
	    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	int result = out < 0 ? -1 : copy_bytes(in, out);

	if (out >= 0 && close(out))
		result = -1;
	return result;
}

static void
collect_file(int from, int results, const char *name, time_t since)
{
	int in =
	    openat(from, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;

	if (in < 0)
		return;
	if (fstat(in, &st) || !S_ISREG(st.st_mode) || !is_private(&st) ||
	    st.st_mtime < since)
		; /* not this run's */
	else if (st.st_size > FILE_BYTES_MAX)
		log_warn("%s has %lld bytes, %ld at most are taken", name,
		    (long long)st.st_size, FILE_BYTES_MAX);
	else if (copy_file(in, results, name))
		log_warn("%s: cannot be copied: %s", name, strerror(errno));
	close(in);
}

static void
collect_from(DIR *dir, int results, time_t since)
{
	struct dirent *e;

	for (int i = 0; i < ENTRIES_MAX && (e = readdir(dir)); i++)
		if (ending_of(e->d_name))
			collect_file(dirfd(dir), results, e->d_name, since);
}

/* Opens a directory that only our user can have written to, or NULL. */
static DIR *
open_private(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;
	DIR *dir;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) || !is_private(&st)) {
		log_warn("%s belongs to user %ld with mode %04o: nothing is "
			 "taken from it",
		    path, (long)st.st_uid, (unsigned)(st.st_mode & 07777));
		close(fd);
		return NULL;
	}
	dir = fdopendir(fd);
	if (!dir)
		close(fd);
	return dir;
}

void
metrics_collect(const char *from, const char *results, time_t since)
{
	int to = open(results, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = open_private(from);

	if (dir && to >= 0)
		collect_from(dir, to, since);
	if (dir)
		(void)closedir(dir);
	if (to >= 0)
		close(to);
}

static void
set_aside(int results, const char *name, const char *ending, unsigned part)
{
	char *to = mem_fmt("%.*s" ASIDE "%u%s",
	    (int)(strlen(name) - strlen(ending)), name, part, ending);

	if (renameat(results, name, results, to))
		log_warn("%s cannot be renamed to %s: %s", name, to,
		    strerror(errno));
	free(to);
}

void
metrics_set_aside(const char *results, unsigned part)
{
	char *names[sizeof endings / sizeof *endings];
	size_t n = 0, max = sizeof names / sizeof *names;
	DIR *dir = opendir(results);

	/* a directory is not read on while it changes */
	for (int i = 0; dir && n < max && i < ENTRIES_MAX; i++) {
		struct dirent *e = readdir(dir);

		if (!e)
			break;
		if (ending_of(e->d_name))
			names[n++] = mem_copy(e->d_name);
	}
	for (size_t i = 0; i < n; i++) {
		set_aside(dirfd(dir), names[i], ending_of(names[i]), part);
		free(names[i]);
	}
	if (dir)
		(void)closedir(dir);
}

/* The file in results of the newest part with this ending, or NULL. */
static char *
find_file(const char *results, const char *ending)
{
	DIR *dir = opendir(results);
	char *path = NULL;

	for (int i = 0; dir && !path && i < ENTRIES_MAX; i++) {
		struct dirent *e = readdir(dir);

		if (!e)
			break;
		if (ending_of(e->d_name) && ends_with(e->d_name, ending))
			path = mem_fmt("%s/%s", results, e->d_name);
	}
	if (dir)
		(void)closedir(dir);
	return path;
}

/* The summary beside a series, made from it. */
static enum metrics_found
restore_summary(const char *series)
{
	int stem = (int)(strlen(series) - (sizeof SERIES - 1));
	char *summary = mem_fmt("%.*s" SUMMARY, stem, series);
	struct reason why;
	int result = metrics_summarize(series, summary, &why);

	if (result)
		log_warn("%s: no summary: %s", series, why.text);
	free(summary);
	return result ? METRICS_NONE : METRICS_RESTORED;
}

enum metrics_found
metrics_finish(const char *results)
{
	char *series = find_file(results, SERIES);
	char *summary = find_file(results, SUMMARY);
	enum metrics_found found = METRICS_NONE;

	if (summary)
		found = METRICS_WHOLE;
	else if (series)
		found = restore_summary(series);
	free(series);
	free(summary);
	return found;
}
