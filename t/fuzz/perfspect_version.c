/* The line that a program called perfspect says to --version. */
#include "fuzz/fuzz.h"

#include "agentd/version.h"
#include "core/mem.h"

const char *const fuzz_target = "perfspect_version";

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *line = mem_alloc(size + 1, 1);
	char version[PERFSPECT_VERSION_BYTES] = "";

	memcpy(line, data, size);
	if (perfspect_read_version(line, version)) {
		char *again = mem_fmt("perfspect version %s", version);

		FUZZ_CHECK(*version && strcmp(line, again) == 0);
		for (const char *c = version; *c; c++)
			FUZZ_CHECK(*c > ' ' && *c < 0x7f);
		free(again);
	} else {
		FUZZ_CHECK(!*version);
	}
	free(line);
	return 0;
}
