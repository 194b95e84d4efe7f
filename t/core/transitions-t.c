/*
 * Every event in every state: what core/command.h says, who may cause it,
 * and what the store does when it happens.
 */
#include "store/store.h"

#include "../store/store-helper.h"
#include "core/command.h"
#include "store/housekeeping.h"

enum actor { SERVER, AGENT, OPERATOR, CLOCK };

/* One letter a state, in their order; rows and columns are as in the enums. */
static const char letters[] = "PSAIRCFTUXE";
static const struct {
	enum command_state from;
	const char *by; /* events; a dot: it cannot happen */
} table[] = {
	{ COMMAND_PENDING, "S......XUE" },
	{ COMMAND_SENT, "SAIRCFTXUE" },
	{ COMMAND_ACCEPTED, ".AIRCFT..." },
	{ COMMAND_INSTALLING, "..IRCFT..." },
	{ COMMAND_RUNNING, "...RCFT..." },
	{ COMMAND_COMPLETED, "....C....." },
	{ COMMAND_FAILED, ".....F...." },
	{ COMMAND_STOPPED, "......T..." },
	{ COMMAND_SUPERSEDED, ".........." },
	{ COMMAND_CANCELLED, ".........." },
	{ COMMAND_EXPIRED, ".........." },
};

static const enum actor actors[N_COMMAND_EVENTS] = { SERVER, AGENT, AGENT,
	AGENT, AGENT, AGENT, AGENT, OPERATOR, OPERATOR, CLOCK };

/* The state that the table names, or -1. */
static int
after_table(size_t from, int by)
{
	const char *letter = strchr(letters, table[from].by[by]);

	return letter ? (int)(letter - letters) : -1;
}

START_TEST(every_event_in_every_state)
{
	ck_assert_uint_eq(sizeof table / sizeof *table, N_COMMAND_STATES);
	for (size_t s = 0; s < N_COMMAND_STATES; s++) {
		ck_assert_int_eq((int)table[s].from, (int)s);
		ck_assert_uint_eq(strlen(table[s].by), N_COMMAND_EVENTS);
		for (int e = 0; e < N_COMMAND_EVENTS; e++)
			ck_assert_msg(
			    command_next(table[s].from,
				(enum command_event)e) == after_table(s, e),
			    "%s, event %d", command_state_names[s], e);
	}
}
END_TEST

/* An end is an end, and states only go forward. */
START_TEST(ends_are_ends)
{
	for (int s = 0; s < N_COMMAND_STATES; s++) {
		enum command_state from = (enum command_state)s;

		ck_assert_int_eq(
		    command_state_is_end(from), s >= COMMAND_COMPLETED);
		for (int e = 0; e < N_COMMAND_EVENTS; e++) {
			int to = command_next(from, (enum command_event)e);

			ck_assert(to < 0 || to == s ||
				  (to > s && !command_state_is_end(from)));
		}
	}
}
END_TEST

/* Each state is entered by one of them only. */
START_TEST(who_may_cause_what)
{
	for (int e = 0; e < N_COMMAND_EVENTS; e++)
		for (int s = 0; s < N_COMMAND_STATES; s++) {
			int to = command_next(
			    (enum command_state)s, (enum command_event)e);
			enum actor who = to == COMMAND_SENT      ? SERVER
					 : to <= COMMAND_STOPPED ? AGENT
					 : to < COMMAND_EXPIRED  ? OPERATOR
								 : CLOCK;

			if (to >= 0)
				ck_assert_int_eq((int)actors[e], (int)who);
		}
}
END_TEST

START_TEST(names_are_found)
{
	for (int s = 0; s < N_COMMAND_STATES; s++)
		ck_assert_int_eq(command_state_of(command_state_names[s]), s);
	ck_assert_int_eq(command_state_of("nothing"), -1);
	ck_assert_ptr_null(command_state_names[N_COMMAND_STATES]);
}
END_TEST

/* --- the store ----------------------------------------------------------- */

static void
run_out(const struct box *box, const char *id)
{
	char *sql = mem_fmt("UPDATE ProfilingCommands SET expires_at ="
			    " '2001-01-01T00:00:00.000Z'"
			    " WHERE command_id = '%s'",
	    id);

	box_run(box, sql);
	free(sql);
}

static void
plain_beat(struct box *box, const char *more)
{
	struct offer offer;

	beat(box, "h", more, &offer);
	offer_free(&offer);
}

