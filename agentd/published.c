#include "agentd/published.h"

#include "core/mem.h"

#include <curl/curl.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define SUFFIX ".md5.txt"
#define BLANKS " \t\r\n"

static char *
with_suffix(CURLU *u)
{
	char *path = NULL, *longer, *whole = NULL, *result = NULL;

	if (curl_url_get(u, CURLUPART_PATH, &path, 0) != CURLUE_OK)
		return NULL;
	longer = mem_fmt("%s" SUFFIX, path);
	if (curl_url_set(u, CURLUPART_PATH, longer, 0) == CURLUE_OK &&
	    curl_url_get(u, CURLUPART_URL, &whole, 0) == CURLUE_OK)
		result = mem_copy(whole);
	curl_free(path);
	curl_free(whole);
	free(longer);
	return result;
}

char *
published_address(const char *url)
{
	CURLU *u = curl_url();
	char *result = NULL;

	if (u && curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK)
		result = with_suffix(u);
	curl_url_cleanup(u);
	return result;
}

int
published_read(const char *text, unsigned char md5[PUBLISHED_MD5_BYTES],
    struct reason *why)
{
	const char *digits = text + strspn(text, BLANKS);
	size_t n = strcspn(digits, BLANKS), bytes = 0;

	if (n == 2 * PUBLISHED_MD5_BYTES &&
	    sodium_hex2bin(md5, PUBLISHED_MD5_BYTES, digits, n, NULL, &bytes,
		NULL) == 0 &&
	    bytes == PUBLISHED_MD5_BYTES)
		return 0;
	return reason_set(why, "no MD5, but \"%.40s\"", text);
}
