/* conspectctl token add|list|remove */
#include "ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Writes a new file that only its owner can read. */
static int
write_secret(const char *path, const char *secret)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	bool good;

	if (fd < 0)
		return ctl_fail("%s: %s", path, strerror(errno));
	good = dprintf(fd, "%s\n", secret) > 0 && fsync(fd) == 0;
	if (close(fd) == 0 && good)
		return CTL_OK;
	(void)unlink(path);
	return ctl_fail("%s: %s", path, strerror(errno));
}

/* The file comes first: a token in the database whose secret nobody has
 * would be of no use. */
static int
add(struct store *store, const struct ctl_args *args, const char *secret)
{
	unsigned char hash[SECRET_HASH_BYTES];
	int result;

	if (args->out && write_secret(args->out, secret) != CTL_OK)
		return CTL_FAILED;
	secret_hash(secret, hash);
	result = agent_token_insert(
	    store, args->name, hash, args->service, args->host);
	if (result == 0)
		return CTL_OK;
	if (args->out)
		(void)unlink(args->out);
	if (result == STORE_CONFLICT)
		return ctl_fail("there is a token %s already: conspectctl "
				"token remove revokes it",
		    args->name);
	return CTL_FAILED;
}

int
ctl_token_add(struct store *store, const struct ctl_args *args)
{
	char secret[SECRET_TEXT];

	if (!ctl_check_name("a token's name", args->name) ||
	    (args->service &&
		!ctl_check_name("a service's name", args->service)) ||
	    (args->host && !ctl_check_name("a host's name", args->host)))
		return CTL_FAILED;
	secret_make(secret);
	if (add(store, args, secret) != CTL_OK)
		return CTL_FAILED;
	/* it is shown once: only its hash is kept */
	if (args->out)
		(void)printf(
		    "token %s written to %s\n", args->name, args->out);
	else
		(void)printf("%s\n", secret);
	return CTL_OK;
}

static void
print_token(void *context, const struct agent_token *token)
{
	(void)context;
	(void)printf("%-24s %-24s %-24s %s%s\n", token->name,
	    token->service_name ? token->service_name : "every service",
	    token->hostname ? token->hostname : "every host",
	    token->revoked_at ? "revoked " : "valid since ",
	    token->revoked_at ? token->revoked_at : token->created_at);
}

int
ctl_token_list(struct store *store, const struct ctl_args *args)
{
	(void)args;
	return agent_token_list(store, print_token, NULL) == 0 ? CTL_OK
							       : CTL_FAILED;
}

int
ctl_token_remove(struct store *store, const struct ctl_args *args)
{
	switch (agent_token_revoke(store, args->name)) {
	case 0:
		(void)printf("token %s revoked\n", args->name);
		return CTL_OK;
	case STORE_NOT_FOUND:
		return ctl_fail("there is no valid token %s", args->name);
	default:
		return CTL_FAILED;
	}
}
