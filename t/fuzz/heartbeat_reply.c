/* What the server says to the agent: a heartbeat's reply, and a report's. */
#include "fuzz/fuzz.h"

#include "agentd/wire.h"
#include "core/json.h"
#include "core/mem.h"
#include "core/perfspect_args.h"
#include "core/uuid.h"

#define SERVER "https://appliance.example:8443/conspect"

const char *const fuzz_target = "heartbeat_reply";

/* Flags that name a file, open a port or reach another machine. */
static const char *const dangerous[] = { "--", "--eventfile", "--input",
	"--key", "--metricfile", "--output", "--port", "--target", "--targets",
	"--tempdir", "--user" };

/* A word of PerfSpect's command line: a harmless flag, or a flag's value. */
static void
check_word(void *context, const char *word)
{
	size_t *n = context;

	(*n)++;
	FUZZ_CHECK(*word);
	if (*word != '-')
		return;
	for (size_t i = 0; i < sizeof dangerous / sizeof *dangerous; i++)
		FUZZ_CHECK(strcmp(word, dangerous[i]) != 0);
	FUZZ_CHECK(word[1] == '-');
	word += 2;
	FUZZ_CHECK(!word[strspn(word, "abcdefghijklmnopqrstuvwxyz")]);
}

static void
check_session(const struct session *s)
{
	size_t n_words = 0;

	perfspect_args_words(s->perfspect_args, check_word, &n_words);
	FUZZ_CHECK(s->perfspect_args || n_words == 0);
	FUZZ_CHECK(s->cpu_percent >= 0 && s->memory_mib >= 0);
	FUZZ_CHECK(session_perfspect_least(s) > 0);
	FUZZ_CHECK(s->duration >= 0 && s->frequency >= 0);
	FUZZ_CHECK(s->max_processes >= 0);
	FUZZ_CHECK(s->n_pids <= SESSION_PIDS_MAX);
	FUZZ_CHECK(!s->pids == (s->n_pids == 0));
	for (size_t i = 0; i < s->n_pids; i++)
		FUZZ_CHECK(s->pids[i] > 0);
	FUZZ_CHECK(s->is_rest != s->whole_host_stop);
	FUZZ_CHECK(session_is_part(s, s));
}

static void
check_same_session(const struct session *a, const struct session *b)
{
	FUZZ_CHECK(a->duration == b->duration);
	FUZZ_CHECK(a->frequency == b->frequency);
	FUZZ_CHECK(a->mode == b->mode); /* constants */
	FUZZ_CHECK(a->continuous == b->continuous);
	FUZZ_CHECK(a->enable_perfspect == b->enable_perfspect);
	FUZZ_CHECK(a->is_rest == b->is_rest);
	FUZZ_CHECK(a->max_processes == b->max_processes);
	FUZZ_CHECK(a->cpu_percent == b->cpu_percent);
	FUZZ_CHECK(a->memory_mib == b->memory_mib);
	FUZZ_CHECK(!a->perfspect_args == !b->perfspect_args);
	FUZZ_CHECK(a->n_pids == b->n_pids);
	for (size_t i = 0; i < a->n_pids; i++)
		FUZZ_CHECK(a->pids[i] == b->pids[i]);
	FUZZ_CHECK(!a->profilers == !b->profilers);
}

static void
check_command(const struct command *c)
{
	char id[UUID_TEXT];

	FUZZ_CHECK(uuid_parse(c->id, id) && strcmp(c->id, id) == 0);
	FUZZ_CHECK(c->perfspect_url || !c->perfspect_sha256);
	fuzz_check_reason(c->fault.text[0], c->fault.text);
	if (!c->fault.text[0]) {
		FUZZ_CHECK(
		    c->kind == COMMAND_START || c->kind == COMMAND_STOP);
		check_session(&c->session);
	}
}

/* The reply that says what was read. */
static char *
compose(const struct wire_reply *reply)
{
	const struct command *c = reply->command;

	return mem_fmt("{\"success\":true,\"heartbeat_interval\":%ld,"
		       "\"command_id\":\"%s\",\"profiling_command\":"
		       "{\"command_type\":\"%s\",\"combined_config\":%s}}",
	    reply->interval, c->id,
	    c->kind == COMMAND_START ? "start" : "stop", json_text(c->config));
}

static void
check_comes_again(const struct wire_reply *reply)
{
	char *text = compose(reply);
	struct wire_reply again;
	struct reason why = { "" };

	FUZZ_CHECK(
	    wire_read_reply(text, strlen(text), SERVER, &again, &why) == 0);
	FUZZ_CHECK(again.interval == reply->interval);
	FUZZ_CHECK(again.command && !again.command->fault.text[0]);
	FUZZ_CHECK(strcmp(again.command->id, reply->command->id) == 0);
	FUZZ_CHECK(again.command->kind == reply->command->kind);
	check_same_session(&again.command->session, &reply->command->session);
	command_free(again.command);
	free(text);
}

static void
check_verdict(const char *text, size_t size)
{
	struct reason why = { "" };
	int verdict = wire_read_verdict(text, size, &why);

	FUZZ_CHECK(
	    verdict == WIRE_TAKEN || verdict == WIRE_REFUSED || verdict == -1);
	fuzz_check_reason(verdict != WIRE_TAKEN, why.text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct wire_reply reply;
	struct reason why = { "" };
	int result = wire_read_reply(text, size, SERVER, &reply, &why);

	FUZZ_CHECK(result == 0 || result == -1);
	fuzz_check_reason(result != 0, why.text);
	FUZZ_CHECK(result == 0 || !reply.command);
	FUZZ_CHECK(reply.interval == 0 ||
		   (reply.interval >= 5 && reply.interval <= 3600));
	if (reply.command)
		check_command(reply.command);
	if (reply.command && !reply.command->fault.text[0])
		check_comes_again(&reply);
	command_free(reply.command);
	check_verdict(text, size);
	return 0;
}
