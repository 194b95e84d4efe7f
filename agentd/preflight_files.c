/*
 * Checks of directories and of what is installed in them.
 */
#include "agentd/perfspect.h"
#include "agentd/preflight_checks.h"
#include "agentd/workspace.h"
#include "core/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIB (INT64_C(1) << 20)
#define GIB (INT64_C(1) << 30)

/* --- tmpdir -------------------------------------------------------------- */

/* What root runs from must not be another's to change. */
static int
check_owner(const struct preflight_host *h, struct preflight_entry *e)
{
	unsigned mode;
	struct stat st;

	if (stat(h->tmp_dir, &st)) {
		preflight_say(e, PREFLIGHT_PROBLEM, "%s, as user %ld: %s",
		    h->tmp_dir, (long)h->uid, strerror(errno));
		return -1;
	}
	mode = st.st_mode & 07777U;
	if (!S_ISDIR(st.st_mode))
		preflight_say(e, PREFLIGHT_PROBLEM,
		    "%s is no directory: set TMPDIR", h->tmp_dir);
	else if (st.st_uid != 0 && st.st_uid != h->uid)
		preflight_say(e, PREFLIGHT_PROBLEM,
		    "%s belongs to user %ld, who could change what user %ld "
		    "runs there: set TMPDIR",
		    h->tmp_dir, (long)st.st_uid, (long)h->uid);
	else if ((mode & (S_IWGRP | S_IWOTH)) && !(mode & S_ISVTX))
		preflight_say(e, PREFLIGHT_PROBLEM,
		    "%s can be written by others and has no sticky bit (mode "
		    "%04o): chmod +t, or set TMPDIR",
		    h->tmp_dir, mode);
	else
		return 0;
	return -1;
}

/* A program that every system can run, in a file of its own. */
static int
write_program(const char *path)
{
	static const char text[] = "#!/bin/sh\nexit 0\n";
	int fd = open(
	    path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0700);
	bool ok;

	if (fd < 0)
		return errno;
	ok = write(fd, text, sizeof text - 1) == (ssize_t)sizeof text - 1;
	if (close(fd) || !ok)
		return errno ? errno : EIO;
	return 0;
}

static void
try_program(const struct preflight_host *h, struct preflight_entry *e,
    const char *workspace)
{
	char *program = mem_fmt("%s/try", workspace);
	int error = write_program(program);

	if (error) {
		preflight_say(e, PREFLIGHT_PROBLEM,
		    "%s: user %ld cannot write a file there: %s", h->tmp_dir,
		    (long)h->uid, strerror(error));
	} else {
		error = h->run_file(program);
		preflight_say(e, error ? PREFLIGHT_PROBLEM : PREFLIGHT_OK,
		    error ? "%s: user %ld cannot run a file there: %s (is it "
			    "mounted noexec?); set TMPDIR"
			  : "%s: user %ld can write and run files there",
		    h->tmp_dir, (long)h->uid, strerror(error));
	}
	free(program);
}

void
preflight_tmpdir(const struct preflight_host *h, struct preflight_entry *e)
{
	struct reason why;
	char *workspace;

	if (check_owner(h, e))
		return;
	workspace = workspace_make(h->tmp_dir, &why);
	if (!workspace) {
		preflight_say(e, PREFLIGHT_PROBLEM, "%s", why.text);
		return;
	}
	try_program(h, e, workspace);
	workspace_remove(workspace);
}

/* --- free_space ---------------------------------------------------------- */

/* How much a directory should have. */
struct need {
	const char *path;
	int64_t least; /* below it is a problem */
	int64_t good;  /* below it is worth a warning */
};

/* Free for user and not reserved, or -1 with errno. */
static int64_t
free_bytes(const struct preflight_host *h, const char *path)
{
	struct statvfs fs = { 0 };
	char *at = mem_copy(path), *slash;
	int error = h->stat_fs(at, &fs);

	/* one that is not made yet will be on its parent's file system */
	while (error == ENOENT && (slash = strrchr(at, '/')) && slash != at) {
		*slash = '\0';
		error = h->stat_fs(at, &fs);
	}
	free(at);
	if (!error && (fs.f_flag & ST_RDONLY))
		error = EROFS;
	if (!error && fs.f_files > 0 && fs.f_favail == 0)
		error = ENOSPC; /* no file can be made */
	errno = error;
	return error ? -1 : (int64_t)fs.f_bavail * (int64_t)fs.f_frsize;
}

static enum preflight_outcome
look_at_space(
    const struct preflight_host *h, const struct need *need, struct buf *text)
{
	int64_t n = free_bytes(h, need->path);

	buf_fmt(text, "%s%s: ", text->len ? "; " : "", need->path);
	if (n < 0) {
		buf_str(text, strerror(errno));
		return PREFLIGHT_PROBLEM;
	}
	if (n < 10 * GIB)
		buf_fmt(text, "%" PRId64 " MiB free", n / MIB);
	else
		buf_fmt(text, "%" PRId64 " GiB free", n / GIB);
	if (n >= need->good)
		return PREFLIGHT_OK;
	buf_fmt(text, ", %" PRId64 " MiB are needed",
	    (n < need->least ? need->least : need->good) / MIB);
	return n < need->least ? PREFLIGHT_PROBLEM : PREFLIGHT_WARNING;
}

void
preflight_free_space(const struct preflight_host *h, struct preflight_entry *e)
{
	const struct need needs[] = {
		/* PerfSpect's archive, what is in it, and the tools that it
		 * unpacks for a run: some 300 MB; twice where it is renewed */
		{ h->tmp_dir, 300 * MIB, 600 * MIB },
		/* profiles, results and logs of some runs */
		{ h->state_dir, 50 * MIB, 500 * MIB },
	};
	enum preflight_outcome worst = PREFLIGHT_OK;
	struct buf text = BUF_INIT(PREFLIGHT_TEXT_BYTES);

	for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
		enum preflight_outcome one =
		    look_at_space(h, needs + i, &text);

		if (one > worst)
			worst = one;
	}
	preflight_say(e, worst, "%s", buf_text(&text));
	buf_free(&text);
}

/* --- perfspect ----------------------------------------------------------- */

void
preflight_perfspect(const struct preflight_host *h, struct preflight_entry *e)
{
	char *target = mem_fmt("%s/perfspect", h->tmp_dir);
	struct perfspect_note note;
	struct reason why;

	if (perfspect_look(target, &note, &why))
		preflight_say(e, PREFLIGHT_PROBLEM, "%s", why.text);
	else if (!note.there)
		preflight_say(e, PREFLIGHT_OK,
		    "not in %s: the first run that asks for hardware metrics "
		    "installs it",
		    h->tmp_dir);
	else if (!*note.version)
		preflight_say(e, PREFLIGHT_OK,
		    "in %s, version unknown: not installed by this agent",
		    target);
	else
		preflight_say(e, PREFLIGHT_OK,
		    "version %s in %s, archive SHA-256 %s", note.version,
		    target, *note.sha256 ? note.sha256 : "unknown");
	free(target);
}
