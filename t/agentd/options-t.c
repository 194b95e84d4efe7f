/* Flags, the settings file, and the token file. */
#include "t/agentd/suite.h"

#include "agentd/options.h"
#include "agentd/token.h"
#include "core/buf.h"
#include "core/log.h"

#include <string.h>
#include <unistd.h>

static char *directory, *file;
static struct options o;
static struct reason why;

static void
set_up(void)
{
	directory = suite_directory();
	file = mem_fmt("%s/conf", directory);
	why.text[0] = '\0';
}

static void
tear_down(void)
{
	options_free(&o);
	free(file);
	suite_remove(directory);
}

/* Parses up to ten arguments after the program's name. */
static int
parse(const char *const *given)
{
	char *argv[16] = { mem_copy("conspect-agentd") };
	int argc = 1, outcome;

	for (; given[argc - 1]; argc++)
		argv[argc] = mem_copy(given[argc - 1]);
	outcome = options_parse(&o, argc, argv, &why);
	while (argc)
		free(argv[--argc]);
	return outcome;
}

#define PARSE(...) parse((const char *const[]) { __VA_ARGS__, NULL })
#define REQUIRED                                                              \
	"--api-server", "http://127.0.0.1:8080/", "--service-name", "web",    \
	    "--token-file", "/t"

static void
write_file(const char *text)
{
	suite_write(file, text, strlen(text), 0600);
}

START_TEST(defaults_are_the_documented_ones)
{
	char name[256] = "";

	(void)unsetenv("STATE_DIRECTORY");
	write_file("");
	ck_assert_int_eq(PARSE(REQUIRED, "--config", file), OPTIONS_RUN);
	(void)gethostname(name, sizeof name - 1);
	ck_assert_str_eq(o.api_server, "http://127.0.0.1:8080");
	ck_assert_str_eq(o.service_name, "web");
	ck_assert_int_eq(o.heartbeat_interval, 30);
	ck_assert_int_eq(o.spool_max_mib, 512);
	ck_assert_int_eq(o.spool_max_days, 7);
	ck_assert_int_eq(o.keep_runs_days, 3);
	ck_assert_str_eq(o.host_name, name);
	ck_assert_str_eq(o.gprofiler_path, "gprofiler");
	ck_assert_str_eq(o.state_dir, LOCALSTATEDIR "/lib/conspect-agent");
	ck_assert(!o.no_verify);
	ck_assert(!o.foreground);
	ck_assert_ptr_null(o.server_host);
	ck_assert_ptr_null(o.log_file);
	ck_assert_str_eq(o.host_root, "");
}
END_TEST

START_TEST(the_command_line_wins_over_the_file)
{
	write_file("api-server = https://a.example/base\n"
		   "service-name = from-file\n# comment\n"
		   "token-file = /t\nheartbeat-interval = 5\n"
		   "no-verify = yes\nserver-host = https://up.example\n");
	ck_assert_int_eq(PARSE("--config", file, "--service-name", "mine",
			     "--foreground", "--heartbeat-interval=1"),
	    OPTIONS_RUN);
	ck_assert_str_eq(o.api_server, "https://a.example/base");
	ck_assert_str_eq(o.service_name, "mine");
	ck_assert_int_eq(o.heartbeat_interval, 1);
	ck_assert(o.no_verify);
	ck_assert(o.foreground);
	ck_assert_str_eq(o.server_host, "https://up.example");
}
END_TEST

static void
check_file_fault(const char *text, const char *line_and_reason)
{
	char *want = mem_fmt("%s:%s", file, line_and_reason);

	write_file(text);
	ck_assert_int_eq(PARSE(REQUIRED, "--config", file), -1);
	ck_assert_str_eq(why.text, want);
	free(want);
	options_free(&o);
}

START_TEST(faults_in_the_file_have_their_place)
{
	check_file_fault(
	    "service-name = a\nfoo = 1\n", "2: unknown key \"foo\"");
	check_file_fault("config = /x\n", "1: unknown key \"config\"");
	check_file_fault("heartbeat-interval = 0\n",
	    "1: heartbeat-interval must be a whole number from 1 to 3600, "
	    "not \"0\"");
	check_file_fault("\nno-verify = perhaps\n",
	    "2: no-verify must be yes or no, not \"perhaps\"");
	check_file_fault("proxy = a\nproxy = b\n", "2: proxy is set twice");
}
END_TEST

static void
check_fault(const char *reason, const char *const *given)
{
	ck_assert_int_eq(parse(given), -1);
	ck_assert_str_eq(why.text, reason);
	options_free(&o);
}

#define FAULT(reason, ...)                                                    \
	check_fault(reason, (const char *const[]) { __VA_ARGS__, NULL })

START_TEST(faults_on_the_command_line_are_named)
{
	write_file("");
	FAULT("--foo is not a known option: see --help", "--foo");
	FAULT("--proxy needs a value", "--proxy");
	FAULT("\"stray\" is not an option: see --help", "stray");
	FAULT("command line: heartbeat-interval must be a whole number from "
	      "1 to 3600, not \"3601\"",
	    "--config", file, "--heartbeat-interval", "3601");
	FAULT("token-file is not set: give --token-file or put it into the "
	      "settings file",
	    "--config", file, "--api-server", "http://a", "--service-name",
	    "s");
	FAULT("api-server must be an address like "
	      "https://appliance.example, not \"a.example\"",
	    "--config", file, REQUIRED, "--api-server", "a.example");
	FAULT("api-server must be an address like "
	      "https://appliance.example, not \"ftp://a.example\"",
	    "--config", file, REQUIRED, "--api-server", "ftp://a.example");
	FAULT("api-server must be an address like "
	      "https://appliance.example, not \"http://u:p@a.example\"",
	    "--config", file, REQUIRED, "--api-server",
	    "http://u:p@a.example");
	FAULT("service-name must be at most 255 bytes without control "
	      "characters",
	    "--config", file, REQUIRED, "--service-name", "a\nb");
	FAULT("/nonexistent/c: No such file or directory", REQUIRED,
	    "--config", "/nonexistent/c");
}
END_TEST

