#!/bin/bash
# conspectctl show request, command and host.
. "${SRCDIR:-.}/t/ctl/ctl.sh"

REQUEST=11111111-1111-4111-8111-111111111111
COMMAND=22222222-2222-4222-8222-222222222222
NONE=33333333-3333-4333-8333-333333333333

# A request whose command failed, with a host that is no friend: its texts
# hold escape sequences, new lines, DEL and the C1 form of CSI.
fill() {
	on_db migrate
	sql "
	INSERT INTO ProfilingRequests (request_id, service_name, request_type,
	    target_hostnames, host_pids, additional_args, created_by,
	    created_from, n_commands, n_failed, status)
	VALUES ('$REQUEST', 'web', 'start', '[\"db1\"]', '{\"db1\":[1,2]}',
	    '{\"enable_perfspect\":true}', 'ada', '192.0.2.1', 1, 1,
	    'failed');
	INSERT INTO ProfilingCommands (command_id, hostname, service_name,
	    command_type, combined_config, status, reason, sent_at,
	    accepted_at, ended_at)
	VALUES ('$COMMAND', 'db1', 'web', 'start', '{\"pids\":[1,2]}',
	    'failed', 'it' || char(27) || '[2J' || char(10) || 'broke',
	    '2026-01-01T00:00:01.000Z', '2026-01-01T00:00:02.000Z',
	    '2026-01-01T00:00:04.000Z');
	INSERT INTO CommandRequests VALUES ('$COMMAND', '$REQUEST');
	INSERT INTO ProfilingExecutions (command_id, hostname, status,
	    started_at, completed_at, execution_time, exit_status,
	    error_message, results_path, perfspect_version, arguments,
	    partial)
	VALUES ('$COMMAND', 'db1', 'failed', '2026-01-01T00:00:03.000Z',
	    '2026-01-01T00:00:04.000Z', 12, 3,
	    'no' || char(7) || char(127) || char(155) || '31mperf',
	    '/var/r', '3.1' || char(13) || 'x',
	    '[\"gprofiler\",\"-d\u001b' || char(155) || '\"]', 1);
	INSERT INTO HostHeartbeats (hostname, ip_address, service_name,
	    heartbeat_timestamp, agent_version, arch, last_seen,
	    clock_skew_ms, preflight)
	VALUES ('db1', '10.0.0.1' || char(27) || ']0;x' || char(7), 'web',
	    '2026-01-01T00:00:00.000Z', '1.0', 'x86_64',
	    '2026-01-01T00:00:00.000Z', -600000,
	    '[{\"check\":\"pmu\",\"outcome\":\"problem\",\"text\":\"x' ||
	    char(155) || '\"}]');"
}

check_refusals() {
	on_db show
	refused 2 'which command\?' 'show what?'
	on_db show request
	refused 2 'a NAME is needed' 'which request?'
	on_db show request "$NONE"
	refused 1 "there is no request $NONE" 'an unknown request is an error'
	on_db show request nonsense
	refused 1 'there is no request nonsense' 'and what is no id'
	on_db show command "$REQUEST"
	refused 1 "there is no command $REQUEST" 'a request is no command'
	on_db show host db2
	refused 1 'there is no host db2' 'nor is there an unknown host'
}

check_texts() {
	on_db show request "${REQUEST^^}"
	done_as "^request +$REQUEST\$" 'a request is shown'
	like "$OUT" '^asked by +ada$' 'by whom'
	like "$OUT" '^from +192\.0\.2\.1$' 'from where'
	like "$OUT" '^processes +\{"db1":\[1,2\]\}$' 'for what'
	like "$OUT" '^commands +1: 0 waiting, 0 under way, 1 failed, 0 done' \
		'what became of it'
	like "$OUT" "^command +$COMMAND\$" 'with its command'
	on_db show command "$COMMAND"
	done_as '^  status +failed$' 'a command is shown'
	like "$OUT" '^  delivered at +2026-01-01T00:00:01.000Z$' 'delivered'
	like "$OUT" '^  accepted at +2026-01-01T00:00:02.000Z$' 'accepted'
	like "$OUT" '^  started at +2026-01-01T00:00:03.000Z$' 'started'
	like "$OUT" '^  ended at +2026-01-01T00:00:04.000Z$' 'ended'
	like "$OUT" '^  ran for +12 s$' 'after how long'
	like "$OUT" '^  exit status +3$' 'with what'
	like "$OUT" '^  arguments +\["gprofiler","-d' 'as what'
	like "$OUT" '^  partial +the results cover less' 'and how completely'
	like "$OUT" "^request +$REQUEST\$" 'for which request'
	on_db show host DB1
	done_as '^host +db1$' 'a host is shown, in any case of its name'
	like "$OUT" '^  active +no$' 'whether it is there'
	like "$OUT" '^  pmu +problem: x\?$' 'what it can measure'
	like "$OUT" '^  clock ahead +-600000 ms$' 'how its clock is'
	unlike "$OUT" 'conflict' 'without a conflict where there is none'
	like "$OUT" "^command +$COMMAND\$" 'with its newest commands'
	sql "UPDATE HostHeartbeats SET conflict_at = '9999-01-01T00:00:00.000Z'"
	on_db show host db1
	like "$OUT" '^  conflict +two agents' 'and with a conflict'
}

without_csi() { [[ $OUT != *$'\xc2\x9b'* ]]; }

# What a host sent does not steer the terminal: no control characters but the
# ends of our own lines, in ASCII, as DEL or as U+0080 to U+009F.
check_terminal() {
	local what
	for what in "request $REQUEST" "command $COMMAND" 'host db1'; do
		# shellcheck disable=SC2086 # two words
		on_db show $what
		is "$(LC_ALL=C tr -d '\n\40-\176\200-\377' <<<"$OUT" | wc -c)" \
			0 "no control character in show ${what% *}"
		ok 'and none of the C1 set' without_csi
		like "$OUT" '^  reason +it\?\[2J\?broke$' 'the rest is shown'
	done
}

fill
check_refusals
check_texts
check_terminal
done_testing
