#!/bin/bash
# A host without a way to the internet gets PerfSpect from the appliance,
# pinned; and agents report as often as the appliance says.
. "${SRCDIR:-.}/t/lib/e2e.sh"

ctl() { "$BUILDDIR/conspectctl" --db "$DB" "$@"; }

# One archive, and no other address that answers.
pin_archive() {
	make_archive
	DIGEST=$(sha256sum <"$STATE/dist/perfspect.tgz" | cut -d' ' -f1)
	mv "$STATE/dist/perfspect.tgz" "$TAP_TMP/perfspect.tgz"
	FILE=perfspect-$(uname -m)-${DIGEST:0:16}.tgz
	like "$(ctl perfspect add "$TAP_TMP/perfspect.tgz" 2>&1)" \
		"pinned: $STATE/dist/$FILE" 'the archive is pinned'
}

last_seen() {
	sql "SELECT last_seen FROM HostHeartbeats WHERE hostname = 'idle-host'"
}
# Whether the host, which reports each second by itself, is silent.
is_silent() {
	[ "$(sql "SELECT (julianday('now') - julianday(last_seen)) * 86400
		> 2.5 FROM HostHeartbeats
		WHERE hostname = 'idle-host'")" = 1 ]
}
# Whether two reports came within two and a half seconds.
is_frequent() {
	local now
	now=$(last_seen)
	[ "$now" != "$BEFORE" ] || return 1
	[ "$(sql "SELECT julianday('$now') - julianday('$BEFORE') <
		2.5 / 86400")" = 1 ] && return 0
	BEFORE=$now
	return 1
}

# While the other host is busy.
check_interval() {
	is "$(ctl set heartbeat_interval 5 | cut -c 1-18)" \
		'heartbeat_interval' 'an interval is set'
	ok 'an agent keeps to it' wait_for "$PATIENCE" is_silent
	ctl set heartbeat_interval default >/dev/null
	BEFORE=$(last_seen)
	ok 'and to its own when it is taken back' \
		wait_for "$PATIENCE" is_frequent
}

is_taken() {
	[ "$(sql "SELECT status <> 'pending' FROM ProfilingCommands")" = 1 ]
}

check_run() {
	local dir=$TAP_TMP/closed-host
	load_page
	press start closed-host enable_perfspect=on "duration=$DURATION" \
		frequency=11 profiling_mode=cpu
	is "$STATUS" 303 'a run with PerfSpect is asked for'
	ok 'the host takes it' wait_for "$PATIENCE" is_taken
	check_interval
	ok 'and completes' wait_for "$PATIENCE" \
		row_is closed-host 'class="state completed"'
	is "$(readlink "$dir/tmp/perfspect/perfspect")" \
		"versions/$DIGEST/perfspect" \
		'with the archive that was pinned'
	is "$(sql 'SELECT perfspect_version FROM ProfilingExecutions')" \
		3.17.1_2026-08-07_c399daa0 'and its version was reported'
	like "$(cat "$STATE/log/access.log")" "\"GET /dist/$FILE HTTP/1.1\" 200" \
		'it came from the appliance'
	like "$(cat "$dir/log")" "PerfSpect from $BASE/dist/$FILE " \
		'and the agent says so'
}

[ -z "$(server_missing lighttpd-fastcgi)" ] ||
	skip_all "not installed: $(server_missing lighttpd-fastcgi)"
at_exit stop_agents
server_start lighttpd-fastcgi || give_up 'lighttpd does not start'
pin_archive
CLOSED=http://127.0.0.1:$(free_port)/perfspect.tgz
start_agent closed-host "$CLOSED"
start_agent idle-host "$CLOSED"
is "$(log_in)" 303 'admin logs in'
ok 'the host shows itself' wait_for "$PATIENCE" row_is closed-host .
ok 'so does the other one' wait_for "$PATIENCE" row_is idle-host .
check_run
stop_agents
is "$(server_reports)" '' 'no program has a fault to report'
if [ "$tap_failed" -gt 0 ]; then diag "$(tail -n 30 "$TAP_TMP"/*/log)"; fi
done_testing
