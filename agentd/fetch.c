#include "agentd/fetch.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define REDIRECTS_MAX 10
#define ATTEMPTS 2
#define CONNECT_SECONDS 20L
/* Shown of a body that is no archive. */
#define SAMPLE_BYTES 60

/* One attempt's outcome, as far as a second one depends on it. */
enum outcome { DONE, FAILED, TRY_AGAIN };

struct download {
	const struct fetch_job *job;
	CURL *easy;
	int fd;
	int64_t bytes;
	unsigned char head[SAMPLE_BYTES]; /* the first bytes */
	size_t head_len;
	bool not_gzip, too_large;
	int write_error; /* errno, 0 while all is well */
	crypto_hash_sha256_state hash;
	char error[CURL_ERROR_SIZE];
};

void
fetch_status_text(long status, char text[64])
{
	static const struct {
		long status;
		const char *name;
	} names[] = { { 204, "No Content" }, { 206, "Partial Content" },
		{ 301, "Moved Permanently" }, { 302, "Found" },
		{ 303, "See Other" }, { 304, "Not Modified" },
		{ 307, "Temporary Redirect" }, { 308, "Permanent Redirect" },
		{ 400, "Bad Request" }, { 401, "Unauthorized" },
		{ 403, "Forbidden" }, { 404, "Not Found" },
		{ 405, "Method Not Allowed" },
		{ 407, "Proxy Authentication Required" }, { 410, "Gone" },
		{ 411, "Length Required" }, { 413, "Content Too Large" },
		{ 415, "Unsupported Media Type" },
		{ 416, "Range Not Satisfiable" },
		{ 422, "Unprocessable Content" }, { 429, "Too Many Requests" },
		{ 500, "Internal Server Error" }, { 502, "Bad Gateway" },
		{ 503, "Service Unavailable" }, { 504, "Gateway Timeout" } };

	(void)snprintf(text, 64, "%ld", status);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (names[i].status == status)
			(void)snprintf(
			    text, 64, "%ld %s", status, names[i].name);
}

static long
status_of(const struct download *d)
{
	long status = 0;

	(void)curl_easy_getinfo(d->easy, CURLINFO_RESPONSE_CODE, &status);
	return status;
}

static bool
write_all(struct download *d, const char *bytes, size_t n)
{
	while (n) {
		ssize_t done = write(d->fd, bytes, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0) {
			d->write_error = errno;
			return false;
		}
		bytes += done;
		n -= (size_t)done;
	}
	return true;
}

/* The gzip magic is two bytes, which may come in two pieces. */
static bool
looks_like_gzip(struct download *d, const char *bytes, size_t n)
{
	static const unsigned char magic[] = { 0x1f, 0x8b };
	size_t room = sizeof d->head - d->head_len;
	size_t take = n < room ? n : room, known;

	memcpy(d->head + d->head_len, bytes, take);
	d->head_len += take;
	known = d->head_len < sizeof magic ? d->head_len : sizeof magic;
	d->not_gzip = memcmp(d->head, magic, known) != 0;
	return !d->not_gzip;
}

/* Returning less than n has curl end the transfer. */
static size_t
on_data(char *bytes, size_t size, size_t count, void *context)
{
	struct download *d = context;
	size_t n = size * count;

	if (status_of(d) != 200) /* the body of an error is not kept */
		return 0;
	if (!looks_like_gzip(d, bytes, n))
		return 0;
	if ((int64_t)n > FETCH_BYTES_MAX - d->bytes) {
		d->too_large = true;
		return 0;
	}
	d->bytes += (int64_t)n;
	crypto_hash_sha256_update(&d->hash, (const unsigned char *)bytes, n);
	return write_all(d, bytes, n) ? n : 0;
}

static void
set_options(struct download *d)
{
	const struct fetch_job *job = d->job;
	CURL *c = d->easy;

	curl_easy_setopt(c, CURLOPT_URL, job->url);
	curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(c, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 1L);
	curl_easy_setopt(c, CURLOPT_MAXREDIRS, (long)REDIRECTS_MAX);
	curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, CONNECT_SECONDS);
	curl_easy_setopt(c, CURLOPT_TIMEOUT, job->total_seconds);
	curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, 1L);
	curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, job->stall_seconds);
	curl_easy_setopt(
	    c, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)FETCH_BYTES_MAX);
	curl_easy_setopt(
	    c, CURLOPT_USERAGENT, "conspect-agentd/" PACKAGE_VERSION);
	curl_easy_setopt(c, CURLOPT_ERRORBUFFER, d->error);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_data);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, d);
	if (job->ca_file)
		curl_easy_setopt(c, CURLOPT_CAINFO, job->ca_file);
	if (job->proxy)
		curl_easy_setopt(c, CURLOPT_PROXY, job->proxy);
	if (job->no_verify) {
		curl_easy_setopt(c, CURLOPT_SSL_VERIFYPEER, 0L);
		curl_easy_setopt(c, CURLOPT_SSL_VERIFYHOST, 0L);
	}
}

