/* When an agent speaks: its phase, its back-off, and that it is random. */
#include "t/agentd/suite.h"

#include "agentd/pace.h"
#include "core/log.h"

#include <sodium.h>
#include <string.h>

/* As many agents as one that lost its server may have beside it. */
#define AGENTS 10000
#define INTERVAL 30000
/* Parts into which a span of time is divided, to see whether each is used. */
#define PARTS 10

static struct buf quiet = BUF_INIT(1 << 20);

static void
set_up(void)
{
	ck_assert_int_ge(sodium_init(), 0);
	log_to_buf(&quiet);
}

static void
tear_down(void)
{
	log_to_buf(NULL);
	buf_free(&quiet);
}

/* The wait after so many failures, from now on. */
static int64_t
wait_after(unsigned failures, int64_t retry_after)
{
	const struct reason why = { "away" };
	struct pace p = { 0 };

	for (unsigned i = 0; i < failures; i++)
		pace_failed(&p, INTERVAL, i + 1 < failures ? 0 : retry_after,
		    &why, 1000);
	return p.next_ms - 1000;
}

/* Counts one time into the part of the span that it falls into. */
static void
count_part(unsigned parts[PARTS], int64_t ms, int64_t span)
{
	int64_t part = ms * PARTS / (span + 1);

	ck_assert_int_ge(ms, 0);
	ck_assert_int_le(ms, span);
	parts[part]++;
}

/*
 * Each part has its tenth of the agents, give or take a fifth: for 10,000
 * that is seven standard deviations, so chance does not fail the test.
 */
static void
check_even(const unsigned parts[PARTS], size_t first)
{
	for (size_t i = first; i < PARTS; i++) {
		ck_assert_uint_gt(parts[i], AGENTS / PARTS * 4 / 5);
		ck_assert_uint_lt(parts[i], AGENTS / PARTS * 6 / 5);
	}
}

START_TEST(failures_are_waited_out_over_the_whole_of_a_bound_that_doubles)
{
	static const int64_t bounds[] = { 30000, 60000, 120000, 240000,
		PACE_BACKOFF_MAX_MS, PACE_BACKOFF_MAX_MS };

	for (unsigned f = 0; f < SUITE_N(bounds); f++) {
		unsigned parts[PARTS] = { 0 };

		for (int i = 0; i < AGENTS; i++) {
			int64_t ms = wait_after(f + 1, 0);

			ck_assert_int_ge(ms, PACE_APART_MS);
			count_part(parts, ms, bounds[f]);
		}
		check_even(parts, 0);
	}
}
END_TEST

START_TEST(the_bound_holds_after_any_number_of_failures)
{
	int64_t most = 0;

	for (int i = 0; i < 200; i++) {
		int64_t ms = wait_after(1000, 0);

		most = ms > most ? ms : most;
	}
	ck_assert_int_le(most, PACE_BACKOFF_MAX_MS);
	ck_assert_int_gt(most, PACE_BACKOFF_MAX_MS / 2);
}
END_TEST

START_TEST(a_retry_after_is_waited_for_and_then_spread)
{
	unsigned parts[PARTS] = { 0 };

	for (int i = 0; i < AGENTS; i++)
		count_part(parts, wait_after(1, 120000) - 120000, INTERVAL);
	check_even(parts, 0);
}
END_TEST

START_TEST(each_agent_has_a_phase_of_its_own_and_keeps_it)
{
	unsigned parts[PARTS] = { 0 };

	for (int i = 0; i < AGENTS; i++) {
		struct pace p = { 0 };
		int64_t phase;

		pace_began(&p, 1000);
		pace_succeeded(&p, INTERVAL, 1005);
		phase = p.next_ms;
		count_part(parts, phase - 1000, INTERVAL);
		/* answers that take their time do not move it */
		for (int beat = 1; beat < 4; beat++) {
			pace_began(&p, p.next_ms);
			pace_succeeded(&p, INTERVAL, p.next_ms + 900);
			ck_assert_int_eq(
			    p.next_ms, phase + beat * (int64_t)INTERVAL);
		}
	}
	check_even(parts, 0);
}
END_TEST

START_TEST(an_answer_later_than_the_interval_is_followed_at_once)
{
	struct pace p = { .successes = 1 };

	pace_began(&p, 1000);
	pace_succeeded(&p, INTERVAL, 50000);
	ck_assert_int_eq(p.next_ms, 50000);
}
END_TEST

START_TEST(news_hasten_a_healthy_agent_only)
{
	const struct reason why = { "away" };
	struct pace p = { .successes = 1 };
	int64_t before;

	pace_began(&p, 1000);
	pace_succeeded(&p, INTERVAL, 1010);
	pace_hasten(&p, 1020);
	ck_assert_int_eq(p.next_ms, 1000 + PACE_APART_MS);
	pace_hasten(&p, 9000);
	ck_assert_int_eq(p.next_ms, 1000 + PACE_APART_MS);
	pace_failed(&p, INTERVAL, 60000, &why, 9000);
	before = p.next_ms;
	pace_hasten(&p, 9000);
	ck_assert_int_eq(p.next_ms, before);
}
END_TEST

START_TEST(a_success_forgets_the_failures)
{
	const struct reason why = { "away" };
	struct pace p = { .successes = 1 };

	for (int i = 0; i < 5; i++)
		pace_failed(&p, INTERVAL, 0, &why, 1000);
	pace_began(&p, 2000);
	pace_succeeded(&p, INTERVAL, 2000);
	ck_assert_uint_eq(p.failures, 0);
	ck_assert_str_eq(p.why.text, "");
	ck_assert_int_eq(p.next_ms, 2000 + INTERVAL);
}
END_TEST

static size_t
lines_with(const char *text)
{
	size_t n = 0;

	for (const char *at = buf_text(&quiet); (at = strstr(at, text)); at++)
		n++;
	return n;
}

START_TEST(a_reason_is_logged_when_it_is_a_new_one)
{
	const struct reason away = { "it is away" }, busy = { "it is busy" };
	struct pace p = { 0 };

	buf_clear(&quiet);
	for (int i = 0; i < 3; i++)
		pace_failed(&p, INTERVAL, 0, &away, 1000);
	pace_failed(&p, INTERVAL, 0, &busy, 1000);
	ck_assert_uint_eq(lines_with("it is away"), 1);
	ck_assert_uint_eq(lines_with("it is busy"), 1);
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = {
		failures_are_waited_out_over_the_whole_of_a_bound_that_doubles,
		the_bound_holds_after_any_number_of_failures,
		a_retry_after_is_waited_for_and_then_spread,
		each_agent_has_a_phase_of_its_own_and_keeps_it,
		an_answer_later_than_the_interval_is_followed_at_once,
		news_hasten_a_healthy_agent_only,
		a_success_forgets_the_failures,
		a_reason_is_logged_when_it_is_a_new_one
	};

	return suite_run_with(
	    "pace", tests, SUITE_N(tests), set_up, tear_down);
}
