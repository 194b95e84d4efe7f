# shellcheck shell=bash
# The main job, from the form to the end of the run, with everything real
# except gProfiler and PerfSpect (t/standins): t/e2e/*.t name the server and
# source this.

: "${SRCDIR:?is set by make check}" "${BUILDDIR:?is set by make check}"
# shellcheck source=t/lib/tap.sh
. "$SRCDIR/t/lib/tap.sh"
# shellcheck source=t/lib/servers.sh
. "$SRCDIR/t/lib/servers.sh"

# PerfSpect takes no duration below its interval of 5 s.
DURATION=5
# How long a run may take to show, slowed by valgrind on a busy machine.
PATIENCE=120

agent_pids=()
stop_agents() {
	local pid
	for pid in "${agent_pids[@]}"; do stop_pid "$pid"; done
	agent_pids=()
}

# start_agent HOST ARCHIVE-URL: an agent with a state and TMPDIR of its own,
# $TAP_TMP/HOST.
start_agent() {
	local dir=$TAP_TMP/$1
	mkdir -p "$dir/tmp"
	cp "$STATE/agent.token" "$dir/token"
	chmod 0600 "$dir/token"
	TMPDIR=$dir/tmp PERFSPECT_DOWNLOAD_URL=$2 \
		GPROFILER_ARGV_LOG=$dir/argv \
		GPROFILER_PERFSPECT=$dir/perfspect_data \
		"$BUILDDIR/conspect-agentd" --foreground \
		--api-server "$BASE" --service-name e2e --host-name "$1" \
		--token-file "$dir/token" --state-dir "$dir/state" \
		--heartbeat-interval 1 \
		--perfspect-data "$dir/perfspect_data" \
		--gprofiler-path "$SRCDIR/t/standins/gprofiler" \
		>"$dir/log" 2>&1 </dev/null &
	agent_pids+=($!)
}

# The archive that the server offers at /dist/.
make_archive() {
	"$SRCDIR/t/standins/make-archive" "$TOP_BUILDDIR/t/standins/perfspect" \
		"$STATE/dist/perfspect.tgz" >/dev/null ||
		give_up 'no archive'
	chmod a+r "$STATE/dist/perfspect.tgz"
}

# --- the page, as a browser without scripts sees it ----------------------

log_in() {
	curl -sS -o "$TAP_TMP/login" -c "$TAP_TMP/cookies" \
		--data-urlencode "user=admin" \
		--data-urlencode "password=$ADMIN_PASSWORD" \
		-w '%{http_code}' "$BASE/login"
}

# Sets PAGE.
load_page() {
	PAGE=$(curl -sS -b "$TAP_TMP/cookies" "$BASE/$*")
}

# The row of a host in PAGE.
row() { grep -F ">$1</th>" <<<"$PAGE"; }

row_is() {
	load_page
	row "$1" | grep -Eq "$2"
}

# press BUTTON HOST [MEMBER=VALUE...]: posts the form as it stands in PAGE;
# sets STATUS, and PAGE to what the answer leads to.
press() {
	local action=$1 id token member args=()
	id=$(row "$2" | sed -n 's/.*name="host"[^>]*value="\([0-9]*\)".*/\1/p')
	token=$(sed -n 's/.*name="form_token" value="\([^"]*\)".*/\1/p' \
		<<<"$PAGE" | head -n 1)
	shift 2
	for member; do args+=(--data-urlencode "$member"); done
	STATUS=$(curl -sS -b "$TAP_TMP/cookies" -o "$TAP_TMP/page" \
		-D "$TAP_TMP/headers" -w '%{http_code}' "$BASE/" \
		--data-urlencode "form_token=$token" \
		--data-urlencode "action=$action" \
		--data-urlencode "host=$id" "${args[@]}")
	load_page "$(tr -d '\r' <"$TAP_TMP/headers" |
		sed -n 's/^[Ll]ocation: \.\/*//p')"
}

# --- what is checked -----------------------------------------------------

sql() { sqlite3 -cmd '.timeout 10000' "$DB" "$1"; }

