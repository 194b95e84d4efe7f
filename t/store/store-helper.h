/*
 * A store in a temporary directory, fed with JSON through the real readers
 * and looked at through a second connection.
 *
 * In the JSON ' stands for ".  All of it is about service "s" and, where no
 * other is named, host "h".
 */
#ifndef CONSPECT_T_STORE_STORE_HELPER_H
#define CONSPECT_T_STORE_STORE_HELPER_H

#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/log.h"
#include "../core/json-helper.h"
#include "core/mem.h"
#include "store/store.h"

struct box {
	char *dir, *path; /* of the database */
	struct store *store;
	sqlite3 *eye; /* the second connection */
};

static inline struct store *
open_at(const char *path)
{
	enum store_failure failure;
	struct reason why = { "" };
	struct store *store = NULL;

	ck_assert_msg(
	    store_open(path, &store, &failure, &why) == 0, "%s", why.text);
	return store;
}

/* A directory and a path in it, without a database. */
static inline void
box_place(struct box *box)
{
	const char *tmp = getenv("TMPDIR");

	memset(box, 0, sizeof *box);
	log_set_level(LOG_LEVEL_ERROR);
	ck_assert_int_eq(secret_init(), 0);
	box->dir = mem_fmt("%s/conspect-store.XXXXXX", tmp ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(box->dir));
	box->path = mem_fmt("%s/conspect.db", box->dir);
}

static inline void
box_look(struct box *box)
{
	ck_assert_int_eq(sqlite3_open(box->path, &box->eye), SQLITE_OK);
	(void)sqlite3_busy_timeout(box->eye, 10000);
}

static inline void
box_open(struct box *box)
{
	box_place(box);
	box->store = open_at(box->path);
	box_look(box);
}

static inline void
box_unlink(const struct box *box, const char *name)
{
	char *path = mem_fmt("%s/%s", box->dir, name);

	(void)unlink(path);
	free(path);
}

static inline void
box_close(struct box *box)
{
	store_close(box->store);
	(void)sqlite3_close(box->eye);
	box_unlink(box, "conspect.db");
	box_unlink(box, "conspect.db-wal");
	box_unlink(box, "conspect.db-shm");
	ck_assert_msg(rmdir(box->dir) == 0, "%s is not empty", box->dir);
	free(box->path);
	free(box->dir);
}

/* --- looking ------------------------------------------------------------- */

/* The rows of a query, columns by '|', rows by a newline, null as «null»;
 * the caller frees it. */
static inline char *
rows_of(const struct box *box, const char *sql)
{
	struct buf text = BUF_INIT(1000000);
	sqlite3_stmt *stmt = NULL;

	ck_assert_msg(
	    sqlite3_prepare_v2(box->eye, sql, -1, &stmt, NULL) == SQLITE_OK,
	    "%s: %s", sql, sqlite3_errmsg(box->eye));
	buf_str(&text, "");
	while (sqlite3_step(stmt) == SQLITE_ROW) {
		buf_str(&text, text.len ? "\n" : "");
		for (int i = 0; i < sqlite3_column_count(stmt); i++) {
			const char *value =
			    (const char *)sqlite3_column_text(stmt, i);

			buf_fmt(&text, "%s%s", i ? "|" : "",
			    value ? value : "null");
		}
	}
	(void)sqlite3_finalize(stmt);
	return text.data ? text.data : mem_copy("");
}

static inline void
rows_are(const struct box *box, const char *sql, const char *expected)
{
	char *rows = rows_of(box, sql);

	ck_assert_msg(strcmp(rows, expected) == 0, "%s\ngives %s\nnot %s", sql,
	    rows, expected);
	free(rows);
}

static inline void
box_run(const struct box *box, const char *sql)
{
	char *message = NULL;

	ck_assert_msg(
	    sqlite3_exec(box->eye, sql, NULL, NULL, &message) == SQLITE_OK,
	    "%s: %s", sql, message ? message : "?");
}

/* The states of all commands, in order: "sent stop, pending adhoc". */
static inline void
commands_are(const struct box *box, const char *expected)
{
	rows_are(box,
	    "SELECT coalesce(group_concat(status || ' ' || kind, ', '), '')"
	    " FROM (SELECT * FROM ProfilingCommands ORDER BY id)",
	    expected);
}

/*
 * What must hold after anything: the numbers and the status of each request
 * are those of its commands, and a host has one pending command of a kind.
 */
#define OF_REQUEST                                                            \
	" (SELECT count(*) FROM ProfilingCommands c JOIN CommandRequests l"   \
	"  USING (command_id) WHERE l.request_id = r.request_id"
