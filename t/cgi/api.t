#!/bin/bash
# The API as a CGI program: what it answers, and what the database holds.
: "${SRCDIR:?is set by make check}" "${BUILDDIR:?is set by make check}"
# shellcheck source=t/lib/tap.sh
. "$SRCDIR/t/lib/tap.sh"
# shellcheck source=t/lib/cgi.sh
. "$SRCDIR/t/lib/cgi.sh"

REQUEST=/metrics/profile_request
HEARTBEAT=/metrics/heartbeat
COMPLETION=/metrics/command_completion
HOSTS=/metrics/profiling/host_status
JSON=CONTENT_TYPE=application/json

# detail STATUS TEXT SENTENCE: the reply is an error with that text in it.
detail() {
	is "$STATUS" "$1" "$3"
	is "$(header Content-Type)" application/json 'in JSON'
	like "$(json '$.detail')" "$2" 'that says why'
}

# start SERVICE HOST [MEMBERS]: asks for a run; ID is its command.
start() {
	post "$REQUEST" "{\"service_name\": \"$1\", \"request_type\": \"start\",
		\"target_hosts\": {\"$2\": null}${3:+, $3}}" "$OPERATOR"
	ID=$(json_sql "body ->> '\$.command_ids[0]'")
}
# beat SERVICE HOST [MEMBERS]
beat() {
	post "$HEARTBEAT" "{\"ip_address\": \"10.0.0.1\", \"hostname\": \"$2\",
		\"service_name\": \"$1\", \"status\": \"active\"${3:+, $3}}" \
		"$AGENT"
}
# complete ID HOST STATUS [MEMBERS]
complete() {
	post "$COMPLETION" "{\"command_id\": \"$1\", \"hostname\": \"$2\",
		\"status\": \"$3\"${4:+, $4}}" "$AGENT"
}
state() { sql "SELECT status FROM ProfilingCommands WHERE command_id = '$1'"; }

# --- the feature document's own case --------------------------------------

document='{
    "service_name": "test-service-2",
    "request_type": "start",
    "continuous": true,
    "duration": 60,
    "frequency": 11,
    "profiling_mode": "cpu",
    "target_hosts": {
      "test-host-202": null
    },
    "additional_args": {
      "enable_perfspect": true
    }
  }'

check_document_request() {
	post "$REQUEST" "$document" "$JSON" "$(basic 'ada:pass word:1')"
	is "$STATUS" 200 "the document's request by -u user:password"
	is "$(json '$.success')" true 'succeeds'
	is "$(json_sql "json_array_length(body, '\$.command_ids')")" 1 \
		'with one command'
	like "$(json '$.request_id')" '^"[0-9a-f-]{36}"$' 'and an id'
	like "$(json '$.estimated_completion_time')" '^"20.*Z"$' 'and a time'
	ID=$(json_sql "body ->> '\$.command_ids[0]'")
	like "$(sql "SELECT combined_config FROM ProfilingCommands
		WHERE service_name = 'test-service-2'
		AND hostname = 'test-host-202'")" \
		'^\{.*"enable_perfspect":true' "the document's query finds it"
	is "$(sql "SELECT combined_config -> '\$.enable_perfspect'
		FROM ProfilingCommands WHERE command_id = '$ID'")" true \
		'at the top level'
	is "$(sql "SELECT created_by || ' ' || created_from FROM
		ProfilingRequests WHERE additional_args LIKE '%perfspect%'")" \
		'ada 192.0.2.7' 'and who asked from where is kept'
}

check_document_heartbeat() {
	beat test-service-2 test-host-202
	is "$STATUS" 200 "the document's heartbeat"
	is "$(json '$.success')" true 'succeeds'
	is "$(json_sql "body ->> '\$.command_id'")" "$ID" 'with the command'
	is "$(json '$.profiling_command.command_type')" '"start"' 'a start'
	is "$(json '$.profiling_command.combined_config')" \
		'{"command_type":"start","duration":60,"frequency":11,"continuous":true,"profiling_mode":"cpu","enable_perfspect":true}' \
		'that tells of PerfSpect'
}

