#include "agentd/notify.h"

#include "core/clock.h"
#include "core/log.h"
#include "core/mem.h"
#include "core/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

/* A manager that is busy is waited for so long, and not longer: heartbeats
 * go on. */
#define SEND_SECONDS 1
/* Twice as often as asked for, as sd_watchdog_enabled(3) recommends. */
#define WATCHDOG_SHARE 2
/* A manager that asks for signs of life more often is not listened to. */
#define WATCHDOG_USEC_MIN 10000

/* --- the socket ---------------------------------------------------------- */

/* Returns the address's length, 0 when it is none. */
static socklen_t
fill_address(struct sockaddr_un *address, const char *path)
{
	size_t n = strlen(path);

	*address = (struct sockaddr_un) { .sun_family = AF_UNIX };
	if ((*path != '/' && *path != '@') || n < 2 ||
	    n >= sizeof address->sun_path)
		return 0;
	memcpy(address->sun_path, path, n);
	if (*path == '@') /* the abstract name space */
		address->sun_path[0] = '\0';
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n +
			   (*path == '/'));
}

static int
open_socket(struct notify *n, const char *path)
{
	struct timeval patience = { SEND_SECONDS, 0 };
	int fd;

	n->address_len = fill_address(&n->address, path);
	if (n->address_len == 0) {
		log_warn("NOTIFY_SOCKET is no address: \"%s\"", path);
		return -1;
	}
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		log_warn("NOTIFY_SOCKET %s: %s", path, strerror(errno));
	else
		(void)setsockopt(
		    fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
	return fd;
}

static void
say(struct notify *n, const char *text)
{
	if (n->fd < 0)
		return;
	if (sendto(n->fd, text, strlen(text), MSG_NOSIGNAL,
		(const struct sockaddr *)&n->address, n->address_len) >= 0) {
		n->failing = false;
		return;
	}
	if (!n->failing)
		log_warn("the service manager was not told \"%.*s\": %s",
		    (int)strcspn(text, "\n"), text, strerror(errno));
	n->failing = true;
}

/* --- the environment ----------------------------------------------------- */

/* A copy of a variable that is taken away; the caller frees it. */
static char *
take(const char *name)
{
	char *value = mem_copy(getenv(name));

	(void)unsetenv(name);
	return value;
}

static int64_t
read_watchdog(const char *usec, const char *pid)
{
	int64_t n;
	char *end;

	if (!usec || (pid && strtol(pid, NULL, 10) != (long)getpid()))
		return 0;
	n = strtoll(usec, &end, 10);
	if (*end || n < WATCHDOG_USEC_MIN) {
		log_warn("WATCHDOG_USEC must be a number of microseconds from "
			 "%d on, not \"%s\"",
		    WATCHDOG_USEC_MIN, usec);
		return 0;
	}
	return n / 1000 / WATCHDOG_SHARE;
}

void
notify_open(struct notify *n, int64_t now)
{
	char *path = take("NOTIFY_SOCKET");
	char *usec = take("WATCHDOG_USEC");
	char *pid = take("WATCHDOG_PID");

	*n = (struct notify) { .fd = -1 };
	if (path)
		n->fd = open_socket(n, path);
	if (n->fd >= 0)
		n->watchdog_ms = read_watchdog(usec, pid);
	n->next_ms = now;
	free(path);
	free(usec);
	free(pid);
}

void
notify_close(struct notify *n)
{
	if (n->fd >= 0)
		close(n->fd);
	n->fd = -1;
}

/* --- what is said -------------------------------------------------------- */

void
notify_ready(struct notify *n)
{
	say(n, "READY=1");
}

void
notify_reloading(struct notify *n)
{
	char text[64];

	/* the time tells a manager which of two reloads is meant */
	(void)snprintf(text, sizeof text,
	    "RELOADING=1\nMONOTONIC_USEC=%" PRId64, clock_mono_ms() * 1000);
	say(n, text);
}

void
notify_stopping(struct notify *n)
{
	say(n, "STOPPING=1");
}

void
notify_status(struct notify *n, const char *text)
{
	char line[NOTIFY_STATUS_BYTES], message[sizeof line + 8];

	(void)snprintf(line, sizeof line, "%s", text);
	for (char *c = line; *c; c++) /* another line would be another word */
		if ((unsigned char)*c < ' ')
			*c = ' ';
	utf8_repair(line);
	if (n->fd < 0 || strcmp(line, n->status) == 0)
		return;
	memcpy(n->status, line, sizeof line);
	(void)snprintf(message, sizeof message, "STATUS=%s", line);
	say(n, message);
}

void
notify_tick(struct notify *n, int64_t now)
{
	if (n->watchdog_ms == 0 || now < n->next_ms)
		return;
	say(n, "WATCHDOG=1");
	n->next_ms = now + n->watchdog_ms;
}

int64_t
notify_next_ms(const struct notify *n)
{
	return n->watchdog_ms ? n->next_ms : INT64_MAX;
}
