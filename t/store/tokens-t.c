/* Agents' tokens: by hash, by name once, revoked for good. */
#include "store/store.h"

#include "store-helper.h"

static int
add_token(struct box *box, const char *name, const char *secret,
    const char *service_name, const char *hostname)
{
	unsigned char hash[SECRET_HASH_BYTES];

	secret_hash(secret, hash);
	return agent_token_insert(
	    box->store, name, hash, service_name, hostname);
}

static int
find_token(struct box *box, const char *secret, struct agent_token *token)
{
	unsigned char hash[SECRET_HASH_BYTES];

	secret_hash(secret, hash);
	return agent_token_by_hash(box->store, hash, token);
}

START_TEST(a_token_is_found_by_its_hash)
{
	struct box box;
	struct agent_token token;

	box_open(&box);
	ck_assert_int_eq(add_token(&box, "all", "one", NULL, NULL), 0);
	ck_assert_int_eq(add_token(&box, "web", "two", "web", "DB01"), 0);
	ck_assert_int_eq(find_token(&box, "one", &token), 0);
	ck_assert_str_eq(token.name, "all");
	ck_assert_ptr_null(token.service_name);
	ck_assert_ptr_null(token.hostname);
	ck_assert_ptr_null(token.revoked_at);
	agent_token_free(&token);
	ck_assert_int_eq(find_token(&box, "two", &token), 0);
	ck_assert_str_eq(token.service_name, "web");
	ck_assert_str_eq(token.hostname, "DB01");
	agent_token_free(&token);
	ck_assert_int_eq(find_token(&box, "three", &token), STORE_NOT_FOUND);
	ck_assert_ptr_null(token.name);
	box_close(&box);
}
END_TEST

/* Who reads the database has no token. */
START_TEST(the_secret_is_not_stored)
{
	struct box box;

	box_open(&box);
	ck_assert_int_eq(add_token(&box, "all", "hunter2", NULL, NULL), 0);
	rows_are(&box,
	    "SELECT typeof(token_hash), length(token_hash),"
	    " instr(token_hash, CAST('hunter2' AS BLOB)) FROM AgentTokens",
	    "blob|32|0");
	box_close(&box);
}
END_TEST

START_TEST(a_valid_token_has_its_name_alone)
{
	struct box box;

	box_open(&box);
	ck_assert_int_eq(add_token(&box, "all", "one", NULL, NULL), 0);
	ck_assert_int_eq(
	    add_token(&box, "all", "two", NULL, NULL), STORE_CONFLICT);
	ck_assert_int_eq(agent_token_revoke(box.store, "all"), 0);
	ck_assert_int_eq(add_token(&box, "all", "two", NULL, NULL), 0);
	ck_assert_int_eq(agent_token_revoke(box.store, "all"), 0);
	ck_assert_int_eq(add_token(&box, "all", "three", NULL, NULL), 0);
	rows_are(&box, "SELECT count(*), count(revoked_at) FROM AgentTokens",
	    "3|2");
	box_close(&box);
}
END_TEST

START_TEST(a_revoked_token_is_not_found)
{
	struct box box;
	struct agent_token token;

	box_open(&box);
	ck_assert_int_eq(add_token(&box, "a", "one", NULL, NULL), 0);
	ck_assert_int_eq(add_token(&box, "b", "two", NULL, NULL), 0);
	ck_assert_int_eq(agent_token_revoke(box.store, "a"), 0);
	ck_assert_int_eq(find_token(&box, "one", &token), STORE_NOT_FOUND);
	ck_assert_int_eq(find_token(&box, "two", &token), 0);
	agent_token_free(&token);
	ck_assert_int_eq(agent_token_revoke(box.store, "a"), STORE_NOT_FOUND);
	ck_assert_int_eq(
	    agent_token_revoke(box.store, "none"), STORE_NOT_FOUND);
	box_close(&box);
}
END_TEST

static void
add_line(void *context, const struct agent_token *token)
{
	buf_fmt(context, "%s %s %s %s\n", token->name,
	    token->service_name ? token->service_name : "*",
	    token->hostname ? token->hostname : "*",
	    token->revoked_at ? "revoked" : "valid");
}

START_TEST(tokens_are_listed_by_name_with_the_revoked_ones)
{
	struct buf lines = BUF_INIT(1000);
	struct box box;

	box_open(&box);
	ck_assert_int_eq(add_token(&box, "web", "one", "web", NULL), 0);
	ck_assert_int_eq(add_token(&box, "db", "two", "db", "db01"), 0);
	ck_assert_int_eq(agent_token_revoke(box.store, "db"), 0);
	ck_assert_int_eq(add_token(&box, "db", "three", NULL, NULL), 0);
	ck_assert_int_eq(agent_token_list(box.store, add_line, &lines), 0);
	ck_assert_str_eq(buf_text(&lines), "db db db01 revoked\n"
					   "db * * valid\n"
					   "web web * valid\n");
	buf_free(&lines);
	box_close(&box);
}
END_TEST

HARNESS_MAIN("tokens", a_token_is_found_by_its_hash, the_secret_is_not_stored,
    a_valid_token_has_its_name_alone, a_revoked_token_is_not_found,
    tokens_are_listed_by_name_with_the_revoked_ones)
