/* Who sends a request: Basic, bearer tokens, cookies, and waiting. */
#include "web/fixture.h"

#include <sodium.h>

#define PASSWORD "correct horse: b\xc3\xa4ttery"

/* So many failures more make a wait that no test can outlive. */
#define LONG_WAITS 20

static int64_t wait_ms;

/* What auth_request() says of an Authorization header. */
static enum auth_result
authorize(const char *header)
{
	enum auth_result result;

	principal_free(&fx.request.by);
	fx.request.authorization = header;
	result = auth_request(&fx.request, &wait_ms);
	ck_assert(result == AUTH_OK || fx.request.by.kind == BY_NOBODY);
	return result;
}

/* "Basic " and the bytes in base64. */
static enum auth_result
basic(const char *bytes, size_t n)
{
	(void)strcpy(fx.authorization, "Basic ");
	(void)sodium_bin2base64(fx.authorization + 6,
	    sizeof fx.authorization - 6, (const unsigned char *)bytes, n,
	    sodium_base64_VARIANT_ORIGINAL);
	return authorize(fx.authorization);
}

static int
failures_noted(const char *account)
{
	int64_t wait;

	ck_assert_int_eq(
	    login_wait(fx.store, account, FIXTURE_ADDRESS, &wait), 0);
	return wait > 0;
}

static void
begin_with_user(void)
{
	struct user user;

	fixture_begin();
	fixture_user("Ada", ROLE_OPERATOR, PASSWORD, &user);
	user_free(&user);
}

static void
end(void)
{
	principal_free(&fx.request.by);
	fixture_end();
}

/* --- Authorization ------------------------------------------------------- */

START_TEST(what_is_no_credential_is_wrong)
{
	static const char *const wrong[] = { "Basic", "Basic ",
		"Basic =", "Basic !!!!", "Basic QWRh", /* Ada, no colon */
		"Basic QWRhOng",                       /* no padding */
		"Basic QWRhOng=QWRhOng=", "Digest QWRhOng=", "Bearer",
		"QWRhOng=" };

	fixture_begin();
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		ck_assert_msg(
		    authorize(wrong[i]) == AUTH_WRONG, "%s", wrong[i]);
	/* a NUL, not UTF-8 */
	ck_assert_int_eq(basic("Ada\0:x", 6), AUTH_WRONG);
	ck_assert_int_eq(basic("Ada:x\0y", 7), AUTH_WRONG);
	ck_assert_int_eq(basic("Ada:\xff", 5), AUTH_WRONG);
	end();
}
END_TEST

START_TEST(longer_than_can_be_is_wrong)
{
	char text[700];

	fixture_begin();
	memset(text, 'a', sizeof text);
	text[100] = ':';
	ck_assert_int_eq(basic(text, 101 + PASSWORD_MAX + 1), AUTH_WRONG);
	ck_assert_int_eq(basic(text, sizeof text), AUTH_WRONG);
	text[100] = 'a';
	text[NAME_BYTES_MAX + 1] = ':';
	ck_assert_int_eq(basic(text, NAME_BYTES_MAX + 3), AUTH_WRONG);
	end();
}
END_TEST

START_TEST(nothing_at_all_is_nobody)
{
	fixture_begin();
	ck_assert_int_eq(authorize(NULL), AUTH_OK);
	ck_assert_int_eq(fx.request.by.kind, BY_NOBODY);
	ck_assert_int_eq(authorize(""), AUTH_OK);
	ck_assert_int_eq(fx.request.by.kind, BY_NOBODY);
	end();
}
END_TEST

START_TEST(the_right_password_is_the_user)
{
	char token[SECRET_TEXT];

	begin_with_user();
	/* names compare without regard to case, passwords may have colons */
	ck_assert_int_eq(
	    basic("ada:" PASSWORD, strlen("ada:" PASSWORD)), AUTH_OK);
	ck_assert_int_eq(fx.request.by.kind, BY_USER);
	ck_assert_str_eq(fx.request.by.user.name, "Ada");
	ck_assert_int_eq(fx.request.by.user.role, ROLE_OPERATOR);
	ck_assert(!fx.request.by.by_session);
	/* a page's forms work with Basic, too */
	secret_form_token(fx.request.by.user.password_hash, token);
	ck_assert_str_eq(fx.request.by.form_token, token);
	memcpy(fx.authorization, "bASIC", 5);
	ck_assert_int_eq(authorize(fx.authorization), AUTH_OK);
	end();
}
END_TEST

