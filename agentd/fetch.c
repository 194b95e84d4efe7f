#include "agentd/fetch.h"

#include "agentd/published.h"
#include "core/buf.h"
#include "core/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <nettle/md5.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define REDIRECTS_MAX 10
#define ATTEMPTS 2
#define CONNECT_SECONDS 20L
/* A checksum is some 50 bytes; it may be done without. */
#define CHECKSUM_MS 20000
/* Room for two addresses and some words. */
#define PLACE_BYTES 700
/* With less time than this left, a second attempt is none. */
#define ATTEMPT_MIN_MS 1000
/* Shown of a body that is no archive. */
#define SAMPLE_BYTES 60

/* One attempt's outcome, as far as a second one depends on it. */
enum outcome { DONE, FAILED, TRY_AGAIN };

/* A transfer under way, of the archive or of its checksum. */
struct transfer {
	const struct fetch_job *job;
	const char *url;
	CURL *easy;
	char error[CURL_ERROR_SIZE];
};

struct download {
	struct transfer t;
	int fd;
	int64_t bytes;
	unsigned char head[SAMPLE_BYTES]; /* the first bytes */
	size_t head_len;
	bool not_gzip, too_large;
	int write_error; /* errno, 0 while all is well */
	crypto_hash_sha256_state sha256;
	struct md5_ctx md5;
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

/* --- any transfer -------------------------------------------------------- */

static long
status_of(const struct transfer *t)
{
	long status = 0;

	(void)curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
	return status;
}

static bool
is_https(const char *url)
{
	return strncasecmp(url, "https:", 6) == 0;
}

/* What may follow a first address: a redirect must not give up https. */
static const char *
redirect_protocols(const char *url)
{
	return is_https(url) ? "https" : "http,https";
}

static bool
may_follow(const char *url, const char *next)
{
	return is_https(next) ||
	       (!is_https(url) && strncasecmp(next, "http:", 5) == 0);
}

static int
open_transfer(struct transfer *t, int64_t ms, curl_write_callback on_bytes,
    void *context)
{
	CURL *c = curl_easy_init();

	if (!c)
		return -1;
	t->easy = c;
	peer_set(c, &t->job->peer);
	curl_easy_setopt(c, CURLOPT_URL, t->url);
	curl_easy_setopt(
	    c, CURLOPT_REDIR_PROTOCOLS_STR, redirect_protocols(t->url));
	curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 1L);
	curl_easy_setopt(c, CURLOPT_MAXREDIRS, (long)REDIRECTS_MAX);
	curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, CONNECT_SECONDS);
	curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, (long)ms);
	curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, 1L);
	curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, t->job->stall_seconds);
	curl_easy_setopt(c, CURLOPT_ERRORBUFFER, t->error);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_bytes);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, context);
	return 0;
}

static const char *
last_url(const struct transfer *t)
{
	char *last = NULL;

	(void)curl_easy_getinfo(t->easy, CURLINFO_EFFECTIVE_URL, &last);
	return last ? last : t->url;
}

/* The address, and where it led to when that is another one. */
static void
where(const struct transfer *t, char text[PLACE_BYTES])
{
	const char *last = last_url(t);

	if (strcmp(last, t->url) != 0)
		(void)snprintf(text, PLACE_BYTES,
		    "%.300s (redirected to %.300s)", t->url, last);
	else
		(void)snprintf(text, PLACE_BYTES, "%.600s", t->url);
}

/* Of a transfer that curl broke off, or whose status is not 200. */
static void
describe(const struct transfer *t, CURLcode code, struct reason *why)
{
	char place[PLACE_BYTES];

	where(t, place);
	if (code == CURLE_OK || code == CURLE_WRITE_ERROR) {
		char status[64];

		fetch_status_text(status_of(t), status);
		reason_set(why, "%s answered %s", place, status);
	} else if (code == CURLE_UNSUPPORTED_PROTOCOL &&
		   !may_follow(t->url, last_url(t))) {
		reason_set(why, "%s: only %s is followed from there", place,
		    redirect_protocols(t->url));
	} else {
		peer_describe(code, t->error, why);
		reason_set(why, "%s: %s", place, why->text);
	}
}

