/*
 * The console: its pages, served by cgi-bin/console.
 *
 * Plain HTML and forms that work without scripts; the style sheet is
 * html/style.css.
 */
#ifndef CONSPECT_WEB_CONSOLE_H
#define CONSPECT_WEB_CONSOLE_H

#include "web/html.h"
#include "web/route.h"

extern const struct web_app console_app;

/* --- the frame of a page ------------------------------------------------- */

/* Begins a page, up to the opening of <main>; html_raw() and friends go on. */
void page_begin(const struct web_request *request, struct web_reply *reply,
    const char *title) __attribute__((nonnull));
void page_end(struct web_reply *reply) __attribute__((nonnull));

/* The address of something at the console's root, as an attribute. */
void page_link(const struct web_request *request, struct web_reply *reply,
    const char *attribute, const char *to) __attribute__((nonnull));

/* The hidden member that every form must carry. */
void page_form_token(const struct web_request *request,
    struct web_reply *reply) __attribute__((nonnull));

enum notice { NOTICE_DONE, NOTICE_HINT, NOTICE_ERROR };

/* A message at the top of the page; its text follows, then the end. */
void page_notice_begin(struct web_reply *reply, enum notice kind)
    __attribute__((nonnull));
void page_notice_end(struct web_reply *reply) __attribute__((nonnull));
void page_notice(struct web_reply *reply, enum notice kind, const char *text)
    __attribute__((nonnull));

/* --- the pages ----------------------------------------------------------- */

void console_hosts(struct web_request *request, struct web_reply *reply);
void console_act(struct web_request *request, struct web_reply *reply);
void console_login(struct web_request *request, struct web_reply *reply);
void console_login_page(struct web_request *request, struct web_reply *reply);
void console_logout(struct web_request *request, struct web_reply *reply);
void console_password(struct web_request *request, struct web_reply *reply);
void console_password_page(
    struct web_request *request, struct web_reply *reply);

/*
 * The hosts' page, with the hosts ticked whose ids the form has.  `notice`
 * writes messages above the table; NULL for none.
 */
void console_show_hosts(struct web_request *request, struct web_reply *reply,
    void (*notice)(
	struct web_request *request, struct web_reply *reply, void *context),
    void *context) __attribute__((nonnull(1, 2)));

#endif
