/*
 * Telling a service manager how we are, as sd_notify(3) does: a datagram of
 * lines to the socket that NOTIFY_SOCKET names.  Ours, so that the agent
 * does without libsystemd.
 *
 * Without a manager all of it does nothing.
 */
#ifndef CONSPECT_AGENTD_NOTIFY_H
#define CONSPECT_AGENTD_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

/* A status is one line for a person to read. */
#define NOTIFY_STATUS_BYTES 256

struct notify {
	int fd; /* a socket, or -1 without a manager */
	/* looked up each time: a manager may begin anew */
	struct sockaddr_un address;
	socklen_t address_len;
	bool failing;        /* which was logged */
	int64_t watchdog_ms; /* between two signs of life, 0 for none */
	int64_t next_ms;     /* when the next one is due */
	char status[NOTIFY_STATUS_BYTES]; /* as it was told last */
};

/*
 * Takes NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID out of the environment,
 * so that no child speaks for us.  What cannot be used is logged.
 */
void notify_open(struct notify *n, int64_t now) __attribute__((nonnull));
void notify_close(struct notify *n) __attribute__((nonnull));

/* Started, or done with reading settings anew. */
void notify_ready(struct notify *n) __attribute__((nonnull));
/* Reads settings anew; notify_ready() follows. */
void notify_reloading(struct notify *n) __attribute__((nonnull));
/* Is about to end. */
void notify_stopping(struct notify *n) __attribute__((nonnull));

/* What it does, for people.  Sent only when it is another text. */
void notify_status(struct notify *n, const char *text)
    __attribute__((nonnull));

/* A sign of life when one is due. */
void notify_tick(struct notify *n, int64_t now) __attribute__((nonnull));
/* Monotonic time of the next one; INT64_MAX for never. */
int64_t notify_next_ms(const struct notify *n) __attribute__((nonnull));

#endif