/* --- the archive --------------------------------------------------------- */

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

	if (status_of(&d->t) != 200) /* the body of an error is not kept */
		return 0;
	if (!looks_like_gzip(d, bytes, n))
		return 0;
	if ((int64_t)n > d->t.job->bytes_max - d->bytes) {
		d->too_large = true;
		return 0;
	}
	d->bytes += (int64_t)n;
	crypto_hash_sha256_update(&d->sha256, (const unsigned char *)bytes, n);
	if (!d->t.job->sha256)
		md5_update(&d->md5, n, (const uint8_t *)bytes);
	return write_all(d, bytes, n) ? n : 0;
}

static void
describe_not_gzip(const struct download *d, struct reason *why)
{
	char sample[SAMPLE_BYTES + 1], place[PLACE_BYTES], *type = NULL;
	size_t n = 0;

	for (; n < d->head_len; n++)
		sample[n] = d->head[n] < ' ' || d->head[n] > '~'
				? ' '
				: (char)d->head[n];
	sample[n] = '\0';
	where(&d->t, place);
	(void)curl_easy_getinfo(d->t.easy, CURLINFO_CONTENT_TYPE, &type);
	reason_set(why, "%s: not a gzip archive: %.80s, starts with \"%s\"",
	    place, type ? type : "no content type", sample);
}

/* Whether what curl says may be better next time. */
static bool
is_passing(CURLcode code)
{
	return code != CURLE_UNSUPPORTED_PROTOCOL &&
	       code != CURLE_URL_MALFORMAT &&
	       code != CURLE_TOO_MANY_REDIRECTS &&
	       code != CURLE_PEER_FAILED_VERIFICATION &&
	       code != CURLE_SSL_CACERT_BADFILE;
}

static enum outcome
describe_failure(struct download *d, CURLcode code, struct reason *why)
{
	char place[PLACE_BYTES];

	where(&d->t, place);
	if (d->not_gzip) {
		describe_not_gzip(d, why);
	} else if (d->write_error) {
		reason_set(why, "%s, as user %ld: %s", d->t.job->path,
		    (long)geteuid(), strerror(d->write_error));
	} else if (d->too_large || code == CURLE_FILESIZE_EXCEEDED) {
		reason_set(why, "%s is larger than %lld bytes", place,
		    (long long)d->t.job->bytes_max);
	} else {
		describe(&d->t, code, why);
		if (code == CURLE_OK || code == CURLE_WRITE_ERROR)
			return status_of(&d->t) >= 500 ? TRY_AGAIN : FAILED;
		return is_passing(code) ? TRY_AGAIN : FAILED;
	}
	return FAILED;
}

/* Compares as bytes: the digest may be in upper case. */
static enum outcome
check_pin(struct download *d, const unsigned char *digest,
    struct fetch_result *result, struct reason *why)
{
	unsigned char want[crypto_hash_sha256_BYTES];
	const char *pin = d->t.job->sha256;
	char place[PLACE_BYTES];
	size_t n;

	if (sodium_hex2bin(
		want, sizeof want, pin, strlen(pin), NULL, &n, NULL) ||
	    n != sizeof want) {
		reason_set(why, "\"%.80s\" is no SHA-256", pin);
		return FAILED;
	}
	reason_set(&result->note, "its SHA-256 is the pinned one");
	if (memcmp(want, digest, sizeof want) == 0)
		return DONE;
	where(&d->t, place);
	reason_set(why, "%s: SHA-256 is %s, expected %s, of %lld bytes", place,
	    result->sha256, pin, (long long)d->bytes);
	return FAILED;
}

/* --- its published checksum ---------------------------------------------- */

static size_t
on_text(char *bytes, size_t size, size_t count, void *context)
{
	struct buf *text = context;

	buf_add(text, bytes, size * count);
	return text->full ? 0 : size * count;
}

/* Returns 0 and the place that it came from, or -1 with the reason. */
static int
fetch_md5(struct transfer *t, int64_t ms,
    unsigned char md5[PUBLISHED_MD5_BYTES], char place[PLACE_BYTES],
    struct reason *why)
{
	struct buf text = BUF_INIT(PUBLISHED_TEXT_MAX);
	CURLcode code;
	int result = -1;

	if (open_transfer(t, ms, on_text, &text))
		return reason_set(why, "libcurl does not start");
	code = curl_easy_perform(t->easy);
	where(t, place);
	if (text.full)
		reason_set(why, "%s is longer than %d bytes", place,
		    PUBLISHED_TEXT_MAX);
	else if (code != CURLE_OK || status_of(t) != 200)
		describe(t, code, why);
	else if (published_read(buf_text(&text), md5, why))
		reason_set(why, "%s: %s", place, why->text);
	else
		result = 0;
	curl_easy_cleanup(t->easy);
	buf_free(&text);
	return result;
}