/* Lets the event happen; what a completion was answered, else nothing. */
static enum refusal
cause(struct box *box, const char *id, enum command_event event)
{
	static const char *const shown[] = {
		[EVENT_INSTALL] = "installing", [EVENT_RUN] = "running"
	};
	static const char *const ends[] = { [EVENT_COMPLETE] = "completed",
		[EVENT_FAIL] = "failed",
		[EVENT_STOP] = "stopped" };
	struct housekeeping round;
	char *more;

	switch (event) {
	case EVENT_HAND_OUT:
		plain_beat(box, "");
		break;
	case EVENT_ACCEPT:
		more = mem_fmt(",'last_command_id':'%s'", id);
		plain_beat(box, more);
		free(more);
		break;
	case EVENT_INSTALL:
	case EVENT_RUN:
		shows_state(box, id, shown[event]);
		break;
	case EVENT_COMPLETE:
	case EVENT_FAIL:
	case EVENT_STOP:
		return done(box, id, ends[event]);
	case EVENT_CANCEL:
		(void)asked(box, STOP_HOST);
		break;
	case EVENT_SUPERSEDE:
		(void)asked(box, STOP_HOSTS "{'h':[1]}");
		break;
	default:
		run_out(box, id);
		ck_assert_int_eq(housekeep(box->store, true, &round), 0);
	}
	return REFUSAL_NONE;
}

/* The event that leads from `sent` to a state. */
static enum command_event
event_to(enum command_state state)
{
	for (int e = EVENT_ACCEPT; e < N_COMMAND_EVENTS; e++)
		if (command_next(COMMAND_SENT, (enum command_event)e) ==
		    (int)state)
			return (enum command_event)e;
	return EVENT_HAND_OUT;
}

static void
status_is(const struct box *box, const char *id, int state, const char *about)
{
	char *sql = mem_fmt("SELECT status FROM ProfilingCommands"
			    " WHERE command_id = '%s'",
		 id),
	     *status = rows_of(box, sql);

	ck_assert_msg(strcmp(status, command_state_names[state]) == 0,
	    "%s: %s, not %s", about, status, command_state_names[state]);
	free(status);
	free(sql);
}

static bool
comes_with_a_heartbeat(enum command_event event)
{
	return event <= EVENT_RUN;
}

/* What a report must be answered. */
static enum refusal
answer_to(enum command_state state, enum command_event event)
{
	if (actors[event] != AGENT || comes_with_a_heartbeat(event))
		return REFUSAL_NONE;
	if (state == COMMAND_PENDING) /* it was never handed out */
		return REFUSAL_UNKNOWN;
	/* what was withdrawn in flight may have run all the same */
	if (state >= COMMAND_SUPERSEDED || after_table(state, event) >= 0)
		return REFUSAL_NONE;
	return REFUSAL_ENDED;
}

static void
try_event(enum command_state state, enum command_event event)
{
	char *about =
	    mem_fmt("%s, event %d", command_state_names[state], (int)event);
	int after = after_table(state, event);
	char id[UUID_TEXT];
	struct box box;

	box_open(&box);
	strcpy(id, asked(&box, START_HOSTS "{'h':[1,2]}"));
	if (state != COMMAND_PENDING) {
		plain_beat(&box, "");
		(void)cause(&box, id, event_to(state));
	}
	status_is(&box, id, (int)state, about);
	if (after < 0)
		after = (int)state;
	/* what still waits is handed out by the same heartbeat */
	if (after == COMMAND_PENDING && comes_with_a_heartbeat(event))
		after = COMMAND_SENT;
	ck_assert_msg(cause(&box, id, event) == answer_to(state, event),
	    "the answer in %s", about);
	status_is(&box, id, after, about);
	box_close(&box);
	free(about);
}

START_TEST(the_store_follows_the_table)
{
	if (access("/dev/shm", W_OK | X_OK) == 0)
		(void)setenv("TMPDIR", "/dev/shm", 1);
	for (int s = 0; s < N_COMMAND_STATES; s++)
		for (int e = 0; e < N_COMMAND_EVENTS; e++)
			try_event(
			    (enum command_state)s, (enum command_event)e);
}
END_TEST

HARNESS_MAIN("transitions", every_event_in_every_state, ends_are_ends,
    who_may_cause_what, names_are_found, the_store_follows_the_table)