START_TEST(help_and_version_need_nothing_else)
{
	ck_assert_int_eq(PARSE("--help"), OPTIONS_HELP);
	options_free(&o);
	ck_assert_int_eq(PARSE("--version"), OPTIONS_VERSION);
	ck_assert_ptr_nonnull(strstr(options_help(), "--token-file"));
}
END_TEST

START_TEST(preflight_needs_no_server)
{
	write_file("host-root = /host\nstate-dir = /s\n");
	ck_assert_int_eq(
	    PARSE("--preflight", "--config", file, "--gprofiler-path", "/g"),
	    OPTIONS_PREFLIGHT);
	ck_assert_str_eq(o.host_root, "/host");
	ck_assert_str_eq(o.state_dir, "/s");
	ck_assert_str_eq(o.gprofiler_path, "/g");
	options_free(&o);
	FAULT(
	    "--foo is not a known option: see --help", "--preflight", "--foo");
	FAULT("/nonexistent/c: No such file or directory", "--preflight",
	    "--config", "/nonexistent/c");
}
END_TEST

START_TEST(systemd_tells_the_state_directory)
{
	write_file("");
	ck_assert_int_eq(setenv("STATE_DIRECTORY", "/var/lib/x", 1), 0);
	ck_assert_int_eq(PARSE(REQUIRED, "--config", file), OPTIONS_RUN);
	ck_assert_str_eq(o.state_dir, "/var/lib/x");
	options_free(&o);
	/* but what was set is not changed by it */
	write_file("state-dir = /mine\n");
	ck_assert_int_eq(PARSE(REQUIRED, "--config", file), OPTIONS_RUN);
	ck_assert_str_eq(o.state_dir, "/mine");
	options_free(&o);
	write_file("");
	ck_assert_int_eq(setenv("STATE_DIRECTORY", "", 1), 0);
	ck_assert_int_eq(PARSE(REQUIRED, "--config", file), OPTIONS_RUN);
	ck_assert_str_eq(o.state_dir, LOCALSTATEDIR "/lib/conspect-agent");
	ck_assert_int_eq(unsetenv("STATE_DIRECTORY"), 0);
}
END_TEST

static const char *
token_fault(const char *text, size_t n, mode_t mode)
{
	char *token = NULL;

	suite_write(file, text, n, mode);
	ck_assert_int_eq(token_read(file, &token, &why), -1);
	ck_assert_ptr_null(token);
	/* after «token file PATH» */
	return why.text + strlen("token file ") + strlen(file);
}

START_TEST(a_token_is_read_and_masked)
{
	struct buf log = BUF_INIT(1000);
	char *token = NULL;

	write_file("agent-secret-1 \n");
	ck_assert_int_eq(token_read(file, &token, &why), 0);
	ck_assert_str_eq(token, "agent-secret-1");
	log_to_buf(&log);
	log_info("the token is %s", token);
	log_to_buf(NULL);
	ck_assert_str_eq(buf_text(&log), "info: the token is ***\n");
	buf_free(&log);
	free(token);
}
END_TEST

START_TEST(an_unsafe_token_file_is_refused)
{
	char *want =
	    mem_fmt(" is open to other users (mode 0640): chmod 600 %s", file);
	char *token = NULL;

	ck_assert_str_eq(token_fault("agent-secret-1", 14, 0640), want);
	ck_assert_ptr_nonnull(
	    strstr(token_fault("agent-secret-1", 14, 0604), "mode 0604"));
	ck_assert_str_eq(token_fault("short", 5, 0600),
	    ": a token has at least 8 characters");
	ck_assert_str_eq(token_fault("token-one\ntoken-two\n", 20, 0600),
	    ": more than one line");
	ck_assert_str_eq(token_fault("with a blank", 12, 0600),
	    ": a token holds no white space and no other than ASCII "
	    "characters");
	ck_assert_str_eq(
	    token_fault("token\0hidden", 12, 0600), ": holds a NUL");
	ck_assert_int_eq(token_read(directory, &token, &why), -1);
	ck_assert_ptr_nonnull(strstr(why.text, "not a regular file"));
	free(want);
}
END_TEST

START_TEST(another_users_token_file_is_refused)
{
	if (geteuid() != 0)
		return; /* only root can give a file away */
	write_file("agent-secret-1");
	ck_assert_int_eq(chown(file, 12345, 12345), 0);
	{
		char *token = NULL;
		ck_assert_int_eq(token_read(file, &token, &why), -1);
	}
	ck_assert_ptr_nonnull(strstr(why.text, "belongs to user 12345"));
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = { defaults_are_the_documented_ones,
		the_command_line_wins_over_the_file,
		faults_in_the_file_have_their_place,
		faults_on_the_command_line_are_named,
		help_and_version_need_nothing_else, preflight_needs_no_server,
		systemd_tells_the_state_directory, a_token_is_read_and_masked,
		an_unsafe_token_file_is_refused,
		another_users_token_file_is_refused };

	return suite_run_with(
	    "options", tests, SUITE_N(tests), set_up, tear_down);
}
