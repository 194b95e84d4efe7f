#include "store/settings.h"

#include "core/clock.h"
#include "store/db.h"

#include <string.h>

const struct setting_info settings[N_SETTINGS] = {
	[SETTING_COMMAND_EXPIRY] = { "command_expiry", 24 * 3600, 60,
	    EXPIRES_IN_MAX, "s",
	    "a command that no host took is given up after this" },
	[SETTING_ACTIVE_WINDOW] = { "active_window", 600, 10, 24 * 3600, "s",
	    "a host is active while it was seen this recently" },
	[SETTING_REQUEST_HOSTS] = { "request_hosts", REQUEST_HOSTS_MAX, 1,
	    REQUEST_HOSTS_MAX, "hosts", "hosts that one request may name" },
	[SETTING_KEEP_COMMANDS] = { "keep_commands", 1000000, 1000, 100000000,
	    "commands", "ended commands that are kept, the newest" },
	[SETTING_KEEP_DAYS] = { "keep_days", 90, 1, 3650, "days",
	    "ended commands are kept this long" },
	/* what our agent takes; no default, since each host has its own */
	[SETTING_HEARTBEAT_INTERVAL] = { "heartbeat_interval", FIELD_NULL, 5,
	    3600, "s",
	    "agents report this often, whatever their hosts' settings say" },
	[SETTING_RESULTS_KEEP_DAYS] = { "results_keep_days", 30, 1, 3650,
	    "days", "result files are kept this long" },
	[SETTING_RESULTS_KEEP_MIB] = { "results_keep_mib", 2048, 1, 16777216,
	    "MiB", "result files together, the oldest go first" },
};

static const char select_setting[] =
    "SELECT value FROM Settings WHERE key = ?";
static const char upsert_setting[] =
    "INSERT INTO Settings (key, value, changed_at) VALUES (?1, ?2, ?3)"
    " ON CONFLICT (key) DO UPDATE SET value = excluded.value,"
    " changed_at = excluded.changed_at";
static const char delete_setting[] = "DELETE FROM Settings WHERE key = ?";

int
setting_of(const char *key)
{
	for (int i = 0; i < N_SETTINGS; i++)
		if (strcmp(settings[i].key, key) == 0)
			return i;
	return -1;
}

int
setting_get(struct store *s, enum setting setting, int64_t *value)
{
	sqlite3_stmt *stmt =
	    db_query(s, select_setting, "t", settings[setting].key);
	int n;

	*value = settings[setting].fallback;
	if (!stmt)
		return -1;
	n = db_step(s, stmt);
	if (n == 1) {
		*value = db_int(stmt, 0);
		(void)sqlite3_reset(stmt);
	}
	return n < 0 ? -1 : 0;
}

int
setting_check(
    struct store *s, enum setting setting, int64_t value, struct reason *why)
{
	int64_t window, interval;

	if (setting_get(s, SETTING_ACTIVE_WINDOW, &window) != 0 ||
	    setting_get(s, SETTING_HEARTBEAT_INTERVAL, &interval) != 0)
		return -1;
	if (setting == SETTING_ACTIVE_WINDOW)
		window = value;
	else if (setting == SETTING_HEARTBEAT_INTERVAL)
		interval = value;
	else
		return 0;
	if (interval == FIELD_NULL || window >= ACTIVE_INTERVALS * interval)
		return 0;
	(void)reason_set(why,
	    "with heartbeat_interval %lld s and active_window %lld s hosts "
	    "that are well would be inactive: set active_window to %lld or "
	    "more first, or heartbeat_interval to %lld or less",
	    (long long)interval, (long long)window,
	    (long long)(ACTIVE_INTERVALS * interval),
	    (long long)(window / ACTIVE_INTERVALS));
	return STORE_CONFLICT;
}

int
setting_set(struct store *s, enum setting setting, int64_t value)
{
	char now[CLOCK_TEXT];
	struct reason why;
	int result;

	clock_format(clock_now_ms(), now);
	if (db_begin(s, DB_DURABLE) != 0)
		return -1;
	result = setting_check(s, setting, value, &why);
	if (result == 0)
		result = db_run(s, upsert_setting, "tit",
		    settings[setting].key, value, now);
	return db_end(s, result);
}

int
setting_unset(struct store *s, enum setting setting)
{
	struct reason why;
	int result;

	if (db_begin(s, DB_DURABLE) != 0)
		return -1;
	result = setting_check(s, setting, settings[setting].fallback, &why);
	if (result == 0)
		result = db_run(s, delete_setting, "t", settings[setting].key);
	return db_end(s, result);
}
