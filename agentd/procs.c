#include "agentd/procs.h"

#include "core/buf.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A longer environment than this is cut: our entry is near its beginning
 * or the kernel's limit on arguments was raised. */
#define ENVIRON_MAX (256 * 1024)

/* Reads a file of /proc/PID; "" when the process is gone or not ours. */
static void
read_proc(const char *pid, const char *name, struct buf *to)
{
	char path[64], block[4096];
	ssize_t n;
	int fd;

	buf_clear(to);
	(void)snprintf(path, sizeof path, "/proc/%.12s/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	while (!to->full && (n = read(fd, block, sizeof block)) > 0)
		buf_add(to, block, (size_t)n);
	close(fd);
}

/*
 * State and session of `PID (NAME) STATE PPID PGRP SESSION ...`, where NAME
 * may hold spaces and parentheses.
 */
static bool
read_stat(const char *pid, struct buf *text, char *state, long *session)
{
	const char *after;
	long parent, group;

	read_proc(pid, "stat", text);
	after = strrchr(buf_text(text), ')');
	return after && sscanf(after, ") %c %ld %ld %ld", state, &parent,
			    &group, session) == 4;
}

static bool
carries(const char *pid, struct buf *text, const char *entry)
{
	const char *at, *end;

	read_proc(pid, "environ", text);
	at = buf_text(text);
	end = at + text->len;
	for (; at < end; at += strlen(at) + 1)
		if (strcmp(at, entry) == 0)
			return true;
	return false;
}

static bool
belongs(const char *pid, pid_t session, const char *entry, struct buf *text)
{
	char state;
	long its_session;

	if (!read_stat(pid, text, &state, &its_session) || state == 'Z' ||
	    state == 'X')
		return false;
	if (session > 0 && its_session == (long)session)
		return true;
	return entry && carries(pid, text, entry);
}

int
procs_signal(pid_t session, const char *entry, int sig)
{
	struct buf text = BUF_INIT(ENVIRON_MAX);
	DIR *dir = opendir("/proc");
	struct dirent *e;
	int n = 0;

	while (dir && (e = readdir(dir))) {
		pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);

		if (!isdigit((unsigned char)*e->d_name) || pid == getpid() ||
		    !belongs(e->d_name, session, entry, &text))
			continue;
		n++;
		if (sig)
			(void)kill(pid, sig);
	}
	if (dir)
		(void)closedir(dir);
	buf_free(&text);
	return n;
}
