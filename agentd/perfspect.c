#include "agentd/perfspect.h"

#include "agentd/elf.h"
#include "agentd/fetch.h"
#include "agentd/unpack.h"
#include "core/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* A shell that does nothing. */
#define TRIAL_MS 10000

/* Beside the program: what it answered when it was asked for its version. */
#define VERSION_FILE ".conspect-version"

/* --- its version, noted -------------------------------------------------- */

/* The path of the note beside a program; the caller frees it. */
static char *
note_path(const char *program)
{
	int n = (int)(strrchr(program, '/') - program);

	return mem_fmt("%.*s/" VERSION_FILE, n, program);
}

static int
write_note(const char *program, const char *version, struct reason *why)
{
	char *path = note_path(program);
	int fd = open(
	    path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	size_t n = strlen(version);
	bool ok = fd >= 0 && write(fd, version, n) == (ssize_t)n;

	if (fd >= 0)
		ok = close(fd) == 0 && ok;
	if (!ok)
		reason_set(why, "%s, as user %ld: %s", path, (long)geteuid(),
		    strerror(errno));
	free(path);
	return ok ? 0 : -1;
}

/* "" where there is none. */
static void
read_note(const char *program, char version[PERFSPECT_VERSION_BYTES])
{
	char *path = note_path(program);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	ssize_t n =
	    fd < 0 ? -1 : read(fd, version, PERFSPECT_VERSION_BYTES - 1);

	version[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		close(fd);
	free(path);
}

int
perfspect_look(
    const char *target, struct perfspect_note *note, struct reason *why)
{
	int there = versions_look(target, why);
	char *program;
	struct stat st;

	*note = (struct perfspect_note) { false, "", "" };
	if (there != VERSIONS_THERE)
		return there < 0 ? -1 : 0;
	if (!versions_last(target, note->sha256))
		return 0;
	program = versions_program(target, note->sha256);
	note->there = lstat(program, &st) == 0 && S_ISREG(st.st_mode);
	if (note->there && *note->sha256)
		read_note(program, note->version);
	free(program);
	return 0;
}

/* --- what is there already ----------------------------------------------- */

static bool
is_usable(const char *program, const char *workspace,
    char version[PERFSPECT_VERSION_BYTES])
{
	struct reason ignored; /* it is then installed anew */
	struct stat st;

	return lstat(program, &st) == 0 && st.st_uid == geteuid() &&
	       !(st.st_mode & (S_IWGRP | S_IWOTH)) &&
	       elf_check(program, program, ELF_OURSELVES, &ignored) == 0 &&
	       perfspect_version(program, workspace, version, &ignored) == 0;
}

/* The version that would do: the pinned one, else the last. */
static bool
find_wanted(const struct perfspect_job *job, char id[VERSIONS_ID])
{
	if (!job->sha256)
		return versions_last(job->target, id);
	for (size_t i = 0; i < VERSIONS_ID; i++) {
		char c = job->sha256[i];

		id[i] = c >= 'A' && c <= 'F' ? (char)(c - 'A' + 'a') : c;
		if (!c)
			break;
	}
	id[VERSIONS_ID - 1] = '\0';
	return versions_is_id(id);
}

static bool
use_what_is_there(const struct perfspect_job *job, const char *workspace,
    struct perfspect_result *result, bool *broken)
{
	bool found = find_wanted(job, result->id), usable;
	char *program = versions_program(job->target, result->id);

	usable = found && is_usable(program, workspace, result->version);
	/* a file that was put there by hand is in the way */
	*broken = found && !*result->id && !usable;
	reason_set(&result->note, "it was there already");
	free(program);
	return usable;
}

/* --- before anything is fetched ------------------------------------------ */

static int
check_space(const struct perfspect_job *job, struct reason *why)
{
	struct statvfs fs;
	uint64_t there;

	if (statvfs(job->tmpdir, &fs))
		return reason_set(why, "%s: %s", job->tmpdir, strerror(errno));
	/* root may use what is kept back from others */
	there = (geteuid() == 0 ? fs.f_bfree : fs.f_bavail) * fs.f_frsize;
	if (there >= (uint64_t)job->space)
		return 0;
	return reason_set(why,
	    "temporary directory %s, as user %ld: %llu bytes are free, %lld "
	    "are needed: make room, or set TMPDIR to another directory",
	    job->tmpdir, (long)geteuid(), (unsigned long long)there,
	    (long long)job->space);
}

int
perfspect_write_trial(const char *path, struct reason *why)
{
	static const char text[] = "#!/bin/sh\nexit 0\n";
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
	bool ok =
	    fd >= 0 && write(fd, text, sizeof text - 1) == sizeof text - 1;

	if (!ok)
		reason_set(why, "%s, as user %ld: %s", path, (long)geteuid(),
		    strerror(errno));
	if (fd >= 0)
		close(fd);
	return ok ? 0 : -1;
}

/* A file system may forbid it (noexec), and so may a security module. */
static int
check_execution(
    const struct perfspect_job *job, const char *workspace, struct reason *why)
{
	char *path = mem_fmt("%s/trial", workspace);
	struct child c;
	int result = -1;

	if (perfspect_write_trial(path, why) == 0)
		result = version_ask(&c, path, workspace, TRIAL_MS, why);
	free(path);
	if (result || c.status == 0)
		return result;
	return reason_set(why,
	    "temporary directory %s, as user %ld: a file in it cannot be run "
	    "(%.200s): mount it without noexec, or set TMPDIR to another "
	    "directory",
	    job->tmpdir, (long)geteuid(), c.last);
}

/* --- putting a new one there --------------------------------------------- */

static int
check_tree(const char *tree, const char *workspace,
    char version[PERFSPECT_VERSION_BYTES], struct reason *why)
{
	char *program = mem_fmt("%s/perfspect", tree);
	int result;

	if (access(program, F_OK))
		result = reason_set(
		    why, "the archive holds no perfspect/perfspect");
	else if (elf_check(program, "perfspect/perfspect", ELF_OURSELVES, why))
		result = -1;
	else if (perfspect_version(program, workspace, version, why))
		result = -1;
	else
		result = write_note(program, version, why);
	free(program);
	return result;
}

static int
fetch(const struct perfspect_job *job, const char *part,
    struct perfspect_result *result, struct reason *why)
{
	struct fetch_job fetch_job = { .url = job->url,
		.path = part,
		.sha256 = job->sha256,
		.peer = { job->ca_file, job->proxy, job->no_verify },
		.total_seconds = job->timeout_seconds,
		.stall_seconds = job->stall_seconds,
		.bytes_max = job->bytes_max };
	struct fetch_result fetched;

	if (fetch_archive(&fetch_job, &fetched, why))
		return -1;
	memcpy(result->id, fetched.sha256, VERSIONS_ID);
	reason_set(&result->note, "fetched from %.300s, %.500s", job->url,
	    fetched.note.text);
	return 0;
}

static int
unpack(const char *part, const char *unpacked, struct reason *why)
{
	if (mkdir(unpacked, 0700))
		return reason_set(why, "%s, as user %ld: %s", unpacked,
		    (long)geteuid(), strerror(errno));
	return unpack_archive(part, unpacked, why);
}

static int
install_new(const struct perfspect_job *job, const char *workspace,
    struct perfspect_result *r, struct reason *why)
{
	char *part = mem_fmt("%s/perfspect.tgz.part", workspace);
	char *unpacked = mem_fmt("%s/unpacked", workspace);
	char *tree = mem_fmt("%s/perfspect", unpacked);
	int result = -1;

	if (check_space(job, why) == 0 &&
	    check_execution(job, workspace, why) == 0 &&
	    fetch(job, part, r, why) == 0 &&
	    unpack(part, unpacked, why) == 0 &&
	    check_tree(tree, workspace, r->version, why) == 0)
		result = versions_add(job->target, r->id, tree, why);
	free(part);
	free(unpacked);
	free(tree);
	return result;
}

int
perfspect_install(const struct perfspect_job *job, const char *workspace,
    struct perfspect_result *result, struct reason *why)
{
	int there = versions_look(job->target, why);
	bool broken = false;

	if (there < 0)
		return -1;
	if (!(there == VERSIONS_THERE &&
		use_what_is_there(job, workspace, result, &broken)) &&
	    install_new(job, workspace, result, why))
		return -1;
	return versions_use(job->target, result->id, broken, workspace, why);
}