# --- a command's life ------------------------------------------------------

check_delivery() {
	start web db01
	is "$(state "$ID")" pending 'a new command is pending'
	beat web other-host
	is "$(json '$.command_id')" null 'another host does not get it'
	beat other-service db01
	is "$(json '$.command_id')" null 'nor does another service'
	beat web DB01
	is "$(json_sql "body ->> '\$.command_id'")" "$ID" \
		'its host does, in any spelling'
	is "$(state "$ID")" sent 'and it is sent'
	beat web db01
	is "$(json_sql "body ->> '\$.command_id'")" "$ID" 'it is sent again'
	beat web db01 "\"last_command_id\": \"$ID\""
	is "$(json '$.command_id')" null 'until the agent shows it'
	is "$(json '$.profiling_command')" null 'and nothing else is sent'
	is "$(state "$ID")" accepted 'and it is accepted'
}

check_completion() {
	complete "$ID" other-host completed
	is "$STATUS $(json '$.success')" '200 false' \
		'another host cannot complete it'
	complete 00000000-0000-4000-8000-000000000000 db01 completed
	like "$(json '$.message')" 'not found' 'nor can a command of no one'
	complete "$ID" db01 completed '"execution_time": 62,
		"results_path": "/tmp/x"'
	is "$STATUS $(json '$.success')" '200 true' 'its host can'
	is "$(state "$ID")" completed 'and it is completed'
	is "$(sql "SELECT status, execution_time, results_path
		FROM ProfilingExecutions WHERE command_id = '$ID'")" \
		'completed|62|/tmp/x' 'with what the agent reported'
	complete "$ID" db01 completed
	is "$(json '$.success')" true 'the same report again is a success'
	complete "$ID" db01 failed '"error_message": "late"'
	is "$(json '$.success')" false 'another end is not'
	is "$(state "$ID")" completed 'and changes nothing'
}

check_failure() {
	start web db02
	complete "$ID" db02 failed
	is "$(json '$.success')" false 'what was not sent cannot end'
	beat web db02
	complete "$ID" db02 failed '"error_message": "no PMU <here>"'
	is "$(json '$.success')" true 'a failure is taken'
	is "$(sql "SELECT status, reason FROM ProfilingCommands
		WHERE command_id = '$ID'")" 'failed|no PMU <here>' \
		'with its reason'
}

check_stop() {
	start web db03 '"continuous": true'
	post "$REQUEST" '{"service_name": "web", "request_type": "stop",
		"stop_level": "host", "target_hosts": {"db03": null}}' \
		"$OPERATOR"
	is "$STATUS $(json '$.estimated_completion_time')" '200 null' \
		'a stop is taken'
	is "$(state "$ID")" cancelled 'and withdraws what waits'
	beat web db03
	is "$(json '$.profiling_command.command_type')" '"stop"' \
		'and reaches the host'
}

# --- host_status ------------------------------------------------------------

# found QUERY NAMES SENTENCE: the hosts found, by name.
found() {
	get "$HOSTS" "QUERY_STRING=$1" "$VIEWER"
	is "$STATUS $(json_sql "(SELECT group_concat(v) FROM (SELECT
		json_extract(value, '\$.hostname') v FROM json_each(body)
		ORDER BY v))")" "200 $2" "$3"
}
# A fleet of its own: a host without a command, one pending, one stopped.
make_fleet() {
	sql 'DELETE FROM ProfilingCommands; DELETE FROM HostHeartbeats'
	beat frontend web-01
	beat frontend web-02
	beat 'back end' db%01
	sql "UPDATE HostHeartbeats SET ip_address = '10.0.0.2'
		WHERE hostname = 'web-02'"
	start frontend web-02
	post "$REQUEST" '{"service_name": "back end", "request_type": "start",
		"target_hosts": {"db%01": [11, 21]}}' "$OPERATOR"
	beat 'back end' db%01
}

