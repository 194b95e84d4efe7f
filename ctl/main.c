/* conspectctl: reading the command line. */
#include "ctl.h"

#include "core/log.h"
#include "core/utf8.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_DB LOCALSTATEDIR "/lib/conspect/conspect.db"

enum option_bit {
	OPT_ROLE = 1,
	OPT_PASSWORD_FILE = 2,
	OPT_SERVICE = 4,
	OPT_HOST = 8,
	OPT_OUT = 16,
	OPT_WATCH = 32,
	OPT_VERSION = 64,
	OPT_DIST = 128,
};

static const struct command {
	const char *name, *verb; /* verb NULL: it has none */
	int words;               /* that must follow: name, value */
	unsigned options;        /* of enum option_bit */
	int (*run)(struct store *store, const struct ctl_args *args);
	const char *usage;
} commands[] = {
	{ "migrate", NULL, 0, 0, ctl_migrate,
	    "migrate                make or update the database" },
	{ "user", "add", 1, OPT_ROLE | OPT_PASSWORD_FILE, ctl_user_add,
	    "user add NAME          [--role viewer|operator|admin] "
	    "[--password-file FILE]" },
	{ "user", "list", 0, 0, ctl_user_list, "user list" },
	{ "user", "password", 1, OPT_PASSWORD_FILE, ctl_user_password,
	    "user password NAME     [--password-file FILE]" },
	{ "user", "remove", 1, 0, ctl_user_remove, "user remove NAME" },
	{ "token", "add", 1, OPT_SERVICE | OPT_HOST | OPT_OUT, ctl_token_add,
	    "token add NAME         [--service SERVICE] [--host HOST] "
	    "[--out FILE]" },
	{ "token", "list", 0, 0, ctl_token_list, "token list" },
	{ "token", "remove", 1, 0, ctl_token_remove, "token remove NAME" },
	{ "settings", NULL, 0, 0, ctl_settings,
	    "settings               all settings and what they mean" },
	{ "get", NULL, 1, 0, ctl_get, "get SETTING" },
	{ "set", NULL, 2, 0, ctl_set,
	    "set SETTING VALUE      VALUE `default` takes it back" },
	{ "show", "request", 1, 0, ctl_show_request, "show request ID" },
	{ "show", "command", 1, 0, ctl_show_command, "show command ID" },
	{ "show", "host", 1, 0, ctl_show_host, "show host NAME" },
	{ "housekeep", NULL, 0, OPT_WATCH, ctl_housekeep,
	    "housekeep              [--watch]" },
	{ "perfspect", "add", 1, OPT_VERSION | OPT_DIST, ctl_perfspect_add,
	    "perfspect add FILE     [--version TEXT] [--dist DIR]" },
	{ "perfspect", "list", 0, OPT_DIST, ctl_perfspect_list,
	    "perfspect list         [--dist DIR]" },
	{ "perfspect", "remove", 1, OPT_DIST, ctl_perfspect_remove,
	    "perfspect remove ARCH  [--dist DIR]" },
};

int
ctl_fail(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	(void)fputs("conspectctl: ", stderr);
	(void)vfprintf(stderr, format, ap);
	(void)fputc('\n', stderr);
	va_end(ap);
	return CTL_FAILED;
}

bool
ctl_check_name(const char *what, const char *name)
{
	struct place at = { NULL, "name", 0 };
	struct faults faults = { NULL };
	bool good = field_name(name, strlen(name), what, &at, &faults) &&
		    utf8_is_valid(name, strlen(name)) && !strchr(name, ':');

	if (!good)
		(void)ctl_fail("%s must have 1 to %d bytes of UTF-8, without "
			       "colons and control characters",
		    what, NAME_BYTES_MAX);
	faults_free(&faults);
	return good;
}

static void
print_usage(FILE *to)
{
	(void)fputs("usage: conspectctl [--db FILE] COMMAND\n\n", to);
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		(void)fprintf(to, "  %s\n", commands[i].usage);
	(void)fputs("\nThe database is --db, or CONSPECT_DB of the "
		    "environment, or " DEFAULT_DB ".\nSee conspectctl(8).\n",
	    to);
}

static int
usage(const char *problem)
{
	if (problem)
		(void)ctl_fail("%s", problem);
	print_usage(stderr);
	return CTL_USAGE;
}

