# shellcheck shell=bash
# The list of checks that each of the five set-ups passes: t/servers/*.t say
# which set-up and source this.

: "${SRCDIR:?is set by make check}" "${BUILDDIR:?is set by make check}"
# shellcheck source=t/lib/tap.sh
. "$SRCDIR/t/lib/tap.sh"
# shellcheck source=t/lib/servers.sh
. "$SRCDIR/t/lib/servers.sh"

# request [CURL ARGUMENT...] PATH: sets STATUS, HEADERS and BODY.
request() {
	local path=${*: -1}
	STATUS=$(curl -sS --max-time 120 --path-as-is \
		-D "$TAP_TMP/headers" -o "$TAP_TMP/body" -w '%{http_code}' \
		"${@:1:$#-1}" "$BASE$path" 2>"$TAP_TMP/curl") ||
		STATUS="$STATUS ($(cat "$TAP_TMP/curl"))"
	HEADERS=$(tr -d '\r' <"$TAP_TMP/headers")
	BODY=$(tr -d '\0' <"$TAP_TMP/body")
}

as_admin() { request -u "admin:$ADMIN_PASSWORD" "$@"; }
as_agent() {
	request -H "Authorization: Bearer $(cat "$STATE/agent.token")" "$@"
}
json='Content-Type: application/json'

# The feature document's own requests, their host and service.
profile_request='{"service_name": "test-service-2", "request_type": "start",
 "continuous": true, "duration": 60, "frequency": 11,
 "profiling_mode": "cpu", "target_hosts": {"test-host-202": null},
 "additional_args": {"enable_perfspect": true}}'
heartbeat='{"ip_address": "127.0.0.1", "hostname": "test-host-202",
 "service_name": "test-service-2", "status": "active"}'

check_health() {
	request /healthz
	is "$STATUS" 200 '/healthz is healthy'
	like "$BODY" . '/healthz says so in a body'
	request '/healthz?x=1'
	is "$STATUS" 200 '/healthz takes a query string'
}

check_authorization() {
	request /api/metrics/profiling/host_status
	is "$STATUS" 401 'without Authorization the answer is 401'
	like "$HEADERS" '^[Ww][Ww][Ww]-[Aa]uthenticate:' \
		'401 names the way to log in'
	request -u admin:wrong-password /api/metrics/profiling/host_status
	is "$STATUS" 401 'a wrong password is refused'
	as_admin /api/metrics/profiling/host_status
	is "$STATUS" 200 'Authorization reaches the program'
}

check_document() {
	as_admin -H "$json" -d "$profile_request" /api/metrics/profile_request
	is "$STATUS" 200 "the document's request is taken"
	like "$BODY" '"success": ?true' 'and succeeds'
	as_agent -H "$json" -d "$heartbeat" /api/metrics/heartbeat
	is "$STATUS" 200 "the document's heartbeat is taken"
	like "$BODY" '"enable_perfspect": ?true' 'and is told of PerfSpect'
}

# A result file on its way in and out.
check_results() {
	local command path
	as_agent -H "$json" -d "$heartbeat" /api/metrics/heartbeat
	command=$(sed -n 's/.*"command_id": *"\([^"]*\)".*/\1/p' <<<"$BODY")
	path=/api/metrics/results/$command
	head -c 16777216 /dev/urandom >"$TAP_TMP/sent"
	as_agent -H 'Expect:' -T "$TAP_TMP/sent" \
		"$path/a%20%25b%C3%A4.html?hostname=test-host-202"
	is "$STATUS" 201 'a result file of 16 MiB is taken'
	as_admin "$path/a%20%25b%C3%A4.html"
	is "$STATUS" 200 'and comes back'
	ok 'byte for byte' cmp "$TAP_TMP/sent" "$TAP_TMP/body"
	like "$HEADERS" "^Content-Disposition: attachment; filename\*=UTF-8''a%20%25b%C3%A4.html$" \
		'as a download by its name'
	like "$HEADERS" "^Content-Security-Policy:.*sandbox; default-src 'none'" \
		'in a sandbox'
	like "$HEADERS" "^Content-Security-Policy: default-src 'self'" \
		'besides the policy of all replies'
	like "$HEADERS" '^[Cc]ontent-[Tt]ype: application/octet-stream' \
		'and not as a page'
	printf '' >"$TAP_TMP/empty"
	as_agent -T "$TAP_TMP/empty" "$path/none.csv?hostname=test-host-202"
	is "$STATUS" 201 'an empty one is taken'
	head -c 16777217 /dev/zero >"$TAP_TMP/sent"
	as_agent -H 'Expect:' -T "$TAP_TMP/sent" \
		"$path/b?hostname=test-host-202"
	is "$STATUS" 413 'one byte more is not'
	for path in "$path/..%2fx" "$path/%2e%2e" "$path/../x" "$path/.x"; do
		as_agent -T "$TAP_TMP/empty" "$path?hostname=test-host-202"
		like "$STATUS" '^4[0-9][0-9]$' "$path is no file"
	done
	ok 'nothing is stored under another name' \
		test "$(find "$(dirname "$DB")/results" -type f | wc -l)" = 2
}

check_query_string() {
	as_admin '/api/metrics/profiling/host_status?service_name=nothing'
	is "$BODY" '[]' 'a query string reaches the program'
	as_admin '/api/metrics/profiling/host_status?service_name=test-service-2'
	like "$BODY" test-host-202 'and selects by it'
}

