/* Hosts with their newest command, for reading. */
#include "store/db.h"

#include "core/clock.h"

#define SELECT_HOSTS                                                          \
	"SELECT h.id, h.hostname, h.service_name, h.ip_address, h.arch,"      \
	" h.heartbeat_timestamp, h.last_seen, h.last_seen >= ?1,"             \
	" c.command_id, c.command_type, c.combined_config, c.status,"         \
	" c.reason, c.created_at, c.ended_at, e.execution_time,"              \
	" e.perfspect_version,"                                               \
	" EXISTS (SELECT 1 FROM ProfilingCommands o"                          \
	"  WHERE o.hostname = h.hostname"                                     \
	"  AND o.service_name = h.service_name AND o.kind <> 'stop'"          \
	"  AND o.status IN ('pending', 'sent', 'accepted', 'installing',"     \
	"  'running'))"                                                       \
	" FROM HostHeartbeats h"                                              \
	" LEFT JOIN ProfilingCommands c ON c.id ="                            \
	"  (SELECT max(n.id) FROM ProfilingCommands n"                        \
	"   WHERE n.service_name = h.service_name"                            \
	"   AND n.hostname = h.hostname)"                                     \
	" LEFT JOIN ProfilingExecutions e ON e.command_id = c.command_id"

static const char select_newest[] =
    SELECT_HOSTS " ORDER BY h.heartbeat_timestamp DESC, h.id DESC";
static const char select_by_name[] =
    SELECT_HOSTS " ORDER BY h.service_name, h.hostname";
static const char select_host[] = SELECT_HOSTS " WHERE h.id = ?2";

static void
host_load(sqlite3_stmt *stmt, struct host *host)
{
	host->id = db_int(stmt, 0);
	host->hostname = db_text(stmt, 1);
	host->service_name = db_text(stmt, 2);
	host->ip_address = db_text(stmt, 3);
	host->arch = db_text(stmt, 4);
	host->heartbeat_timestamp = db_text(stmt, 5);
	host->last_seen = db_text(stmt, 6);
	host->active = db_int(stmt, 7) == 1;
	host->command_id = db_text(stmt, 8);
	host->command_type = db_text(stmt, 9);
	host->combined_config = db_text(stmt, 10);
	host->command_status = db_text(stmt, 11);
	host->reason = db_text(stmt, 12);
	host->created_at = db_text(stmt, 13);
	host->ended_at = db_text(stmt, 14);
	host->execution_time = db_int(stmt, 15);
	host->perfspect_version = db_text(stmt, 16);
	host->stoppable = db_int(stmt, 17) == 1;
}

static const char *
active_since(char text[CLOCK_TEXT])
{
	clock_format(clock_now_ms() - ACTIVE_WINDOW_MS, text);
	return text;
}

int
host_each(struct store *s, enum host_order order,
    bool (*each)(void *context, const struct host *host), void *context)
{
	char since[CLOCK_TEXT];
	sqlite3_stmt *stmt = db_query(s,
	    order == HOSTS_BY_NAME ? select_by_name : select_newest, "t",
	    active_since(since));
	int n;

	if (!stmt)
		return -1;
	while ((n = db_step(s, stmt)) == 1) {
		struct host host;

		host_load(stmt, &host);
		if (!each(context, &host)) {
			(void)sqlite3_reset(stmt);
			return 0;
		}
	}
	return n;
}

int
host_by_id(struct store *s, int64_t id,
    bool (*each)(void *context, const struct host *host), void *context)
{
	char since[CLOCK_TEXT];
	sqlite3_stmt *stmt =
	    db_query(s, select_host, "ti", active_since(since), id);
	struct host host;
	int n;

	if (!stmt)
		return -1;
	n = db_step(s, stmt);
	if (n != 1)
		return n < 0 ? -1 : STORE_NOT_FOUND;
	host_load(stmt, &host);
	(void)each(context, &host);
	(void)sqlite3_reset(stmt);
	return 0;
}
