/*
 * A request, a reply and a real store in a directory of its own, for tests
 * of lib/web.
 *
 *	fixture_begin();
 *	fixture_login(ROLE_VIEWER);	# a session's cookie in fx.request
 *	...
 *	fixture_end();
 */
#ifndef CONSPECT_T_WEB_FIXTURE_H
#define CONSPECT_T_WEB_FIXTURE_H

#include "web/auth.h"
#include "web/route.h"

#include "core/clock.h"
#include "core/log.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"

#define FIXTURE_ADDRESS "192.0.2.1"

static struct fixture {
	char directory[64], db[96];
	struct store *store;
	struct buf log;
	struct web_request request;
	struct web_reply reply;
	char path[256];
	/* what the request carries */
	char cookie[256], authorization[1024], length[32];
	char secret[SECRET_TEXT], form_token[SECRET_TEXT];
	const char *body; /* what of it was not read yet */
} fx;

/* As a browser would send it, to path. */
static inline void
fixture_request(enum method method, const char *path)
{
	memset(&fx.request, 0, sizeof fx.request);
	(void)snprintf(fx.path, sizeof fx.path, "%s", path);
	fx.request.method = method;
	fx.request.path = fx.path;
	fx.request.query = "";
	fx.request.host = "conspect.example";
	fx.request.remote_address = FIXTURE_ADDRESS;
	fx.request.store = fx.store;
	fx.body = "";
}

static inline void
fixture_begin(void)
{
	struct buf nothing = BUF_INIT(1024 * 1024);
	enum store_failure failure;
	struct reason why = { "" };

	memset(&fx, 0, sizeof fx);
	fx.log = fx.reply.headers = fx.reply.body = nothing;
	log_to_buf(&fx.log);
	ck_assert_int_eq(secret_init(), 0);
	(void)snprintf(
	    fx.directory, sizeof fx.directory, "/tmp/conspect-web-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(fx.directory));
	(void)snprintf(fx.db, sizeof fx.db, "%s/conspect.db", fx.directory);
	ck_assert_msg(
	    store_open(fx.db, &fx.store, &failure, &why) == 0, "%s", why.text);
	fixture_request(METHOD_GET, "/");
}

static inline void
fixture_end(void)
{
	static const char *const ends[] = { "", "-wal", "-shm" };
	char file[128];

	store_close(fx.store);
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		(void)snprintf(file, sizeof file, "%s%s", fx.db, ends[i]);
		(void)unlink(file);
	}
	ck_assert_int_eq(rmdir(fx.directory), 0);
	buf_free(&fx.reply.headers);
	buf_free(&fx.reply.body);
	log_to_buf(NULL);
	buf_free(&fx.log);
}

/* A user; without a password nobody can log in by one. */
static inline void
fixture_user(
    const char *name, enum role role, const char *password, struct user *user)
{
	char hash[PASSWORD_HASH_TEXT] = "none";

	if (password)
		ck_assert_int_eq(password_hash(password, hash), 0);
	ck_assert_int_eq(user_insert(fx.store, name, role, hash), 0);
	ck_assert_int_eq(user_by_name(fx.store, name, user), 0);
}

static inline void
fixture_session(int64_t user_id, int64_t expires_ms)
{
	unsigned char hash[SECRET_HASH_BYTES];

	secret_make(fx.secret);
	secret_form_token(fx.secret, fx.form_token);
	secret_hash(fx.secret, hash);
	ck_assert_int_eq(
	    session_insert(fx.store, hash, user_id, expires_ms), 0);
	(void)snprintf(
	    fx.cookie, sizeof fx.cookie, "conspect_session=%s", fx.secret);
}

/* The request is of a user of that role, by a session. */
static inline void
fixture_login(enum role role)
{
	struct user user;

	if (user_by_name(fx.store, role_names[role], &user) != 0)
		fixture_user(role_names[role], role, NULL, &user);
	fixture_session(user.id, clock_now_ms() + 60000);
	user_free(&user);
	fx.request.cookie = fx.cookie;
}

/* A new agent token, in fx.secret and as the request's Authorization. */
static inline void
fixture_agent(const char *name)
{
	unsigned char hash[SECRET_HASH_BYTES];

	secret_make(fx.secret);
	secret_hash(fx.secret, hash);
	ck_assert_int_eq(
	    agent_token_insert(fx.store, name, hash, NULL, NULL), 0);
	(void)snprintf(
	    fx.authorization, sizeof fx.authorization, "Bearer %s", fx.secret);
	fx.request.authorization = fx.authorization;
}

/* The request has this body, with its length and a form's type. */
static inline void
fixture_form(const char *body)
{
	(void)snprintf(fx.length, sizeof fx.length, "%zu", strlen(body));
	fx.request.content_length = fx.length;
	fx.request.content_type = "application/x-www-form-urlencoded";
	fx.body = body;
}

/* A reader that gives at most 7 bytes at a time, as a network may. */
static inline long
fixture_read(void *context, char *to, size_t n)
{
	(void)context;
	n = strnlen(fx.body, n > 7 ? 7 : n);
	memcpy(to, fx.body, n);
	fx.body += n;
	return (long)n;
}

static inline bool
fixture_has_header(const char *line)
{
	return strstr(buf_text(&fx.reply.headers), line) != NULL;
}

#endif
