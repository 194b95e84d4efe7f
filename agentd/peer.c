#include "agentd/peer.h"

void
peer_set(CURL *easy, const struct peer *p)
{
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(
	    easy, CURLOPT_USERAGENT, "conspect-agentd/" PACKAGE_VERSION);
	if (p->ca_file)
		curl_easy_setopt(easy, CURLOPT_CAINFO, p->ca_file);
	if (p->proxy) {
		curl_easy_setopt(easy, CURLOPT_PROXY, p->proxy);
		/* no_proxy is about the environment's proxies */
		curl_easy_setopt(easy, CURLOPT_NOPROXY, "");
	}
	if (p->no_verify) {
		curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
		curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
	}
}

void
peer_describe(CURLcode code, const char *error, struct reason *why)
{
	const char *text = *error ? error : curl_easy_strerror(code);

	if (code == CURLE_PEER_FAILED_VERIFICATION)
		reason_set(why, "%s (see --ca-file)", text);
	else
		reason_set(why, "%s", text);
}
