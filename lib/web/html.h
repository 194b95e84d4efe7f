/*
 * Writing HTML: escaping is in the verb, and no other way exists.
 *
 *   html_raw    markup that stands in our source
 *   html_text   what is shown, escaped
 *   html_attr   ` name="value"`, escaped
 */
#ifndef CONSPECT_WEB_HTML_H
#define CONSPECT_WEB_HTML_H

#include "core/buf.h"

#include <stdint.h>

/* Only a literal can be passed: "" before it does not compile otherwise. */
#define html_raw(b, literal) buf_str((b), "" literal)

/* NULL counts as "". */
void html_text(struct buf *b, const char *text) __attribute__((nonnull(1)));
void html_int(struct buf *b, int64_t number) __attribute__((nonnull));
void html_attr(struct buf *b, const char *name, const char *value)
    __attribute__((nonnull(1, 2)));
void html_attr_int(struct buf *b, const char *name, int64_t value)
    __attribute__((nonnull));

#endif
