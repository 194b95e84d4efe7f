/* Migrating: a new schema, and databases from before there were versions. */
#include "store/store.h"

#include "store-helper.h"

/* The feature's tables, as an older program made them in SQLite. */
#define OLD_REQUESTS(more)                                                    \
	"CREATE TABLE ProfilingRequests (request_id TEXT PRIMARY KEY,"        \
	" service_name TEXT NOT NULL, request_type TEXT NOT NULL,"            \
	" duration INTEGER DEFAULT 60, frequency INTEGER DEFAULT 11,"         \
	" profiling_mode TEXT NOT NULL DEFAULT 'cpu',"                        \
	" target_hostnames TEXT NOT NULL, pids TEXT,"                         \
	" stop_level TEXT DEFAULT 'process'," more                            \
	" status TEXT NOT NULL DEFAULT 'pending',"                            \
	" created_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP);"
#define OLD_ROW                                                               \
	"INSERT INTO ProfilingRequests (request_id, service_name,"            \
	" request_type, duration, target_hostnames, pids, status, "           \
	"created_at)"                                                         \
	" VALUES ('9fc52b84-18dd-4e67-92d6-6e47f871027c', 'web', 'start',"    \
	" 300, '[\"h1\"]', '[1,2]', 'completed', '2025-03-04 05:06:07');"
#define OLD_HOSTS                                                             \
	"CREATE TABLE HostHeartbeats (id INTEGER PRIMARY KEY,"                \
	" hostname TEXT NOT NULL, ip_address TEXT NOT NULL,"                  \
	" service_name TEXT NOT NULL, last_command_id TEXT,"                  \
	" status TEXT NOT NULL, heartbeat_timestamp TEXT NOT NULL);"          \
	"INSERT INTO HostHeartbeats VALUES (7, 'h1', '10.0.0.1', 'web', "     \
	"NULL,"                                                               \
	" 'active', '2025-03-04 05:06:07.5');"
#define OLD_COMMANDS                                                          \
	"CREATE TABLE ProfilingCommands (command_id TEXT PRIMARY KEY,"        \
	" hostname TEXT NOT NULL, service_name TEXT NOT NULL,"                \
	" command_type TEXT NOT NULL, request_ids TEXT NOT NULL,"             \
	" combined_config TEXT, status TEXT NOT NULL, created_at TEXT);"      \
	"INSERT INTO ProfilingCommands VALUES"                                \
	" ('2eb429c9-29ce-432c-81f8-23a06ab98645', 'h1', 'web', 'start',"     \
	" '[\"9fc52b84-18dd-4e67-92d6-6e47f871027c\"]',"                      \
	" '{\"continuous\":true}', 'completed', '2025-03-04 05:06:08');"

/* A database as `sql` makes it, without a store. */
static void
box_older(struct box *box, const char *sql)
{
	box_place(box);
	box_look(box);
	box_run(box, sql);
}

START_TEST(a_new_database_has_the_newest_schema)
{
	struct box box;

	box_open(&box);
	ck_assert_int_eq(
	    store_schema_version(box.store), store_schema_newest());
	rows_are(&box, "PRAGMA application_id", "1129533524");
	rows_are(&box,
	    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name IN"
	    " ('ProfilingRequests', 'ProfilingCommands', 'HostHeartbeats',"
	    " 'ProfilingExecutions', 'Users') ORDER BY name",
	    "HostHeartbeats\nProfilingCommands\nProfilingExecutions\n"
	    "ProfilingRequests\nUsers");
	rows_are(&box, "PRAGMA integrity_check", "ok");
	box_close(&box);
}
END_TEST

START_TEST(opening_again_changes_nothing)
{
	struct box box;
	char *before, *after;

	box_open(&box);
	before = rows_of(&box, "SELECT sql FROM sqlite_schema ORDER BY name");
	store_close(box.store);
	box.store = open_at(box.path);
	after = rows_of(&box, "SELECT sql FROM sqlite_schema ORDER BY name");
	ck_assert_str_eq(before, after);
	free(before);
	free(after);
	box_close(&box);
}
END_TEST

static void
row_is_kept(const struct box *box, const char *continuous, const char *args)
{
	char *expected =
	    mem_fmt("9fc52b84-18dd-4e67-92d6-6e47f871027c|web|start|300|11|"
		    "cpu|[\"h1\"]|[1,2]|process|completed|"
		    "2025-03-04T05:06:07.000Z|%s|%s",
		continuous, args);

	rows_are(box,
	    "SELECT request_id, service_name, request_type, duration,"
	    " frequency, profiling_mode, target_hostnames, pids, stop_level,"
	    " status, created_at, continuous, additional_args"
	    " FROM ProfilingRequests",
	    expected);
	free(expected);
}

/* The document's «Database Schema Mismatch». */
START_TEST(a_database_without_the_columns_keeps_its_rows)
{
	struct box box;

	box_older(&box, OLD_REQUESTS("") OLD_ROW);
	box.store = open_at(box.path);
	row_is_kept(&box, "0", "null");
	rows_are(&box,
	    "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'Old%'", "0");
	rows_are(&box, "PRAGMA application_id", "1129533524");
	ck_assert_int_eq(
	    store_schema_version(box.store), store_schema_newest());
	box_close(&box);
}
END_TEST

