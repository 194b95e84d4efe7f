#!/bin/bash
# A host without a way to the internet gets PerfSpect from the appliance,
# pinned; and agents report as often as the appliance says.
. "${SRCDIR:-.}/t/lib/e2e.sh"

# Seconds of a run that is ended before.
LONG=3600

ctl() { "$BUILDDIR/conspectctl" --db "$DB" "$@"; }

# Each archive is another one than the one before; there is no other address
# that answers.
pin_archive() {
	printf '\0' >>"$TAP_TMP/program"
	DIGEST=$("$SRCDIR/t/standins/make-archive" "$TAP_TMP/program" \
		"$TAP_TMP/perfspect.tgz") || give_up 'no archive'
	FILE=perfspect-$(uname -m)-${DIGEST:0:16}.tgz
	like "$(ctl perfspect add "$TAP_TMP/perfspect.tgz" 2>&1)" \
		"pinned: $STATE/dist/$FILE" "$1"
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
	ok 'it came from the appliance' wait_for 60 was_fetched "$FILE"
	like "$(cat "$dir/log")" "PerfSpect from $BASE/dist/$FILE " \
		'and the agent says so'
}

# The server's log is written some seconds after its answers.
was_fetched() {
	grep -q "\"GET /dist/$1 HTTP/1.1\" 200" "$STATE/log/access.log"
}

newest() { sql 'SELECT status FROM ProfilingCommands ORDER BY id DESC LIMIT 1'; }
newest_is() { [ "$(newest)" = "$1" ]; }
newest_has_ended() { newest_is completed || newest_is failed; }

# Sets BUSY: the profiler, of all that the host's agent has started.
find_busy() {
	local children
	read -ra children \
		<"/proc/${agent_pids[0]}/task/${agent_pids[0]}/children"
	for BUSY in "${children[@]}"; do
		if grep -qzx "$LONG" "/proc/$BUSY/cmdline"; then return; fi
	done
	return 1
}

# The host hears of an archive while it is busy, and downloads it when another
# one has taken its place.
check_replaced() {
	local digest file
	load_page
	press start closed-host "duration=$LONG" frequency=11 profiling_mode=cpu
	ok 'the host is busy' wait_for "$PATIENCE" find_busy
	pin_archive 'another archive is pinned'
	digest=$DIGEST file=$FILE
	press start closed-host enable_perfspect=on "duration=$DURATION" \
		frequency=11 profiling_mode=cpu
	ok 'the host is told of it' wait_for "$PATIENCE" newest_is accepted
	pin_archive 'which a third one replaces'
	kill -KILL "$BUSY"
	ok 'the host comes to it' wait_for "$PATIENCE" newest_has_ended
	is "$(newest)" completed 'and completes'
	is "$(readlink "$TAP_TMP/closed-host/tmp/perfspect/perfspect")" \
		"versions/$digest/perfspect" \
		'with the archive that it was told of'
	ok 'which came from the appliance' \
		wait_for 60 was_fetched "$file"
}

[ -z "$(server_missing lighttpd-fastcgi)" ] ||
	skip_all "not installed: $(server_missing lighttpd-fastcgi)"
at_exit stop_agents
server_start lighttpd-fastcgi || give_up 'lighttpd does not start'
cp "$TOP_BUILDDIR/t/standins/perfspect" "$TAP_TMP/program"
pin_archive 'the archive is pinned'
CLOSED=http://127.0.0.1:$(free_port)/perfspect.tgz
start_agent closed-host "$CLOSED"
start_agent idle-host "$CLOSED"
is "$(log_in)" 303 'admin logs in'
ok 'the host shows itself' wait_for "$PATIENCE" row_is closed-host .
ok 'so does the other one' wait_for "$PATIENCE" row_is idle-host .
check_run
check_replaced
stop_agents
is "$(server_reports)" '' 'no program has a fault to report'
if [ "$tap_failed" -gt 0 ]; then diag "$(tail -n 30 "$TAP_TMP"/*/log)"; fi
done_testing
