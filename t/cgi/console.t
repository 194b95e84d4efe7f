#!/bin/bash
# The console as a CGI program: what its pages show, and what its forms do.
: "${SRCDIR:?is set by make check}" "${BUILDDIR:?is set by make check}"
# shellcheck source=t/lib/tap.sh
. "$SRCDIR/t/lib/tap.sh"
# shellcheck source=t/lib/cgi.sh
. "$SRCDIR/t/lib/cgi.sh"

PASSWORD='correct horse'
FORM=CONTENT_TYPE=application/x-www-form-urlencoded
pages=0

# Each page that was shown is kept, for check_pages.
keep() {
	[ ! -s "$TAP_TMP/body" ] ||
		cp "$TAP_TMP/body" "$TAP_TMP/page-$((++pages)).html"
}
# page PATH [NAME=value...]
page() {
	get "$@"
	keep
}
# form PATH MEMBERS [NAME=value...]: as it is.
form() {
	post "$1" "$2" "$FORM" "${@:3}"
	keep
}
# submit COOKIE PATH MEMBERS: with the token of that login's pages.
declare -A tokens
submit() {
	if [ -z "${tokens[$1]:-}" ]; then
		get /password "$1"
		tokens[$1]=$(sed -n 's/.*name="form_token" value="\([^"]*\).*/\1/p' \
			"$TAP_TMP/body" | head -n 1)
	fi
	form "$2" "$3&form_token=${tokens[$1]}" "$1"
}
# follow COOKIE: the page that a redirect leads to, by a browser's rules.
follow() {
	local to
	to=$(header Location)
	to=/${to#./}
	page "${to%%\?*}" "QUERY_STRING=${to#*\?}" "$1"
}
# shows SENTENCE: the message, and that it is one.
shows() { like "$BODY" "<p role=\"(status|alert)\" class=\"notice.*$1" "$2"; }

heartbeat() {
	local body="{\"ip_address\": \"$3\", \"hostname\": \"$2\",
		\"service_name\": \"$1\", \"status\": \"active\"}"
	PROGRAM=api post /metrics/heartbeat "$body" "$AGENT"
	[ "$STATUS" = 200 ] || diag "heartbeat: $STATUS $BODY"
}
host_id() { sql "SELECT id FROM HostHeartbeats WHERE hostname = '$1'"; }
ticked() { grep -Eq "value=\"$1\"[^>]* checked>" <<<"$BODY"; }
box_ticked() { grep -Eq "id=\"$1\" checked>" <<<"$BODY"; }
requests() { sql 'SELECT count(*) FROM ProfilingRequests'; }

# --- logging in -------------------------------------------------------------

check_login_page() {
	page /login
	is "$STATUS" 200 'the login page is for anyone'
	like "$(header Content-Type)" '^text/html; charset=utf-8$' 'as HTML'
	like "$BODY" '<input name="password" type="password"' 'with a password'
	unlike "$BODY" 'Log out' 'and nobody to log out'
	page /
	is "$STATUS $(header Location)" '303 ./login' 'the hosts need a login'
	page /password
	is "$STATUS $(header Location)" '303 ./login' 'and so does a password'
	form / 'action=start'
	is "$STATUS $(header Location)" '303 ./login' 'and the buttons'
	page / HTTP_COOKIE=conspect_session=0
	is "$STATUS" 303 'and a cookie that is wrong is none'
}

check_wrong_login() {
	form /login 'user=ada&password=wrong'
	is "$STATUS" 403 'a wrong password is refused'
	shows 'The name or the password is not right' 'with a message'
	unlike "$HEADERS" '^Set-Cookie' 'and no cookie'
	form /login 'user=nobody&password=wrong'
	is "$STATUS" 403 'and so is an unknown user'
	shows 'The name or the password is not right' 'with the same message'
	form /login ''
	is "$STATUS" 403 'and an empty form'
	post /login 'user=ada' CONTENT_TYPE=text/plain
	is "$STATUS" 415 'and what is no form'
	form /login "user=ada&password=${PASSWORD/ /+}" \
		HTTP_ORIGIN=https://evil.example
	is "$STATUS" 403 "and another site's form"
}

check_login() {
	local cookie
	form /login "user=ada&password=${PASSWORD/ /+}"
	is "$STATUS $(header Location)" '303 ./' 'the right one leads to the hosts'
	cookie=$(header Set-Cookie)
	like "$cookie" '^conspect_session=[0-9a-f]{64}; Path=/; Max-Age=43200;' \
		'with a cookie for a working day'
	like "$cookie" '; HttpOnly' 'that no script reads'
	like "$cookie" '; SameSite=Strict' 'and no other site sends'
	unlike "$cookie" 'Secure' 'over http'
	ADA="HTTP_COOKIE=${cookie%%;*}"
	form /login "user=ada&password=${PASSWORD/ /+}" HTTPS=on
	like "$(header Set-Cookie)" '; Secure$' 'or over TLS only'
	page / "$ADA"
	is "$STATUS" 200 'the cookie opens the hosts'
	page /login "$ADA"
	is "$STATUS $(header Location)" '303 ./' 'and passes the login page by'
}

check_logout() {
	local cookie
	cookie=$(as_user ada)
	submit "$cookie" /logout ''
	is "$STATUS $(header Location)" '303 ./login' 'a logout leads to the login'
	like "$(header Set-Cookie)" 'conspect_session=; .*Max-Age=0' \
		'without the cookie'
	page / "$cookie"
	is "$STATUS" 303 'whose session has ended'
	form /logout '' "$ADA"
	is "$STATUS" 403 'a logout without the token is refused'
}

# --- the hosts' page --------------------------------------------------------

check_nobody() {
	page / "$ADA"
	like "$BODY" 'No hosts yet' 'without hosts the page says what to do'
	like "$BODY" 'conspectctl token add' 'and how'
	unlike "$BODY" '<table' 'and shows no empty table'
}

check_hosts() {
	heartbeat web db01 10.0.0.1
	heartbeat batch db02 10.0.0.2
	heartbeat '<b>&amp;' '<script>alert(1)</script>' 10.0.0.3
	# no agent can say that: an older database may hold it
	sql "UPDATE HostHeartbeats SET ip_address = '\"' || char(39)
		WHERE ip_address = '10.0.0.3'"
	page / "$ADA"
	like "$BODY" '<th scope="row">db01</th>' 'a host is shown'
	like "$BODY" '<td [^>]*>web</td>' 'with its service'
	like "$BODY" '<td [^>]*>10\.0\.0\.1</td>' 'and its address'
	like "$BODY" 'idle' 'and what it does'
	like "$BODY" '&lt;script&gt;alert\(1\)&lt;/script&gt;</th>' \
		'a script in a name is text'
	like "$BODY" '>&lt;b&gt;&amp;amp;</td>' 'and so is markup in a service'
	like "$BODY" '>&quot;&#39;</td>' 'and quotes in an address'
	unlike "$BODY" '<script|<b>&' 'and none of it is markup'
	like "$BODY" '3 hosts, 3 active' 'they are counted'
	like "$BODY" 'Start</button>' 'Start is there'
	like "$BODY" 'Stop</button>' 'and Stop'
	like "$BODY" 'role="tooltip"[^>]*>Enable Intel PerfSpect' \
		'and PerfSpect is explained'
	ok 'and not ticked' eval '! box_ticked enable_perfspect'
	DB01=$(host_id db01) DB02=$(host_id db02)
}

check_page_addresses() {
	local long
	page '' "$ADA"
	is "$STATUS" 200 'an empty PATH_INFO is the hosts'
	page /password/ "$ADA"
	is "$STATUS" 200 'a slash at the end leads to the page, too'
	like "$BODY" 'href="\./\.\./static/style\.css"' 'with its style sheet'
	page //password "$ADA"
	like "$BODY" 'action="\./\.\./password"' 'and so do two slashes'
	printf -v long '/%02000d' 0
	page "$long" "$ADA"
	is "$STATUS" 404 'a very long path is not the hosts'
	page /nothing "$ADA"
	is "$STATUS" 404 'and nor is an unknown one'
	like "$BODY" 'there is nothing' 'which is said in a page'
	page / QUERY_STRING='request=%ff' "$ADA"
	is "$STATUS" 400 'a query that is not UTF-8 is refused'
	page / QUERY_STRING='request=nothing' "$ADA"
	is "$STATUS" 200 'and an unknown request is passed over'
	cgi_run REQUEST_METHOD=HEAD PATH_INFO=/ "$ADA" </dev/null
	is "$STATUS $BODY" '200 ' 'HEAD has no body'
}

# --- Start and Stop ---------------------------------------------------------

check_start() {
	submit "$ADA" / "action=start&host=$DB01&duration=90&frequency=19&profiling_mode=allocation&enable_perfspect=on"
	is "$STATUS" 303 'Start leads to another page'
	like "$(header Location)" '^\./\?request=[0-9a-f-]{36}$' 'by its request'
	is "$(sql 'SELECT service_name, request_type, duration, frequency,
		profiling_mode, continuous, target_hostnames, additional_args,
		created_by FROM ProfilingRequests')" \
		'web|start|90|19|allocation|0|["db01"]|{"enable_perfspect":true}|ada' \
		'which is what the form said'
	is "$(sql "SELECT combined_config -> '\$.enable_perfspect'
		FROM ProfilingCommands WHERE hostname = 'db01'")" true \
		'and its command has PerfSpect'
	follow "$ADA"
	is "$STATUS" 200 'the page after it'
	shows 'Start requested for 1 host of service web, with PerfSpect' \
		'says what was done'
	local until
	until=$(sql "SELECT CASE WHEN date(expires_at) = date('now')
		THEN strftime('%H:%M', expires_at)
		ELSE strftime('%Y-%m-%d %H:%M', expires_at) END
		FROM ProfilingCommands WHERE hostname = 'db01'")
	shows "So far: 1 waiting until $until UTC." \
		'and until when the host may take it'
	ok 'with PerfSpect off again' eval '! box_ticked enable_perfspect'
	ok 'and no host ticked' eval "! ticked $DB01"
	like "$BODY" 'state pending' 'and shows the command'
	like "$BODY" 'once · 90 s · 19 Hz · allocation' 'as it was asked for'
}

check_stop() {
	submit "$ADA" / "action=stop&host=$DB01"
	is "$STATUS" 303 'Stop leads to another page'
	is "$(sql "SELECT request_type, stop_level, target_hostnames
		FROM ProfilingRequests ORDER BY id DESC LIMIT 1")" \
		'stop|host|["db01"]' 'and stops the host'
	is "$(sql "SELECT status FROM ProfilingCommands
		WHERE hostname = 'db01' AND command_type = 'start'")" cancelled \
		'so that what waits is withdrawn'
	follow "$ADA"
	shows 'Stop requested for 1 host of service web' 'and says so'
}

# found HOST [FINDINGS]: what its agent says of it.
found() {
	PROGRAM=api post /metrics/heartbeat "{\"ip_address\": \"10.0.0.7\",
		\"hostname\": \"$1\", \"service_name\": \"hw\",
		\"agent_id\": \"$1\"${2:+, \"preflight\": [$2]}}" "$AGENT"
	[ "$STATUS" = 200 ] || diag "heartbeat: $STATUS $BODY"
}
# finding CHECK OUTCOME TEXT
finding() {
	printf '{"check": "%s", "outcome": "%s", "text": "%s"}' "$@"
}
hw_of() { grep -F ">$1</th>" <<<"$BODY" |
	grep -o '<td class="hw".*<td data-label="State">' |
	sed 's/<td class="hw" data-label="HW metrics">//; s/<\/td>.*//'; }
row_class() { grep -F ">$1</th>" <<<"$BODY" |
	sed 's/^<tr class="\([^"]*\)".*/\1/'; }

check_findings() {
	local ids name
	found hw0
	found hw1 "$(finding pmu ok fine), $(finding arch ok x86_64)"
	found hw2 "$(finding free_space warning 'little'), $(finding root \
		problem 'not <root>'), $(finding pmu problem 'no PMU & <b>')"
	found hw3 "$(finding gprofiler problem 'no gprofiler')"
	found hw4 "$(finding pmu warning busy)"
	found hw5 "$(finding tmpdir problem 'noexec')"
	page / "$ADA"
	is "$(hw_of hw0)" '' 'a host that says nothing of it shows nothing'
	is "$(hw_of hw1)" '<details><summary class="ok">ready</summary><ul><li class="ok"><b>pmu</b> fine</li><li class="ok"><b>arch</b> x86_64</li></ul></details>' \
		'one without a finding is ready'
	like "$(hw_of hw2)" '^<details><summary class="lacking">no PMU &amp; &lt;b&gt;</summary><ul><li class="warning"><b>free_space</b> little</li><li class="problem"><b>root</b> not &lt;root&gt;' \
		'what rules them out comes first, and all is escaped'
	like "$(hw_of hw3)" '^<details><summary class="problem">no gprofiler<' \
		'then any problem'
	like "$(hw_of hw4)" '^<details><summary class="warning">busy<' \
		'then a warning'
	is "$(row_class hw1)/$(row_class hw2)/$(row_class hw3)/$(row_class hw5)" \
		'/ lacking// lacking' 'a row tells that it lacks them'
	for name in hw1 hw2 hw3 hw5; do ids+="&host=$(host_id "$name")"; done
	submit "$ADA" / "action=start$ids&duration=60&frequency=11&profiling_mode=cpu&enable_perfspect=on"
	follow "$ADA"
	shows 'Start requested for 4 hosts.* 2 of them cannot have HW metrics: no PMU &amp; &lt;b&gt;, for one\.' \
		'a start with PerfSpect says for how many it is in vain'
	is "$(sql "SELECT count(*) FROM ProfilingCommands
		WHERE service_name = 'hw'")" 4 'and goes to all of them'
	submit "$ADA" / "action=start$ids&duration=60&frequency=11&profiling_mode=cpu&continuous=on"
	follow "$ADA"
	unlike "$BODY" 'cannot have HW metrics:' 'without PerfSpect it does not'
	found hw5 "$(finding tmpdir ok fine)"
	page / "$ADA"
	is "$(row_class hw5)" stoppable 'what was repaired is no problem'
	sql "DELETE FROM ProfilingCommands WHERE service_name = 'hw'"
	sql "DELETE FROM ProfilingRequests WHERE service_name = 'hw'"
	sql "DELETE FROM HostHeartbeats WHERE service_name = 'hw'"
}

check_two_services() {
	local before
	before=$(requests)
	submit "$ADA" / "action=start&host=$DB01&host=$DB02&duration=60&frequency=11&profiling_mode=cpu&continuous=on"
	is "$STATUS" 303 'hosts of two services can be started'
	is "$(requests)" $((before + 2)) 'by a request for each'
	is "$(sql "SELECT group_concat(combined_config -> '\$.continuous')
		FROM ProfilingCommands WHERE status = 'pending'
		AND command_type = 'start'")" true,true 'until they are stopped'
	follow "$ADA"
	shows 'of service web\.' 'and the page speaks of one'
	shows 'of service batch\.' 'and of the other'
	like "$BODY" 'continuous · 60 s' 'and shows what they do'
}

# refuse MEMBERS TEXT SENTENCE: 422, and nothing was done.
refuse() {
	local before
	before=$(requests)
	submit "$ADA" / "$1"
	is "$STATUS" 422 "$3"
	shows "$2" 'with a message'
	is "$(requests)" "$before" 'and nothing is done'
}

check_refusals() {
	refuse 'action=start&duration=77&frequency=12&profiling_mode=none&enable_perfspect=on&continuous=on' \
		'No host is selected: tick hosts' 'Start without hosts is refused'
	ok 'with PerfSpect still ticked' box_ticked enable_perfspect
	ok 'and the other box' box_ticked continuous
	like "$BODY" 'name="duration" value="77"' 'and the numbers kept'
	like "$BODY" '<option selected>none' 'and the mode'
	refuse "action=start&host=$DB02&duration=0&frequency=11&profiling_mode=cpu" \
		'duration: ' 'a bad duration is refused by its name'
	ok 'with the host still ticked' ticked "$DB02"
	refuse "action=start&host=$DB02&duration=<script>&frequency=11&profiling_mode=cpu" \
		'duration: ' 'and so is one that is a script'
	like "$BODY" 'value="&lt;script&gt;"' 'which is shown as text'
	refuse "action=start&host=$DB02&duration=60&frequency=x&profiling_mode=cpu" \
		'frequency: ' 'and a bad frequency'
	refuse "action=start&host=$DB02&duration=60&frequency=11&profiling_mode=x" \
		'profiling_mode: ' 'and a bad mode'
	refuse 'action=start&host=4711&host=x&duration=60&frequency=11' \
		'No host is selected' 'and hosts that are not there'
	sql "UPDATE ProfilingCommands SET status = 'completed'"
	refuse "action=stop&host=$DB02" 'Nothing waits or runs' \
		'Stop with nothing to stop is refused'
	submit "$ADA" / 'action=dance'
	is "$STATUS" 400 'and an unknown button'
}

# --- who may ----------------------------------------------------------------

check_form_token() {
	local before
	before=$(requests)
	form / "action=start&host=$DB01&duration=60&frequency=11" "$ADA"
	is "$STATUS" 403 'a form without its token is refused'
	like "$BODY" 'load the page again' 'with the way out'
	form / "action=start&host=$DB01&duration=60&form_token=0123" "$ADA"
	is "$STATUS" 403 'and so is one with a wrong one'
	form / "action=start&host=$DB01&duration=60&form_token=0123" "$ADA" \
		HTTP_ORIGIN=https://evil.example
	is "$STATUS" 403 "and another site's form"
	like "$BODY" 'another site' 'which is said'
	form / "action=start" "$ADA" HTTP_ORIGIN=null
	is "$STATUS" 403 'and one from nowhere'
	is "$(requests)" "$before" 'and nothing is done'
}

check_viewer() {
	local vic before
	vic=$(as_user vic)
	before=$(requests)
	page / "$vic"
	is "$STATUS" 200 'a viewer sees the hosts'
	like "$BODY" db01 'all of them'
	unlike "$BODY" 'Start</button>|Stop</button>|enable_perfspect' \
		'but no buttons'
	submit "$vic" / "action=start&host=$DB01&duration=60&frequency=11"
	is "$STATUS" 403 'nor may press them'
	like "$BODY" 'role operator or admin' 'and is told who may'
	is "$(requests)" "$before" 'and nothing is done'
	page / "$AGENT"
	is "$STATUS" 403 'an agent sees no pages'
}

# --- password ---------------------------------------------------------------

# change CURRENT NEW AGAIN
change() { submit "$ADA" /password "current=$1&new=$2&again=$3"; }

check_wrong_changes() {
	page /password "$ADA"
	is "$STATUS" 200 'a password can be changed'
	change wrong new-password new-password
	is "$STATUS" 422 'not without the current one'
	shows 'The current password is not right' 'and is told so'
	change "${PASSWORD/ /+}" new-password other-password
	is "$STATUS" 422 'not to two different ones'
	shows 'The new passwords are not the same' 'and is told so'
	change "${PASSWORD/ /+}" short short
	is "$STATUS" 422 'not to a short one'
	shows 'A password has 8 to 256 bytes' 'and is told so'
}

check_change() {
	local other
	echo secret >"$TAP_TMP/initial-password"
	other=$(as_user admin)
	ADA=$(as_user admin)
	change admin-password new-password new-password
	is "$STATUS $(header Location)" '303 ./login' 'the right change asks again'
	page / "$ADA"
	is "$STATUS" 303 'for the session has ended'
	page / "$other"
	is "$STATUS" 303 'and all others have'
	ok 'and the first password is not kept any longer' \
		test ! -e "$TAP_TMP/initial-password"
	form /login 'user=admin&password=admin-password'
	is "$STATUS" 403 'the old one does not log in'
	form /login 'user=admin&password=new-password'
	is "$STATUS" 303 'and the new one does'
}

# --- every page -------------------------------------------------------------

check_pages() {
	local file faults=''
	like "$pages" '^[3-9][0-9]$' 'pages were kept'
	is "$(grep -lEi '<script|<style|javascript:|[ "]style=| on[a-z]+="' \
		"$TAP_TMP"/page-*.html)" '' 'none has a script or style in it'
	is "$(grep -oEh '(src|href|action)="([a-z]+:)?//[^"]*' \
		"$TAP_TMP"/page-*.html)" '' 'or an address of elsewhere'
	is "$(grep -oEh '(src|href|action)="[^"]*' "$TAP_TMP"/page-*.html |
		grep -v '="\./')" '' 'or one that is not relative'
	command -v tidy >/dev/null || return
	for file in "$TAP_TMP"/page-*.html; do
		# it is older than that attribute
		faults+=$(tidy -q -e -utf8 --drop-empty-elements no \
			"$file" 2>&1 | grep -v 'proprietary attribute "minlength"')
	done
	is "$faults" '' 'and tidy finds nothing in any'
}

PROGRAM=console
cgi_database
add_user ada operator "$PASSWORD"
add_user admin admin admin-password
add_user vic viewer
check_login_page
check_wrong_login
check_login
check_logout
check_nobody
check_hosts
check_page_addresses
check_start
check_stop
check_findings
check_two_services
check_refusals
check_form_token
check_viewer
check_wrong_changes
check_change
check_pages
replies_are_safe
done_testing
