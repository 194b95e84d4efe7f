# shellcheck shell=bash
# A CGI program run as a web server runs it, without one: the environment is
# what the test gives and nothing else.  Source t/lib/tap.sh first.
#
#	cgi_database			# DB, with a token in AGENT
#	PROGRAM=api
#	get /metrics/profiling/host_status "$(as_user ada)"
#	is "$STATUS" 200 ...		# HEADERS, BODY and LOG, too
#	replies_are_safe		# at the end: what all of them share

# shellcheck disable=SC2034 # AGENT, STATUS, BODY and LOG are for the tests
true

: "${SRCDIR:?is set by make check}" "${BUILDDIR:?is set by make check}"
DB=$TAP_TMP/conspect.db
PROGRAM=api
cgi_faults=''

ctl() { "$BUILDDIR/conspectctl" --db "$DB" "$@"; }
sql() { sqlite3 -cmd '.timeout 5000' "$DB" "$1"; }

# A migrated database and a token for every service, as Authorization.
cgi_database() {
	ctl migrate >/dev/null || give_up "no database $DB"
	AGENT="HTTP_AUTHORIZATION=Bearer $(ctl token add agent)"
}

# add_user NAME ROLE [PASSWORD]: without one, nobody can log in by it.
add_user() {
	if [ -n "${3:-}" ]; then
		printf '%s\n' "$3" | ctl user add "$1" --role "$2" \
			--password-file - >/dev/null
	else
		sql "INSERT INTO Users (name, role, password_hash, created_at,
			changed_at) VALUES ('$1', '$2', 'none', '2026', '2026')"
	fi
}

# as_user NAME: prints HTTP_COOKIE=... of a new session: a password would
# cost each request the time of its hash.
as_user() {
	local secret hash
	secret=$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')
	hash=$(python3 -c 'import hashlib, sys
print(hashlib.blake2b(sys.argv[1].encode(), digest_size=32).hexdigest())' \
		"$secret")
	sql "INSERT INTO Sessions (token_hash, user_id, created_at, expires_at)
		SELECT x'$hash', id, '2026', '9999' FROM Users
		WHERE name = '$1'"
	echo "HTTP_COOKIE=conspect_session=$secret"
}

basic() { echo "HTTP_AUTHORIZATION=Basic $(printf %s "$1" | base64 -w0)"; }

# cgi_run NAME=value...: runs PROGRAM with standard input as it is.
cgi_run() {
	local status=0 options=()
	# where sanitizers report to, when check-asan says so
	[ -z "${ASAN_OPTIONS:-}" ] || options+=("ASAN_OPTIONS=$ASAN_OPTIONS")
	[ -z "${UBSAN_OPTIONS:-}" ] ||
		options+=("UBSAN_OPTIONS=$UBSAN_OPTIONS")
	env -i "${options[@]}" CONSPECT_DB="$DB" REMOTE_ADDR=192.0.2.7 \
		GATEWAY_INTERFACE=CGI/1.1 HTTP_HOST=conspect.example "$@" \
		"${RUN_AS[@]}" "${CGI_DIR:-$BUILDDIR/cgi-bin}/$PROGRAM" \
		>"$TAP_TMP/reply" 2>"$TAP_TMP/log" || status=$?
	[ "$status" = 0 ] || cgi_faults+="exit status $status: $*"$'\n'
	HEADERS=$(sed '/^\r$/q' "$TAP_TMP/reply" | tr -d '\r')
	sed '1,/^\r$/d' "$TAP_TMP/reply" >"$TAP_TMP/body"
	BODY=$(cat "$TAP_TMP/body")
	STATUS=$(sed -n 's/^Status: \([0-9]*\) .*/\1/p' <<<"$HEADERS")
	LOG=$(cat "$TAP_TMP/log")
	cgi_check "$*"
}
RUN_AS=()

# What every reply has, whatever it says.
cgi_check() {
	local line length
	for line in "Content-Security-Policy: default-src 'self'; .*frame-anc" \
		'X-Content-Type-Options: nosniff' 'Cache-Control: no-store' \
		'Referrer-Policy: same-origin'; do
		grep -Eq "^$line" <<<"$HEADERS" ||
			cgi_faults+="no $line: $1"$'\n'
	done
	length=$(header Content-Length)
	case " $1 " in *' REQUEST_METHOD=HEAD '*) return ;; esac
	[ "$length" = "$(wc -c <"$TAP_TMP/body")" ] ||
		cgi_faults+="Content-Length $length: $1"$'\n'
	! grep -E 'Sanitizer|runtime error:|==[0-9]+==' "$TAP_TMP/log" ||
		cgi_faults+="a report in the log: $1"$'\n'
}
replies_are_safe() {
	is "$cgi_faults" '' \
		'every reply has its length and the headers that protect it'
}

# The value of a header of the reply.
header() { sed -n "s/^$1: //p" <<<"$HEADERS"; }

# get PATH [NAME=value...]
get() { cgi_run REQUEST_METHOD=GET PATH_INFO="$1" "${@:2}" </dev/null; }

# post PATH TEXT [NAME=value...]
post() {
	printf %s "$2" >"$TAP_TMP/sent"
	cgi_run REQUEST_METHOD=POST PATH_INFO="$1" \
		CONTENT_LENGTH="$(wc -c <"$TAP_TMP/sent")" "${@:3}" \
		<"$TAP_TMP/sent"
}

# json PATH: of the body, as JSON.  json_sql EXPRESSION: of "body" in SQL.
json_sql() {
	sqlite3 :memory: "SELECT $1 FROM
		(SELECT CAST(readfile('$TAP_TMP/body') AS TEXT) AS body)"
}
json() { json_sql "body -> '$1'"; }