START_TEST(a_database_without_additional_args_keeps_continuous)
{
	struct box box;

	box_older(&box,
	    OLD_REQUESTS(" continuous BOOLEAN NOT NULL DEFAULT false,") OLD_ROW
	    "UPDATE ProfilingRequests SET continuous = true");
	box.store = open_at(box.path);
	row_is_kept(&box, "1", "null");
	box_close(&box);
}
END_TEST

START_TEST(a_database_without_continuous_keeps_additional_args)
{
	struct box box;

	box_older(&box, OLD_REQUESTS(" additional_args TEXT,") OLD_ROW
	    "UPDATE ProfilingRequests SET additional_args ="
	    " '{\"enable_perfspect\":true}'");
	box.store = open_at(box.path);
	row_is_kept(&box, "0", "{\"enable_perfspect\":true}");
	rows_are(&box,
	    "SELECT count(*) FROM ProfilingRequests"
	    " WHERE additional_args LIKE '%perfspect%'",
	    "1");
	box_close(&box);
}
END_TEST

START_TEST(all_of_the_older_tables_are_taken_over)
{
	struct box box;

	box_older(&box, OLD_REQUESTS("") OLD_ROW OLD_HOSTS OLD_COMMANDS);
	box.store = open_at(box.path);
	row_is_kept(&box, "0", "null");
	rows_are(&box,
	    "SELECT id, hostname, ip_address, service_name, last_command_id,"
	    " status, heartbeat_timestamp, last_seen FROM HostHeartbeats",
	    "7|h1|10.0.0.1|web|null|active|2025-03-04T05:06:07.500Z|"
	    "1970-01-01T00:00:00.000Z");
	rows_are(&box,
	    "SELECT command_id, hostname, combined_config, kind, status,"
	    " created_at FROM ProfilingCommands",
	    "2eb429c9-29ce-432c-81f8-23a06ab98645|h1|{\"continuous\":true}|"
	    "continuous|completed|2025-03-04T05:06:08.000Z");
	box_close(&box);
}
END_TEST

START_TEST(a_table_with_more_columns_is_kept_aside)
{
	struct box box;

	box_older(&box, OLD_REQUESTS(" owner TEXT DEFAULT 'ann',") OLD_ROW);
	box.store = open_at(box.path);
	row_is_kept(&box, "0", "null");
	rows_are(&box, "SELECT owner, service_name FROM OldProfilingRequests",
	    "ann|web");
	box_close(&box);
}
END_TEST

START_TEST(an_older_database_can_be_used)
{
	struct box box;
	struct submission out;

	box_older(&box, OLD_REQUESTS("") OLD_ROW OLD_HOSTS OLD_COMMANDS);
	box.store = open_at(box.path);
	ck_assert_int_eq(submit(&box, START_HOSTS "{'h1':null}", &out), 0);
	ck_assert_uint_eq(out.n_commands, 1);
	submission_free(&out);
	rows_are(&box, "SELECT status FROM ProfilingCommands ORDER BY id",
	    "completed\npending");
	box_close(&box);
}
END_TEST

/* A row that our rules forbid: nothing is done at all. */
START_TEST(a_migration_that_fails_leaves_the_file_as_it_was)
{
	static const char dump[] =
	    "SELECT type, name, sql FROM sqlite_schema ORDER BY name";
	struct box box;
	struct store *store;
	struct reason why = { "" };
	enum store_failure failure;
	char *before, *after;

	box_older(&box, OLD_REQUESTS("") OLD_ROW
	    "UPDATE ProfilingRequests SET request_type = 'bogus'");
	before = rows_of(&box, dump);
	ck_assert_int_eq(store_open(box.path, &store, &failure, &why), -1);
	ck_assert_msg(strstr(why.text, "copying the rows of an older "
				       "database: CHECK constraint failed") &&
			  strstr(why.text, box.path),
	    "%s", why.text);
	after = rows_of(&box, dump);
	ck_assert_str_eq(before, after);
	rows_are(&box,
	    "SELECT request_type, created_at"
	    " FROM ProfilingRequests",
	    "bogus|2025-03-04 05:06:07");
	rows_are(&box, "PRAGMA user_version", "0");
	rows_are(&box, "PRAGMA application_id", "0");
	free(before);
	free(after);
	box_close(&box);
}
END_TEST

HARNESS_MAIN("migrate", a_new_database_has_the_newest_schema,
    opening_again_changes_nothing,
    a_database_without_the_columns_keeps_its_rows,
    a_database_without_additional_args_keeps_continuous,
    a_database_without_continuous_keeps_additional_args,
    all_of_the_older_tables_are_taken_over,
    a_table_with_more_columns_is_kept_aside, an_older_database_can_be_used,
    a_migration_that_fails_leaves_the_file_as_it_was)
