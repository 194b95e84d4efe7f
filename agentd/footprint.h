/*
 * The agent's share of a host's memory.
 *
 * Some fifty libraries come with libcurl and libarchive.  Each is read once
 * by the dynamic linker and by its own beginning, and most of it never
 * again; yet the kernel counts all pages that were ever looked at as the
 * agent's, and frees the page cache's other pages first.
 */
#ifndef CONSPECT_AGENTD_FOOTPRINT_H
#define CONSPECT_AGENTD_FOOTPRINT_H

/*
 * Gives back the heap's free pages, and lets go of the pages of programs and
 * libraries that nothing ever writes to: those still needed come back from
 * the page cache, one fault for each.  For a moment of rest: it takes less
 * than a millisecond.
 */
void footprint_reduce(void);

#endif
