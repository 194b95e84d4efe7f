/*
 * conspectctl: the appliance from the command line.
 *
 *   conspectctl [--db FILE] COMMAND [VERB] [ARGUMENT...] [--OPTION VALUE...]
 *
 * A table (ctl/main.c) holds the commands; each is one function, which gets
 * the open database and what stood on the command line.
 */
#ifndef CONSPECT_CTL_CTL_H
#define CONSPECT_CTL_CTL_H

#include "store/store.h"

/* Exit statuses. */
enum {
	CTL_OK = 0,
	CTL_FAILED = 1, /* the reason was printed, or logged by the store */
	CTL_USAGE = 2,
};

/* What stood on the command line, NULL where it did not. */
struct ctl_args {
	const char *name;  /* of a user, token, setting or file; an id */
	const char *value; /* of a setting */
	bool watch;        /* housekeep: again and again */
	const char *role, *password_file, *service, *host, *out;
	const char *version; /* of an archive of PerfSpect */
	const char *dist;    /* where these are */
};

/* Each prints its result, or its error to standard error. */
int ctl_migrate(struct store *store, const struct ctl_args *args);
int ctl_user_add(struct store *store, const struct ctl_args *args);
int ctl_user_list(struct store *store, const struct ctl_args *args);
int ctl_user_remove(struct store *store, const struct ctl_args *args);
int ctl_user_password(struct store *store, const struct ctl_args *args);
int ctl_token_add(struct store *store, const struct ctl_args *args);
int ctl_token_list(struct store *store, const struct ctl_args *args);
int ctl_token_remove(struct store *store, const struct ctl_args *args);

int ctl_settings(struct store *store, const struct ctl_args *args);
int ctl_get(struct store *store, const struct ctl_args *args);
int ctl_set(struct store *store, const struct ctl_args *args);
int ctl_show_request(struct store *store, const struct ctl_args *args);
int ctl_show_command(struct store *store, const struct ctl_args *args);
int ctl_show_host(struct store *store, const struct ctl_args *args);
int ctl_housekeep(struct store *store, const struct ctl_args *args);
int ctl_perfspect_add(struct store *store, const struct ctl_args *args);
int ctl_perfspect_list(struct store *store, const struct ctl_args *args);
int ctl_perfspect_remove(struct store *store, const struct ctl_args *args);

/* Prints "conspectctl: ..." to standard error and returns CTL_FAILED. */
int ctl_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Whether name can be one of a user or token: printed otherwise. */
bool ctl_check_name(const char *what, const char *name);

#endif
