#include "agentd/child.h"

#include "agentd/procs.h"
#include "core/clock.h"
#include "core/log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* What outlives the child is asked to end, and killed after this. */
#define SWEEP_MS 2000
/* A process that SIGKILL does not end (it hangs in a device) is given up. */
#define SWEEP_KILL_MS 2000
/* How often the sweep looks. */
#define SWEEP_STEP_MS 100
/* How often a killed child is looked at, should its pidfd fail. */
#define KILL_STEP_MS 1000
/* How often a child without a pidfd is looked at (Linux before 5.3, and
 * valgrind). */
#define BLIND_STEP_MS 200
/* What a dead agent left is killed and looked for again until it is gone, or
 * for a second: this is before the first heartbeat. */
#define MARKED_LOOKS 50
#define MARKED_STEP_MS 20
/* Descriptors that are closed one by one where there is no close_range(). */
#define CLOSE_MAX 4096

/* An exit status that no program uses for its own ends, as in the shell. */
#define EXIT_NOT_STARTED 127

/* --- in the child, before it becomes something else ---------------------- */

static void
reset_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	for (int sig = 1; sig < NSIG; sig++)
		(void)signal(sig, SIG_DFL);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Profilers open a file per CPU and event: the soft limit is too low. */
static void
raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static void
set_environment(const char *mark)
{
	(void)setenv("LC_ALL", "C", 1);
	(void)setenv("TZ", "UTC", 1);
	if (mark)
		(void)setenv(CHILD_MARK, mark, 1);
}

static void
redirect(int out)
{
	int null = open("/dev/null", O_RDONLY);

	(void)dup2(null, STDIN_FILENO);
	(void)dup2(out, STDOUT_FILENO);
	(void)dup2(out, STDERR_FILENO);
	/* not one of the agent's descriptors is the child's business */
	if (syscall(SYS_close_range, 3U, ~0U, 0U) == 0)
		return;
	for (int fd = 3; fd < CLOSE_MAX; fd++)
		(void)close(fd);
}

static void __attribute__((noreturn))
become_child(const struct child_plan *plan, int out, pid_t parent)
{
	(void)setsid();
	reset_signals();
	/* if the agent is killed, no profiler may go on unseen */
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(EXIT_NOT_STARTED);
	log_to_stderr("conspect-agentd");
	raise_file_limit();
	set_environment(plan->mark);
	redirect(out);
	if (plan->directory && chdir(plan->directory)) {
		dprintf(STDERR_FILENO, "%s: %s\n", plan->directory,
		    strerror(errno));
		_exit(EXIT_NOT_STARTED);
	}
	_exit(plan->body(plan->context));
}

int
child_exec(char *const *argv)
{
	(void)execv(argv[0], argv);
	dprintf(
	    STDERR_FILENO, "%s cannot be run: %s\n", argv[0], strerror(errno));
	return EXIT_NOT_STARTED;
}

/* --- in the agent -------------------------------------------------------- */

static void
close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static int
start_failed(struct child *c, int writing, struct reason *why)
{
	int error = errno;

	close_fd(&writing);
	close_fd(&c->out);
	close_fd(&c->log_fd);
	close_fd(&c->pidfd);
	return reason_set(
	    why, "cannot start a child process: %s", strerror(error));
}

/*
 * With all signals held back: the child must not run a handler of the
 * parent's, should it be told to end before it has reset them.
 */
static pid_t
fork_quietly(const struct child_plan *plan, int out)
{
	pid_t parent = getpid(), pid;
	sigset_t all, before;

	sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &before);
	pid = fork();
	if (pid == 0)
		become_child(plan, out, parent);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	return pid;
}

int
child_start(struct child *c, const struct child_plan *plan, struct reason *why)
{
	int ends[2];

	*c = (struct child) { .pidfd = -1,
		.out = -1,
		.log_fd = plan->log_fd,
		.log_left = plan->log_max,
		.next_ms = INT64_MAX };
	(void)snprintf(
	    c->mark, sizeof c->mark, "%s", plan->mark ? plan->mark : "");
	if (pipe2(ends, O_CLOEXEC))
		return start_failed(c, -1, why);
	c->out = ends[0];
	c->pid = fork_quietly(plan, ends[1]);
	if (c->pid < 0)
		return start_failed(c, ends[1], why);
	c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0U);
	close(ends[1]);
	(void)fcntl(c->out, F_SETFL, O_NONBLOCK);
	c->stage = CHILD_RUNS;
	return 0;
}

static void
keep_line(struct child *c)
{
	bool visible = false;

	for (size_t i = 0; i < c->line_len; i++)
		visible |= c->line[i] > ' ';
	if (visible) {
		memcpy(c->last, c->line, c->line_len);
		c->last[c->line_len] = '\0';
	}
	c->line_len = 0;
}

static void
follow_lines(struct child *c, const char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char byte = (unsigned char)bytes[i];

		if (byte == '\n' || byte == '\r')
			keep_line(c);
		else if (c->line_len < sizeof c->line - 1)
			c->line[c->line_len++] =
			    byte < ' ' || byte == 0x7f ? ' ' : bytes[i];
	}
}

static void
write_log(struct child *c, const char *bytes, size_t n)
{
	static const char cut[] = "\n[the rest of the output was not kept]\n";
	ssize_t done = 0;

	if (c->log_fd < 0)
		return;
	if (n < c->log_left) {
		c->log_left -= n;
		done = write(c->log_fd, bytes, n);
	} else {
		done = write(c->log_fd, bytes, c->log_left);
		if (done >= 0)
			done = write(c->log_fd, cut, sizeof cut - 1);
		close_fd(&c->log_fd);
	}
	if (done < 0) /* a full disk must not stop the run */
		close_fd(&c->log_fd);
}