check_host_status() {
	make_fleet
	get "$HOSTS" "$VIEWER"
	is "$(json_sql "(SELECT json_remove(value, '\$.id',
		'\$.heartbeat_timestamp') FROM json_each(body)
		WHERE value ->> 'hostname' = 'web-01')")" \
		'{"service_name":"frontend","hostname":"web-01","ip_address":"10.0.0.1","pids":[],"command_type":"N/A","profiling_status":"stopped"}' \
		'a host without a command'
	is "$(json_sql "(SELECT json_remove(value, '\$.id',
		'\$.heartbeat_timestamp') FROM json_each(body)
		WHERE value ->> 'hostname' = 'db%01')")" \
		'{"service_name":"back end","hostname":"db%01","ip_address":"10.0.0.1","pids":[11,21],"command_type":"start","profiling_status":"sent"}' \
		'and one with pids'
	like "$(json '$[0].heartbeat_timestamp')" '^"20.*Z"$' 'each with a time'
}

check_filters() {
	found '' 'db%01,web-01,web-02' 'no filter finds all'
	found 'unknown=1' 'db%01,web-01,web-02' 'nor does an unknown one'
	found 'service_name=FRONT' web-01,web-02 'a part of the service'
	found 'service_name=front&exact_match=true' '' 'exactly it is not'
	found 'service_name=frontend&exact_match=1' web-01,web-02 'but the whole'
	found 'service_name=back+end' 'db%01' 'with + for a blank'
	found 'hostname=WEB' web-01,web-02 'a part of the name'
	found 'hostname=web-01&hostname=db' 'db%01,web-01' 'or either of two'
	found 'hostname=db%2501' 'db%01' 'a percent sign is itself'
	found 'hostname=web%25' '' 'and stands for nothing else'
	found 'hostname=%25' 'db%01,web-01,web-02' 'but alone it is any'
	found 'hostname=_' '' 'and so is an underscore'
	found "hostname=o'brien" '' 'and a quote'
	found 'hostname=' 'db%01,web-01,web-02' 'nothing is a part of all'
	found 'ip_address=0.0.2' web-02 'a part of the address'
	found 'profiling_status=pending' web-02 'the state'
	found 'profiling_status=STOPPED&profiling_status=Sent' 'db%01,web-01' \
		'or either of two, in any spelling'
	found 'profiling_status=bogus' '' 'a state that does not exist'
	found 'command_type=start' 'db%01,web-02' 'the type of command'
	found 'command_type=n/a' web-01 'or none'
	found 'pids=11&pids=99' 'db%01' 'a process'
	found 'pids=999' '' 'that is none'
	found 'service_name=frontend&profiling_status=pending' web-02 \
		'two filters, both of which hold'
}

check_bad_filters() {
	get "$HOSTS" QUERY_STRING='pids=1&pids=abc' "$VIEWER"
	is "$STATUS $(json '$.detail[0].loc')" '422 ["query","pids",1]' \
		'a pid that is no number is 422 with its place'
	get "$HOSTS" QUERY_STRING='pids=-1' "$VIEWER"
	is "$STATUS" 422 'and so is one out of range'
	get "$HOSTS" QUERY_STRING='exact_match=maybe' "$VIEWER"
	is "$STATUS $(json '$.detail[0].loc')" '422 ["query","exact_match"]' \
		'exact_match is a boolean'
	get "$HOSTS" QUERY_STRING='hostname=%FF' "$VIEWER"
	detail 422 'not UTF-8' 'a query that is not UTF-8 is 422'
	get "$HOSTS" QUERY_STRING=$'hostname=\xff' "$VIEWER"
	detail 422 'not UTF-8' 'as it is without percent signs'
	get "$HOSTS" QUERY_STRING='hostname=%0' "$VIEWER"
	detail 422 'percent-encoding' 'or half an escape'
}

# --- who --------------------------------------------------------------------

