/*
 * A child process in a session of its own, with its output kept.
 *
 * Nothing here blocks: child_tick() is called when a descriptor of
 * child_fds() is ready and when child_next_ms() has come.  It ends a child
 * in steps, SIGINT, SIGTERM, SIGKILL, to the whole group, and looks for
 * what the child left behind before the child counts as over.
 */
#ifndef CONSPECT_AGENTD_CHILD_H
#define CONSPECT_AGENTD_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/reason.h"

/* The longest line that is kept as the child's last one. */
#define CHILD_LINE_BYTES 1024
/* Descriptors of one child to wait for: its end and its output. */
#define CHILD_FDS 2

/* Each process of a run has this in its environment, with the run's id. */
#define CHILD_MARK "CONSPECT_RUN"

/* How long to wait after each signal for the next one. */
struct child_patience {
	int64_t int_ms;  /* after SIGINT */
	int64_t term_ms; /* after SIGTERM */
};

/* How to start one. */
struct child_plan {
	/* what the child does; its result is the exit status */
	int (*body)(void *context);
	void *context;
	const char *mark;      /* value of CHILD_MARK, or NULL */
	const char *directory; /* to work in, or NULL */
	int log_fd;            /* gets the output, or -1; the child owns it */
	size_t log_max;        /* bytes of it that are kept */
};

enum child_stage {
	CHILD_NONE,     /* never started */
	CHILD_RUNS,     /* not told to end */
	CHILD_SENT_INT, /* waiting after SIGINT */
	CHILD_SENT_TERM,
	CHILD_SENT_KILL,
	CHILD_SWEEPS, /* it has ended, something of it has not */
	CHILD_OVER,   /* all has ended; status is set */
};

struct child {
	enum child_stage stage;
	pid_t pid; /* also its process group and its session */
	int pidfd, out, log_fd;
	size_t log_left;
	char mark[64];
	int status;             /* as of waitpid() */
	int64_t next_ms;        /* when the next step is due */
	int64_t sweep_until_ms; /* then what is left is killed */
	struct child_patience patience;
	char line[CHILD_LINE_BYTES]; /* being read */
	size_t line_len;
	char last[CHILD_LINE_BYTES]; /* the last line that was not empty */
};

/* Starts one.  Returns 0, or -1 with the reason; log_fd is taken anyway. */
int child_start(struct child *c, const struct child_plan *plan,
    struct reason *why) __attribute__((nonnull, warn_unused_result));

/*
 * For a body: becomes the program argv[0], a path.  Returns the exit status
 * to end with when that fails, after a line about it.
 */
int child_exec(char *const *argv) __attribute__((nonnull));

/* Asks it to end, step by step from SIGINT on; again is no harm. */
void child_end(struct child *c, const struct child_patience *patience,
    int64_t now) __attribute__((nonnull));

/* Kills it at once. */
void child_kill(struct child *c, int64_t now) __attribute__((nonnull));

/* Does what is due.  Returns true once the child is over. */
bool child_tick(struct child *c, int64_t now) __attribute__((nonnull));

/* Monotonic time of the next step; INT64_MAX when none is planned. */
int64_t child_next_ms(const struct child *c) __attribute__((nonnull));

/* Fills in descriptors to wait for; returns their number. */
size_t child_fds(const struct child *c, int fds[CHILD_FDS])
    __attribute__((nonnull));

/* Kills each process that carries this mark and waits, a second at most,
 * until none is left; returns how many there were. */
int child_kill_marked(const char *mark) __attribute__((nonnull));

/* What the status says: "exited with status 3", "killed by SIGKILL". */
void child_describe(int status, char text[64]) __attribute__((nonnull));

#endif
