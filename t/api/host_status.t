#!/bin/bash
# The hosts and their newest command: filters, order, pages, detail, by the
# API as a CGI program.
: "${SRCDIR:?is set by make check}" "${BUILDDIR:?is set by make check}"
# shellcheck source=t/lib/tap.sh
. "$SRCDIR/t/lib/tap.sh"
# shellcheck source=t/lib/cgi.sh
. "$SRCDIR/t/lib/cgi.sh"

HOSTS=/metrics/profiling/host_status

# beat SERVICE HOST ADDRESS [MEMBERS]
beat() {
	post /metrics/heartbeat "{\"ip_address\": \"$3\",
		\"hostname\": \"$2\", \"service_name\": \"$1\"${4:+, $4}}" \
		"$AGENT"
	[ "$STATUS" = 200 ] || give_up "a heartbeat is not taken: $BODY"
}
# ask SERVICE MEMBERS: COMMAND is its first command.
ask() {
	post /metrics/profile_request "{\"service_name\": \"$1\", $2}" "$ADA"
	[ "$STATUS" = 200 ] || give_up "a request is not taken: $BODY"
	COMMAND=$(json_sql "body ->> '\$.command_ids[0]'")
}
start() { ask "$1" "\"request_type\": \"start\", \"target_hosts\": {\"$2\":
	${3:-null}}"; }
complete() {
	post /metrics/command_completion "{\"command_id\": \"$COMMAND\",
		\"hostname\": \"$1\", \"status\": \"$2\"${3:+, $3}}" "$AGENT"
}
# An hour ago nobody was active.
silence() { sql "UPDATE HostHeartbeats SET last_seen =
	strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-1 hour')
	WHERE hostname = '$1'"; }

hosts() { get "$HOSTS" "QUERY_STRING=${1:-}" "$ADA"; }
names() { json_sql "coalesce((SELECT group_concat(value ->> '\$.hostname',
	' ') FROM json_each(body)), '')"; }
# detail HOST MEMBER: of the host's row in detail, as a text.
detail() {
	hosts "detail=true&exact_match=true&hostname=$1"
	json_sql "coalesce(body ->> '\$[0].$2', 'null')"
}
# finds QUERY NAMES SENTENCE: the hosts, and their number without a page.
finds() {
	local expected
	read -ra expected <<<"$2"
	hosts "$1"
	is "$(names)" "$2" "$3"
	is "$STATUS $(header X-Total-Count)" "200 ${#expected[@]}" \
		'and says how many'
}
# page QUERY NAMES TOTAL SENTENCE
page() {
	hosts "$1"
	is "$(names) of $(header X-Total-Count)" "$2 of $3" "$4"
}
# refuses QUERY LOC SENTENCE
refuses() {
	hosts "$1"
	is "$STATUS $(json '$.detail[0].loc')" "422 $2" "$3"
}

check_refusals() {
	get "$HOSTS"
	is "$STATUS" 401 'without a login there are no hosts'
	get "$HOSTS" "$AGENT"
	is "$STATUS" 403 'nor for an agent'
	refuses limit=-1 '["query","limit"]' 'a limit below 0 is refused'
	refuses limit=100001 '["query","limit"]' 'and one above 100,000'
	refuses limit=ten '["query","limit"]' 'and one in words'
	refuses offset=-1 '["query","offset"]' 'an offset below 0 is refused'
	refuses sort=id '["query","sort"]' 'a key that is none is refused'
	refuses sort=-nonsense '["query","sort"]' 'in the other direction, too'
	refuses sort= '["query","sort"]' 'and an empty one'
	refuses sort=- '["query","sort"]' 'and a direction without a key'
	refuses sort=--hostname '["query","sort"]' 'and two directions'
	refuses sort=Hostname '["query","sort"]' 'and another case'
	refuses 'sort=hostname&sort=nonsense' '["query","sort"]' \
		'and one after a key that is right'
	like "$BODY" 'service_name, hostname.*heartbeat_timestamp' \
		'with those that are right'
	refuses detail=maybe '["query","detail"]' 'so is a boolean that is none'
	refuses exact_match= '["query","exact_match"]' 'and an empty one'
	refuses 'pids=1&pids=x' '["query","pids",1]' 'and a pid that is none'
	refuses pids=4194305 '["query","pids",0]' 'or is too high'
	hosts 'hostname=%fe'
	is "$STATUS" 422 'what is no UTF-8 is refused'
	hosts 'limit=x&offset=x&sort=x&detail=x&pids=0'
	is "$(json_sql "json_array_length(body, '\$.detail')")" 5 \
		'each fault is told'
	finds '' '' 'without hosts the list is empty'
}