check_who() {
	get "$HOSTS"
	detail 401 'name and password' 'nobody sees no hosts'
	like "$(header WWW-Authenticate)" '^Basic realm=' 'and is told how'
	post "$HEARTBEAT" '{}'
	detail 401 'conspectctl token add' 'nobody is no agent'
	like "$(header WWW-Authenticate)" '^Bearer realm=' 'and is told how'
	get "$HOSTS" "$(basic ada:wrong)"
	detail 401 'name and password' 'a wrong password is nobody'
	get "$HOSTS" 'HTTP_COOKIE=conspect_session=0123'
	detail 401 'name and password' 'and so is a wrong cookie'
	get "$HOSTS" "$AGENT"
	detail 403 'name and password' 'an agent sees no hosts'
	post "$REQUEST" '{}' "$AGENT"
	detail 403 'role operator' 'and starts nothing'
	post "$REQUEST" '{}' "$VIEWER"
	detail 403 'role operator' 'nor does a viewer'
	post "$HEARTBEAT" '{}' "$OPERATOR"
	detail 403 "agent's token" 'a user is no agent'
	post "$REQUEST" '{}' "$OPERATOR" HTTP_ORIGIN=https://evil.example
	detail 403 'another site' "another site's script is nobody"
}

check_tokens() {
	local mine
	mine="HTTP_AUTHORIZATION=Bearer $(ctl token add mine --service web \
		--host db01)"
	AGENT=$mine beat web DB01
	is "$STATUS" 200 "a host's own token is good for it"
	AGENT=$mine beat web db02
	detail 403 'another service or host' 'for no other host'
	AGENT=$mine beat other db01
	detail 403 'another service or host' 'and for no other service'
	AGENT=$mine complete "$ID" db02 completed
	detail 403 'another host' 'and ends no run of another host'
	ctl token remove mine >/dev/null
	AGENT=$mine beat web db01
	is "$STATUS" 401 'and once revoked for nothing'
}

check_slow_down() {
	sql "INSERT OR REPLACE INTO LoginFailures VALUES ('ada', '192.0.2.7', 30,
		strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))"
	get "$HOSTS" "$(basic 'ada:pass word:1')"
	detail 429 'too many failed logins' 'after many failures one waits'
	like "$(header Retry-After)" '^[0-9]+$' 'and is told how long'
	get "$HOSTS" "$(basic 'ada:pass word:1')" REMOTE_ADDR=192.0.2.8
	is "$STATUS" 200 'but not at another address'
	sql 'DELETE FROM LoginFailures'
}

# --- paths and methods ------------------------------------------------------

check_health() {
	get /healthz
	is "$STATUS $BODY" '200 ok' '/healthz is for anyone'
	get /healthz "$(basic x)" HTTP_PROXY=http://evil.example:3128
	is "$STATUS $BODY" '200 ok' 'and HTTP_PROXY is none of its business'
	cgi_run REQUEST_METHOD=HEAD PATH_INFO=/healthz </dev/null
	is "$STATUS $(header Content-Length) $BODY" '200 3 ' \
		'HEAD is GET without a body'
}

check_paths() {
	local long
	cgi_run REQUEST_METHOD=GET </dev/null
	detail 404 'nothing at this address' 'no PATH_INFO is 404'
	get ''
	detail 404 'nothing at this address' 'and so is an empty one'
	get /metrics/nothing
	detail 404 'nothing at this address' 'and an unknown one'
	get //healthz
	is "$STATUS" 200 'two slashes are one'
	get /healthz/
	is "$STATUS" 200 'one at the end is none'
	get healthz
	is "$STATUS" 200 'one that is missing is there'
	get /healthz SCRIPT_NAME=/prefix/api SCRIPT_FILENAME=/x REQUEST_URI=/y
	is "$STATUS" 200 'and SCRIPT_NAME does not matter'
	printf -v long '/%02000d' 0
	get "$long"
	detail 404 'nothing at this address' 'a very long path is 404'
}

