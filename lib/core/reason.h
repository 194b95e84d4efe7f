/*
 * Why something failed, in words for whoever can act: the object, the place
 * and the way out.  Functions that can fail in ways that a user must read
 * fill one of these and return -1.
 */
#ifndef CONSPECT_CORE_REASON_H
#define CONSPECT_CORE_REASON_H

/* Room for two addresses, a digest and a sentence. */
#define REASON_BYTES 1024

struct reason {
	char text[REASON_BYTES]; /* "" while nothing failed */
};

/*
 * Sets the text (cut at a whole character, and with '?' for what is no UTF-8:
 * it may have been taken from anywhere) and returns -1.  The text
 * that it has may be among the arguments: reason_set(why, "%s: %s", path,
 * why->text) puts a path before it.
 */
int reason_set(struct reason *why, const char *format, ...)
    __attribute__((nonnull(1), format(printf, 2, 3)));

#endif