/* The command that the words name; *used is how many of them. */
static const struct command *
find_command(char **words, int n, int *used)
{
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
		const struct command *c = &commands[i];

		if (n < 1 || strcmp(words[0], c->name) != 0)
			continue;
		if (c->verb && (n < 2 || strcmp(words[1], c->verb) != 0))
			continue;
		*used = c->verb ? 2 : 1;
		return c;
	}
	return NULL;
}

static int
run(const struct command *command, const char *db, const struct ctl_args *args)
{
	enum store_failure failure;
	struct store *store;
	struct reason why;
	int status;

	if (secret_init() != 0)
		return CTL_FAILED;
	/* a name that is mistyped must not become a database */
	if (command->run != ctl_migrate && access(db, F_OK) != 0 &&
	    errno == ENOENT)
		return ctl_fail("there is no database %s: conspectctl "
				"migrate makes one",
		    db);
	if (store_open(db, &store, &failure, &why) != 0)
		return ctl_fail("%s", why.text);
	status = command->run(store, args);
	store_close(store);
	return status;
}

static void __attribute__((noreturn)) print_version(void)
{
	(void)puts(PACKAGE_STRING);
	exit(CTL_OK);
}

/* Options in any place; returns the bits of those that were given, or -1. */
static int
read_options(int argc, char **argv, const char **db, struct ctl_args *args)
{
	static const struct option options[] = {
		{ "db", required_argument, NULL, 0 },
		{ "help", no_argument, NULL, 'h' },
		{ "version", required_argument, NULL, OPT_VERSION },
		{ "dist", required_argument, NULL, OPT_DIST },
		{ "role", required_argument, NULL, OPT_ROLE },
		{ "password-file", required_argument, NULL,
		    OPT_PASSWORD_FILE },
		{ "service", required_argument, NULL, OPT_SERVICE },
		{ "host", required_argument, NULL, OPT_HOST },
		{ "out", required_argument, NULL, OPT_OUT },
		{ "watch", no_argument, NULL, OPT_WATCH },
		{ NULL, 0, NULL, 0 },
	};
	int given = 0, c;

	/* alone it asks for ours */
	if (argc == 2 && strcmp(argv[1], "--version") == 0)
		print_version();
	while ((c = getopt_long(argc, argv, "hV", options, NULL)) != -1) {
		switch (c) {
		case 0:
			*db = optarg;
			continue;
		case 'h':
			print_usage(stdout);
			exit(CTL_OK);
		case 'V':
			print_version();
		case OPT_ROLE:
			args->role = optarg;
			break;
		case OPT_PASSWORD_FILE:
			args->password_file = optarg;
			break;
		case OPT_SERVICE:
			args->service = optarg;
			break;
		case OPT_HOST:
			args->host = optarg;
			break;
		case OPT_OUT:
			args->out = optarg;
			break;
		case OPT_WATCH:
			args->watch = true;
			break;
		case OPT_VERSION:
			args->version = optarg;
			break;
		case OPT_DIST:
			args->dist = optarg;
			break;
		default:
			return -1;
		}
		given |= c;
	}
	return given;
}

int
main(int argc, char **argv)
{
	const char *env = getenv("CONSPECT_DB"),
		   *db = env && *env ? env : DEFAULT_DB;
	struct ctl_args args = { 0 };
	const struct command *command;
	int given, used = 0, left;
	char **words;

	log_to_stderr("conspectctl");
	/* errors are printed once, by ctl_fail() */
	log_set_level(LOG_LEVEL_WARN);
	(void)umask(027);
	given = read_options(argc, argv, &db, &args);
	if (given < 0)
		return usage(NULL);
	command = find_command(argv + optind, argc - optind, &used);
	if (!command)
		return usage("which command?");
	words = argv + optind + used;
	left = argc - optind - used;
	if (left > command->words)
		return usage("too many arguments");
	if (left < command->words)
		return usage(command->words == 1
				 ? "a NAME is needed"
				 : "a SETTING and a VALUE are needed");
	if (given & ~(int)command->options)
		return usage("an option does not belong to this command");
	args.name = left > 0 ? words[0] : NULL;
	args.value = left > 1 ? words[1] : NULL;
	return run(command, db, &args);
}