check_methods() {
	get "$HEARTBEAT" "$AGENT"
	detail 405 'Allow' 'a route of POST does not take GET'
	is "$(header Allow)" POST 'and says what it takes'
	post "$HOSTS" '' "$VIEWER"
	detail 405 'Allow' 'a route of GET does not take POST'
	is "$(header Allow)" 'GET, HEAD' 'and says what it takes'
	cgi_run REQUEST_METHOD=BREW PATH_INFO="$HOSTS" "$VIEWER" </dev/null
	is "$STATUS" 405 'nor an unknown method'
	cgi_run PATH_INFO="$HOSTS" "$VIEWER" </dev/null
	is "$STATUS" 405 'nor none'
}

# --- bodies -----------------------------------------------------------------

# with_length STATUS TEXT SENTENCE [NAME=value...]: {} as the body.
with_length() {
	cgi_run REQUEST_METHOD=POST PATH_INFO="$HEARTBEAT" "$AGENT" "${@:4}" \
		< <(printf '{}')
	detail "$1" "$2" "$3"
}

check_lengths() {
	with_length 411 'Content-Length is needed' 'no length is 411'
	with_length 411 'Content-Length is needed' 'an empty one is 411' \
		CONTENT_LENGTH=
	with_length 411 'Content-Length is needed' 'chunks are 411' \
		HTTP_TRANSFER_ENCODING=chunked
	with_length 400 'not a number' 'a negative one is 400' \
		CONTENT_LENGTH=-1
	with_length 400 'shorter' 'one that is too long is 400' \
		CONTENT_LENGTH=3
	with_length 413 'larger' 'a huge one is 413' CONTENT_LENGTH=99999999999
	with_length 413 'larger' 'one past the limit is 413' \
		CONTENT_LENGTH=1048577
	head -c 1048576 /dev/zero | tr '\0' ' ' >"$TAP_TMP/large"
	cgi_run REQUEST_METHOD=POST PATH_INFO="$HEARTBEAT" "$AGENT" \
		CONTENT_LENGTH=1048576 <"$TAP_TMP/large"
	is "$STATUS" 422 'the limit itself is not too large'
}

check_types() {
	post "$REQUEST" "$document" "$OPERATOR" CONTENT_TYPE=application/xml
	detail 415 'must be application/json' 'another type is 415'
	post "$REQUEST" "$document" "$OPERATOR" CONTENT_TYPE=text/plain
	is "$STATUS $(json '$.detail[0].type')" '422 "type_error.dict"' \
		'a text is no object'
	post "$REQUEST" "$document" "$OPERATOR" \
		'CONTENT_TYPE=Application/JSON; charset=utf-8'
	is "$STATUS" 200 'JSON may be declared in full'
	post "$REQUEST" "$document" "$OPERATOR" CONTENT_TYPE=application/x+json
	is "$STATUS" 200 'or by its suffix'
	post "$REQUEST" "$document" "$OPERATOR"
	is "$STATUS" 200 'or not at all'
}

check_faults() {
	post "$REQUEST" '' "$OPERATOR"
	is "$STATUS $(json '$.detail[0].type')" '422 "value_error.missing"' \
		'no body is 422'
	post "$REQUEST" '{"service_name": }' "$OPERATOR"
	is "$STATUS $(json '$.detail[0].loc')" '422 ["body",17]' \
		'bad JSON is 422 with its place'
	post "$REQUEST" $'{"service_name": "\xff"}' "$OPERATOR"
	is "$STATUS" 422 'and so is a body that is not UTF-8'
	post "$REQUEST" "${document/60/\"long\"}" "$OPERATOR"
	is "$STATUS $(json '$.detail[0].loc')" '422 ["body","duration"]' \
		'a bad value is 422 with its member'
	post "$HEARTBEAT" '{}' "$AGENT"
	is "$STATUS $(json_sql "json_array_length(body, '\$.detail')")" \
		'422 3' 'each missing member is named'
	post "$COMPLETION" '{"command_id": "x", "hostname": "h",
		"status": "completed"}' "$AGENT"
	is "$STATUS" 422 'and an id that is none is no success'
}

