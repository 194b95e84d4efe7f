#!/bin/bash
# conspectctl housekeep, once and until it is told to end.
. "${SRCDIR:-.}/t/ctl/ctl.sh"

all_expired() {
	[ "$(sql "SELECT count(*) FROM ProfilingCommands
	    WHERE status <> 'expired'")" = 0 ]
}

check_once() {
	on_db housekeep now
	refused 2 'too many arguments' 'housekeep takes no argument'
	on_db migrate
	on_db housekeep
	is "$STATUS" 0 'a round with nothing to do succeeds'
	like "$ERR" 'expired 0 commands; deleted 0 commands, 0 requests' \
		'and says so'
	sql "INSERT INTO ProfilingCommands (command_id, hostname,
	    service_name, command_type, combined_config, expires_at)
	    VALUES ('44444444-4444-4444-8444-444444444444', 'h', 's',
	    'start', '{}', '2001-01-01T00:00:00.000Z')"
	on_db housekeep
	like "$ERR" 'expired 1 commands' 'a round says what it did'
	ok 'and did it' all_expired
	is "$(stat -c %s "$DB-wal" 2>/dev/null || echo 0)" 0 \
		'the write-ahead log is empty'
}

# An archive of PerfSpect that was replaced goes after a day.
check_archives() {
	local dist=$TAP_TMP/dist old new
	old=$dist/perfspect-x86_64-0123456789abcde0.tgz
	new=$dist/perfspect-x86_64-0123456789abcde1.tgz
	on_db housekeep
	ok 'a directory of archives is not made' test ! -e "$dist"
	mkdir -m 0755 "$dist"
	touch -d '1 day ago' "$old" "$dist/mine"
	touch "$new"
	chmod g+w "$dist"
	on_db housekeep
	is "$STATUS" 0 'one that others can write'
	ok 'is left alone' test -e "$old"
	chmod g-w "$dist"
	on_db housekeep
	like "$ERR" "$old is not pinned any more: removed" \
		'a round removes an archive that was replaced a day ago'
	is "$STATUS $(cd "$dist" && echo *)" "0 mine ${new##*/}" \
		'and nothing else'
}

# check_watch SIGNAL: the first round comes at once; the signal ends it.
check_watch() {
	sql "UPDATE ProfilingCommands SET status = 'pending', ended_at = NULL"
	"$BUILDDIR/conspectctl" --db "$DB" housekeep --watch \
		>"$TAP_TMP/out" 2>"$TAP_TMP/err" &
	watcher=$!
	ok 'a watch begins with a round' wait_for 30 all_expired
	is "$(pid_gone "$watcher" && echo gone)" '' 'and stays'
	kill "-$1" "$watcher"
	STATUS=0
	wait "$watcher" || STATUS=$?
	watcher=
	is "$STATUS" 0 "SIG$1 ends it with status 0"
}

# Nothing to watch.
check_missing() {
	"$BUILDDIR/conspectctl" --db "$TAP_TMP/none/x.db" housekeep --watch \
		2>"$TAP_TMP/err"
	is $? 1 'a database that cannot be is an error at once'
}

end_watcher() { [ -z "${watcher:-}" ] || stop_pid "$watcher"; }
at_exit end_watcher
check_once
check_archives
check_watch TERM
check_watch INT
check_missing
done_testing