/* The address, and where it led to when that is another one. */
static void
where(const struct download *d, char *text, size_t size)
{
	char *last = NULL;

	(void)curl_easy_getinfo(d->easy, CURLINFO_EFFECTIVE_URL, &last);
	if (last && strcmp(last, d->job->url) != 0)
		(void)snprintf(text, size, "%.300s (redirected to %.300s)",
		    d->job->url, last);
	else
		(void)snprintf(text, size, "%.600s", d->job->url);
}

static void
describe_not_gzip(
    const struct download *d, const char *place, struct reason *why)
{
	char sample[SAMPLE_BYTES + 1], *type = NULL;
	size_t n = 0;

	for (; n < d->head_len; n++)
		sample[n] = d->head[n] < ' ' || d->head[n] > '~'
				? ' '
				: (char)d->head[n];
	sample[n] = '\0';
	(void)curl_easy_getinfo(d->easy, CURLINFO_CONTENT_TYPE, &type);
	reason_set(why, "%s: not a gzip archive: %.80s, starts with \"%s\"",
	    place, type ? type : "no content type", sample);
}

static enum outcome
describe_failure(struct download *d, CURLcode code, struct reason *why)
{
	char place[700];
	long number = status_of(d);

	where(d, place, sizeof place);
	if (d->not_gzip) {
		describe_not_gzip(d, place, why);
		return FAILED;
	}
	if (d->write_error) {
		reason_set(
		    why, "%s: %s", d->job->path, strerror(d->write_error));
		return FAILED;
	}
	if (d->too_large || code == CURLE_FILESIZE_EXCEEDED) {
		reason_set(why, "%s is larger than %lld bytes", place,
		    (long long)FETCH_BYTES_MAX);
		return FAILED;
	}
	if (code == CURLE_OK || (code == CURLE_WRITE_ERROR && number)) {
		char status[64];

		fetch_status_text(number, status);
		reason_set(why, "%s answered %s", place, status);
		return number >= 500 ? TRY_AGAIN : FAILED;
	}
	reason_set(why, "%s: %s", place,
	    d->error[0] ? d->error : curl_easy_strerror(code));
	return code == CURLE_UNSUPPORTED_PROTOCOL ||
		       code == CURLE_URL_MALFORMAT ||
		       code == CURLE_TOO_MANY_REDIRECTS ||
		       code == CURLE_PEER_FAILED_VERIFICATION
		   ? FAILED
		   : TRY_AGAIN;
}

/* Compares as bytes: the digest may be in upper case. */
static enum outcome
check_digest(struct download *d, const unsigned char *digest, const char *text,
    struct reason *why)
{
	unsigned char want[crypto_hash_sha256_BYTES];
	char place[700];
	size_t n;

	if (!d->job->sha256)
		return DONE;
	if (sodium_hex2bin(want, sizeof want, d->job->sha256,
		strlen(d->job->sha256), NULL, &n, NULL) ||
	    n != sizeof want) {
		reason_set(why, "\"%.80s\" is no SHA-256", d->job->sha256);
		return FAILED;
	}
	if (memcmp(want, digest, sizeof want) == 0)
		return DONE;
	where(d, place, sizeof place);
	reason_set(why, "%s: SHA-256 is %s, expected %s, of %lld bytes", place,
	    text, d->job->sha256, (long long)d->bytes);
	return FAILED;
}

static enum outcome
finish(struct download *d, char sha256[FETCH_SHA256_TEXT], struct reason *why)
{
	unsigned char digest[crypto_hash_sha256_BYTES];

	if (d->bytes < 2) {
		reason_set(why, "%s: the answer is empty", d->job->url);
		return TRY_AGAIN;
	}
	crypto_hash_sha256_final(&d->hash, digest);
	(void)sodium_bin2hex(sha256, FETCH_SHA256_TEXT, digest, sizeof digest);
	return check_digest(d, digest, sha256, why);
}

static enum outcome
attempt(const struct fetch_job *job, char sha256[FETCH_SHA256_TEXT],
    struct reason *why)
{
	struct download d = { .job = job };
	enum outcome outcome;
	CURLcode code;

	d.fd = open(job->path,
	    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (d.fd < 0) {
		reason_set(why, "%s: %s", job->path, strerror(errno));
		return FAILED;
	}
	d.easy = curl_easy_init();
	if (!d.easy) {
		close(d.fd);
		reason_set(why, "libcurl does not start");
		return FAILED;
	}
	crypto_hash_sha256_init(&d.hash);
	set_options(&d);
	code = curl_easy_perform(d.easy);
	outcome = code == CURLE_OK && status_of(&d) == 200
		      ? finish(&d, sha256, why)
		      : describe_failure(&d, code, why);
	curl_easy_cleanup(d.easy);
	close(d.fd);
	return outcome;
}

int
fetch_archive(const struct fetch_job *job, char sha256[FETCH_SHA256_TEXT],
    struct reason *why)
{
	enum outcome outcome = TRY_AGAIN;

	for (int i = 0; i < ATTEMPTS && outcome == TRY_AGAIN; i++)
		outcome = attempt(job, sha256, why);
	if (outcome == DONE)
		return 0;
	(void)unlink(job->path);
	return -1;
}
