/* HostHeartbeats, and what a heartbeat does to the host's commands. */
#include "store/commands.h"

#include "core/clock.h"
#include "core/mem.h"
#include "store/settings.h"

#include <stdlib.h>
#include <string.h>

static const char upsert_host[] =
    "INSERT INTO HostHeartbeats (hostname, ip_address, service_name,"
    " last_command_id, status, heartbeat_timestamp, last_seen, first_seen,"
    " remote_address, agent_id, boot_id, agent_version, arch,"
    " clock_skew_ms, preflight)"
    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, ?8, ?9, ?10, ?11, ?12, ?13,"
    " ?14)"
    " ON CONFLICT (service_name, hostname) DO UPDATE SET"
    " ip_address = excluded.ip_address,"
    " last_command_id = excluded.last_command_id,"
    " status = excluded.status,"
    " heartbeat_timestamp = excluded.heartbeat_timestamp,"
    " last_seen = excluded.last_seen,"
    " remote_address = excluded.remote_address,"
    " clock_skew_ms = excluded.clock_skew_ms,"
    /* the agent that was here before ours is back: two take turns */
    " conflict_at = iif(agent_id <> excluded.agent_id"
    "  AND other_agent_id = excluded.agent_id, excluded.last_seen,"
    "  conflict_at),"
    " other_agent_id = iif(agent_id <> excluded.agent_id, agent_id,"
    "  other_agent_id),"
    /* the agent says it when it has changed */
    " preflight = iif(excluded.preflight IS NULL"
    "  AND agent_id = excluded.agent_id, preflight, excluded.preflight),"
    " agent_id = excluded.agent_id, boot_id = excluded.boot_id,"
    " agent_version = excluded.agent_version, arch = excluded.arch";
static const char begin_execution[] =
    "INSERT INTO ProfilingExecutions"
    " (command_id, hostname, status, started_at) VALUES (?1, ?2, ?3, ?4)"
    " ON CONFLICT (command_id) DO UPDATE SET status = excluded.status";

static int
note_host(struct store *s, const struct heartbeat *h,
    const char *remote_address, int64_t now_ms)
{
	char now[CLOCK_TEXT], sent[CLOCK_TEXT];

	clock_format(now_ms, now);
	clock_format(h->timestamp == FIELD_NULL ? now_ms : h->timestamp, sent);
	return db_run(s, upsert_host, "ttttttttttttnt", h->hostname,
	    h->ip_address, h->service_name, h->last_command_id,
	    host_status_names[h->status], sent, now, remote_address,
	    h->agent_id, h->boot_id, h->agent_version, h->arch,
	    h->timestamp == FIELD_NULL ? FIELD_NULL : h->timestamp - now_ms,
	    h->preflight ? json_text(h->preflight) : NULL);
}

/* The event that the heartbeat is for the command, or -1 for none. */
static int
shown_event(const struct heartbeat *h, const struct command *command)
{
	for (size_t i = 0; i < h->n_progress; i++) {
		if (strcmp(h->progress[i].command_id, command->command_id) !=
		    0)
			continue;
		return h->progress[i].state == COMMAND_RUNNING ? EVENT_RUN
		       : h->progress[i].state == COMMAND_INSTALLING
			   ? EVENT_INSTALL
			   : EVENT_ACCEPT;
	}
	return heartbeat_shows(h, command->command_id) ? EVENT_ACCEPT : -1;
}

static int
note_execution(struct store *s, const struct heartbeat *h,
    const struct command *command, int64_t now_ms)
{
	char now[CLOCK_TEXT];

	if (command->state != COMMAND_INSTALLING &&
	    command->state != COMMAND_RUNNING)
		return 0;
	clock_format(now_ms, now);
	return db_run(s, begin_execution, "tttt", command->command_id,
	    h->hostname, command_state_names[command->state], now);
}

/*
 * Moves one command on: to what the agent shows, or out of the way when it
 * has waited too long.
 */
static int
advance(struct store *s, const struct heartbeat *h, struct command *command,
    int64_t now_ms)
{
	int event = shown_event(h, command);

	if (event >= 0 && command_move(s, command, (enum command_event)event,
			      now_ms, NULL) != 0)
		return -1;
	if (command_expire(s, command, now_ms) != 0)
		return -1;
	return note_execution(s, h, command, now_ms);
}

/* Stop first, then ad hoc, then continuous (as the kinds are numbered), the
 * oldest first. */
static struct command *
choose(const struct commands *open)
{
	struct command *best = NULL;

	for (size_t i = 0; i < open->n; i++) {
		struct command *command = &open->list[i];

		if (command->state <= COMMAND_SENT &&
		    (!best || command->kind < best->kind))
			best = command;
	}
	return best;
}

static int
hand_out(struct store *s, struct command *command, int64_t now_ms,
    struct offer *offer)
{
	if (command_move(s, command, EVENT_HAND_OUT, now_ms, NULL) != 0)
		return -1;
	memcpy(offer->command_id, command->command_id, UUID_TEXT);
	offer->command_type =
	    mem_copy(command->kind == KIND_STOP ? "stop" : "start");
	offer->combined_config = mem_copy(json_text(command->config));
	return 0;
}

/* What our own agent is told besides: the original's never see it. */
static int
advise(struct store *s, const struct heartbeat *h,
    const struct command *chosen, struct offer *offer)
{
	int result;

	if (!h->agent_id)
		return 0;
	if (setting_get(s, SETTING_HEARTBEAT_INTERVAL,
		&offer->heartbeat_interval) != 0)
		return -1;
	if (!chosen || chosen->kind == KIND_STOP || !h->arch ||
	    !perfspect_enabled(chosen->config))
		return 0;
	result = archives_by_arch(s, h->arch, &offer->perfspect);
	return result == STORE_NOT_FOUND ? 0 : result;
}

static int
take(struct store *s, const struct heartbeat *h, const char *remote_address,
    struct offer *offer)
{
	int64_t now = clock_now_ms();
	struct command *chosen;
	struct commands open;
	int result;

	if (note_host(s, h, remote_address, now) != 0 ||
	    commands_load(s, h->hostname, h->service_name, &open) != 0)
		return -1;
	result = 0;
	for (size_t i = 0; result == 0 && i < open.n; i++)
		result = advance(s, h, &open.list[i], now);
	/* an agent that ends would run nothing of it */
	chosen = h->status == HOST_OFFLINE ? NULL : choose(&open);
	if (result == 0 && chosen)
		result = hand_out(s, chosen, now, offer);
	if (result == 0)
		result = advise(s, h, chosen, offer);
	commands_free(&open);
	return result;
}

int
heartbeat_take(struct store *s, const struct heartbeat *heartbeat,
    const char *remote_address, struct offer *offer)
{
	memset(offer, 0, sizeof *offer);
	offer->heartbeat_interval = FIELD_NULL;
	if (db_begin(s, DB_RELAXED) != 0)
		return -1;
	return db_end(s, take(s, heartbeat, remote_address, offer));
}

void
offer_free(struct offer *offer)
{
	free(offer->command_type);
	free(offer->combined_config);
	pinned_archive_free(&offer->perfspect);
	memset(offer, 0, sizeof *offer);
}