# Hosts in the order of their clocks, the newest last.
make_hosts() {
	local at='"timestamp": "2026-12-01T10:00:0'
	beat web db01 10.0.0.9 "${at}1Z\""
	beat web DB_02 10.0.0.10 "${at}2Z\""
	beat mail mx%1 fe80::1 "${at}3Z\""
	beat mail mx11 10.1.0.1 "${at}4Z\""
	beat Batch db1 10.0.0.1 "${at}5Z\""
}
ALL='db1 mx11 mx%1 DB_02 db01'

check_order() {
	finds '' "$ALL" 'the newest by its own clock is the first'
	finds sort=hostname 'db01 db1 DB_02 mx%1 mx11' \
		'by name, in upper or lower case'
	finds sort=-hostname 'mx11 mx%1 DB_02 db1 db01' 'and from the end'
	finds sort=service_name 'db1 mx%1 mx11 db01 DB_02' \
		'by service, equals as they came'
	finds sort=-service_name 'DB_02 db01 mx11 mx%1 db1' 'and from the end'
	finds sort=ip_address 'db1 DB_02 db01 mx11 mx%1' 'by address, as text'
	finds sort=-ip_address 'mx%1 mx11 db01 DB_02 db1' 'and from the end'
	finds sort=heartbeat_timestamp 'db01 DB_02 mx%1 mx11 db1' \
		'by the agents'\'' clocks'
	finds sort=-heartbeat_timestamp "$ALL" 'and from the newest'
	start web db01
	ask mail '"request_type": "stop", "stop_level": "host",
		"target_hosts": {"mx11": null}'
	finds sort=command_type 'DB_02 mx%1 db1 db01 mx11' \
		'by command: none, start, stop'
	finds sort=-command_type 'mx11 db01 db1 mx%1 DB_02' 'and from the end'
	finds sort=profiling_status 'db01 mx11 DB_02 mx%1 db1' 'by status'
	finds sort=-profiling_status 'db1 mx%1 DB_02 mx11 db01' \
		'and from the end'
}

check_pages() {
	page limit=2 'db1 mx11' 5 'limit cuts, not the count'
	page 'limit=2&offset=2' 'mx%1 DB_02' 5 'offset leaves out'
	page offset=4 db01 5 'up to the last'
	page offset=5 '' 5 'and past it there is none'
	page offset=9223372036854775807 '' 5 'however far'
	page limit=0 '' 5 'limit=0 only counts'
	is "$BODY" '[]' 'with an empty list'
	page limit=100000 "$ALL" 5 'the highest limit is no matter'
	page 'sort=hostname&limit=2&offset=1' 'db1 DB_02' 5 \
		'the page is cut after sorting'
	page 'service_name=mail&limit=1' mx11 2 'and the filter comes before'
	cgi_run REQUEST_METHOD=HEAD PATH_INFO="$HOSTS" QUERY_STRING=limit=1 \
		"$ADA" </dev/null
	is "$STATUS $(header X-Total-Count) ${#BODY}" '200 5 0' \
		'HEAD tells the count without the list'
	get "$HOSTS" "$VAL"
	is "$(names)" "$ALL" 'a viewer may look'
}

check_filters() {
	finds hostname=DB 'db1 DB_02 db01' 'a part of a name is enough'
	finds 'hostname=db0&hostname=11' 'mx11 db01' 'either of two'
	finds 'hostname=db&service_name=web' 'DB_02 db01' 'both of two filters'
	finds hostname=db_ DB_02 '_ is itself'
	finds hostname=_ DB_02 'also alone'
	finds hostname=x%251 mx%1 '% is itself'
	finds hostname=%25%25 '' 'also twice'
	finds hostname=%25 "$ALL" 'but alone it is anything'
	finds ip_address=%25 "$ALL" 'for an address, too'
	finds service_name=%25 "$ALL" 'and a service'
	finds 'hostname=%25&exact_match=true' '' 'but not of an exact match'
	finds 'hostname=mx_1&exact_match=true' '' 'in which _ is itself'
	finds 'hostname=mx%251&exact_match=true' mx%1 'and %'
	finds 'hostname=db01&exact_match=yes' db01 'an exact match is a name'
	finds 'hostname=db0&exact_match=1' '' 'and no part of it'
	finds 'hostname=DB01&exact_match=on' '' 'as it is written'
	finds 'hostname=' "$ALL" 'an empty text is in all'
	finds ip_address=10.0.0.1 'db1 DB_02' 'an address is a text'
	finds profiling_status=PENDING 'mx11 db01' 'a status is a word'
	finds profiling_status=pend '' 'a whole one'
	finds profiling_status=%25 '' 'which % is not'
	finds command_type=n/a 'db1 mx%1 DB_02' 'also none'
	finds 'command_type=stop&command_type=start' 'mx11 db01' 'either of two'
	start web DB_02 '[7, 9]'
	finds pids=9 DB_02 'a process finds its host'
	finds 'pids=8&pids=7' DB_02 'one of two'
	finds pids=8 '' 'and another none'
	finds nonsense=1 "$ALL" 'an unknown parameter changes nothing'
}

