/*
 * Eight programs at once on one database: every call succeeds, and afterwards
 * all that must hold does.
 */
#include "store/store.h"

#include "store-helper.h"

#include <sys/wait.h>

#define WRITERS 8
#define STEPS 150
#define PAUSE_US 10000 /* at most, between two steps */
#define HOSTS 3
#define HELD 8 /* ids that a writer remembers */

struct writer {
	struct box box; /* with a store of its own, and no eye */
	unsigned random;
	char held[HELD][UUID_TEXT];
	FILE *ends; /* the reports that were taken: id and outcome */
};

static const char *const hosts[HOSTS] = { "a", "B", "c" };
static const char *const outcomes[] = { "completed", "failed", "stopped" };

static int
below(struct writer *w, int n)
{
	w->random = w->random * 1103515245u + 12345u;
	return (int)(w->random >> 16) % n;
}

/* --- what a writer does: each returns 0 or -1 -----------------------------
 */

static int
ask(struct writer *w)
{
	static const char *const asks[] = {
		START_HOSTS "{'a':[1,2,3],'b':[4]}",
		START_HOSTS "{'A':[2],'c':null},'continuous':true",
		START_HOSTS "{'b':null,'C':[7,8]}",
		"'request_type':'start'",
		STOP_HOSTS "{'a':[1],'c':[7]}",
		STOP_HOSTS "{'B':[4]}",
		STOP_HOSTS "{'a':null,'c':null},'stop_level':'host'",
	};
	struct submission out;
	int result = submit(
	    &w->box, asks[below(w, (int)(sizeof asks / sizeof *asks))], &out);

	submission_free(&out);
	return result;
}

static int
report_in(struct writer *w)
{
	struct heartbeat h = { .ip_address = "10.0.0.1",
		.hostname = hosts[below(w, HOSTS)],
		.service_name = "s",
		.status = HOST_ACTIVE,
		.timestamp = FIELD_NULL };
	const char *last = w->held[below(w, HELD)];
	struct offer offer;

	if (*last)
		h.last_command_id = last;
	if (heartbeat_take(w->box.store, &h, "192.0.2.7", &offer) != 0)
		return -1;
	if (offer.command_id[0])
		memcpy(w->held[below(w, HELD)], offer.command_id, UUID_TEXT);
	offer_free(&offer);
	return 0;
}

static int
complete(struct writer *w)
{
	int outcome = below(w, 3);
	struct completion c = { .execution_time = 1,
		.exit_status = FIELD_NULL,
		.hostname = hosts[below(w, HOSTS)],
		.state = (enum command_state)(COMMAND_COMPLETED + outcome) };
	enum command_state state;
	enum refusal refusal;

	memcpy(c.command_id, w->held[below(w, HELD)], UUID_TEXT);
	if (!c.command_id[0])
		return 0;
	c.command_id_as_sent = c.command_id;
	if (completion_take(w->box.store, &c, NULL, &refusal, &state) != 0)
		return -1;
	if (refusal == REFUSAL_NONE)
		(void)fprintf(
		    w->ends, "%s %s\n", c.command_id, outcomes[outcome]);
	return 0;
}

/* No assertion in here: it is another process. */
static int
write_on(struct writer *w)
{
	enum store_failure failure;
	struct reason why = { "" };
	int result = store_open(w->box.path, &w->box.store, &failure, &why);

	for (int i = 0; result == 0 && i < STEPS; i++) {
		int at = below(w, 10);

		/* one that never rests would keep the lock from the others */
		(void)usleep((useconds_t)below(w, PAUSE_US));
		result = at < 3 ? ask(w) : at < 7 ? report_in(w) : complete(w);
	}
	if (!w->box.store) /* else the store's log says why */
		(void)fprintf(stderr, "# writer: %s\n", why.text);
	store_close(w->box.store);
	return fclose(w->ends) == 0 && result == 0 ? 0 : 1;
}

static pid_t
begin(const struct box *box, int number)
{
	char *path = mem_fmt("%s/ends.%d", box->dir, number);
	struct writer w = { .box = *box, .random = (unsigned)number };
	pid_t pid;

	w.ends = fopen(path, "we");
	ck_assert_ptr_nonnull(w.ends);
	free(path);
	(void)fflush(stdout);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		_exit(write_on(&w));
	(void)fclose(w.ends);
	return pid;
}

/* --- afterwards ---------------------------------------------------------- */

/* A command has the end that was reported and taken; one that had been
 * withdrawn keeps its state. */
static void
ends_are_as_reported(const struct box *box, int number)
{
	char *path = mem_fmt("%s/ends.%d", box->dir, number);
	FILE *ends = fopen(path, "re");
	char id[40], outcome[20];

	ck_assert_ptr_nonnull(ends);
	while (fscanf(ends, "%39s %19s", id, outcome) == 2) {
		char *sql = mem_fmt("SELECT status FROM ProfilingCommands"
				    " WHERE command_id = '%s' AND status NOT"
				    " IN ('superseded', 'cancelled', 'expired'"
				    ", '%s')",
		    id, outcome);

		rows_are(box, sql, "");
		free(sql);
	}
	(void)fclose(ends);
	(void)unlink(path);
	free(path);
}

static void
nothing_is_orphaned(const struct box *box)
{
	rows_are(box, "PRAGMA foreign_key_check", "");
	rows_are(box, "PRAGMA integrity_check", "ok");
	rows_are(box,
	    "SELECT count(*) FROM ProfilingCommands WHERE command_id NOT IN"
	    " (SELECT command_id FROM CommandRequests)",
	    "0");
	rows_are(box,
	    "SELECT command_id, c.status, c.ended_at, e.status,"
	    " e.completed_at FROM ProfilingCommands c"
	    " LEFT JOIN ProfilingExecutions e USING (command_id)"
	    " WHERE (c.status IN ('completed', 'failed', 'stopped'))"
	    " AND (e.status IS NOT c.status OR e.completed_at IS NULL"
	    "  OR c.ended_at IS NULL)"
	    " OR (c.status IN ('pending', 'sent', 'accepted', 'installing',"
	    " 'running') AND (c.ended_at IS NOT NULL"
	    "  OR e.completed_at IS NOT NULL))",
	    "");
}

START_TEST(eight_writers)
{
	pid_t pids[WRITERS];
	struct box box;

	/* durability is not what is tested here */
	if (access("/dev/shm", W_OK | X_OK) == 0)
		(void)setenv("TMPDIR", "/dev/shm", 1);
	box_place(&box); /* no connection is carried over a fork */
	for (int i = 0; i < WRITERS; i++)
		pids[i] = begin(&box, i);
	for (int i = 0; i < WRITERS; i++) {
		int status = -1;

		ck_assert_int_eq(waitpid(pids[i], &status, 0), pids[i]);
		ck_assert_msg(
		    status == 0, "writer %d ended with %d", i, status);
	}
	box.store = open_at(box.path);
	box_look(&box);
	rows_are(&box,
	    "SELECT count(*) > 20, count(DISTINCT status) > 2"
	    " FROM ProfilingExecutions",
	    "1|1");
	all_is_counted(&box);
	nothing_is_orphaned(&box);
	for (int i = 0; i < WRITERS; i++)
		ends_are_as_reported(&box, i);
	box_close(&box);
}
END_TEST

HARNESS_MAIN("writers", eight_writers)
