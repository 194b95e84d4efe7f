#!/bin/bash
# What was asked, by whom, and what became of it: the list of requests and
# one request with its commands, by the API as a CGI program.
: "${SRCDIR:?is set by make check}" "${BUILDDIR:?is set by make check}"
# shellcheck source=t/lib/tap.sh
. "$SRCDIR/t/lib/tap.sh"
# shellcheck source=t/lib/cgi.sh
. "$SRCDIR/t/lib/cgi.sh"

LIST=/metrics/profile_requests
ONE=/metrics/profile_request
NONE=00000000-0000-4000-8000-000000000000

# ask AS MEMBERS: a request; sets ID and its first command's, COMMAND.
ask() {
	post "$ONE" "{$2}" "$1"
	[ "$STATUS" = 200 ] || give_up "a request is not taken: $BODY"
	ID=$(json_sql "body ->> '\$.request_id'")
	COMMAND=$(json_sql "body ->> '\$.command_ids[0]'")
}
# beat SERVICE HOST [MEMBERS]
beat() {
	post /metrics/heartbeat "{\"ip_address\": \"10.0.0.1\",
		\"hostname\": \"$2\", \"service_name\": \"$1\"${3:+, $3}}" \
		"$AGENT"
}
shows() { beat web h1 "\"commands\":
	[{\"command_id\": \"$COMMAND\", \"state\": \"$1\"}]"; }
complete() {
	post /metrics/command_completion "{\"command_id\": \"$1\",
		\"hostname\": \"$2\", \"status\": \"$3\"${4:+, $4}}" "$AGENT"
}

list() { get "$LIST" "QUERY_STRING=${1:-}" "$ADA"; }
one() { get "$ONE/$1" "$ADA"; }
ids() { json_sql "(SELECT group_concat(value ->> '\$.request_id', ' ')
	FROM json_each(body))"; }
# member NAME: of the one request's first command, as a text.
member() { json_sql "coalesce(body ->> '\$.commands[0].$1', 'null')"; }
# The request's counts: all, waiting, open, failed, done.
counts() { json_sql "(body ->> '\$.status') || ' ' ||
	(body ->> '\$.commands_total') || ' ' ||
	(body ->> '\$.commands_waiting') || (body ->> '\$.commands_open') ||
	(body ->> '\$.commands_failed') || (body ->> '\$.commands_done')"; }
# seconds FROM TO: between two times of the command.
seconds() {
	json_sql "round((julianday(body ->> '\$.commands[0].$2') -
		julianday(body ->> '\$.commands[0].$1')) * 86400)"
}

# finds QUERY IDS SENTENCE
finds() {
	local expected
	read -ra expected <<<"$2"
	list "$1"
	is "$(ids)" "$2" "$3"
	is "$STATUS $(header X-Total-Count)" "200 ${#expected[@]}" \
		'and says how many'
}
# refuses QUERY LOC SENTENCE
refuses() {
	list "$1"
	is "$STATUS $(json '$.detail[0].loc')" "422 $2" "$3"
	is "$(header X-Total-Count)" '' 'and counts nothing'
}

# --- refusals -------------------------------------------------------------

check_who() {
	local path
	for path in "$LIST" "$ONE/$NONE"; do
		get "$path"
		is "$STATUS" 401 "without a login there is no $path"
		get "$path" "$AGENT"
		is "$STATUS" 403 'nor for an agent'
		get "$path" "HTTP_COOKIE=conspect_session=$NONE"
		is "$STATUS" 401 'nor with a session that is none'
	done
}

check_nothing_there() {
	finds '' '' 'without requests the list is empty'
	is "$BODY" '[]' 'a list all the same'
	one "$NONE"
	is "$STATUS $(json '$.detail')" \
		'404 "there is no request with this id"' 'an unknown id is 404'
	for id in nonsense "${NONE}0" "${NONE%0}" "${NONE//-/0}" '%' "'"; do
		one "$id"
		is "$STATUS" 404 "so is $id, which is no UUID"
	done
	one "$NONE/x"
	is "$STATUS" 404 'and what is deeper'
	get "$ONE" "$ADA"
	is "$STATUS $(header Allow)" '405 POST' 'without an id there is POST only'
}

check_wrong_queries() {
	refuses limit=-1 '["query","limit"]' 'a limit below 0 is refused'
	refuses limit=100001 '["query","limit"]' 'and one above 100,000'
	refuses limit=x '["query","limit"]' 'and one that is no number'
	refuses limit= '["query","limit"]' 'and an empty one'
	refuses limit=1.5 '["query","limit"]' 'and a fraction'
	refuses offset=-1 '["query","offset"]' 'an offset below 0 is refused'
	refuses offset=x '["query","offset"]' 'and one that is no number'
	list 'limit=x&offset=x'
	is "$(json_sql "json_array_length(body, '\$.detail')")" 2 \
		'each fault is told'
	list 'service_name=%ff'
	is "$STATUS" 422 'what is no UTF-8 is refused'
	like "$BODY" 'UTF-8' 'which the reply says'
	list 'service_name=a%00b'
	is "$STATUS" 422 'so is a NUL'
}

# --- the list -------------------------------------------------------------

check_list() {
	local r1 r2 r3 r4
	ask "$ADA" '"service_name": "web", "request_type": "start",
		"target_hosts": {"db01": [10, 20]}, "duration": null'
	r1=$ID
	ask "$BOB" '"service_name": "web", "request_type": "start",
		"continuous": true, "duration": 300, "frequency": 99,
		"profiling_mode": "allocation", "expires_in": 3600,
		"target_hosts": {"db01": null, "db02": []},
		"additional_args": {"enable_perfspect": true, "x": [1]}'
	r2=$ID
	ask "$ADA" '"service_name": "mail_1", "request_type": "start",
		"target_hosts": {"mx%1": null}'
	r3=$ID
	ask "$ADA" '"service_name": "web", "request_type": "stop",
		"stop_level": "host", "target_hosts": {"db01": null}'
	r4=$ID
	finds '' "$r4 $r3 $r2 $r1" 'the newest request is the first'

	finds service_name=web "$r4 $r2 $r1" 'a service is one of the filters'
	finds service_name=WEB '' 'a service is written in one way'
	finds service_name=we '' 'no part of it is enough'
	finds 'service_name=mail_1' "$r3" '_ is itself'
	finds 'service_name=mail%251' '' '% is no wildcard'
	finds 'service_name=%25' '' 'also alone'
	finds service_name= '' 'an empty service is none'
	finds status=pending "$r4 $r3" 'so is a status'
	finds status=assigned "$r2" 'of which not all commands wait any more'
	finds status=cancelled "$r1" 'all of its commands were withdrawn'
	finds status=nonsense '' 'that no request can have finds none'
	finds request_type=stop "$r4" 'so is a type'
	finds request_type=start "$r3 $r2 $r1" 'either of them'
	finds created_by=bob "$r2" 'so is who asked'
	finds created_by=ADA "$r4 $r3 $r1" 'in upper or lower case'
	finds created_by=nobody '' 'who may have asked nothing'
	finds hostname=db02 "$r2" 'so is a host'
	finds hostname=DB01 "$r4 $r2 $r1" 'in upper or lower case'
	finds hostname=db '' 'no part of it'
	finds hostname=mx%251 "$r3" '% is itself there, too'
	finds 'hostname=mx_1' '' 'and _'
	finds 'service_name=web&request_type=start&created_by=ada&hostname=db01&status=cancelled' \
		"$r1" 'filters hold together'
	finds 'service_name=web&created_by=bob&request_type=stop' '' \
		'all of them'
	finds 'service_name=web&service_name=mail_1' "$r4 $r2 $r1" \
		'of two values the first counts'
	finds 'nonsense=1&request_id=2' "$r4 $r3 $r2 $r1" \
		'an unknown parameter changes nothing'

	list limit=2
	is "$(ids) $(header X-Total-Count)" "$r4 $r3 4" 'limit cuts, not the count'
	list 'limit=2&offset=1'
	is "$(ids) $(header X-Total-Count)" "$r3 $r2 4" 'offset leaves out'
	list offset=3
	is "$(ids) $(header X-Total-Count)" "$r1 4" 'up to the last'
	list offset=4
	is "$BODY $(header X-Total-Count)" '[] 4' 'and past it there is none'
	list offset=9223372036854775807
	is "$STATUS $BODY" '200 []' 'however far'
	list limit=0
	is "$BODY $(header X-Total-Count)" '[] 4' 'limit=0 only counts'
	list 'service_name=web&limit=1&offset=1'
	is "$(ids) $(header X-Total-Count)" "$r2 3" 'of what the filter finds'
	cgi_run REQUEST_METHOD=HEAD PATH_INFO="$LIST" "$ADA" </dev/null
	is "$STATUS $(header X-Total-Count) ${#BODY}" '200 4 0' \
		'HEAD tells the count without the list'
	get "$LIST/" "$VAL"
	is "$(ids)" "$r4 $r3 $r2 $r1" 'a viewer may look'

	check_record "$r2"
	list hostname=mx%251
	is "$(json '$[0].target_hosts')" '{"mx%1":null}' 'names are as sent'
	list status=cancelled
	is "$(json '$[0].duration') $(json '$[0].target_hosts')" \
		'null {"db01":[10,20]}' 'an endless one shows null, and pids'
}

# check_record ID: the second request as the list shows it.
check_record() {
	list created_by=bob
	is "$(json '$[0]' | sed 's/"created_at":"[^"]*"/"created_at":"T"/')" \
		"{\"request_id\":\"$1\",\"service_name\":\"web\",\"request_type\":\"start\",\"status\":\"assigned\",\"continuous\":true,\"duration\":300,\"frequency\":99,\"profiling_mode\":\"allocation\",\"stop_level\":\"process\",\"target_hostnames\":[\"db01\",\"db02\"],\"target_hosts\":{\"db01\":null,\"db02\":[]},\"additional_args\":{\"enable_perfspect\":true,\"x\":[1]},\"expires_in\":3600,\"created_by\":\"bob\",\"created_from\":\"192.0.2.7\",\"created_at\":\"T\",\"commands_total\":2,\"commands_waiting\":1,\"commands_open\":0,\"commands_failed\":0,\"commands_done\":0}" \
		'a request is shown with all that was asked, by whom and from where'
	ok 'and when' test "$(json_sql "abs(julianday('now') -
		julianday(body ->> '\$[0].created_at')) < 0.01")" = 1
}

# A list has 100 requests unless limit says otherwise.
check_many() {
	sql "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n
			WHERE i < 150)
		INSERT INTO ProfilingRequests (request_id, service_name,
			request_type, target_hostnames, created_at)
		SELECT printf('00000000-0000-4000-8000-%012d', i), 'many',
			'start', '[]', '2026-01-01T00:00:00.000Z' FROM n"
	list service_name=many
	is "$(json_sql 'json_array_length(body)') $(header X-Total-Count)" \
		'100 150' 'there are 100 in a list'
	is "$(json_sql "body ->> '\$[0].request_id'")" \
		00000000-0000-4000-8000-000000000150 \
		'of one moment, the later is the first'
	list 'service_name=many&limit=100000'
	is "$(json_sql 'json_array_length(body)')" 150 'limit takes more'
	list 'service_name=many&offset=100'
	is "$(json_sql 'json_array_length(body)')" 50 'offset the rest'
}

# --- one request, step by step ----------------------------------------------

# What is not there yet.
is_null() {
	local name
	for name; do is "$(member "$name")" null "it has no $name yet"; done
}

check_life() {
	ask "$ADA" '"service_name": "web", "request_type": "start",
		"expires_in": 7200, "target_hosts": {"h1": null, "h2": null}'
	local request=$ID sent accepted started
	one "$request"
	is "$(counts)" 'pending 2 2000' 'a request begins with what waits'
	is "$(json_sql "json_array_length(body, '\$.commands')")" 2 \
		'one command a host'
	is "$(member command_id) $(member hostname) $(member service_name)" \
		"$COMMAND h1 web" 'in the order of the hosts'
	is "$(member command_type) $(member status)" 'start pending' 'each waits'
	is "$(member combined_config)" \
		'{"command_type":"start","duration":60,"frequency":11,"continuous":false,"profiling_mode":"cpu"}' \
		'with what the agent will be given'
	is "$(seconds created_at expires_at)" 7200.0 'until it expires'
	is_null reason sent_at accepted_at started_at ended_at execution_time \
		exit_status error_message results_path perfspect_version \
		arguments
	is "$(member partial)" 0 'nothing of it is partial'

	beat web h1
	one "$request"
	is "$(counts)" 'assigned 2 1100' 'a heartbeat takes one'
	is "$(member status)" sent 'which was sent'
	sent=$(member sent_at)
	like "$sent" '^20.*Z$' 'at a time'
	is_null accepted_at started_at ended_at
	beat web h1
	one "$request"
	is "$(member sent_at)" "$sent" 'sent again, the first time is kept'

	shows accepted
	one "$request"
	is "$(member status)" accepted 'the agent shows it'
	accepted=$(member accepted_at)
	like "$accepted" '^20.*Z$' 'at a time'
	is_null started_at ended_at

	shows installing
	one "$request"
	is "$(member status)" installing 'the agent installs'
	started=$(member started_at)
	like "$started" '^20.*Z$' 'with which it starts'
	shows running
	one "$request"
	is "$(member status) $(member accepted_at) $(member started_at)" \
		"running $accepted $started" 'it runs since then'
	is "$(counts)" 'assigned 2 1100' 'and the request is under way'
	is_null ended_at execution_time

	complete "$COMMAND" h1 failed '"execution_time": 7, "exit_status": 3,
		"error_message": "no PMU", "results_path": "/tmp/é",
		"perfspect_version": "3.5.0", "partial": true,
		"arguments": ["gprofiler", "-d", "7"]'
	one "$request"
	is "$(counts)" 'assigned 2 1010' 'one failed, the other waits'
	is "$(member status) $(member reason)" 'failed no PMU' 'with its reason'
	is "$(member execution_time) $(member exit_status)" '7 3' 'its numbers'
	is "$(member error_message) $(member results_path)" 'no PMU /tmp/é' \
		'its texts'
	is "$(member perfspect_version)" 3.5.0 'and its version'
	is "$(member arguments) $(member partial)" \
		'["gprofiler","-d","7"] 1' 'what ran, and that it is partial'
	is "$(member started_at)" "$started" 'the start is kept'
	is "$(json_sql "(body ->> '\$.commands[0].created_at') <=
		(body ->> '\$.commands[0].sent_at')
		AND (body ->> '\$.commands[0].sent_at') <=
		(body ->> '\$.commands[0].accepted_at')
		AND (body ->> '\$.commands[0].accepted_at') <=
		(body ->> '\$.commands[0].started_at')
		AND (body ->> '\$.commands[0].started_at') <=
		(body ->> '\$.commands[0].ended_at')")" 1 'times follow each other'

	# what the other one comes to: given up
	sql "UPDATE ProfilingCommands SET expires_at = '2026-01-01T00:00:00.000Z'
		WHERE hostname = 'h2' AND status = 'pending'"
	beat web h2
	one "$request"
	is "$(json_sql "(body ->> '\$.commands[1].status') || ': ' ||
		(body ->> '\$.commands[1].reason')")" \
		'expired: the host did not take it in time' \
		'an expired command says so'
	like "$(json_sql "body ->> '\$.commands[1].ended_at'")" '^20.*Z$' \
		'and when'
	is "$(counts)" 'failed 2 0010' 'what failed is what is left'
	one "${request^^}"
	is "$STATUS $(json_sql "body ->> '\$.request_id'")" "200 $request" \
		'an id may be in upper case'
	get "$ONE/$request" "$VAL"
	is "$STATUS" 200 'a viewer may look'
	cgi_run REQUEST_METHOD=HEAD PATH_INFO="$ONE/$request" "$ADA" </dev/null
	is "$STATUS ${#BODY}" '200 0' 'HEAD has no body'
}

# A late report without a heartbeat before: it started when we heard of it.
check_report_only() {
	ask "$ADA" '"service_name": "web", "request_type": "start",
		"target_hosts": {"h3": null}'
	beat web h3
	complete "$COMMAND" h3 completed
	one "$ID"
	is "$(counts) $(member status)" 'completed 1 0001 completed' \
		'a report is enough to complete'
	is "$(member started_at)" "$(member ended_at)" 'it started with it'
	is_null reason execution_time exit_status accepted_at
}

check_merge_and_stop() {
	local first second
	ask "$ADA" '"service_name": "web", "request_type": "start",
		"target_hosts": {"h4": [1]}'
	first=$ID
	ask "$BOB" '"service_name": "web", "request_type": "start",
		"target_hosts": {"H4": [2]}'
	second=$ID
	one "$first"
	is "$(member command_id)" "$COMMAND" 'merged, a command is in the first'
	one "$second"
	is "$(member command_id)" "$COMMAND" 'and in the second'
	is "$(member hostname) $(json '$.commands[0].combined_config.pids')" \
		'h4 [1,2]' 'for the processes of both'
	is "$(json '$.target_hosts')" '{"H4":[2]}' 'each shows its own'
	ask "$BOB" '"service_name": "web", "request_type": "stop",
		"stop_level": "host", "target_hosts": {"h4": null}'
	one "$first"
	is "$(counts) $(member status): $(member reason)" \
		'cancelled 1 0000 cancelled: stopped before it began' \
		'a stop withdraws it'
	is_null sent_at started_at
	one "$ID"
	is "$(member command_type) $(member combined_config)" \
		'stop {"stop_level":"host"}' 'the stop is a command of its own'
	is "$(json '$.stop_level')" '"host"' 'of the level that was asked for'
}

check_empty() {
	ask "$ADA" '"service_name": "nobody", "request_type": "start"'
	one "$ID"
	is "$(counts) $(json '$.commands')" 'cancelled 0 0000 []' \
		'without active hosts a request has no commands'
	is "$(json '$.target_hosts') $(json '$.target_hostnames')" 'null []' \
		'and no hosts'
	beat everyone h5
	ask "$ADA" '"service_name": "everyone", "request_type": "start"'
	one "$ID"
	is "$(json '$.target_hosts') $(json '$.target_hostnames')" \
		'null ["h5"]' 'for all active hosts they are named'
}

# A database that fails is told, and ends no program.
check_failure() {
	local path table
	for table in ProfilingRequests ProfilingCommands; do
		sql "PRAGMA legacy_alter_table = 1;
			ALTER TABLE $table RENAME TO Gone"
		for path in "$ONE/$ID" "$LIST"; do
			[ "$table $path" != "ProfilingCommands $LIST" ] ||
				continue
			get "$path" "$ADA"
			is "$STATUS $(header Retry-After)" '503 5' \
				"without $table $path is 503"
			like "$(json '$.detail')" 'the database failed' \
				'and says so'
		done
		sql "PRAGMA legacy_alter_table = 1;
			ALTER TABLE Gone RENAME TO $table"
	done
	one "$ID"
	is "$STATUS" 200 'and it is back'
}

cgi_database
for name in ada bob; do add_user $name operator; done
add_user val viewer
ADA=$(as_user ada)
BOB=$(as_user bob)
VAL=$(as_user val)
check_who
check_nothing_there
check_wrong_queries
check_list
check_many
check_life
check_report_only
check_merge_and_stop
check_empty
check_failure
replies_are_safe
done_testing