check_activity() {
	silence mx11
	silence DB_02
	finds activity=active 'db1 mx%1 db01' 'active was seen of late'
	finds activity=silent 'mx11 DB_02' 'silent was not'
	finds activity=SILENT 'mx11 DB_02' 'in any case'
	finds 'activity=silent&activity=active' "$ALL" 'either is all'
	finds activity=nonsense '' 'what is neither is none'
	page 'activity=silent&limit=1&offset=1' DB_02 2 'with a page'
	is "$(detail mx11 active) $(detail db01 active)" '0 1' \
		'detail shows it'
	like "$(detail mx11 last_seen)" '^20.*Z$' 'and when it was seen'
	ctl set active_window 7200 >/dev/null
	finds activity=silent '' 'the setting active_window says what is late'
	ctl set active_window default >/dev/null
	finds activity=silent 'mx11 DB_02' 'by default 10 minutes'
}

check_members() {
	hosts 'hostname=db01'
	is "$(json '$[0]')" \
		'{"id":1,"service_name":"web","hostname":"db01","ip_address":"10.0.0.9","pids":[],"command_type":"start","profiling_status":"pending","heartbeat_timestamp":"2026-12-01T10:00:01.000Z"}' \
		'a host has the members of the original'
	hosts 'hostname=DB_02'
	is "$(json '$[0].pids')" '[7,9]' 'with the processes of its command'
	hosts 'hostname=mx%251'
	is "$(json_sql "(body ->> '\$[0].command_type') || ' ' ||
		(body ->> '\$[0].profiling_status')")" 'N/A stopped' \
		'without a command it is stopped'
	hosts 'hostname=mx%251&detail=true'
	is "$(json_sql "(SELECT group_concat(key, ' ') FROM
		json_each(body, '\$[0]'))")" \
		'id service_name hostname ip_address pids command_type profiling_status heartbeat_timestamp active conflict last_seen clock_skew_ms arch agent_version preflight command_id command_status reason execution_time perfspect_version' \
		'detail adds to them'
	is "$(json_sql "(SELECT group_concat(key, ' ') FROM
		json_each(body, '\$[0]') WHERE value IS NULL)")" \
		'arch agent_version preflight command_id command_status reason execution_time perfspect_version' \
		'null is what is not known'
	hosts 'detail=false'
	is "$(json '$[0].active')" '' 'and only where it is asked for'
}

check_reasons() {
	beat web f1 10.2.0.1
	start web f1
	is "$(detail f1 command_status) $(detail f1 reason)" 'pending null' \
		'what waits has no reason'
	is "$(detail f1 command_id)" "$COMMAND" 'and an id'
	beat web f1 10.2.0.1
	is "$(detail f1 profiling_status)" sent 'a heartbeat takes it'
	complete f1 failed '"error_message": "no PMU: VM", "execution_time": 3,
		"perfspect_version": "3.5.0"'
	is "$(detail f1 profiling_status) $(detail f1 reason)" \
		'failed no PMU: VM' 'what failed says why'
	is "$(detail f1 execution_time) $(detail f1 perfspect_version)" \
		'3 3.5.0' 'how long it ran, with what'
	start web f1
	is "$(detail f1 command_status) $(detail f1 reason)" 'pending null' \
		'the newest command counts'
	sql "UPDATE ProfilingCommands SET expires_at =
		'2026-01-01T00:00:00.000Z' WHERE command_id = '$COMMAND'"
	beat web f1 10.2.0.1
	is "$(detail f1 profiling_status) $(detail f1 reason)" \
		'expired the host did not take it in time' \
		'what expired says so'
	ask web '"request_type": "stop", "stop_level": "host",
		"target_hosts": {"f1": null}'
	beat web f1 10.2.0.1
	complete f1 completed
	is "$(detail f1 profiling_status) $(detail f1 command_status)" \
		'stopped completed' 'after a stop a host is stopped'
	start web f1
	beat web f1 10.2.0.1
	complete f1 stopped '"error_message": "stopped by a request"'
	is "$(detail f1 profiling_status) $(detail f1 reason)" \
		'stopped stopped by a request' 'so is one whose run was stopped'
}

