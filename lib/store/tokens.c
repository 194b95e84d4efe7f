/* AgentTokens. */
#include "store/db.h"

#include "core/clock.h"

#include <stdlib.h>
#include <string.h>

#define TOKEN_COLUMNS                                                         \
	"id, name, service_name, hostname, created_at, revoked_at"

static const char insert_token[] =
    "INSERT INTO AgentTokens"
    " (name, token_hash, service_name, hostname, created_at)"
    " VALUES (?, ?, ?, ?, ?)";
static const char select_token[] =
    "SELECT " TOKEN_COLUMNS " FROM AgentTokens WHERE token_hash = ?"
    " AND revoked_at IS NULL";
static const char select_tokens[] =
    "SELECT " TOKEN_COLUMNS " FROM AgentTokens ORDER BY name, id";
static const char revoke_token[] = "UPDATE AgentTokens SET revoked_at = ?2"
				   " WHERE name = ?1 AND revoked_at IS NULL";

void
agent_token_free(struct agent_token *token)
{
	free(token->name);
	free(token->service_name);
	free(token->hostname);
	free(token->created_at);
	free(token->revoked_at);
	memset(token, 0, sizeof *token);
}

static void
token_load(sqlite3_stmt *stmt, struct agent_token *token)
{
	token->id = db_int(stmt, 0);
	token->name = db_copy(stmt, 1);
	token->service_name = db_copy(stmt, 2);
	token->hostname = db_copy(stmt, 3);
	token->created_at = db_copy(stmt, 4);
	token->revoked_at = db_copy(stmt, 5);
}

int
agent_token_insert(struct store *s, const char *name,
    const unsigned char hash[SECRET_HASH_BYTES], const char *service_name,
    const char *hostname)
{
	char now[CLOCK_TEXT];

	clock_format(clock_now_ms(), now);
	if (db_begin(s, DB_DURABLE) != 0)
		return -1;
	return db_end(s, db_run_unique(s, insert_token, "thttt", name, hash,
			     service_name, hostname, now));
}

int
agent_token_by_hash(struct store *s,
    const unsigned char hash[SECRET_HASH_BYTES], struct agent_token *token)
{
	sqlite3_stmt *stmt = db_query(s, select_token, "h", hash);
	int n;

	memset(token, 0, sizeof *token);
	if (!stmt)
		return -1;
	n = db_step(s, stmt);
	if (n != 1)
		return n < 0 ? -1 : STORE_NOT_FOUND;
	token_load(stmt, token);
	(void)sqlite3_reset(stmt);
	return 0;
}

int
agent_token_revoke(struct store *s, const char *name)
{
	char now[CLOCK_TEXT];
	int result;

	clock_format(clock_now_ms(), now);
	if (db_begin(s, DB_DURABLE) != 0)
		return -1;
	result = db_run(s, revoke_token, "tt", name, now);
	if (result == 0 && db_changes(s) == 0)
		result = STORE_NOT_FOUND;
	return db_end(s, result);
}

int
agent_token_list(struct store *s,
    void (*each)(void *context, const struct agent_token *token),
    void *context)
{
	sqlite3_stmt *stmt = db_query(s, select_tokens, "");
	int n;

	if (!stmt)
		return -1;
	while ((n = db_step(s, stmt)) == 1) {
		struct agent_token token;

		token_load(stmt, &token);
		each(context, &token);
		agent_token_free(&token);
	}
	return n;
}