/*
 * Takes what the child wrote, at most so much that a child which writes
 * without end does not keep the agent from its other work.
 */
static void
read_output(struct child *c)
{
	char block[8192];

	for (int i = 0; i < 32 && c->out >= 0; i++) {
		ssize_t n = read(c->out, block, sizeof block);

		if (n > 0) {
			write_log(c, block, (size_t)n);
			follow_lines(c, block, (size_t)n);
		} else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
			close_fd(&c->out);
		} else if (errno == EAGAIN) {
			return;
		}
	}
}

static void
signal_group(const struct child *c, int sig)
{
	/* not reaped yet, so that the number cannot be another's */
	(void)kill(-c->pid, sig);
	(void)kill(c->pid, sig);
}

void
child_end(struct child *c, const struct child_patience *patience, int64_t now)
{
	c->patience = *patience;
	if (c->stage != CHILD_RUNS)
		return;
	signal_group(c, SIGINT);
	c->stage = CHILD_SENT_INT;
	c->next_ms = now + patience->int_ms;
}

void
child_kill(struct child *c, int64_t now)
{
	if (c->stage < CHILD_RUNS || c->stage > CHILD_SENT_KILL)
		return;
	signal_group(c, SIGKILL);
	c->stage = CHILD_SENT_KILL;
	c->next_ms = now + KILL_STEP_MS;
}

static void
next_signal(struct child *c, int64_t now)
{
	if (c->stage == CHILD_SENT_INT) {
		signal_group(c, SIGTERM);
		c->stage = CHILD_SENT_TERM;
		c->next_ms = now + c->patience.term_ms;
	} else {
		child_kill(c, now);
	}
}

static int
survivors(const struct child *c, int sig)
{
	char entry[sizeof CHILD_MARK + sizeof c->mark + 1];

	(void)snprintf(entry, sizeof entry, CHILD_MARK "=%s", c->mark);
	return procs_signal(c->pid, *c->mark ? entry : NULL, sig);
}

static void
finish(struct child *c)
{
	read_output(c);
	keep_line(c); /* a last line without its end */
	close_fd(&c->out);
	close_fd(&c->log_fd);
	close_fd(&c->pidfd);
	c->stage = CHILD_OVER;
	c->next_ms = INT64_MAX;
}

static void
sweep(struct child *c, int64_t now)
{
	bool kills = now >= c->sweep_until_ms;
	int left = survivors(c, kills ? SIGKILL : SIGTERM);

	if (left == 0) {
		finish(c);
	} else if (now >= c->sweep_until_ms + SWEEP_KILL_MS) {
		log_warn(
		    "%d processes of run %s cannot be ended", left, c->mark);
		finish(c);
	} else {
		c->next_ms = now + SWEEP_STEP_MS;
	}
}

static void
reap(struct child *c, int64_t now)
{
	pid_t done = waitpid(c->pid, &c->status, WNOHANG);

	if (done == 0 || (done < 0 && errno == EINTR))
		return;
	close_fd(&c->pidfd);
	c->stage = CHILD_SWEEPS;
	c->sweep_until_ms = now + SWEEP_MS;
	sweep(c, now);
}

bool
child_tick(struct child *c, int64_t now)
{
	if (c->stage == CHILD_NONE || c->stage == CHILD_OVER)
		return c->stage == CHILD_OVER;
	read_output(c);
	if (c->stage == CHILD_SWEEPS) {
		if (now >= c->next_ms)
			sweep(c, now);
	} else {
		reap(c, now);
		if (c->stage < CHILD_SWEEPS && now >= c->next_ms)
			next_signal(c, now);
	}
	return c->stage == CHILD_OVER;
}

int64_t
child_next_ms(const struct child *c)
{
	bool blind = c->pidfd < 0 && c->stage != CHILD_SWEEPS;
	int64_t look = blind ? clock_mono_ms() + BLIND_STEP_MS : INT64_MAX;

	if (c->stage == CHILD_NONE || c->stage == CHILD_OVER)
		return INT64_MAX;
	return look < c->next_ms ? look : c->next_ms;
}

size_t
child_fds(const struct child *c, int fds[CHILD_FDS])
{
	size_t n = 0;

	if (c->stage == CHILD_NONE || c->stage == CHILD_OVER)
		return 0;
	if (c->pidfd >= 0)
		fds[n++] = c->pidfd;
	if (c->out >= 0)
		fds[n++] = c->out;
	return n;
}

int
child_kill_marked(const char *mark)
{
	char entry[sizeof CHILD_MARK + 65];
	int most = 0, left = 1;

	(void)snprintf(entry, sizeof entry, CHILD_MARK "=%.63s", mark);
	/* one look at /proc can miss what was begun behind its back */
	for (int i = 0; i < MARKED_LOOKS && left > 0; i++) {
		left = procs_signal(0, entry, SIGKILL);
		most = left > most ? left : most;
		if (left > 0)
			(void)poll(NULL, 0, MARKED_STEP_MS);
	}
	return most;
}

void
child_describe(int status, char text[64])
{
	const char *name;

	if (WIFEXITED(status)) {
		(void)snprintf(
		    text, 64, "exited with status %d", WEXITSTATUS(status));
		return;
	}
	name = WIFSIGNALED(status) ? sigabbrev_np(WTERMSIG(status)) : NULL;
	(void)snprintf(text, 64, "was killed by SIG%.20s", name ? name : "?");
}
