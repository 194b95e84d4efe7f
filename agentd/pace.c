#include "agentd/pace.h"

#include "core/log.h"

#include <sodium.h>
#include <string.h>

/* More doublings than reach the maximum from the least base. */
#define DOUBLINGS_MAX 16

/* A random time up to max, both ends included. */
static int64_t
random_ms(int64_t max)
{
	return max > 0 ? (int64_t)randombytes_uniform((uint32_t)max + 1) : 0;
}

static int64_t
at_least_apart(int64_t ms)
{
	return ms < PACE_APART_MS ? PACE_APART_MS : ms;
}

void
pace_began(struct pace *p, int64_t now)
{
	p->last_ms = now;
}

void
pace_succeeded(struct pace *p, int64_t interval_ms, int64_t now)
{
	int64_t wait = interval_ms;

	if (p->failures)
		log_info("the server answers again, after %u failures",
		    p->failures);
	if (p->successes == 0)
		wait = random_ms(interval_ms);
	p->successes = 1;
	p->failures = 0;
	p->why.text[0] = '\0';
	/* from the beginning: a slow server does not move the phase */
	p->next_ms = p->last_ms + at_least_apart(wait);
	if (p->next_ms < now)
		p->next_ms = now;
}

void
pace_again(struct pace *p, int64_t now)
{
	p->failures = 0;
	p->why.text[0] = '\0';
	p->next_ms = now;
}

void
pace_failed(struct pace *p, int64_t base_ms, int64_t retry_after_ms,
    const struct reason *why, int64_t now)
{
	int64_t bound = base_ms;

	for (unsigned i = 0; i < p->failures && i < DOUBLINGS_MAX; i++)
		bound *= 2;
	if (bound > PACE_BACKOFF_MAX_MS)
		bound = PACE_BACKOFF_MAX_MS;
	p->failures++;
	if (strcmp(p->why.text, why->text) != 0) {
		log_error("%s", why->text);
		p->why = *why;
	}
	if (retry_after_ms > 0) /* after it, and not all in one moment */
		p->next_ms = now + retry_after_ms + random_ms(bound);
	else
		p->next_ms = now + at_least_apart(random_ms(bound));
}

void
pace_hasten(struct pace *p, int64_t now)
{
	int64_t soon = p->last_ms + PACE_APART_MS;

	if (p->failures)
		return;
	if (soon < now)
		soon = now;
	if (soon < p->next_ms)
		p->next_ms = soon;
}
