/* conspectctl perfspect add|list|remove */
#include "ctl.h"
#include "dist.h"

#include "core/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The caller frees it. */
static char *
dist_place(struct store *store, const struct ctl_args *args)
{
	return args->dist ? mem_copy(args->dist) : dist_beside(store);
}

/* Opens the directory and sweeps it. */
static int
open_dist(struct dist *dist, struct store *store, const struct ctl_args *args,
    struct reason *why)
{
	char *place = dist_place(store, args);
	int result = dist_open(dist, place, why);

	free(place);
	return result == 0 ? dist_sweep(dist, store, why) : -1;
}

/* --- add ----------------------------------------------------------------- */

/* Not a device or a pipe: it might never end. */
static int
open_archive(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0) {
		(void)ctl_fail("%s: %s", path, strerror(errno));
		return -1;
	}
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	(void)ctl_fail("%s is not a regular file", path);
	return -1;
}

static int
keep_and_pin(struct dist *dist, struct store *store, const char *name,
    const struct pinned_archive *archive, struct reason *why)
{
	if (dist_keep(dist, archive, why))
		return -1;
	if (archives_pin(store, archive)) /* the store has said why */
		return reason_set(why, "%s is not pinned", name);
	(void)printf("PerfSpect %s for %s pinned: %s/%s, SHA-256 %s\n",
	    archive->version, archive->arch, dist->path, archive->file,
	    archive->sha256);
	return 0;
}

static int
add(struct dist *dist, struct store *store, const struct ctl_args *args,
    int file, struct pinned_archive *archive, struct reason *why)
{
	struct reason ignored; /* the first one counts */

	if (open_dist(dist, store, args, why) ||
	    dist_take(dist, file, args->name, args->version, archive, why))
		return -1;
	if (keep_and_pin(dist, store, args->name, archive, why) == 0)
		return dist_sweep(dist, store, why);
	(void)!dist_sweep(dist, store, &ignored);
	return -1;
}

int
ctl_perfspect_add(struct store *store, const struct ctl_args *args)
{
	struct pinned_archive archive = { .arch = NULL };
	struct dist dist = { .fd = -1 };
	struct reason why;
	int file, result;

	if (args->version && !archives_version_good(args->version))
		return ctl_fail("a version is one word of at most %d visible "
				"characters, such as "
				"3.17.1_2026-08-07_c399daa0, not \"%s\"",
		    ARCHIVES_VERSION_MAX, args->version);
	file = open_archive(args->name);
	if (file < 0)
		return CTL_FAILED;
	result = add(&dist, store, args, file, &archive, &why);
	close(file);
	dist_close(&dist);
	pinned_archive_free(&archive);
	return result == 0 ? CTL_OK : ctl_fail("%s", why.text);
}

/* --- list ---------------------------------------------------------------- */

static void
print_archive(void *context, const struct pinned_archive *a)
{
	const char *place = context;

	(void)printf("%-8s %-32s %s %10" PRId64 " %s %s%s\n", a->arch,
	    a->version, a->sha256, a->bytes, a->added_at, a->file,
	    dist_has(place, a) ? "" : " (missing: add it again)");
}

int
ctl_perfspect_list(struct store *store, const struct ctl_args *args)
{
	char *place = dist_place(store, args);
	int result = archives_list(store, print_archive, place);

	free(place);
	return result == 0 ? CTL_OK : CTL_FAILED;
}

/* --- remove -------------------------------------------------------------- */

static int
unpin_and_sweep(struct dist *dist, struct store *store, const char *arch)
{
	struct reason why;

	switch (archives_unpin(store, arch)) {
	case 0:
		break;
	case STORE_NOT_FOUND:
		return ctl_fail("no archive is pinned for %s", arch);
	default:
		return CTL_FAILED;
	}
	(void)printf("PerfSpect for %s is no longer pinned; its file stays "
		     "for a day, for hosts that were told of it\n",
	    arch);
	return dist_sweep(dist, store, &why) == 0 ? CTL_OK
						  : ctl_fail("%s", why.text);
}

int
ctl_perfspect_remove(struct store *store, const struct ctl_args *args)
{
	struct dist dist = { .fd = -1 };
	struct reason why;
	int result;

	if (!archives_arch_known(args->name))
		return ctl_fail("an archive is named by its architecture, "
				"x86_64 or aarch64, not \"%s\"",
		    args->name);
	result = open_dist(&dist, store, args, &why) == 0
		     ? unpin_and_sweep(&dist, store, args->name)
		     : ctl_fail("%s", why.text);
	dist_close(&dist);
	return result;
}
