/*
 * Serving: CGI (RFC 3875) and FastCGI, of which everything above knows
 * nothing.  Both give an environment, a body to read and a place to write.
 */
#include "web/route.h"

#include "core/log.h"
#include "core/mem.h"

#ifdef HAVE_FCGI
#	include <fcgiapp.h>
#endif

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_DB LOCALSTATEDIR "/lib/conspect/conspect.db"

/* What is the same for every reply: nothing of it may be framed, sniffed,
 * cached, or load anything from elsewhere. */
static const char security_headers[] =
    "Content-Security-Policy: default-src 'self'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Referrer-Policy: same-origin\r\n"
    "Cache-Control: no-store\r\n";

struct exchange {
	char **environment;
	body_reader *read;
	void *context;
	int (*write)(void *context, const char *bytes, size_t n);
};

/* The store, kept over the requests of a FastCGI worker. */
struct keeper {
	const char *path;
	struct store *store;
};

/* --- the environment --------------------------------------------------------
 */

static const char *
variable(const struct exchange *x, const char *name)
{
	size_t n = strlen(name);

	for (char **e = x->environment; *e; e++)
		if (strncmp(*e, name, n) == 0 && (*e)[n] == '=')
			return *e + n + 1;
	return NULL;
}

static enum method
method_of(const char *name)
{
	if (!name)
		return METHOD_OTHER;
	if (strcmp(name, "GET") == 0 || strcmp(name, "HEAD") == 0)
		return METHOD_GET;
	if (strcmp(name, "POST") == 0)
		return METHOD_POST;
	return strcmp(name, "PUT") == 0 ? METHOD_PUT : METHOD_OTHER;
}

/* PATH_INFO with one slash in place of several and none at the end: servers
 * differ in what they leave. */
static char *
normal_path(const char *info)
{
	char *path = mem_alloc(strlen(info) + 2, 1), *to = path;

	*to++ = '/';
	for (; *info; info++)
		if (*info != '/' || to[-1] != '/')
			*to++ = *info;
	if (to > path + 1 && to[-1] == '/')
		to--;
	*to = '\0';
	return path;
}

/* What relative addresses have to climb: a browser counts every slash. */
static size_t
depth_of(const char *info)
{
	size_t slashes = 0;

	for (; *info; info++)
		slashes += *info == '/';
	return slashes > 1 ? slashes - 1 : 0;
}

static bool
is_on(const char *value)
{
	return value &&
	       (strcasecmp(value, "on") == 0 || strcmp(value, "1") == 0);
}

static bool
is_https(const char *scheme)
{
	return scheme && strcasecmp(scheme, "https") == 0;
}

static void
read_environment(const struct exchange *x, struct web_request *request)
{
	const char *method = variable(x, "REQUEST_METHOD"),
		   *info = variable(x, "PATH_INFO");

	memset(request, 0, sizeof *request);
	request->method = method_of(method);
	request->head = method && strcmp(method, "HEAD") == 0;
	request->path = normal_path(info ? info : "");
	request->depth = depth_of(info ? info : "");
	request->query = variable(x, "QUERY_STRING");
	if (!request->query)
		request->query = "";
	request->content_type = variable(x, "CONTENT_TYPE");
	request->content_length = variable(x, "CONTENT_LENGTH");
	request->transfer_encoding = variable(x, "HTTP_TRANSFER_ENCODING");
	request->authorization = variable(x, "HTTP_AUTHORIZATION");
	request->cookie = variable(x, "HTTP_COOKIE");
	request->origin = variable(x, "HTTP_ORIGIN");
	request->host = variable(x, "HTTP_HOST");
	request->remote_address = variable(x, "REMOTE_ADDR");
	/* a proxy may end TLS; who lies here hurts its own cookie only */
	request->secure = is_on(variable(x, "HTTPS")) ||
			  is_https(variable(x, "HTTP_X_FORWARDED_PROTO"));
}

/* --- one request ------------------------------------------------------------
 */

static void
send_reply(const struct exchange *x, const struct web_request *request,
    struct web_reply *reply)
{
	struct buf head = BUF_INIT(REPLY_BYTES_MAX);

	buf_fmt(&head, "Status: %d %s\r\n", reply->status,
	    status_phrase(reply->status));
	if (reply->content_type)
		buf_fmt(&head, "Content-Type: %s\r\n", reply->content_type);
	buf_str(&head, security_headers);
	buf_add(&head, buf_text(&reply->headers), reply->headers.len);
	buf_fmt(&head, "Content-Length: %zu\r\n\r\n", reply->body.len);
	if (!request->head)
		buf_add(&head, buf_text(&reply->body), reply->body.len);
	if (x->write(x->context, buf_text(&head), head.len) != 0)
		log_warn("the client or the web server went away before the "
			 "reply to %s was sent",
		    request->path);
	buf_free(&head);
}

