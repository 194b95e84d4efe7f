#include "agentd/procs.h"

#include "core/mem.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void
procs_read(const char *root, const char *pid, const char *name, struct buf *to)
{
	char *path = mem_fmt("%s/proc/%s/%s", root, pid, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char block[4096];
	ssize_t n;

	free(path);
	buf_clear(to);
	if (fd < 0)
		return;
	while (!to->full && (n = read(fd, block, sizeof block)) > 0)
		buf_add(to, block, (size_t)n);
	close(fd);
}

/* Whether the environment has an entry with these n bytes at its beginning;
 * with the NUL among them it is the whole entry. */
static bool
carries(const char *root, const char *pid, const char *entry, size_t n,
    struct buf *text)
{
	const char *at, *end;

	procs_read(root, pid, "environ", text);
	at = buf_text(text);
	end = at + text->len;
	for (; at < end; at += strlen(at) + 1)
		if (strncmp(at, entry, n) == 0)
			return true;
	return false;
}

bool
procs_carries(
    const char *root, const char *pid, const char *beginning, struct buf *text)
{
	return carries(root, pid, beginning, strlen(beginning), text);
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
 * State and session of `PID (NAME) STATE PPID PGRP SESSION ...`, where NAME
 * may hold spaces and parentheses.
 */
static bool
read_stat(const char *root, const char *pid, struct buf *text, char *state,
    long *session)
{
	const char *after;
	long parent, group;

	procs_read(root, pid, "stat", text);
	after = strrchr(buf_text(text), ')');
	return after && sscanf(after, ") %c %ld %ld %ld", state, &parent,
			    &group, session) == 4;
}

bool
procs_is_alive(const char *root, const char *pid, struct buf *text)
{
	char state;
	long session;

	return read_stat(root, pid, text, &state, &session) && state != 'Z' &&
	       state != 'X';
}

struct hunt {
	pid_t session;
	const char *entry;
	int sig, found;
	struct buf text;
};

static bool
belongs(struct hunt *h, const char *pid)
{
	char state;
	long session;

	if (!read_stat("", pid, &h->text, &state, &session) || state == 'Z' ||
	    state == 'X')
		return false;
	if (h->session > 0 && session == (long)h->session)
		return true;
	return h->entry &&
	       carries("", pid, h->entry, strlen(h->entry) + 1, &h->text);
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
