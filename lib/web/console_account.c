/* Logging in and out, and changing one's password. */
#include "web/console.h"

#include "core/log.h"
#include "web/auth.h"

#include <string.h>

/* --- login --------------------------------------------------------------- */

static void
show_login(
    struct web_request *request, struct web_reply *reply, const char *error)
{
	struct buf *b = &reply->body;

	page_begin(request, reply, "Log in");
	html_raw(b, "<section class=\"card narrow\">\n<h1>Log in</h1>\n");
	if (error)
		page_notice(reply, NOTICE_ERROR, error);
	html_raw(b, "<form class=\"stack\" method=\"post\"");
	page_link(request, reply, "action", "login");
	html_raw(b, ">\n<label>User<input name=\"user\" required "
		    "autocomplete=\"username\" autofocus></label>\n"
		    "<label>Password<input name=\"password\" "
		    "type=\"password\" required "
		    "autocomplete=\"current-password\"></label>\n"
		    "<button class=\"start\">Log in</button>\n</form>\n"
		    "</section>\n");
	page_end(reply);
}

void
console_login_page(struct web_request *request, struct web_reply *reply)
{
	if (request->by.kind == BY_USER)
		reply_redirect(reply, request, "");
	else
		show_login(request, reply, NULL);
}

/* A member of the form, "" when it is missing. */
static const char *
member(const struct web_request *request, const char *name)
{
	const char *value = params_get(&request->form, name);

	return value ? value : "";
}

void
console_login(struct web_request *request, struct web_reply *reply)
{
	struct user user;
	int64_t wait_ms;

	switch (auth_password(request, member(request, "user"),
	    member(request, "password"), &user, &wait_ms)) {
	case AUTH_OK:
		if (auth_begin_session(request, reply, &user) == 0)
			reply_redirect(reply, request, "");
		else
			reply_store_failure(request, reply);
		break;
	case AUTH_WRONG:
		reply->status = 403;
		show_login(
		    request, reply, "The name or the password is not right.");
		break;
	case AUTH_WAIT:
		reply_wait(request, reply, wait_ms);
		break;
	case AUTH_FAILED:
		reply_store_failure(request, reply);
		break;
	}
	user_free(&user);
}

void
console_logout(struct web_request *request, struct web_reply *reply)
{
	if (auth_end_session(request, reply) == 0)
		reply_redirect(reply, request, "login");
	else
		reply_store_failure(request, reply);
}

/* --- password ------------------------------------------------------------ */

static void
show_password(
    struct web_request *request, struct web_reply *reply, const char *error)
{
	struct buf *b = &reply->body;

	page_begin(request, reply, "Password");
	html_raw(b, "<section class=\"card narrow\">\n"
		    "<h1>Change password</h1>\n");
	if (error)
		page_notice(reply, NOTICE_ERROR, error);
	html_raw(b, "<form class=\"stack\" method=\"post\"");
	page_link(request, reply, "action", "password");
	html_raw(b, ">\n");
	page_form_token(request, reply);
	/* for the browser's password store */
	html_raw(b, "<input name=\"user\" hidden readonly "
		    "autocomplete=\"username\"");
	html_attr(b, "value", request->by.user.name);
	html_raw(b, ">\n<label>Current password<input name=\"current\" "
		    "type=\"password\" required "
		    "autocomplete=\"current-password\"></label>\n"
		    "<label>New password<input name=\"new\" "
		    "type=\"password\" required minlength=\"8\" "
		    "autocomplete=\"new-password\"></label>\n"
		    "<label>New password again<input name=\"again\" "
		    "type=\"password\" required minlength=\"8\" "
		    "autocomplete=\"new-password\"></label>\n"
		    "<button class=\"start\">Change</button>\n</form>\n"
		    "<p class=\"counts\">You will be asked to log in with "
		    "the new one.</p>\n</section>\n");
	page_end(reply);
}

void
console_password_page(struct web_request *request, struct web_reply *reply)
{
	show_password(request, reply, NULL);
}

static void
refuse(struct web_request *request, struct web_reply *reply, const char *error)
{
	reply->status = 422;
	show_password(request, reply, error);
}

static void
change(struct web_request *request, struct web_reply *reply, const char *new)
{
	char hash[PASSWORD_HASH_TEXT];

	if (password_hash(new, hash) != 0) {
		reply_error(
		    request, reply, 503, "out of memory: try again later");
		return;
	}
	if (user_set_password(request->store, &request->by.user, hash) != 0) {
		reply_store_failure(request, reply);
		return;
	}
	log_info("user %s changed the password", request->by.user.name);
	reply_redirect(reply, request, "login");
}

void
console_password(struct web_request *request, struct web_reply *reply)
{
	const char *new = member(request, "new");
	struct user user;
	int64_t wait_ms;
	enum auth_result result = auth_password(request, request->by.user.name,
	    member(request, "current"), &user, &wait_ms);

	user_free(&user);
	if (result == AUTH_WAIT)
		reply_wait(request, reply, wait_ms);
	else if (result == AUTH_FAILED)
		reply_store_failure(request, reply);
	else if (result == AUTH_WRONG)
		refuse(request, reply, "The current password is not right.");
	else if (strcmp(new, member(request, "again")) != 0)
		refuse(request, reply, "The new passwords are not the same.");
	else if (strlen(new) < PASSWORD_MIN || strlen(new) > PASSWORD_MAX)
		refuse(request, reply, "A password has 8 to 256 bytes.");
	else
		change(request, reply, new);
}
