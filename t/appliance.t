#!/bin/bash
# ./appliance: options, and the whole way up and down with a state directory
# of its own.  It works on the build directory of the checkout, so that the
# way up is taken only where that is the one under test.
. "${SRCDIR:-.}/t/lib/tap.sh"
appliance=$SRCDIR/appliance
STATE="$TAP_TMP/a state"

# run ARGUMENT...: sets OUT and RC.
run() {
	OUT=$("$appliance" "$@" 2>&1)
	RC=$?
}
end_all() { "$appliance" down --state-dir "$STATE" >/dev/null 2>&1; }
at_exit end_all

check_options() {
	run
	is "$RC" 2 'without a command it says how it is used'
	like "$OUT" '^usage: ./appliance up' 'by name'
	run up --port abc
	is "$RC $OUT" '1 appliance: --port takes a number from 1 to 65535, not abc' \
		'a port that is none is refused'
	run up --port 65536
	is "$RC" 1 'and one that is too high'
	run up --port
	is "$RC $OUT" '1 appliance: --port needs a value' 'and none at all'
	run up --prot 80
	like "$OUT" 'unknown option --prot' 'an unknown option is named'
	run status --state-dir "$STATE"
	is "$RC" 3 'status of nothing is 3'
	run down --state-dir "$STATE"
	is "$RC" 0 'nothing is quickly ended'
}

mode() { stat -c %a "$1"; }
# Whether $1 agents run.  What one has forked bears its name for a moment.
agents_are() {
	[ "$(pgrep -cf -- "--state-dir $STATE/agent")" = "$1" ]
}

# change_password: by the console's form, at http://127.0.0.1:$1.
change_password() {
	local form=(-s -o /dev/null -b "$TAP_TMP/jar" -c "$TAP_TMP/jar") token
	local base=http://127.0.0.1:$1
	curl "${form[@]}" --data-urlencode user=admin \
		--data-urlencode "password=$PASSWORD" "$base/login"
	token=$(curl -s -b "$TAP_TMP/jar" "$base/password" |
		sed -n 's/.*name="form_token" value="\([^"]*\)".*/\1/p' |
		head -n 1)
	curl "${form[@]}" -w '%{http_code}' "$base/password" \
		--data-urlencode "form_token=$token" \
		--data-urlencode "current=$PASSWORD" \
		--data-urlencode 'new=another password' \
		--data-urlencode 'again=another password'
}

# check_pinned PORT: who started it may pin an archive, and no one else.
check_pinned() {
	local digest file
	digest=$("$SRCDIR/t/standins/make-archive" \
		"$TOP_BUILDDIR/t/standins/perfspect" "$TAP_TMP/perfspect.tgz")
	file=$("$BUILDDIR/conspectctl" --db "$STATE/conspect.db" perfspect add \
		"$TAP_TMP/perfspect.tgz" 2>&1 | grep -o 'perfspect-[^ ,]*tgz')
	is "$(curl -s "http://127.0.0.1:$1/dist/$file" | sha256sum)" \
		"$digest  -" 'an archive is pinned and served'
	is "$(stat -c '%a %U' "$STATE/dist")" "750 $(id -un)" \
		'from a directory that the web server cannot write'
}

check_up() {
	local port
	# the web server's user may be another one
	chmod 0755 "$TAP_TMP"
	port=$(free_port)
	run up --port "$port" --state-dir "$STATE"
	is "$RC" 0 'it comes up'
	[ "$RC" = 0 ] || diag "$OUT"
	like "$OUT" "http://127.0.0.1:$port/" 'and says where'
	PASSWORD=$(cat "$STATE/initial-password")
	ok 'the password is printed' grep -qF "$PASSWORD" <<<"$OUT"
	is "$(mode "$STATE/initial-password")" 600 'and kept for its owner only'
	is "$(mode "$STATE/agent.token")" 600 'and so is the token'
	is "$(curl -s -o /dev/null -w '%{http_code}' -u "admin:$PASSWORD" \
		"http://127.0.0.1:$port/api/metrics/profiling/host_status")" 200 \
		'the password opens the API'
	check_pinned "$port"
	run status --state-dir "$STATE"
	is "$RC" 0 'status is 0'
	ok 'one agent runs' wait_for 60 agents_are 1
	run up --port "$port" --state-dir "$STATE"
	is "$RC" 0 'it can be run again'
	unlike "$OUT" 'password' 'without a second password'
	is "$(change_password "$port")" 303 'the password can be changed'
	ok 'and is no longer kept' test ! -e "$STATE/initial-password"
	ok 'and without a second agent' wait_for 60 agents_are 1
	run up --port "$port" --state-dir "$STATE" --cgi
	is "$RC" 0 'it changes to plain CGI'
	run down --state-dir "$STATE"
	is "$RC" 0 'it goes down'
	ok 'no agent is left' wait_for 60 agents_are 0
	run status --state-dir "$STATE"
	is "$RC" 3 'status is 3 again'
}

check_taken_port() {
	local server port
	port=$(free_port)
	python3 -m http.server --bind 127.0.0.1 "$port" >/dev/null 2>&1 &
	server=$!
	wait_for 60 curl -s -o /dev/null "http://127.0.0.1:$port/"
	run up --port "$port" --state-dir "$STATE"
	is "$RC" 1 'a port that another has is an error'
	like "$OUT" "port $port .* is taken.*--port" 'that names the way out'
	stop_pid "$server"
}

check_options
if [ "${TOP_BUILDDIR:-}" = "$(realpath "$SRCDIR")/build" ] &&
	[ "$BUILDDIR" = "$TOP_BUILDDIR" ]; then
	check_up
	check_taken_port
fi
done_testing