/* Opens the store, or opens it again when the file was replaced. */
static void
give_store(struct keeper *keeper, struct web_request *request)
{
	struct reason why;

	if (keeper->store && store_check(keeper->store, &why) != 0) {
		log_info("opening again: %s", why.text);
		store_close(keeper->store);
		keeper->store = NULL;
	}
	if (!keeper->store && store_open(keeper->path, &keeper->store,
				  &request->store_failure, &why) != 0)
		log_error("%s", why.text);
	request->store = keeper->store;
}

static void
serve(
    const struct web_app *app, const struct exchange *x, struct keeper *keeper)
{
	struct web_reply reply = { .headers = BUF_INIT(REPLY_BYTES_MAX),
		.body = BUF_INIT(REPLY_BYTES_MAX) };
	struct web_request request;

	read_environment(x, &request);
	give_store(keeper, &request);
	web_dispatch(app, &request, &reply, x->read, x->context);
	if (reply.body.full || reply.headers.full) {
		log_error("the reply to %s is larger than %d bytes",
		    request.path, REPLY_BYTES_MAX);
		reply_error(&request, &reply, 500, "the reply is too large");
	}
	send_reply(x, &request, &reply);
	buf_free(&reply.headers);
	buf_free(&reply.body);
	free(request.path);
}

/* --- CGI --------------------------------------------------------------------
 */

extern char **environ;

static long
read_input(void *context, char *to, size_t n)
{
	ssize_t got;

	(void)context;
	do
		got = read(STDIN_FILENO, to, n);
	while (got < 0 && errno == EINTR);
	return (long)got;
}

static int
write_output(void *context, const char *bytes, size_t n)
{
	(void)context;
	while (n > 0) {
		ssize_t done = write(STDOUT_FILENO, bytes, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return -1;
		bytes += done;
		n -= (size_t)done;
	}
	return 0;
}

static void
serve_cgi(const struct web_app *app, struct keeper *keeper)
{
	struct exchange x = { environ, read_input, NULL, write_output };

	(void)signal(SIGPIPE, SIG_IGN);
	serve(app, &x, keeper);
}

/* --- FastCGI ----------------------------------------------------------------
 */

#ifdef HAVE_FCGI
static long
read_fcgi(void *context, char *to, size_t n)
{
	FCGX_Request *fcgi = context;

	return FCGX_GetStr(to, n > INT_MAX ? INT_MAX : (int)n, fcgi->in);
}

static int
write_fcgi(void *context, const char *bytes, size_t n)
{
	FCGX_Request *fcgi = context;

	while (n > 0) {
		int part = n > INT_MAX ? INT_MAX : (int)n;

		if (FCGX_PutStr(bytes, part, fcgi->out) != part)
			return -1;
		bytes += part;
		n -= (size_t)part;
	}
	return 0;
}

static int
serve_fcgi(const struct web_app *app, struct keeper *keeper)
{
	FCGX_Request fcgi;

	if (FCGX_Init() != 0 || FCGX_InitRequest(&fcgi, 0, 0) != 0) {
		log_error("FastCGI cannot start: %s", strerror(errno));
		return EXIT_FAILURE;
	}
	while (FCGX_Accept_r(&fcgi) == 0) {
		struct exchange x = { fcgi.envp, read_fcgi, &fcgi,
			write_fcgi };

		serve(app, &x, keeper);
		FCGX_Finish_r(&fcgi);
	}
	FCGX_Free(&fcgi, 1);
	return EXIT_SUCCESS;
}
#endif

int
web_main(const struct web_app *app)
{
	const char *path = getenv("CONSPECT_DB");
	struct keeper keeper = { path && *path ? path : DEFAULT_DB, NULL };
	int status = EXIT_SUCCESS;

	log_to_stderr(app->name);
	/* what the database leaves beside itself is nobody else's business */
	(void)umask(027);
	if (secret_init() != 0)
		return EXIT_FAILURE;
#ifdef HAVE_FCGI
	if (!FCGX_IsCGI())
		status = serve_fcgi(app, &keeper);
	else
#endif
		serve_cgi(app, &keeper);
	store_close(keeper.store);
	return status;
}
