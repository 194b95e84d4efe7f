#include "agentd/procs.h"

#include "core/mem.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* For processes without an environment a hunt waits so often, a millisecond
 * each, in all: the kernel is done with an execve() in less, unless a disk
 * hangs, and anyone may start many programs that have none. */
#define EXEC_WAITS 20
#define EXEC_WAIT_MS 1

/* Fields of /proc/PID/stat, as proc(5) numbers them. */
#define STAT_STATE 3
#define STAT_SESSION 6
#define STAT_VSIZE 23

bool
procs_read(const char *root, const char *pid, const char *name, struct buf *to)
{
	char *path = mem_fmt("%s/proc/%s/%s", root, pid, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char block[16384]; /* one read() has most files from one moment */
	ssize_t n;

	free(path);
	buf_clear(to);
	if (fd < 0)
		return false;
	while (!to->full && (n = read(fd, block, sizeof block)) > 0)
		buf_add(to, block, (size_t)n);
	close(fd);
	return true;
}

/* Whether an environment has an entry with these n bytes at its beginning;
 * with the NUL among them it is the whole entry. */
static bool
has_entry(struct buf *environment, const char *entry, size_t n)
{
	const char *at = buf_text(environment), *end = at + environment->len;

	for (; at < end; at += strlen(at) + 1)
		if (strncmp(at, entry, n) == 0)
			return true;
	return false;
}

bool
procs_carries(
    const char *root, const char *pid, const char *beginning, struct buf *text)
{
	return procs_read(root, pid, "environ", text) &&
	       has_entry(text, beginning, strlen(beginning));
}

bool
procs_each(const char *root, bool (*see)(void *context, const char *pid),
    void *context)
{
	char *path = mem_fmt("%s/proc", root);
	DIR *dir = opendir(path);
	struct dirent *e;

	free(path);
	if (!dir)
		return false;
	while ((e = readdir(dir)))
		if (isdigit((unsigned char)*e->d_name) &&
		    !see(context, e->d_name))
			break;
	(void)closedir(dir);
	return true;
}

/*
 * The field of `PID (NAME) STATE PPID PGRP SESSION ...`, where NAME may hold
 * spaces and parentheses, in the text of a stat file; "" when it has none.
 */
static const char *
stat_field(struct buf *text, int number)
{
	const char *at = strrchr(buf_text(text), ')');

	for (int i = STAT_STATE; at && i <= number; i++)
		at = strchr(at + 1, ' ');
	return at ? at + 1 : "";
}

static unsigned long long
stat_number(struct buf *text, int number)
{
	return strtoull(stat_field(text, number), NULL, 10);
}

bool
procs_is_alive(const char *root, const char *pid, struct buf *text)
{
	char state;

	(void)procs_read(root, pid, "stat", text);
	state = *stat_field(text, STAT_STATE);
	return state && state != 'Z' && state != 'X';
}

struct hunt {
	pid_t session;
	const char *entry;
	int sig, found, waits; /* waits: how many were needed */
	struct buf text;
};

/* What runs in the kernel alone has no memory, and so no environment. */
static bool
has_memory(const char *pid, struct buf *text)
{
	return procs_is_alive("", pid, text) &&
	       stat_number(text, STAT_VSIZE) > 0;
}

/*
 * Another user can make reading his environment take for ever (pages of a
 * file system of his own), and a mark in there would be put there by hand.
 */
static bool
is_of_our_user(const char *pid)
{
	char *path = mem_fmt("/proc/%s", pid);
	struct stat st;
	bool ours = stat(path, &st) == 0 && st.st_uid == geteuid();

	free(path);
	return ours;
}

/*
 * In an execve() the old program's memory is gone and the new one's not laid
 * out: the environment reads as empty, which next to no program's is.
 */
static bool
is_marked(struct hunt *h, const char *pid)
{
	if (!is_of_our_user(pid))
		return false;
	while (procs_read("", pid, "environ", &h->text)) {
		if (h->text.len > 0)
			return has_entry(
			    &h->text, h->entry, strlen(h->entry) + 1);
		if (h->waits == EXEC_WAITS || !has_memory(pid, &h->text))
			break;
		h->waits++;
		(void)poll(NULL, 0, EXEC_WAIT_MS);
	}
	return false;
}

static bool
belongs(struct hunt *h, const char *pid)
{
	if (!procs_is_alive("", pid, &h->text))
		return false;
	if (h->session > 0 && stat_number(&h->text, STAT_SESSION) ==
				  (unsigned long long)h->session)
		return true;
	return h->entry && is_marked(h, pid);
}

static bool
see_for_signal(void *context, const char *name)
{
	pid_t pid = (pid_t)strtol(name, NULL, 10);
	struct hunt *h = context;

	if (pid == getpid() || !belongs(h, name))
		return true;
	h->found++;
	if (h->sig)
		(void)kill(pid, h->sig);
	return true;
}

int
procs_signal(pid_t session, const char *entry, int sig)
{
	struct hunt h = { .session = session,
		.entry = entry,
		.sig = sig,
		.text = BUF_INIT(PROCS_FILE_MAX) };

	(void)procs_each("", see_for_signal, &h);
	buf_free(&h.text);
	return h.found;
}
