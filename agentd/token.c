#include "agentd/token.h"

#include "core/log.h"
#include "core/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* More than any token that a server makes; less is no secret. */
#define TOKEN_MAX 1024
#define TOKEN_MIN 8

static int
check_file(int fd, const char *path, struct reason *why)
{
	struct stat st;

	if (fstat(fd, &st))
		return reason_set(
		    why, "token file %s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return reason_set(
		    why, "token file %s: not a regular file", path);
	if (st.st_uid != 0 && st.st_uid != geteuid())
		return reason_set(why,
		    "token file %s belongs to user %ld: chown it to root or "
		    "to user %ld",
		    path, (long)st.st_uid, (long)geteuid());
	if (st.st_mode & (S_IRWXG | S_IRWXO))
		return reason_set(why,
		    "token file %s is open to other users (mode %04o): "
		    "chmod 600 %s",
		    path, (unsigned)(st.st_mode & 07777), path);
	return 0;
}

/* Cuts the white space at the end; what is left must be visible ASCII. */
static int
check_text(char *text, const char *path, struct reason *why)
{
	size_t n = strcspn(text, "\r\n");

	if (text[n + strspn(text + n, "\r\n\t ")])
		return reason_set(
		    why, "token file %s: more than one line", path);
	text[n] = '\0';
	while (n && (text[n - 1] == ' ' || text[n - 1] == '\t'))
		text[--n] = '\0';
	if (n < TOKEN_MIN)
		return reason_set(why,
		    "token file %s: a token has at least %d characters", path,
		    TOKEN_MIN);
	for (size_t i = 0; i < n; i++)
		if (text[i] <= ' ' || text[i] > '~')
			return reason_set(why,
			    "token file %s: a token holds no white space and "
			    "no other than ASCII characters",
			    path);
	return 0;
}

int
token_read(const char *path, char **token, struct reason *why)
{
	char text[TOKEN_MAX + 2];
	ssize_t n;
	/* non-blocking: the name may be a FIFO's */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return reason_set(
		    why, "token file %s: %s", path, strerror(errno));
	if (check_file(fd, path, why)) {
		close(fd);
		return -1;
	}
	n = read(fd, text, sizeof text - 1);
	close(fd);
	if (n < 0)
		return reason_set(
		    why, "token file %s: %s", path, strerror(errno));
	if (n > TOKEN_MAX)
		return reason_set(why, "token file %s: longer than %d bytes",
		    path, TOKEN_MAX);
	text[n] = '\0';
	if (memchr(text, '\0', (size_t)n))
		return reason_set(why, "token file %s: holds a NUL", path);
	if (check_text(text, path, why))
		return -1;
	log_secret(text);
	*token = mem_copy(text);
	return 0;
}
