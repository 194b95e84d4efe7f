#include "web/auth.h"

#include "core/clock.h"
#include "core/log.h"
#include "core/mem.h"
#include "core/utf8.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define COOKIE "conspect_session"

/* Name, colon and password: longer is no try to log in. */
#define BASIC_MAX (NAME_BYTES_MAX + 1 + PASSWORD_MAX)

void
principal_free(struct principal *by)
{
	user_free(&by->user);
	agent_token_free(&by->token);
	memset(by, 0, sizeof *by);
}

static const char *
address_of(const struct web_request *request)
{
	return request->remote_address ? request->remote_address : "";
}

/* --- passwords ------------------------------------------------------------
 */

static enum auth_result
verify(struct web_request *request, const char *name, const char *password,
    struct user *user)
{
	int found = user_by_name(request->store, name, user);

	if (found < 0)
		return AUTH_FAILED;
	if (password_verify(password, found == 0 ? user->password_hash : NULL))
		return AUTH_OK;
	user_free(user);
	return AUTH_WRONG;
}

enum auth_result
auth_password(struct web_request *request, const char *name,
    const char *password, struct user *user, int64_t *wait_ms)
{
	const char *address = address_of(request);
	enum auth_result result;

	memset(user, 0, sizeof *user);
	if (strlen(name) > NAME_BYTES_MAX || strlen(password) > PASSWORD_MAX)
		return AUTH_WRONG;
	if (login_wait(request->store, name, address, wait_ms) < 0)
		return AUTH_FAILED;
	if (*wait_ms > 0)
		return AUTH_WAIT;
	result = verify(request, name, password, user);
	if (result == AUTH_WRONG) {
		log_warn("login of %s from %s failed", name, address);
		/* a read-only database must not turn «wrong» into «failed» */
		(void)!login_failed(request->store, name, address);
	}
	if (result == AUTH_OK)
		(void)!login_succeeded(request->store, name, address);
	return result;
}

/* Decodes "Basic ..." to name and password in out; false if it is neither. */
static bool
decode_basic(const char *base64, char out[BASIC_MAX + 1], char **password)
{
	size_t n;

	if (sodium_base642bin((unsigned char *)out, BASIC_MAX, base64,
		strlen(base64), " ", &n, NULL,
		sodium_base64_VARIANT_ORIGINAL) != 0)
		return false;
	out[n] = '\0';
	*password = strchr(out, ':');
	if (!*password || strlen(out) != n || !utf8_is_valid(out, n))
		return false;
	*(*password)++ = '\0';
	return true;
}

static enum auth_result
auth_basic(struct web_request *request, const char *base64, int64_t *wait_ms)
{
	struct principal *by = &request->by;
	char text[BASIC_MAX + 1], *password;
	enum auth_result result;

	if (!decode_basic(base64, text, &password))
		return AUTH_WRONG;
	result = auth_password(request, text, password, &by->user, wait_ms);
	sodium_memzero(text, sizeof text);
	if (result == AUTH_OK) {
		by->kind = BY_USER;
		secret_form_token(by->user.password_hash, by->form_token);
	}
	return result;
}

/* --- tokens and sessions ----------------------------------------------------
 */

static enum auth_result
auth_bearer(struct web_request *request, const char *secret)
{
	unsigned char hash[SECRET_HASH_BYTES];
	int found;

	secret_hash(secret, hash);
	found = agent_token_by_hash(request->store, hash, &request->by.token);
	if (found < 0)
		return AUTH_FAILED;
	if (found > 0)
		return AUTH_WRONG;
	request->by.kind = BY_AGENT;
	return AUTH_OK;
}

/* Copies the session's secret out of the Cookie header. */
static bool
session_secret(const struct web_request *request, char secret[SECRET_TEXT])
{
	const char *at = request->cookie;

	while (at && *at) {
		size_t n;

		at += strspn(at, "; ");
		n = strcspn(at, ";");
		if (strncmp(at, COOKIE "=", sizeof COOKIE) == 0 &&
		    n == sizeof COOKIE + SECRET_TEXT - 1) {
			memcpy(secret, at + sizeof COOKIE, SECRET_TEXT - 1);
			secret[SECRET_TEXT - 1] = '\0';
			return true;
		}
		at += n;
	}
	return false;
}

static enum auth_result
auth_session(struct web_request *request)
{
	struct principal *by = &request->by;
	unsigned char hash[SECRET_HASH_BYTES];
	char secret[SECRET_TEXT];
	int found;

	if (!session_secret(request, secret))
		return AUTH_OK;
	secret_hash(secret, hash);
	found = session_user(request->store, hash, &by->user);
	if (found < 0)
		return AUTH_FAILED;
	if (found > 0) /* expired or ended: as without a cookie */
		return AUTH_OK;
	by->kind = BY_USER;
	by->by_session = true;
	secret_form_token(secret, by->form_token);
	return AUTH_OK;
}

enum auth_result
auth_request(struct web_request *request, int64_t *wait_ms)
{
	const char *header = request->authorization;

	*wait_ms = 0;
	if (!header || !*header)
		return auth_session(request);
	if (strncasecmp(header, "Basic ", 6) == 0)
		return auth_basic(request, header + 6, wait_ms);
	if (strncasecmp(header, "Bearer ", 7) == 0)
		return auth_bearer(request, header + 7);
	return AUTH_WRONG;
}

/* --- sessions' beginning and end --------------------------------------------
 */

static void
set_cookie(const struct web_request *request, struct web_reply *reply,
    const char *value, long long seconds)
{
	reply_header(reply, "Set-Cookie",
	    COOKIE "=%s; Path=/; Max-Age=%lld; HttpOnly; SameSite=Strict%s",
	    value, seconds, request->secure ? "; Secure" : "");
}

int
auth_begin_session(struct web_request *request, struct web_reply *reply,
    const struct user *user)
{
	unsigned char hash[SECRET_HASH_BYTES];
	char secret[SECRET_TEXT];

	secret_make(secret);
	secret_hash(secret, hash);
	if (session_insert(request->store, hash, user->id,
		clock_now_ms() + SESSION_MS) != 0)
		return -1;
	set_cookie(request, reply, secret, SESSION_MS / 1000);
	return 0;
}

int
auth_end_session(struct web_request *request, struct web_reply *reply)
{
	unsigned char hash[SECRET_HASH_BYTES];
	char secret[SECRET_TEXT];

	set_cookie(request, reply, "", 0);
	if (!session_secret(request, secret))
		return 0;
	secret_hash(secret, hash);
	return session_delete(request->store, hash);
}
