/*
 * Settings: what an operator may change while the appliance runs, with
 * `conspectctl set`.  Whole numbers, each with its bounds.
 */
#ifndef CONSPECT_STORE_SETTINGS_H
#define CONSPECT_STORE_SETTINGS_H

#include "store/store.h"

enum setting {
	SETTING_COMMAND_EXPIRY,
	SETTING_ACTIVE_WINDOW,
	SETTING_REQUEST_HOSTS,
	SETTING_KEEP_COMMANDS,
	SETTING_KEEP_DAYS,
	SETTING_HEARTBEAT_INTERVAL,
	SETTING_RESULTS_KEEP_DAYS,
	SETTING_RESULTS_KEEP_MIB,
	N_SETTINGS,
};

/* How many of heartbeat_interval fit into active_window, at least: a heartbeat
 * that is late or lost does not make its host inactive. */
#define ACTIVE_INTERVALS 2

/* What is known about a setting, for lists and man pages. */
struct setting_info {
	const char *key;
	int64_t fallback; /* the default; FIELD_NULL: there is none */
	int64_t min, max;
	const char *unit;    /* "s", "hosts", ... */
	const char *meaning; /* a line */
};

extern const struct setting_info settings[N_SETTINGS];

/* The value in force, FIELD_NULL where it is not set and has no default; 0,
 * or -1 failed. */
int setting_get(struct store *store, enum setting setting, int64_t *value)
    __attribute__((nonnull, warn_unused_result));

/* The setting of that key, or -1. */
int setting_of(const char *key) __attribute__((nonnull));

/* Whether the setting can have this value beside the others: 0, STORE_CONFLICT
 * with the reason, or -1 failed. */
int setting_check(struct store *store, enum setting setting, int64_t value,
    struct reason *why) __attribute__((nonnull, warn_unused_result));

/* `value` must be within the setting's bounds.  STORE_CONFLICT by
 * setting_check(). */
int setting_set(struct store *store, enum setting setting, int64_t value)
    __attribute__((nonnull, warn_unused_result));

/* Back to the default; STORE_CONFLICT as above. */
int setting_unset(struct store *store, enum setting setting)
    __attribute__((nonnull, warn_unused_result));

#endif