# --- the database -----------------------------------------------------------

check_locked() {
	coproc LOCK { sqlite3 -batch "$DB"; }
	echo 'BEGIN IMMEDIATE; SELECT 1;' >&"${LOCK[1]}"
	read -r -u "${LOCK[0]}" _
	get "$HOSTS" "$VIEWER"
	is "$STATUS" 200 'a locked database can be read'
	beat web db01
	detail 503 'locked by another program' 'but not be written'
	is "$(header Retry-After)" 5 'until later'
	like "$LOG" 'locked' 'and the log says so'
	echo '.quit' >&"${LOCK[1]}"
	wait "$LOCK_PID"
	beat web db01
	is "$STATUS" 200 'and then it is'
}

check_newer() {
	cp "$DB" "$TAP_TMP/newer.db"
	sqlite3 "$TAP_TMP/newer.db" 'PRAGMA user_version = 9999'
	DB=$TAP_TMP/newer.db get /healthz
	detail 503 'made by a newer Conspect: install that one' \
		'a newer schema is 503 and the way out'
	like "$LOG" 'schema version 9999, and this program knows versions up' \
		'with the versions in the log'
}

check_missing() {
	DB=$TAP_TMP/nowhere/x.db get /healthz
	detail 503 'log names user and path' 'no directory is 503'
	is "$(header Retry-After)" 5 'for now'
	like "$LOG" "$TAP_TMP/nowhere: No such file .*user $(id -un)\)" \
		'and the log does'
	unlike "$BODY" "$TAP_TMP" 'and the reply does not'
	DB=$TAP_TMP/nowhere/x.db get /nothing
	detail 404 'nothing at this address' 'what does not exist is still 404'
}

# Root may write everything: then it is www-data that may not.
check_read_only() {
	local dir=$TAP_TMP/read-only
	# shellcheck source=t/lib/servers.sh
	. "$SRCDIR/t/lib/servers.sh"
	server_pick_user
	ROOT=$TAP_TMP/copy STATE=$TAP_TMP/copy/state CGI_DIR=$TAP_TMP/copy/cgi-bin
	mkdir -p "$CGI_DIR" "$STATE/log" "$dir"
	server_copy api
	sqlite3 "$DB" "VACUUM INTO '$dir/x.db'"
	sqlite3 "$dir/x.db" 'PRAGMA journal_mode = WAL' >/dev/null
	chmod 0444 "$dir/x.db"
	if [ "$(id -u)" = 0 ]; then
		RUN_AS=(setpriv --reuid="$USER_NAME" --regid="$GROUP_NAME"
			--clear-groups)
		chmod 0755 "$TAP_TMP"
		chown "$USER_NAME" "$dir" "$STATE/log"
	fi
	DB=$dir/x.db beat web db01
	detail 503 'may not be written' 'a read-only file is 503 for who writes'
	like "$LOG" "$dir/x.db: attempt to write a readonly" 'as the log says'
	DB=$dir/x.db get "$HOSTS" "$VIEWER"
	is "$STATUS" 200 'and readable for who reads'
	chmod 0555 "$dir"
	DB=$dir/x.db get /healthz
	detail 503 'log names user and path' 'a read-only directory is 503'
	like "$LOG" "$dir may not be written by user $USER_NAME" \
		'and the log does'
	is "$(cat "$STATE"/log/* 2>/dev/null)" '' 'without a fault of ours'
	RUN_AS=() CGI_DIR=
	chmod 0755 "$dir"
}

cgi_database
add_user ada operator 'pass word:1'
add_user vic viewer
OPERATOR=$(as_user ada)
VIEWER=$(as_user vic)
check_document_request
check_document_heartbeat
check_delivery
check_completion
check_failure
check_stop
check_host_status
check_filters
check_bad_filters
check_who
check_tokens
check_slow_down
check_health
check_paths
check_methods
check_lengths
check_types
check_faults
check_locked
check_newer
check_missing
check_read_only
replies_are_safe
done_testing