as_agent() { beat web twin 10.2.0.2 "\"agent_id\": \"$1\",
	\"agent_version\": \"0.1.0\", \"arch\": \"$2\""; }

check_conflict() {
	as_agent A x86_64
	is "$(detail twin conflict)" 0 'one agent is no conflict'
	is "$(detail twin arch) $(detail twin agent_version)" 'x86_64 0.1.0' \
		'what it says of itself is shown'
	as_agent B aarch64
	is "$(detail twin conflict) $(detail twin arch)" '0 aarch64' \
		'nor is one that follows it: a host was set up anew'
	as_agent A x86_64
	is "$(detail twin conflict)" 1 'two that take turns are'
	beat other twin 10.2.0.3 '"agent_id": "B"'
	hosts 'service_name=other&detail=true'
	is "$(json '$[0].conflict')" false 'in their service'
	sql "UPDATE HostHeartbeats SET conflict_at =
		'2026-01-01T00:00:00.000Z' WHERE conflict_at IS NOT NULL"
	is "$(detail twin conflict)" 0 'and a while ago they were'
}

# skewed FORMAT-OR-SECONDS: beats with a clock that far ahead.
skewed() { beat web skew 10.2.0.4 "\"timestamp\": \"$(date -u \
	-d "$1 seconds" +%Y-%m-%dT%H:%M:%S.000Z)\""; }
# near NUMBER TEXT SENTENCE: within a minute, a program may take long.
near() {
	ok "$3 ($2)" test "$2" -gt $(($1 - 60000)) -a "$2" -lt $(($1 + 60000))
}

check_skew() {
	skewed 600
	near 600000 "$(detail skew clock_skew_ms)" 'a clock ahead is shown'
	skewed -600
	near -600000 "$(detail skew clock_skew_ms)" 'and one behind'
	is "$(detail skew active)" 1 'which makes no host silent'
	hosts 'activity=active&hostname=skew'
	is "$(names)" skew 'nor hides it'
	skewed 0
	near 0 "$(detail skew clock_skew_ms)" 'and one that is right'
	beat web skew 10.2.0.4
	is "$(detail skew clock_skew_ms)" null 'without a time nothing is known'
	hosts 'sort=-heartbeat_timestamp&limit=1'
	is "$STATUS" 200 'and it is sorted all the same'
}

check_offline() {
	beat web gone 10.2.0.5 '"agent_id": "A", "preflight": [
		{"check": "pmu", "outcome": "problem", "text": "no <PMU>"}]'
	is "$(detail gone active) $(detail gone preflight)" \
		'1 [{"check":"pmu","outcome":"problem","text":"no <PMU>"}]' \
		'what an agent found out is shown'
	start web gone
	beat web gone 10.2.0.5 '"agent_id": "A", "status": "offline"'
	is "$(json '$.profiling_command')" null \
		'an agent that ends is handed out nothing'
	is "$(detail gone active) $(detail gone command_status)" '0 pending' \
		'its host is silent at once, and what waits goes on waiting'
	hosts 'activity=silent&hostname=gone'
	is "$(names)" gone 'and is found as such'
	like "$(detail gone preflight)" 'no <PMU>' 'what it found out stays'
	beat web gone 10.2.0.5 '"agent_id": "A", "status": "idle"'
	is "$(json '$.profiling_command.command_type')" '"start"' \
		'when it is back it gets it'
	is "$(detail gone active)" 1 'and is active'
}

cgi_database
add_user ada operator
add_user val viewer
ADA=$(as_user ada)
VAL=$(as_user val)
check_refusals
make_hosts
check_order
check_pages
check_filters
check_activity
check_members
check_reasons
check_conflict
check_skew
check_offline
replies_are_safe
done_testing
