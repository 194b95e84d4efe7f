#include "agentd/host_settings.h"

#include "core/buf.h"
#include "core/log.h"
#include "core/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NMI_WATCHDOG "/proc/sys/kernel/nmi_watchdog"
#define DEVICES "/sys/devices"
#define MUX_INTERVAL "perf_event_mux_interval_ms"

/* A server has some hundred counter devices. */
#define DEVICES_MAX 4096
/* A line is a path and a number. */
#define LINE_MAX_BYTES 512
#define NOTE_MAX (DEVICES_MAX * LINE_MAX_BYTES)
/* The value of a setting: a whole number. */
#define VALUE_BYTES 24

/* --- one setting --------------------------------------------------------- */

/* Reads its digits; false when there are none or it cannot be read. */
static bool
read_value(const char *host_root, const char *path, char value[VALUE_BYTES])
{
	char *whole = mem_fmt("%s%s", host_root, path);
	int fd = open(whole, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t n = fd < 0 ? -1 : read(fd, value, VALUE_BYTES - 1);

	if (fd >= 0)
		close(fd);
	free(whole);
	if (n <= 0)
		return false;
	value[n] = '\0';
	value[strspn(value, "0123456789")] = '\0';
	return *value != '\0';
}

static bool
write_value(const char *host_root, const char *path, const char *value)
{
	char *whole = mem_fmt("%s%s", host_root, path);
	int fd = open(whole, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	size_t n = strlen(value);
	bool ok = fd >= 0 && write(fd, value, n) == (ssize_t)n;

	if (!ok)
		log_error("%s cannot be put back to %s: %s", whole, value,
		    strerror(errno));
	if (fd >= 0)
		close(fd);
	free(whole);
	return ok;
}

/* --- the note ------------------------------------------------------------ */

static void
note_setting(const char *host_root, const char *path, struct buf *to)
{
	char value[VALUE_BYTES];

	if (read_value(host_root, path, value))
		buf_fmt(to, "%s %s\n", value, path);
}

static void
note_devices(const char *host_root, struct buf *to)
{
	char *devices = mem_fmt("%s" DEVICES, host_root);
	DIR *dir = opendir(devices);
	struct dirent *e;

	for (int i = 0; dir && i < DEVICES_MAX && (e = readdir(dir)); i++) {
		char *path;

		if (e->d_name[0] == '.')
			continue;
		path = mem_fmt(DEVICES "/%s/" MUX_INTERVAL, e->d_name);
		note_setting(host_root, path, to);
		free(path);
	}
	if (dir)
		(void)closedir(dir);
	free(devices);
}

static int
write_note(const char *path, const struct buf *text)
{
	char *part = mem_fmt("%s.part", path);
	int fd = open(
	    part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	bool ok = fd >= 0 &&
		  write(fd, buf_text(text), text->len) == (ssize_t)text->len &&
		  fsync(fd) == 0;

	if (fd >= 0)
		close(fd);
	ok = ok && rename(part, path) == 0;
	free(part);
	return ok ? 0 : -1;
}

int
host_settings_note(
    const char *host_root, const char *state_dir, struct reason *why)
{
	char *path = mem_fmt("%s/host-settings", state_dir);
	struct buf text = BUF_INIT(NOTE_MAX);
	int result = 0;

	if (access(path, F_OK)) {
		note_setting(host_root, NMI_WATCHDOG, &text);
		note_devices(host_root, &text);
		if (write_note(path, &text))
			result = reason_set(why,
			    "%s cannot be written (%s): without a note of the "
			    "host's settings PerfSpect is not run",
			    path, strerror(errno));
	}
	buf_free(&text);
	free(path);
	return result;
}

/* --- putting back -------------------------------------------------------- */

/* Whether the note may name this path: one of those that are noted. */
static bool
is_ours(const char *path)
{
	const char *tail = strrchr(path, '/');

	if (strcmp(path, NMI_WATCHDOG) == 0)
		return true;
	return strncmp(path, DEVICES "/", sizeof DEVICES) == 0 &&
	       !strstr(path, "/../") && tail &&
	       strcmp(tail + 1, MUX_INTERVAL) == 0;
}

/* One line of the note; false when it could not be put back. */
static bool
put_back(const char *host_root, char *line)
{
	char *path = strchr(line, ' '), now[VALUE_BYTES];

	line[strcspn(line, "\n")] = '\0';
	if (!path)
		return true;
	*path++ = '\0';
	if (!is_ours(path) || !read_value(host_root, path, now) ||
	    strcmp(now, line) == 0)
		return true; /* a device that has gone has nothing to undo */
	log_warn("%s was left at %s and is put back to %s", path, now, line);
	return write_value(host_root, path, line);
}

void
host_settings_put_back(const char *host_root, const char *state_dir)
{
	char *path = mem_fmt("%s/host-settings", state_dir);
	char line[LINE_MAX_BYTES];
	FILE *note = fopen(path, "re");
	bool all = true;

	for (int i = 0; note && i <= DEVICES_MAX; i++) {
		if (!fgets(line, sizeof line, note))
			break;
		all &= put_back(host_root, line);
	}
	if (note) {
		(void)fclose(note);
		if (all)
			(void)unlink(path);
	}
	free(path);
}
