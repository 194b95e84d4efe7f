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
/* What a run of some minutes leaves in the state directory, at most. */
#define RUN_SPACE (100 * MIB)

/* --- tmpdir -------------------------------------------------------------- */

static void
try_program(const struct preflight_host *h, struct preflight_entry *e,
    const char *workspace)
{
	char *program = mem_fmt("%s/try", workspace);
	struct reason why;
	int error;

	if (perfspect_write_trial(program, &why)) {
		preflight_say(e, PREFLIGHT_PROBLEM, "%s", why.text);
		free(program);
		return;
	}
	error = h->run_file(program);
	free(program);
	if (error)
		preflight_say(e, PREFLIGHT_PROBLEM,
		    "%s: user %ld cannot run a file there: %s (is it mounted "
		    "noexec?); set TMPDIR",
		    h->tmp_dir, (long)h->uid, strerror(error));
	else
		preflight_say(e, PREFLIGHT_OK,
		    "%s: user %ld can write and run files there", h->tmp_dir,
		    (long)h->uid);
}

void
preflight_tmpdir(const struct preflight_host *h, struct preflight_entry *e)
{
	char *workspace = NULL;
	struct reason why;

	if (workspace_check(h->tmp_dir, &why) == 0)
		workspace = workspace_make(h->tmp_dir, &why);
	if (workspace)
		try_program(h, e, workspace);
	else
		preflight_say(e, PREFLIGHT_PROBLEM, "%s", why.text);
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
		/* its installation, and the tools that it unpacks for a run */
		{ h->tmp_dir, PERFSPECT_SPACE, 2 * PERFSPECT_SPACE },
		/* profiles, results and logs of some runs more than one */
		{ h->state_dir, h->min_free, h->min_free + 4 * RUN_SPACE },
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
	else if (!*note.sha256)
		preflight_say(e, PREFLIGHT_OK,
		    "in %s, version unknown: not installed by this agent",
		    target);
	else
		preflight_say(e, PREFLIGHT_OK,
		    "version %s in %s, archive SHA-256 %s",
		    *note.version ? note.version : "unknown", target,
		    note.sha256);
	free(target);
}
