#include "core/log.h"

#include "core/clock.h"
#include "core/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

/* A line is cut here: enough for a path, an address and a reason. */
#define LINE_MAX_BYTES 2048
#define SECRETS_MAX 8
#define SECRET_MIN_BYTES 8

enum sink { SINK_STDERR, SINK_FILE, SINK_SYSLOG };

/* The process has one log; this is all of its state. */
static struct {
	enum sink sink;
	enum log_level level;
	const char *program;
	char *path;          /* of SINK_FILE */
	int fd;              /* of SINK_FILE */
	struct buf *capture; /* set in tests */
	char *secrets[SECRETS_MAX];
	size_t n_secrets;
} state = { .sink = SINK_STDERR,
	.level = LOG_LEVEL_INFO,
	.program = "conspect",
	.fd = -1 };

static const struct {
	const char *name;
	int priority;
} levels[] = {
	[LOG_LEVEL_ERROR] = { "error", LOG_ERR },
	[LOG_LEVEL_WARN] = { "warning", LOG_WARNING },
	[LOG_LEVEL_INFO] = { "info", LOG_INFO },
	[LOG_LEVEL_DEBUG] = { "debug", LOG_DEBUG },
};

static void
mask(char *line, const char *secret)
{
	size_t n = strlen(secret);
	char *at = line;

	while ((at = strstr(at, secret))) {
		memset(at, '*', 3);
		memmove(at + 3, at + n, strlen(at + n) + 1);
		at += 3;
	}
}

/* Masks the beginning of a secret at the end of a line that was cut. */
static void
mask_cut_secret(char *line, const char *secret)
{
	size_t len = strlen(line), n = strlen(secret) - 1;

	if (n > len)
		n = len;
	for (; n > 0; n--)
		if (memcmp(line + len - n, secret, n) == 0) {
			(void)strcpy(line + len - n, n < 3 ? "*" : "***");
			return;
		}
}

static void
mask_secrets(char *line, bool cut)
{
	for (size_t i = 0; i < state.n_secrets; i++)
		mask(line, state.secrets[i]);
	for (size_t i = 0; cut && i < state.n_secrets; i++)
		mask_cut_secret(line, state.secrets[i]);
}

static void
replace_controls(char *line)
{
	for (unsigned char *c = (unsigned char *)line; *c; c++)
		if (*c < 0x20 || *c == 0x7f)
			*c = '?';
}

static void
write_line(int fd, enum log_level level, const char *text)
{
	char line[LINE_MAX_BYTES + 128], when[CLOCK_TEXT];
	int n;

	clock_format(clock_now_ms(), when);
	n = snprintf(line, sizeof line, "%s %s[%ld] %s: %s\n", when,
	    state.program, (long)getpid(), levels[level].name, text);
	if (n > 0) {
		/* One write a line: lines of several processes stay whole.
		 * A full disk must not stop the program, so it is let go. */
		ssize_t done = write(fd, line,
		    (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
		(void)done;
	}
}

static void __attribute__((format(printf, 2, 0)))
emit(enum log_level level, const char *format, va_list ap)
{
	int saved = errno;
	char text[LINE_MAX_BYTES];
	int n;

	if (level > state.level)
		return;
	n = vsnprintf(text, sizeof text, format, ap);
	mask_secrets(text, n >= (int)sizeof text);
	replace_controls(text);
	if (state.capture)
		buf_fmt(state.capture, "%s: %s\n", levels[level].name, text);
	else if (state.sink == SINK_SYSLOG)
		syslog(levels[level].priority, "%s", text);
	else
		write_line(state.sink == SINK_FILE ? state.fd : STDERR_FILENO,
		    level, text);
	errno = saved;
}

void
log_to_stderr(const char *program)
{
	state.sink = SINK_STDERR;
	state.program = program;
}

void
log_to_syslog(const char *program)
{
	state.sink = SINK_SYSLOG;
	state.program = program;
	openlog(program, LOG_PID, LOG_DAEMON);
}

int
log_to_file(const char *program, const char *path)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);

	if (fd < 0) {
		log_error("log file %s: %s", path, strerror(errno));
		return -1;
	}
	if (state.fd >= 0)
		close(state.fd);
	if (state.path != path) {
		free(state.path);
		state.path = mem_copy(path);
	}
	state.fd = fd;
	state.sink = SINK_FILE;
	state.program = program;
	return 0;
}

void
log_reopen(void)
{
	/* On failure the old file stays open: better there than nowhere. */
	if (state.sink == SINK_FILE && state.path)
		(void)!log_to_file(state.program, state.path);
}

void
log_to_buf(struct buf *b)
{
	state.capture = b;
}

void
log_set_level(enum log_level level)
{
	state.level = level;
}

/* Longer ones come first: one may be the beginning of another. */
static void
insert_secret(char *secret)
{
	size_t i = state.n_secrets++;

	for (; i > 0 && strlen(state.secrets[i - 1]) < strlen(secret); i--)
		state.secrets[i] = state.secrets[i - 1];
	state.secrets[i] = secret;
}

void
log_secret(const char *secret)
{
	if (strlen(secret) < SECRET_MIN_BYTES)
		return;
	for (size_t i = 0; i < state.n_secrets; i++)
		if (strcmp(state.secrets[i], secret) == 0)
			return;
	if (state.n_secrets < SECRETS_MAX)
		insert_secret(mem_copy(secret));
}

#define LOG_FUNCTION(name, level)                                             \
	void name(const char *format, ...)                                    \
	{                                                                     \
		va_list ap;                                                   \
                                                                              \
		va_start(ap, format);                                         \
		emit(level, format, ap);                                      \
		va_end(ap);                                                   \
	}

LOG_FUNCTION(log_error, LOG_LEVEL_ERROR)
LOG_FUNCTION(log_warn, LOG_LEVEL_WARN)
LOG_FUNCTION(log_info, LOG_LEVEL_INFO)
LOG_FUNCTION(log_debug, LOG_LEVEL_DEBUG)
