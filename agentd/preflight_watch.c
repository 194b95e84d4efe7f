#include "agentd/preflight_watch.h"

#include "agentd/preflight_checks.h"
#include "core/clock.h"
#include "core/json.h"
#include "core/log.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* From one look to the next. */
#define EVERY_MS (10 * 60 * 1000)
/* A look takes milliseconds; with a hundred thousand processes, seconds. */
#define LOOK_MS 30000
/* Two looks are at least this far apart. */
#define APART_MS 1000
/* Lines of eleven checks, each with every byte escaped, have room. */
#define OUTPUT_MAX 65536
/* The profiled programs go first. */
#define NICENESS 10
/* At the agent's end: for a look under way, which takes milliseconds and
 * leaves nothing behind; and after SIGKILL, until it is left to init. */
#define CLOSE_LOOK_MS 1000
#define CLOSE_KILL_MS 500
/* How long to wait at a time. */
#define CLOSE_STEP_MS 10

/* --- the child ----------------------------------------------------------- */

/* One line for each check, as soon as it is known. */
static int
look(void *context)
{
	const struct preflight_watch *w = context;

	(void)setpriority(PRIO_PROCESS, 0, NICENESS);
	for (size_t i = 0; i < preflight_count(); i++) {
		struct preflight_entry entry;
		struct json_object *object;

		preflight_check(&w->host, i, &entry);
		object = preflight_json(&entry);
		dprintf(STDOUT_FILENO, "%s\n", json_text(object));
		json_object_put(object);
	}
	return EXIT_SUCCESS;
}

static void
close_output(struct preflight_watch *w)
{
	if (w->output >= 0)
		close(w->output);
	w->output = -1;
}

static void
start_look(struct preflight_watch *w, int64_t now)
{
	struct child_plan plan = {
		.body = look, .context = w, .log_max = OUTPUT_MAX
	};
	struct reason why;

	w->next_ms = now + EVERY_MS;
	/* memory and no file: a full disk is one of the findings */
	w->output = memfd_create("preflight", MFD_CLOEXEC);
	plan.log_fd = w->output < 0 ? -1 : dup(w->output);
	w->deadline_ms = now + LOOK_MS;
	if (plan.log_fd < 0)
		reason_set(&why, "%s", strerror(errno));
	else if (child_start(&w->child, &plan, &why) == 0)
		return;
	log_error("preflight: %s", why.text);
	close_output(w);
}

/* --- what it said -------------------------------------------------------- */

static void
add_line(struct json_object *list, const char *line, size_t n)
{
	struct json_object *entry;
	struct json_fault fault;

	if (json_read(line, n, &entry, &fault))
		return; /* cut where the child was killed */
	if (json_member_text(entry, "check"))
		json_object_array_add(list, entry);
	else
		json_object_put(entry);
}

static struct json_object *
read_lines(int fd)
{
	struct json_object *list = json_object_new_array();
	struct buf text = BUF_INIT(OUTPUT_MAX + BUFSIZ);
	const char *at, *end;
	char block[4096];
	off_t done = 0;
	ssize_t n;

	while ((n = pread(fd, block, sizeof block, done)) > 0) {
		buf_add(&text, block, (size_t)n);
		done += n;
	}
	at = buf_text(&text);
	while ((end = strchr(at, '\n'))) {
		add_line(list, at, (size_t)(end - at));
		at = end + 1;
	}
	buf_free(&text);
	return list;
}

/* The check at which the child was when it ended before its time. */
static void
add_cut_off(
    const struct preflight_watch *w, struct json_object *list, bool late)
{
	struct preflight_entry entry = { 0 };
	size_t i = json_object_array_length(list);
	char ended[64];

	if (i >= preflight_count())
		return;
	child_describe(w->child.status, ended);
	entry.check = preflight_check_name(i);
	if (late)
		preflight_say(&entry, PREFLIGHT_PROBLEM,
		    "the check was not done within %d seconds: a file system "
		    "may hang",
		    LOOK_MS / 1000);
	else
		preflight_say(&entry, PREFLIGHT_PROBLEM,
		    "the check was not done: its process %s", ended);
	log_warn("preflight: %s: %s", entry.check, entry.text);
	json_object_array_add(list, preflight_json(&entry));
}

static void
finish_look(struct preflight_watch *w, bool late)
{
	json_object_put(w->result);
	w->result = read_lines(w->output);
	add_cut_off(w, w->result, late);
	close_output(w);
	w->child.stage = CHILD_NONE;
}

/* --- the loop's side ----------------------------------------------------- */

void
preflight_watch_open(
    struct preflight_watch *w, const struct options *o, int64_t now)
{
	*w = (struct preflight_watch) { .output = -1, .next_ms = now };
	preflight_this_host(&w->host, o);
}

/* Whether the child is over, after that time at most. */
static bool
wait_for_child(struct preflight_watch *w, int64_t ms)
{
	int64_t end = clock_mono_ms() + ms;

	while (w->child.stage != CHILD_NONE &&
	       !child_tick(&w->child, clock_mono_ms())) {
		struct pollfd wait = { w->child.pidfd, POLLIN, 0 };

		if (clock_mono_ms() >= end)
			return false;
		(void)poll(&wait, 1, CLOSE_STEP_MS);
	}
	return true;
}

void
preflight_watch_close(struct preflight_watch *w)
{
	if (!wait_for_child(w, CLOSE_LOOK_MS)) {
		child_kill(&w->child, clock_mono_ms());
		(void)wait_for_child(w, CLOSE_KILL_MS);
	}
	close_output(w);
	json_object_put(w->result);
	w->result = NULL;
}

void
preflight_watch_ask(struct preflight_watch *w, int64_t now)
{
	if (now + APART_MS < w->next_ms)
		w->next_ms = now + APART_MS;
}

void
preflight_watch_tick(struct preflight_watch *w, int64_t now)
{
	if (w->child.stage == CHILD_NONE) {
		if (now >= w->next_ms)
			start_look(w, now);
		return;
	}
	if (now >= w->deadline_ms)
		child_kill(&w->child, now);
	if (child_tick(&w->child, now))
		finish_look(w, now >= w->deadline_ms);
}

int64_t
preflight_watch_next_ms(const struct preflight_watch *w)
{
	int64_t next;

	if (w->child.stage == CHILD_NONE)
		return w->next_ms;
	next = child_next_ms(&w->child);
	return w->child.stage == CHILD_RUNS && w->deadline_ms < next
		   ? w->deadline_ms
		   : next;
}

size_t
preflight_watch_fds(const struct preflight_watch *w, int fds[CHILD_FDS])
{
	return child_fds(&w->child, fds);
}
