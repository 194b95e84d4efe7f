/*
 * The log: one line per event, to a sink that the program picks at start.
 *
 * A message names the object and the reason.  Control characters are
 * replaced by '?', so that what a host sent cannot forge a line, and every
 * secret told to log_secret() is masked as «***».
 */
#ifndef CONSPECT_CORE_LOG_H
#define CONSPECT_CORE_LOG_H

#include "core/buf.h"

enum log_level {
	LOG_LEVEL_ERROR, /* something failed and a person should know */
	LOG_LEVEL_WARN,  /* went on, but not as asked */
	LOG_LEVEL_INFO,  /* what the program did */
	LOG_LEVEL_DEBUG, /* how */
};

/* Before any log_to_...() lines go to standard error. */
void log_to_stderr(const char *program) __attribute__((nonnull));
void log_to_syslog(const char *program) __attribute__((nonnull));

/* Appends to a file, made 0640.  Returns 0, or -1 with the reason logged. */
int log_to_file(const char *program, const char *path)
    __attribute__((nonnull, warn_unused_result));

/* Opens the file again by its name (after logrotate, on SIGHUP). */
void log_reopen(void);

/* Lines go to b instead, for tests; NULL ends it. */
void log_to_buf(struct buf *b);

/* Lines above this level are dropped; LOG_LEVEL_INFO at first. */
void log_set_level(enum log_level level);

/*
 * Masks this text in every later line.  Secrets shorter than 8 bytes are
 * ignored: masking them would garble the log.  At most 8 are kept.
 */
void log_secret(const char *secret) __attribute__((nonnull));

void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