START_TEST(wrong_and_unknown_are_the_same)
{
	begin_with_user();
	ck_assert_int_eq(basic("Ada:wrong", 9), AUTH_WRONG);
	ck_assert_int_eq(basic("Bob:wrong", 9), AUTH_WRONG);
	ck_assert_int_eq(basic("Ada:", 4), AUTH_WRONG);
	ck_assert_int_eq(basic(":", 1), AUTH_WRONG);
	ck_assert_ptr_nonnull(
	    strstr(buf_text(&fx.log), "login of Bob from " FIXTURE_ADDRESS));
	ck_assert_ptr_null(strstr(buf_text(&fx.log), "wrong"));
	end();
}
END_TEST

START_TEST(bearer_tokens)
{
	fixture_begin();
	ck_assert_int_eq(authorize("Bearer "), AUTH_WRONG);
	ck_assert_int_eq(authorize("Bearer 0123456789abcdef"), AUTH_WRONG);
	fixture_agent("one");
	ck_assert_int_eq(authorize(fx.authorization), AUTH_OK);
	ck_assert_int_eq(fx.request.by.kind, BY_AGENT);
	ck_assert_str_eq(fx.request.by.token.name, "one");
	memcpy(fx.authorization, "bearer", 6);
	ck_assert_int_eq(authorize(fx.authorization), AUTH_OK);
	ck_assert_int_eq(agent_token_revoke(fx.store, "one"), 0);
	ck_assert_int_eq(authorize(fx.authorization), AUTH_WRONG);
	end();
}
END_TEST

/* --- slowing down -------------------------------------------------------- */

static void
fail_times(const char *account, int n)
{
	while (n-- > 0)
		ck_assert_int_eq(
		    login_failed(fx.store, account, FIXTURE_ADDRESS), 0);
}

START_TEST(many_failures_mean_waiting)
{
	begin_with_user();
	fail_times("Ada", LOGIN_FREE_TRIES - 1);
	ck_assert_int_eq(basic("Ada:wrong", 9), AUTH_WRONG);
	fail_times("Ada", LONG_WAITS);
	/* even the right one, under any spelling of the name */
	ck_assert_int_eq(
	    basic("aDA:" PASSWORD, strlen("aDA:" PASSWORD)), AUTH_WAIT);
	ck_assert_int_gt(wait_ms, 0);
	ck_assert_int_le(wait_ms, LOGIN_WAIT_MAX_MS);
	end();
}
END_TEST

START_TEST(waiting_is_by_account_and_address)
{
	begin_with_user();
	fail_times("Ada", 20);
	ck_assert_int_eq(basic("Bob:wrong", 9), AUTH_WRONG);
	fx.request.remote_address = "192.0.2.2";
	ck_assert_int_eq(
	    basic("Ada:" PASSWORD, strlen("Ada:" PASSWORD)), AUTH_OK);
	end();
}
END_TEST

START_TEST(unknown_accounts_wait_as_known_ones)
{
	begin_with_user();
	fail_times("Bob", LOGIN_FREE_TRIES + LONG_WAITS);
	ck_assert_int_eq(basic("Bob:wrong", 9), AUTH_WAIT);
	end();
}
END_TEST

START_TEST(a_session_does_not_wait)
{
	fixture_begin();
	fail_times("viewer", 20);
	fixture_login(ROLE_VIEWER);
	ck_assert_int_eq(authorize(NULL), AUTH_OK);
	ck_assert_int_eq(fx.request.by.kind, BY_USER);
	end();
}
END_TEST

START_TEST(a_success_forgets_the_failures)
{
	begin_with_user();
	fail_times("Ada", LOGIN_FREE_TRIES - 1);
	ck_assert_int_eq(
	    basic("Ada:" PASSWORD, strlen("Ada:" PASSWORD)), AUTH_OK);
	fail_times("Ada", 1);
	ck_assert(!failures_noted("Ada"));
	end();
}
END_TEST

/* --- sessions ------------------------------------------------------------ */

/* Whether the cookie is one of a session. */
static bool
cookie_logs_in(const char *format)
{
	char cookie[600];
	const char *at = strchr(format, '@');

	(void)snprintf(cookie, sizeof cookie, "%.*s%s%s",
	    (int)(at ? at - format : (long)strlen(format)), format,
	    at ? fx.secret : "", at ? at + 1 : "");
	fx.request.cookie = cookie;
	ck_assert_int_eq(authorize(NULL), AUTH_OK);
	fx.request.cookie = NULL;
	return fx.request.by.kind == BY_USER;
}

