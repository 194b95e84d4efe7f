/* Goes through a target's corpus, as a test. */
#include "fuzz/fuzz.h"

#include <dirent.h>
#include <string.h>

#include "core/mem.h"

/* The corpus holds small files: see CONTRIBUTING.md, «A fuzz target». */
#define FILE_BYTES_MAX 4096
#define FILES_MAX 40

static int
is_input(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* Memory of exactly the file's size, so that a read past it is noticed. */
static bool
replay(const char *directory, const char *name)
{
	char *path = mem_fmt("%s/%s", directory, name);
	uint8_t *room = mem_alloc(FILE_BYTES_MAX + 1, 1), *data;
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(room, 1, FILE_BYTES_MAX + 1, f) : 0;
	bool ok = f && !ferror(f) && n <= FILE_BYTES_MAX;

	if (f)
		(void)fclose(f);
	data = mem_alloc(n, 1);
	memcpy(data, room, n);
	if (ok)
		(void)LLVMFuzzerTestOneInput(data, n);
	free(data);
	free(room);
	free(path);
	return ok;
}

int
main(void)
{
	const char *source = getenv("SRCDIR");
	char *directory =
	    mem_fmt("%s/t/fuzz/corpus/%s", source ? source : ".", fuzz_target);
	struct dirent **entries = NULL;
	int n = scandir(directory, &entries, is_input, alphasort);
	bool there = n > 0 && n <= FILES_MAX;

	(void)printf("1..%d\n%s 1 - %s holds %d inputs, from 1 to %d\n",
	    n > 0 ? n + 1 : 1, there ? "ok" : "not ok", directory, n,
	    FILES_MAX);
	for (int i = 0; i < n; i++) {
		(void)fflush(stdout); /* the next one may end us */
		(void)printf("%s %d - %s: %s\n",
		    replay(directory, entries[i]->d_name) ? "ok" : "not ok",
		    i + 2, fuzz_target, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	free(directory);
	return 0;
}
