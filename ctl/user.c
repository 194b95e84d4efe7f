/* conspectctl migrate, and user add|list|password|remove */
#include "ctl.h"

#include "core/utf8.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

int
ctl_migrate(struct store *store, const struct ctl_args *args)
{
	(void)args;
	/* opening it has done the work */
	(void)printf("%s: schema version %d\n", store_path(store),
	    store_schema_version(store));
	return CTL_OK;
}

/* --- passwords ----------------------------------------------------------- */

/* Reads one line without its end; false when there is none, or it is longer
 * than a password may be. */
static bool
read_line(FILE *from, char line[PASSWORD_MAX + 2])
{
	size_t n;

	if (!fgets(line, PASSWORD_MAX + 2, from))
		return false;
	n = strcspn(line, "\r\n");
	if (n > PASSWORD_MAX)
		return false;
	line[n] = '\0';
	return true;
}

/* Asks on the terminal, which does not show what is typed. */
static bool
ask(char line[PASSWORD_MAX + 2])
{
	struct termios old, silent;
	bool got;

	(void)fputs("Password: ", stderr);
	if (tcgetattr(STDIN_FILENO, &old) != 0)
		return read_line(stdin, line);
	silent = old;
	silent.c_lflag &= ~(tcflag_t)ECHO;
	(void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent);
	got = read_line(stdin, line);
	(void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &old);
	(void)fputc('\n', stderr);
	return got;
}

static int
read_file(const char *path, char line[PASSWORD_MAX + 2], bool *got)
{
	FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");

	if (!file)
		return ctl_fail("%s: %s", path, strerror(errno));
	*got = read_line(file, line);
	if (file != stdin)
		(void)fclose(file);
	return CTL_OK;
}

/* The password of --password-file, or asked for, as a hash; an error is
 * printed. */
static int
new_hash(const struct ctl_args *args, char hash[PASSWORD_HASH_TEXT])
{
	char line[PASSWORD_MAX + 2] = "";
	bool got = false;

	if (!args->password_file)
		got = ask(line);
	else if (read_file(args->password_file, line, &got) != CTL_OK)
		return CTL_FAILED;
	/* no page and no header could carry another one */
	if (!got || strlen(line) < PASSWORD_MIN ||
	    !utf8_is_valid(line, strlen(line)))
		return ctl_fail("a password has %d to %d bytes of UTF-8, in "
				"one line",
		    PASSWORD_MIN, PASSWORD_MAX);
	return password_hash(line, hash) == 0 ? CTL_OK : CTL_FAILED;
}

/* --- commands ------------------------------------------------------------ */

static int
role_of(const char *name)
{
	for (int i = 0; role_names[i]; i++)
		if (strcmp(role_names[i], name) == 0)
			return i;
	return -1;
}

int
ctl_user_add(struct store *store, const struct ctl_args *args)
{
	int role = role_of(args->role ? args->role : "operator"), result;
	char hash[PASSWORD_HASH_TEXT];

	if (role < 0)
		return ctl_fail("\"%s\" is no role: viewer, operator or admin",
		    args->role);
	if (!ctl_check_name("a user's name", args->name) ||
	    new_hash(args, hash) != CTL_OK)
		return CTL_FAILED;
	result = user_insert(store, args->name, (enum role)role, hash);
	if (result == STORE_CONFLICT)
		return ctl_fail("there is a user %s already: conspectctl "
				"user password changes the password",
		    args->name);
	if (result != 0)
		return CTL_FAILED;
	(void)printf("user %s added as %s\n", args->name, role_names[role]);
	return CTL_OK;
}

int
ctl_user_password(struct store *store, const struct ctl_args *args)
{
	char hash[PASSWORD_HASH_TEXT];
	struct user user;
	int result = user_by_name(store, args->name, &user);

	if (result == STORE_NOT_FOUND)
		return ctl_fail("there is no user %s", args->name);
	if (result == 0 && new_hash(args, hash) != CTL_OK) {
		user_free(&user);
		return CTL_FAILED;
	}
	if (result == 0)
		result = user_set_password(store, &user, hash);
	user_free(&user);
	if (result != 0)
		return CTL_FAILED;
	(void)printf("password of %s changed, sessions ended\n", args->name);
	return CTL_OK;
}

static void
print_user(void *context, const struct user *user)
{
	(void)context;
	(void)printf("%-24s %-9s password of %s\n", user->name,
	    role_names[user->role], user->changed_at);
}

int
ctl_user_list(struct store *store, const struct ctl_args *args)
{
	(void)args;
	return user_list(store, print_user, NULL) == 0 ? CTL_OK : CTL_FAILED;
}

int
ctl_user_remove(struct store *store, const struct ctl_args *args)
{
	switch (user_delete(store, args->name)) {
	case 0:
		(void)printf("user %s removed\n", args->name);
		return CTL_OK;
	case STORE_NOT_FOUND:
		return ctl_fail("there is no user %s", args->name);
	case STORE_CONFLICT:
		return ctl_fail(
		    "%s is the last admin: add another one first", args->name);
	default:
		return CTL_FAILED;
	}
}
