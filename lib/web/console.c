#include "web/console.h"

#include <string.h>

/* A form with every host ticked. */
#define FORM_BODY_MAX (512 * 1024)

static const struct route routes[] = {
	{ "/", METHOD_GET, WHO_VIEWER, BODY_NONE, 0, console_hosts },
	{ "/", METHOD_POST, WHO_OPERATOR, BODY_FORM, FORM_BODY_MAX,
	    console_act },
	{ "/login", METHOD_GET, WHO_ANYONE, BODY_NONE, 0, console_login_page },
	{ "/login", METHOD_POST, WHO_ANYONE, BODY_LOGIN_FORM, 4096,
	    console_login },
	{ "/logout", METHOD_POST, WHO_VIEWER, BODY_FORM, 4096,
	    console_logout },
	{ "/password", METHOD_GET, WHO_VIEWER, BODY_NONE, 0,
	    console_password_page },
	{ "/password", METHOD_POST, WHO_VIEWER, BODY_FORM, 4096,
	    console_password },
};

/* --- the frame ----------------------------------------------------------- */

void
page_link(const struct web_request *request, struct web_reply *reply,
    const char *attribute, const char *to)
{
	char address[512];
	size_t n;

	web_root(request, address, sizeof address);
	n = strlen(address);
	if (n + strlen(to) < sizeof address)
		memcpy(address + n, to, strlen(to) + 1);
	html_attr(&reply->body, attribute, address);
}

void
page_form_token(const struct web_request *request, struct web_reply *reply)
{
	html_raw(&reply->body, "<input type=\"hidden\" name=\"form_token\"");
	html_attr(&reply->body, "value", request->by.form_token);
	html_raw(&reply->body, ">");
}

static void
write_head(const struct web_request *request, struct web_reply *reply,
    const char *title)
{
	struct buf *b = &reply->body;

	html_raw(b, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
		    "<meta charset=\"utf-8\">\n"
		    "<meta name=\"viewport\" content=\"width=device-width, "
		    "initial-scale=1\">\n"
		    "<meta name=\"color-scheme\" content=\"light dark\">\n"
		    "<title>");
	html_text(b, title);
	html_raw(b, " · Conspect</title>\n<link rel=\"icon\"");
	page_link(request, reply, "href", "static/icon.svg");
	html_raw(b, ">\n<link rel=\"stylesheet\"");
	page_link(request, reply, "href", "static/style.css");
	html_raw(b, ">\n</head>\n");
}

/* Who is logged in, and the way out; nothing on the login page. */
static void
write_account(const struct web_request *request, struct web_reply *reply)
{
	struct buf *b = &reply->body;

	if (request->by.kind != BY_USER)
		return;
	html_raw(b, "<form class=\"account\" method=\"post\"");
	page_link(request, reply, "action", "logout");
	html_raw(b, ">");
	page_form_token(request, reply);
	html_raw(b, "<span class=\"who\"><b>");
	html_text(b, request->by.user.name);
	html_raw(b, "</b> ");
	html_text(b, role_names[request->by.user.role]);
	html_raw(b, "</span><a");
	page_link(request, reply, "href", "password");
	html_raw(b, ">Password</a>");
	if (request->by.by_session)
		html_raw(b, "<button class=\"quiet\">Log out</button>");
	html_raw(b, "</form>\n");
}

void
page_begin(const struct web_request *request, struct web_reply *reply,
    const char *title)
{
	struct buf *b = &reply->body;

	reply->content_type = "text/html; charset=utf-8";
	write_head(request, reply, title);
	html_raw(b, "<body>\n<header class=\"top\">\n<a class=\"brand\"");
	page_link(request, reply, "href", "");
	html_raw(b, "><img alt=\"\" width=\"24\" height=\"24\"");
	page_link(request, reply, "src", "static/icon.svg");
	html_raw(b, ">Conspect</a>\n");
	write_account(request, reply);
	html_raw(b, "</header>\n<main>\n");
}

void
page_end(struct web_reply *reply)
{
	html_raw(&reply->body, "</main>\n</body>\n</html>\n");
}

void
page_notice_begin(struct web_reply *reply, enum notice kind)
{
	static const char *const names[] = { [NOTICE_DONE] = "done",
		[NOTICE_HINT] = "hint",
		[NOTICE_ERROR] = "error" };

	html_raw(&reply->body, "<p");
	html_attr(
	    &reply->body, "role", kind == NOTICE_ERROR ? "alert" : "status");
	html_raw(&reply->body, " class=\"notice ");
	html_text(&reply->body, names[kind]);
	html_raw(&reply->body, "\">");
}

void
page_notice_end(struct web_reply *reply)
{
	html_raw(&reply->body, "</p>\n");
}

void
page_notice(struct web_reply *reply, enum notice kind, const char *text)
{
	page_notice_begin(reply, kind);
	html_text(&reply->body, text);
	page_notice_end(reply);
}

/* --- errors -------------------------------------------------------------- */

static void
console_error(const struct web_request *request, struct web_reply *reply,
    int status, const char *detail)
{
	struct buf *b = &reply->body;

	/* who is not logged in is shown where to do it */
	if (status == 401) {
		reply_redirect(reply, request, "login");
		return;
	}
	reply->status = status;
	page_begin(request, reply, status_phrase(status));
	html_raw(b, "<section class=\"card\">\n<h1>");
	html_text(b, status_phrase(status));
	html_raw(b, "</h1>\n<p>");
	html_text(b, detail);
	html_raw(b, "</p>\n<p><a class=\"button\"");
	page_link(request, reply, "href", "");
	html_raw(b, ">To the hosts</a></p>\n</section>\n");
	page_end(reply);
}

const struct web_app console_app = { "conspect-console", routes,
	sizeof routes / sizeof *routes, console_error };
