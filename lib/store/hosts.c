/* Hosts with their newest command, for reading. */
#include "store/db.h"

#include "core/clock.h"
#include "store/settings.h"

/* Why a host cannot have hardware metrics, by its agent's findings: PerfSpect
 * finds no counters, cannot be installed, or is not made for the machine. */
#define LACKING                                                               \
	" (SELECT f.value ->> 'text' FROM json_each(h.preflight) f"           \
	"  WHERE f.value ->> 'outcome' = 'problem'"                           \
	"  AND f.value ->> 'check' IN ('pmu', 'tmpdir', 'arch') LIMIT 1)"

#define SELECT_HOSTS                                                          \
	"SELECT h.id, h.hostname, h.service_name, h.ip_address, h.arch,"      \
	" h.heartbeat_timestamp, h.last_seen, h.agent_version,"               \
	" h.conflict_at, h.clock_skew_ms, h.preflight," LACKING ","           \
	" h.last_seen >= ?1 AND h.status <> 'offline',"                       \
	" coalesce(h.conflict_at >= ?1, 0),"                                  \
	" c.command_id, c.command_type, c.combined_config, c.status,"         \
	" c.reason, c.created_at, c.ended_at, e.execution_time,"              \
	" e.perfspect_version,"                                               \
	" EXISTS (SELECT 1 FROM ProfilingCommands o"                          \
	"  WHERE o.hostname = h.hostname"                                     \
	"  AND o.service_name = h.service_name AND o.kind <> 'stop'"          \
	"  AND o.status IN ('pending', 'sent', 'accepted', 'installing',"     \
	" 'running'))"                                                        \
	" FROM HostHeartbeats h"                                              \
	" LEFT JOIN ProfilingCommands c ON c.id ="                            \
	"  (SELECT max(n.id) FROM ProfilingCommands n"                        \
	"   WHERE n.service_name = h.service_name"                            \
	"   AND n.hostname = h.hostname)"                                     \
	" LEFT JOIN ProfilingExecutions e ON e.command_id = c.command_id"

static const char select_lacking[] =
    "SELECT count(lacking), min(lacking) FROM (SELECT" LACKING " AS lacking"
    "  FROM CommandRequests l JOIN ProfilingCommands c USING (command_id)"
    "  JOIN HostHeartbeats h ON h.service_name = c.service_name"
    "   AND h.hostname = c.hostname WHERE l.request_id = ?)";
static const char select_newest[] =
    SELECT_HOSTS " ORDER BY h.heartbeat_timestamp DESC, h.id DESC";
static const char select_by_name[] =
    SELECT_HOSTS " ORDER BY h.service_name, h.hostname";
static const char select_id[] = SELECT_HOSTS " WHERE h.id = ?2";
static const char select_name[] =
    SELECT_HOSTS " WHERE h.hostname = ?2 ORDER BY h.service_name";

static void
host_load(sqlite3_stmt *stmt, struct host *host)
{
	int i = 0;

	host->id = db_int(stmt, i++);
	host->hostname = db_text(stmt, i++);
	host->service_name = db_text(stmt, i++);
	host->ip_address = db_text(stmt, i++);
	host->arch = db_text(stmt, i++);
	host->heartbeat_timestamp = db_text(stmt, i++);
	host->last_seen = db_text(stmt, i++);
	host->agent_version = db_text(stmt, i++);
	host->conflict_at = db_text(stmt, i++);
	host->clock_skew_ms = db_int(stmt, i++);
	host->preflight = db_text(stmt, i++);
	host->lacking = db_text(stmt, i++);
	host->active = db_int(stmt, i++) == 1;
	host->conflict = db_int(stmt, i++) == 1;
	host->command_id = db_text(stmt, i++);
	host->command_type = db_text(stmt, i++);
	host->combined_config = db_text(stmt, i++);
	host->command_status = db_text(stmt, i++);
	host->reason = db_text(stmt, i++);
	host->created_at = db_text(stmt, i++);
	host->ended_at = db_text(stmt, i++);
	host->execution_time = db_int(stmt, i++);
	host->perfspect_version = db_text(stmt, i++);
	host->stoppable = db_int(stmt, i++) == 1;
}

static int
active_since(struct store *s, char text[CLOCK_TEXT])
{
	int64_t window;

	if (setting_get(s, SETTING_ACTIVE_WINDOW, &window) != 0)
		return -1;
	clock_format(clock_now_ms() - window * 1000, text);
	return 0;
}

/* Calls each() for the rows of a query; *n is how many there were. */
static int
walk(struct store *s, sqlite3_stmt *stmt,
    bool (*each)(void *context, const struct host *host), void *context,
    size_t *n)
{
	int row;

	*n = 0;
	if (!stmt)
		return -1;
	while ((row = db_step(s, stmt)) == 1) {
		struct host host;

		++*n;
		host_load(stmt, &host);
		if (!each(context, &host)) {
			(void)sqlite3_reset(stmt);
			return 0;
		}
	}
	return row;
}

int
host_each(struct store *s, enum host_order order,
    bool (*each)(void *context, const struct host *host), void *context)
{
	char since[CLOCK_TEXT];
	size_t n;

	if (active_since(s, since) != 0)
		return -1;
	return walk(s,
	    db_query(s,
		order == HOSTS_BY_NAME ? select_by_name : select_newest, "t",
		since),
	    each, context, &n);
}

int
host_by_id(struct store *s, int64_t id,
    bool (*each)(void *context, const struct host *host), void *context)
{
	char since[CLOCK_TEXT];
	size_t n;

	if (active_since(s, since) != 0 ||
	    walk(s, db_query(s, select_id, "ti", since, id), each, context,
		&n) != 0)
		return -1;
	return n ? 0 : STORE_NOT_FOUND;
}

int
host_by_name(struct store *s, const char *hostname,
    bool (*each)(void *context, const struct host *host), void *context)
{
	char since[CLOCK_TEXT];
	size_t n;

	if (active_since(s, since) != 0 ||
	    walk(s, db_query(s, select_name, "tt", since, hostname), each,
		context, &n) != 0)
		return -1;
	return n ? 0 : STORE_NOT_FOUND;
}

int
hosts_lacking(
    struct store *s, const char *request_id, int64_t *n, struct reason *why)
{
	sqlite3_stmt *stmt = db_query(s, select_lacking, "t", request_id);

	if (!stmt || db_step(s, stmt) != 1)
		return -1;
	*n = db_int(stmt, 0);
	(void)reason_set(why, "%s", *n ? db_text(stmt, 1) : "");
	(void)sqlite3_reset(stmt);
	return 0;
}
