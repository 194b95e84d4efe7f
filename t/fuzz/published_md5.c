/* The file beside an archive that is said to hold its MD5. */
#include "fuzz/fuzz.h"

#include <ctype.h>
#include <sodium.h>

#include "agentd/published.h"
#include "core/mem.h"

const char *const fuzz_target = "published_md5";

/* What is read is the first word, in lower or in upper case. */
static void
check_digits(const char *text, const unsigned char *md5)
{
	char hex[2 * PUBLISHED_MD5_BYTES + 1];

	text += strspn(text, " \t\r\n");
	(void)sodium_bin2hex(hex, sizeof hex, md5, PUBLISHED_MD5_BYTES);
	for (size_t i = 0; i < sizeof hex - 1; i++)
		FUZZ_CHECK(tolower((unsigned char)text[i]) == hex[i]);
	text += sizeof hex - 1;
	FUZZ_CHECK(!*text || strchr(" \t\r\n", *text));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = mem_alloc(size + 1, 1);
	unsigned char md5[PUBLISHED_MD5_BYTES];
	struct reason why = { "" };
	int result;

	memcpy(text, data, size);
	result = published_read(text, md5, &why);
	fuzz_check_reason(result != 0, why.text);
	if (result == 0)
		check_digits(text, md5);
	free(text);
	return 0;
}