check_paths() {
	as_agent -H "$json" -d "$heartbeat" //api/metrics/heartbeat
	is "$STATUS" 200 'two slashes lead to the same route'
	as_agent -H "$json" -d "$heartbeat" /api/metrics/heartbeat/
	like "$STATUS" '^(200|307|308|404)$' 'a slash at the end has an answer'
	as_admin /api/metrics/nothing
	is "$STATUS" 404 'an unknown route of the API is 404'
	as_admin /apix
	is "$STATUS" 404 'a path that only begins like /api is 404'
	as_admin /nothing/here
	is "$STATUS" 404 'an unknown page is 404'
	as_admin /api/metrics/heartbeat
	is "$STATUS" 405 'another method is 405'
	like "$HEADERS" '^[Aa]llow: .*POST' 'and told which is allowed'
}

check_bodies() {
	head -c 1048577 /dev/zero | tr '\0' ' ' >"$TAP_TMP/large"
	as_admin -H "$json" --data-binary "@$TAP_TMP/large" \
		/api/metrics/profile_request
	is "$STATUS" 413 'a JSON body over 1 MiB is 413'
	head -c 17825792 /dev/zero >"$TAP_TMP/huge"
	as_admin -H "$json" -H 'Expect:' --data-binary "@$TAP_TMP/huge" \
		/api/metrics/profile_request
	like "$STATUS" '^413' 'a body over all limits is 413'
	as_agent -H "$json" -H 'Transfer-Encoding: chunked' -d "$heartbeat" \
		/api/metrics/heartbeat
	like "$STATUS" '^(200|411)$' 'a chunked body is answered'
	as_admin -H 'Content-Type: application/xml' -d '<x/>' \
		/api/metrics/profile_request
	is "$STATUS" 415 'a body that is no JSON by its own words is 415'
}

check_files() {
	local css
	css=$(cd "$SRCDIR/html" && find . -name '*.css' | head -n 1)
	request "/static/${css#./}"
	is "$STATUS" 200 'the style sheet is served'
	like "$HEADERS" '^[Cc]ontent-[Tt]ype: text/css' 'as text/css'
	like "$HEADERS" '^[Xx]-Content-Type-Options: nosniff' 'with nosniff'
	like "$HEADERS" "^Content-Security-Policy: default-src 'self'" \
		'and with a policy'
	request /dist/perfspect.tgz
	is "$STATUS $BODY" '200 archive' 'an archive is served'
	request /static/
	like "$STATUS" '^40[34]$' '/static/ has no listing'
	request /dist/
	like "$STATUS" '^40[34]$' '/dist/ has no listing'
	request /static/../state/conspect.db
	like "$STATUS" '^40[0-9]$|^30[0-9]$' 'nothing is served from outside'
	request /dist/..%2fconspect.db
	like "$STATUS" '^40[0-9]$|^30[0-9]$' 'not by an escape either'
	request /static/nothing.css
	is "$STATUS" 404 'a file that is not there is 404'
}

# An archive that conspectctl pinned, by the name that it gave it.
check_pinned() {
	local digest file
	digest=$("$SRCDIR/t/standins/make-archive" \
		"$TOP_BUILDDIR/t/standins/perfspect" "$TAP_TMP/release.tgz")
	"$BUILDDIR/conspectctl" --db "$DB" perfspect add \
		"$TAP_TMP/release.tgz" >"$TAP_TMP/added" 2>&1
	is $? 0 'an archive is pinned beside the running server'
	file=$(grep -o 'perfspect-[a-z0-9_]*-[0-9a-f]*\.tgz' "$TAP_TMP/added")
	request "/dist/$file"
	is "$STATUS $(sha256sum <"$TAP_TMP/body")" "200 $digest  -" \
		'and served at /dist/, whole, without a token'
	like "$HEADERS" '^[Cc]ontent-[Tt]ype: application/gzip' \
		'as what it is'
	like "$HEADERS" '^[Xx]-Content-Type-Options: nosniff' 'with nosniff'
	request -X PUT --data-binary x "/dist/$file"
	like "$STATUS" '^(40[0-9]|501)$' 'nobody can put another one there'
	request "/dist/$file"
	is "$(sha256sum <"$TAP_TMP/body")" "$digest  -" 'nor has anybody'
	as_admin -H "$json" -d "$profile_request" /api/metrics/profile_request
	is "$STATUS" 200 'the database can still be written'
}

check_console() {
	request /login
	is "$STATUS" 200 'the login page is there for all'
	like "$HEADERS" '^[Cc]ontent-[Tt]ype: text/html' 'as HTML'
	request /
	like "$STATUS" '^(302|303|401)$' 'the console asks to log in'
	as_admin /
	like "$STATUS" '^(200|302|303)$' 'and opens after it'
}

check_server() {
	request /login
	unlike "$HEADERS" '^[Ss]erver:.*[0-9]' 'the server tells no version'
	is "$(server_reports)" '' 'nothing went wrong behind the answers'
}

server_checks() {
	local missing
	missing=$(server_missing "$1")
	[ -z "$missing" ] || skip_all "not installed: ${missing//$'\n'/, }"
	if ! server_start "$1"; then
		fail "$1 starts"
		done_testing
		return 1
	fi
	check_health
	check_authorization
	check_document
	check_results
	check_query_string
	check_paths
	check_bodies
	check_files
	check_pinned
	check_console
	check_server
	done_testing
}