static enum outcome
compare_md5(struct download *d, const unsigned char *want,
    const char *published, struct reason *why)
{
	unsigned char digest[MD5_DIGEST_SIZE];
	char is[2 * sizeof digest + 1], expected[2 * sizeof digest + 1];
	char place[PLACE_BYTES];

	md5_digest(&d->md5, sizeof digest, digest);
	if (memcmp(want, digest, sizeof digest) == 0)
		return DONE;
	(void)sodium_bin2hex(is, sizeof is, digest, sizeof digest);
	(void)sodium_bin2hex(expected, sizeof expected, want, sizeof digest);
	where(&d->t, place);
	reason_set(why,
	    "%.400s: MD5 is %s, expected %s by %.400s, of %lld bytes", place,
	    is, expected, published, (long long)d->bytes);
	return TRY_AGAIN;
}

/* The archive is as good without: not all places have the checksum. */
static enum outcome
check_published(struct download *d, int64_t ms, struct fetch_result *result,
    struct reason *why)
{
	unsigned char md5[PUBLISHED_MD5_BYTES];
	char place[PLACE_BYTES];
	char *url = published_address(d->t.url);
	struct transfer t = { .job = d->t.job, .url = url };
	struct reason unknown;
	enum outcome outcome = DONE;

	if (ms > CHECKSUM_MS)
		ms = CHECKSUM_MS;
	if (url && fetch_md5(&t, ms > 0 ? ms : 1, md5, place, &unknown) == 0) {
		reason_set(&result->note, "its MD5 is that of %s", place);
		outcome = compare_md5(d, md5, place, why);
	} else {
		reason_set(&result->note, "its MD5 was not checked: %s",
		    url ? unknown.text : "no address");
	}
	free(url);
	return outcome;
}

/* --- attempts ------------------------------------------------------------ */

static enum outcome
finish(struct download *d, int64_t until, struct fetch_result *result,
    struct reason *why)
{
	unsigned char digest[crypto_hash_sha256_BYTES];

	if (d->bytes < 2) {
		char place[PLACE_BYTES];

		where(&d->t, place);
		reason_set(why, "%s: the answer is empty", place);
		return TRY_AGAIN;
	}
	crypto_hash_sha256_final(&d->sha256, digest);
	(void)sodium_bin2hex(
	    result->sha256, FETCH_SHA256_TEXT, digest, sizeof digest);
	if (d->t.job->sha256)
		return check_pin(d, digest, result, why);
	return check_published(d, until - clock_mono_ms(), result, why);
}

static enum outcome
attempt(const struct fetch_job *job, int64_t until,
    struct fetch_result *result, struct reason *why)
{
	struct download d = { .t = { .job = job, .url = job->url } };
	int64_t ms = until - clock_mono_ms();
	enum outcome outcome;
	CURLcode code;

	d.fd = open(job->path,
	    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (d.fd < 0) {
		reason_set(why, "%s, as user %ld: %s", job->path,
		    (long)geteuid(), strerror(errno));
		return FAILED;
	}
	if (open_transfer(&d.t, ms > 0 ? ms : 1, on_data, &d)) {
		close(d.fd);
		reason_set(why, "libcurl does not start");
		return FAILED;
	}
	curl_easy_setopt(
	    d.t.easy, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)job->bytes_max);
	crypto_hash_sha256_init(&d.sha256);
	md5_init(&d.md5);
	code = curl_easy_perform(d.t.easy);
	outcome = code == CURLE_OK && status_of(&d.t) == 200
		      ? finish(&d, until, result, why)
		      : describe_failure(&d, code, why);
	curl_easy_cleanup(d.t.easy);
	close(d.fd);
	return outcome;
}

int
fetch_archive(const struct fetch_job *job, struct fetch_result *result,
    struct reason *why)
{
	int64_t until = clock_mono_ms() + (int64_t)job->total_seconds * 1000;
	enum outcome outcome = TRY_AGAIN;

	*result = (struct fetch_result) { "", { "" } };
	for (int i = 0; i < ATTEMPTS && outcome == TRY_AGAIN; i++) {
		outcome = attempt(job, until, result, why);
		if (clock_mono_ms() + ATTEMPT_MIN_MS > until)
			break;
	}
	if (outcome == DONE)
		return 0;
	(void)unlink(job->path);
	return -1;
}