run_with_perfspect() {
	local dir=$TAP_TMP/good-host tool seconds
	tool=$dir/tmp/perfspect/perfspect
	load_page
	press start good-host enable_perfspect=on "duration=$DURATION" \
		frequency=11 profiling_mode=cpu
	is "$STATUS" 303 'the form is taken'
	like "$PAGE" 'Start requested for 1 host of service e2e, with PerfSpect' \
		'the page says what was done'
	unlike "$PAGE" 'id="enable_perfspect" checked' \
		'the PerfSpect box is off again'
	ok 'the run ends as completed' \
		wait_for "$PATIENCE" row_is good-host 'class="state completed"'
	is "$(sql 'SELECT json_extract(additional_args, "$.enable_perfspect")
		FROM ProfilingRequests')" 1 'the request asked for PerfSpect'
	is "$(sql 'SELECT status FROM ProfilingRequests')" completed \
		'the request is completed'
	seconds=$(sql 'SELECT execution_time FROM ProfilingExecutions')
	like "$seconds" '^[0-9]+$' "the run's seconds were reported"
	ok "the run took its $DURATION seconds" test "$seconds" -ge "$DURATION"
	like "$(row good-host)" "<span class=\"seconds\">$seconds s</span>" \
		"the host's row shows the run's seconds"
	like "$(row good-host)" 'with PerfSpect 3\.17' \
		'and which PerfSpect it used'
	ok 'PerfSpect was installed' test -x "$tool"
	ok 'the profiler was told to collect hardware metrics' \
		grep -qx -e '--enable-hw-metrics-collection' "$dir/argv"
	ok 'and where PerfSpect is' \
		grep -qxF -e "--perfspect-path=$(readlink -f "$tool")" "$dir/argv"
	ok 'PerfSpect left its metrics' \
		test -n "$(ls "$dir/perfspect_data"/*_metrics_summary.csv)"
}

# What the run left on the host, and nothing else, comes to the server.
results_arrive() {
	local id
	id=$(sql "SELECT command_id FROM ProfilingCommands
		WHERE hostname = 'good-host' ORDER BY id LIMIT 1")
	LEFT=$TAP_TMP/good-host/state/runs/$id/results
	CAME=$(dirname "$DB")/results/$id
	ok 'the run left result files' test -n "$(ls "$LEFT")"
	ok 'they come to the server' wait_for "$PATIENCE" all_came
	# a file is there before the database knows of it
	ok 'where a user finds them' wait_for "$PATIENCE" all_listed "$id"
	is "$(listed)" "$(left)" 'by their names'
}
all_came() { diff -r "$LEFT" "$CAME" >/dev/null 2>&1; }
left() {
	find "$LEFT" -type f -printf '%f\n' | LC_ALL=C sort | paste -sd ' '
}
listed() {
	sqlite3 :memory: "SELECT group_concat(value ->> '\$.name', ' ')
		FROM json_each(readfile('$TAP_TMP/list'), '\$.files')"
}
all_listed() {
	curl -sS -b "$TAP_TMP/cookies" -o "$TAP_TMP/list" \
		"$BASE/api/metrics/results/$1"
	[ "$(listed)" = "$(left)" ]
}

run_without_archive() {
	load_page
	press start bad-host enable_perfspect=on "duration=$DURATION" \
		frequency=11 profiling_mode=cpu
	is "$STATUS" 303 'the form is taken for the other host'
	ok 'a failing download ends the run as failed' \
		wait_for "$PATIENCE" row_is bad-host 'class="state failed"'
	like "$(row bad-host)" "$BASE/dist/nothing\.tgz.*404" \
		'the page names the address and its answer'
	ok 'the profiler did not run' test ! -e "$TAP_TMP/bad-host/argv"
	ok 'nothing was left of PerfSpect' \
		test ! -e "$TAP_TMP/bad-host/tmp/perfspect"
}

run_until_stopped() {
	load_page
	press start good-host continuous=on duration=60 frequency=11 \
		profiling_mode=cpu
	ok 'a continuous run runs' \
		wait_for "$PATIENCE" row_is good-host 'class="state running"'
	press stop good-host
	is "$STATUS" 303 'the stop is taken'
	ok 'and ends it' wait_for "$PATIENCE" run_has_stopped
	is "$(sql "SELECT count(*) FROM ProfilingCommands
		WHERE status NOT IN ('completed', 'failed', 'stopped')")" 0 \
		'no command is left over'
}
run_has_stopped() {
	[ "$(sql "SELECT group_concat(status) FROM (SELECT status
		FROM ProfilingCommands ORDER BY id DESC LIMIT 2)")" = \
		completed,stopped ]
}

# start_fleet KIND: the server, a host that can have PerfSpect and one that
# cannot.
start_fleet() {
	[ -z "$(server_missing "$1")" ] ||
		skip_all "not installed: $(server_missing "$1")"
	at_exit stop_agents
	server_start "$1" || give_up "$1 does not start"
	make_archive
	start_agent good-host "$BASE/dist/perfspect.tgz"
	start_agent bad-host "$BASE/dist/nothing.tgz"
	is "$(log_in)" 303 'admin logs in'
	ok 'the host shows itself' wait_for "$PATIENCE" row_is good-host .
	ok 'so does the other one' wait_for "$PATIENCE" row_is bad-host .
}

end_to_end() {
	start_fleet "$1"
	run_with_perfspect
	results_arrive
	run_without_archive
	run_until_stopped
	stop_agents
	is "$(server_reports)" '' 'no program has a fault to report'
	if [ "$tap_failed" -gt 0 ]; then
		diag "$(tail -n 30 "$TAP_TMP"/*/log)"
	fi
	done_testing
}
