# shellcheck shell=bash
# TAP for test scripts in bash: source it, make assertions, call done_testing.
# Each assertion is a sentence; a failing one shows what it found.

tap_count=0
tap_failed=0
TAP_TMP=$(mktemp -d "${TMPDIR:-/tmp}/conspect-test-XXXXXX")

# Functions to call at exit, the last one first.  Each ends what it started.
tap_cleanups=()
at_exit() { tap_cleanups=("$1" "${tap_cleanups[@]}"); }

tap_cleanup() {
	local status=$? f
	trap - EXIT
	for f in "${tap_cleanups[@]}"; do "$f"; done
	rm -rf "$TAP_TMP"
	exit "$status"
}
trap tap_cleanup EXIT
trap 'exit 1' INT TERM HUP

diag() { printf '%s\n' "# ${*//$'\n'/$'\n'# }" >&2; }

pass() { echo "ok $((++tap_count)) - $1"; }
fail() {
	echo "not ok $((++tap_count)) - $1"
	tap_failed=$((tap_failed + 1))
}

# ok SENTENCE COMMAND...: the command succeeds.
ok() {
	local sentence=$1
	shift
	if "$@"; then pass "$sentence"; else
		fail "$sentence"
		diag "failed: $*"
	fi
}

# is GOT EXPECTED SENTENCE
is() {
	if [ "$1" = "$2" ]; then pass "$3"; else
		fail "$3"
		diag "     got: $1
expected: $2"
	fi
}

# like TEXT EXTENDED-REGEX SENTENCE
like() {
	if grep -Eq -- "$2" <<<"$1"; then pass "$3"; else
		fail "$3"
		diag "     text: $1
is not of: $2"
	fi
}

unlike() {
	if grep -Eq -- "$2" <<<"$1"; then
		fail "$3"
		diag " text: $1
is of: $2"
	else pass "$3"; fi
}

skip_all() {
	echo "1..0 # SKIP $1"
	exit 0
}

# Ends this test as failed.  (TAP's "Bail out!" would end all others, too.)
give_up() {
	fail "$1"
	echo "1..$tap_count"
	exit 1
}

done_testing() {
	echo "1..$tap_count"
	[ "$tap_failed" -eq 0 ]
}

# wait_for SECONDS COMMAND...: until the command succeeds; false at the
# deadline.  The one way in which a test waits.
wait_for() {
	local deadline=$((SECONDS + $1))
	shift
	until "$@"; do
		[ "$SECONDS" -lt "$deadline" ] || return 1
		sleep 0.05
	done
}

# A loopback port that nothing listens on.  Between this and its use another
# could take it; who uses it checks that its own server answers.
free_port() {
	python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])'
}

# stop_pid PID: ends a process that this test started; bounded.
stop_pid() {
	kill -TERM "$1" 2>/dev/null || return 0
	wait_for 10 pid_gone "$1" || kill -KILL "$1" 2>/dev/null
	wait "$1" 2>/dev/null
	return 0
}
# A child that ended and was not waited for is gone, too.
pid_gone() {
	local state
	state=$(sed 's/.*) //; s/ .*//' "/proc/$1/stat" 2>/dev/null) || return 0
	[ -z "$state" ] || [ "$state" = Z ]
}