static inline void
all_is_counted(const struct box *box)
{
	rows_are(box,
	    "WITH n AS (SELECT r.*," OF_REQUEST ") AS c," OF_REQUEST
	    "  AND c.status = 'pending') AS w," OF_REQUEST
	    "  AND c.status IN ('sent', 'accepted', 'installing', 'running'))"
	    " AS o," OF_REQUEST "  AND c.status = 'failed') AS f," OF_REQUEST
	    "  AND c.status IN ('completed', 'stopped')) AS d"
	    " FROM ProfilingRequests r)"
	    " SELECT request_id, status, c, n_commands, w, n_waiting, o,"
	    " n_open, f, n_failed, d, n_done FROM n WHERE n_commands <> c"
	    " OR n_waiting <> w OR n_open <> o OR n_failed <> f"
	    " OR n_done <> d OR status <> CASE"
	    "  WHEN w > 0 AND w = c THEN 'pending'"
	    "  WHEN w + o > 0 THEN 'assigned' WHEN f > 0 THEN 'failed'"
	    "  WHEN d > 0 THEN 'completed' ELSE 'cancelled' END",
	    "");
	rows_are(box,
	    "SELECT lower(hostname), service_name, kind"
	    " FROM ProfilingCommands WHERE status = 'pending'"
	    " GROUP BY 1, 2, 3 HAVING count(*) > 1",
	    "");
}

/* --- feeding ------------------------------------------------------------- */

/* Submits a request; the caller frees the submission. */
static inline int
submit(struct box *box, const char *members, struct submission *submission)
{
	char *text = mem_fmt("{'service_name':'s',%s}", members);
	struct json_object *body = json_of(text);
	struct author author = { "alice", "192.0.2.1" };
	struct faults faults = { NULL };
	struct profiling_request r;
	int result;

	if (!request_read(body, &r, &faults))
		faults_are(&faults, text, "");
	result = request_submit(box->store, &r, &author, submission);
	request_free(&r);
	json_object_put(body);
	free(text);
	return result;
}

/* Submits one that succeeds, and returns its first command's id, or "". */
static inline const char *
asked(struct box *box, const char *members)
{
	static char id[UUID_TEXT];
	struct submission out;

	ck_assert_int_eq(submit(box, members, &out), 0);
	id[0] = '\0';
	if (out.n_commands)
		memcpy(id, out.command_ids[0], UUID_TEXT);
	submission_free(&out);
	all_is_counted(box);
	return id;
}

#define START_HOSTS "'request_type':'start','target_hosts':"
#define STOP_HOSTS "'request_type':'stop','target_hosts':"
#define STOP_HOST                                                             \
	"'request_type':'stop','stop_level':'host',"                          \
	"'target_hosts':{'h':null}"

/* A heartbeat of a host, with more members (",'a':1"); the caller frees the
 * offer. */
static inline void
beat(struct box *box, const char *hostname, const char *more,
    struct offer *offer)
{
	char *text = mem_fmt("{'ip_address':'127.0.0.1','hostname':'%s',"
			     "'service_name':'s','status':'active'%s}",
	    hostname, more);
	struct json_object *body = json_of(text);
	struct faults faults = { NULL };
	struct heartbeat h;

	if (!heartbeat_read(body, &h, &faults))
		faults_are(&faults, text, "");
	ck_assert_int_eq(
	    heartbeat_take(box->store, &h, "192.0.2.7", offer), 0);
	heartbeat_free(&h);
	json_object_put(body);
	free(text);
	all_is_counted(box);
}

/* What a heartbeat of host h is given, "" for nothing: its type and config,
 * compared as JSON.  Returns the command's id. */
static inline const char *
given(struct box *box, const char *more, const char *type, const char *config)
{
	static char id[UUID_TEXT];
	struct offer offer;

	beat(box, "h", more, &offer);
	ck_assert_str_eq(offer.command_type ? offer.command_type : "", type);
	if (offer.command_type)
		json_is(json_tokener_parse(offer.combined_config), config);
	else
		ck_assert_str_eq(offer.command_id, "");
	memcpy(id, offer.command_id, UUID_TEXT);
	offer_free(&offer);
	return id;
}

/* As given(), where the agent shows a command that it was given. */
static inline const char *
given_after(
    struct box *box, const char *shown, const char *type, const char *config)
{
	char *more = mem_fmt(",'last_command_id':'%s'", shown);
	const char *id = given(box, more, type, config);

	free(more);
	return id;
}

/* The agent says how far it is with a command. */
static inline void
shows_state(struct box *box, const char *id, const char *state)
{
	char *more = mem_fmt(
	    ",'commands':[{'command_id':'%s','state':'%s'}]", id, state);
	struct offer offer;

	beat(box, "h", more, &offer);
	offer_free(&offer);
	free(more);
}

/* A completion, with more members: 0 and what it was. */
static inline enum refusal
done_with(struct box *box, const char *id, const char *hostname,
    const char *status, const char *more, const char *service_name)
{
	char *text =
	    mem_fmt("{'command_id':'%s','hostname':'%s','status':'%s'%s}", id,
		hostname, status, more);
	struct json_object *body = json_of(text);
	enum refusal refusal = REFUSAL_NONE;
	struct faults faults = { NULL };
	enum command_state state;
	struct completion c;

	if (!completion_read(body, &c, &faults))
		faults_are(&faults, text, "");
	ck_assert_int_eq(
	    completion_take(box->store, &c, service_name, &refusal, &state),
	    0);
	json_object_put(body);
	free(text);
	all_is_counted(box);
	return refusal;
}

static inline enum refusal
done(struct box *box, const char *id, const char *status)
{
	return done_with(box, id, "h", status, "", NULL);
}

#endif