START_TEST(the_cookie_is_found_among_others)
{
	static const char *const right[] = { "conspect_session=@",
		"a=b; conspect_session=@", "conspect_session=@; a=b",
		"a=b;conspect_session=@;c=d", "; ; conspect_session=@;;",
		"conspect_session=short; conspect_session=@" };
	static const char *const wrong[] = { "", ";",
		"conspect_session=", "conspect_session=@0",
		"xconspect_session=@", "conspect_session@",
		"a=conspect_session=@", "CONSPECT_SESSION=@",
		"conspect_session=\"@\"" };

	fixture_begin();
	fixture_login(ROLE_VIEWER);
	for (size_t i = 0; i < sizeof right / sizeof *right; i++)
		ck_assert_msg(cookie_logs_in(right[i]), "%s", right[i]);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		ck_assert_msg(!cookie_logs_in(wrong[i]), "%s", wrong[i]);
	end();
}
END_TEST

START_TEST(a_session_has_its_form_token)
{
	fixture_begin();
	fixture_login(ROLE_VIEWER);
	ck_assert_int_eq(authorize(NULL), AUTH_OK);
	ck_assert(fx.request.by.by_session);
	ck_assert_str_eq(fx.request.by.form_token, fx.form_token);
	ck_assert_str_ne(fx.form_token, fx.secret);
	end();
}
END_TEST

START_TEST(an_expired_session_is_none)
{
	struct user user;

	fixture_begin();
	fixture_user("Ada", ROLE_ADMIN, NULL, &user);
	fixture_session(user.id, clock_now_ms() - 1);
	ck_assert(!cookie_logs_in("conspect_session=@"));
	fixture_session(user.id, clock_now_ms() + 60000);
	ck_assert(cookie_logs_in("conspect_session=@"));
	user_free(&user);
	end();
}
END_TEST

START_TEST(credentials_come_before_the_cookie)
{
	fixture_begin();
	fixture_login(ROLE_VIEWER);
	ck_assert_int_eq(authorize("Bearer wrong"), AUTH_WRONG);
	end();
}
END_TEST

/* The secret in the reply's Set-Cookie. */
static void
take_cookie(void)
{
	const char *at =
	    strstr(buf_text(&fx.reply.headers), "conspect_session=");

	ck_assert_ptr_nonnull(at);
	(void)snprintf(fx.secret, sizeof fx.secret, "%s",
	    at + strlen("conspect_session="));
}

START_TEST(a_session_begins_and_ends)
{
	struct user user;

	fixture_begin();
	fixture_user("Ada", ROLE_ADMIN, NULL, &user);
	ck_assert_int_eq(auth_begin_session(&fx.request, &fx.reply, &user), 0);
	ck_assert(fixture_has_header(
	    "; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict\r\n"));
	take_cookie();
	ck_assert(cookie_logs_in("conspect_session=@"));
	(void)snprintf(
	    fx.cookie, sizeof fx.cookie, "conspect_session=%s", fx.secret);
	fx.request.cookie = fx.cookie;
	reply_reset(&fx.reply);
	ck_assert_int_eq(auth_end_session(&fx.request, &fx.reply), 0);
	ck_assert(fixture_has_header("conspect_session=; Path=/; Max-Age=0"));
	ck_assert(!cookie_logs_in("conspect_session=@"));
	user_free(&user);
	end();
}
END_TEST

START_TEST(over_tls_the_cookie_is_secure)
{
	struct user user;

	fixture_begin();
	fixture_user("Ada", ROLE_ADMIN, NULL, &user);
	fx.request.secure = true;
	ck_assert_int_eq(auth_begin_session(&fx.request, &fx.reply, &user), 0);
	ck_assert(fixture_has_header("; SameSite=Strict; Secure\r\n"));
	user_free(&user);
	end();
}
END_TEST

START_TEST(ending_no_session_is_no_failure)
{
	fixture_begin();
	ck_assert_int_eq(auth_end_session(&fx.request, &fx.reply), 0);
	end();
}
END_TEST

HARNESS_MAIN("auth", what_is_no_credential_is_wrong,
    longer_than_can_be_is_wrong, nothing_at_all_is_nobody,
    the_right_password_is_the_user, wrong_and_unknown_are_the_same,
    bearer_tokens, many_failures_mean_waiting,
    waiting_is_by_account_and_address, unknown_accounts_wait_as_known_ones,
    a_session_does_not_wait, a_success_forgets_the_failures,
    the_cookie_is_found_among_others, a_session_has_its_form_token,
    an_expired_session_is_none, credentials_come_before_the_cookie,
    a_session_begins_and_ends, over_tls_the_cookie_is_secure,
    ending_no_session_is_no_failure)
