#include "agentd/preflight.h"

#include "agentd/preflight_checks.h"
#include "core/json.h"
#include "core/mem.h"
#include "core/utf8.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a check says before it is cut: two paths and a sentence. */
#define SAY_BYTES 1024

/* In the order in which a person asks. */
static const struct {
	const char *name;
	preflight_check_fn *check;
} checks[] = {
	{ "pmu", preflight_pmu },
	{ "pmu_busy", preflight_pmu_busy },
	{ "nmi_watchdog", preflight_nmi_watchdog },
	{ "perf_event_paranoid", preflight_paranoid },
	{ "root", preflight_root },
	{ "tmpdir", preflight_tmpdir },
	{ "free_space", preflight_free_space },
	{ "file_limit", preflight_file_limit },
	{ "perfspect", preflight_perfspect },
	{ "gprofiler", preflight_gprofiler },
	{ "arch", preflight_arch },
};
#define N_CHECKS (sizeof checks / sizeof *checks)

static const char *const outcome_words[] = {
	[PREFLIGHT_OK] = "ok",
	[PREFLIGHT_WARNING] = "warning",
	[PREFLIGHT_PROBLEM] = "problem",
};

/* --- what checks share --------------------------------------------------- */

/*
 * Names of processes are whatever their owner likes: no control character,
 * also not one of C1 (U+0080 to U+009F), reaches a terminal or a page.
 */
static void
make_visible(char *text)
{
	utf8_repair(text);
	for (unsigned char *c = (unsigned char *)text; *c; c++)
		if (*c < ' ' || *c == 0x7f) {
			*c = '?';
		} else if (c[0] == 0xc2 && c[1] < 0xa0) {
			c[0] = c[1] = '?';
		}
}

void
preflight_say(struct preflight_entry *entry, enum preflight_outcome outcome,
    const char *format, ...)
{
	char text[SAY_BYTES];
	size_t n = sizeof entry->text - 1;
	va_list ap;

	va_start(ap, format);
	(void)vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	make_visible(text);
	if (strlen(text) < n)
		n = strlen(text);
	n = utf8_valid_prefix(text, n); /* no half of a character */
	memcpy(entry->text, text, n);
	entry->text[n] = '\0';
	entry->outcome = outcome;
}

void
preflight_read(
    const struct preflight_host *host, const char *path, struct buf *to)
{
	char *whole = mem_fmt("%s%s", host->root, path);
	int fd = open(whole, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char block[4096];
	ssize_t n;

	free(whole);
	if (fd < 0)
		return;
	while (!to->full && (n = read(fd, block, sizeof block)) > 0)
		buf_add(to, block, (size_t)n);
	close(fd);
}

/* --- the list ------------------------------------------------------------ */

size_t
preflight_count(void)
{
	return N_CHECKS;
}

const char *
preflight_check_name(size_t i)
{
	return checks[i].name;
}

void
preflight_check(
    const struct preflight_host *host, size_t i, struct preflight_entry *entry)
{
	*entry = (struct preflight_entry) { .check = checks[i].name };
	checks[i].check(host, entry);
}

struct json_object *
preflight_json(const struct preflight_entry *entry)
{
	struct json_object *to = json_object_new_object();

	json_add_text(to, "check", entry->check);
	json_add_text(to, "outcome", outcome_words[entry->outcome]);
	json_add_text(to, "text", entry->text);
	return to;
}

bool
preflight_print(const struct preflight_host *host, FILE *to)
{
	bool problem = false;

	for (size_t i = 0; i < N_CHECKS; i++) {
		struct preflight_entry entry;

		preflight_check(host, i, &entry);
		problem |= entry.outcome == PREFLIGHT_PROBLEM;
		(void)fprintf(to, "%-20s %-8s %s\n", entry.check,
		    outcome_words[entry.outcome], entry.text);
	}
	return problem;
}
