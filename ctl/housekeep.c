/* conspectctl housekeep [--watch] */
#include "ctl.h"
#include "dist.h"

#include "core/log.h"
#include "store/housekeeping.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Between two rounds: how late a command may expire, and how long the
 * write-ahead log may grow. */
#define WATCH_SECONDS 60
/* Every so many rounds all files are looked at. */
#define TIDY_ROUNDS 60

/* Removes archives of PerfSpect that were replaced; where the directory is
 * another user's, as under ./appliance up by root, that is left to them. */
static int
sweep_archives(struct store *store)
{
	char *place = dist_beside(store);
	struct dist dist = { .fd = -1 };
	struct reason why;
	int result = 0;

	if (access(place, W_OK) == 0 && dist_open(&dist, place, &why) == 0)
		result = dist_sweep(&dist, store, &why);
	dist_close(&dist);
	free(place);
	return result == 0 ? CTL_OK : ctl_fail("%s", why.text);
}

static int
round_of(struct store *store, bool tidy, bool always_say)
{
	struct housekeeping done;

	if (housekeep(store, tidy, &done) != 0)
		return CTL_FAILED;
	if (always_say || done.expired || done.deleted || done.requests ||
	    done.files)
		log_info("expired %lld commands; deleted %lld commands, %lld "
			 "requests, %lld sessions, %lld result files",
		    (long long)done.expired, (long long)done.deleted,
		    (long long)done.requests, (long long)done.sessions,
		    (long long)done.files);
	return tidy ? sweep_archives(store) : CTL_OK;
}

/* Waits for the next round; false when it is time to end. */
static bool
wait_for_round(const sigset_t *ends)
{
	struct timespec rest = { .tv_sec = WATCH_SECONDS };
	int n;

	do
		n = sigtimedwait(ends, NULL, &rest);
	while (n < 0 && errno == EINTR);
	return n < 0;
}

int
ctl_housekeep(struct store *store, const struct ctl_args *args)
{
	struct reason why;
	sigset_t ends;
	unsigned rounds = 0;
	int status;

	log_set_level(LOG_LEVEL_INFO);
	if (!args->watch)
		return round_of(store, true, true);
	(void)sigemptyset(&ends);
	(void)sigaddset(&ends, SIGTERM);
	(void)sigaddset(&ends, SIGINT);
	(void)sigprocmask(SIG_BLOCK, &ends, NULL);
	do {
		/* started again by who watches us, it opens the new file */
		if (store_check(store, &why) != 0)
			return ctl_fail("%s", why.text);
		/* a round that failed is tried again: the disk may be full
		 * for a while */
		status = round_of(store, rounds++ % TIDY_ROUNDS == 0, false);
	} while (wait_for_round(&ends));
	return status;
}
