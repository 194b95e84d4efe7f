#!/bin/bash
# The console in a real browser, with an agent that runs what it is told:
# t/browser/console.mjs does what a person does, and keeps screenshots in
# screenshots/ of the build directory.
. "${SRCDIR:-.}/t/lib/e2e.sh"

modules=$SRCDIR/t/browser/node_modules
[ -d "$modules/playwright-core" ] ||
	skip_all 'no playwright-core: npm ci in t/browser brings it'
command -v chromium >/dev/null || skip_all 'not installed: chromium'
start_fleet lighttpd-fastcgi

# found HOST FINDINGS: a host as its agent's heartbeat shows it.
found() {
	curl -sS -o /dev/null -H 'Content-Type: application/json' \
		-H "Authorization: Bearer $(cat "$STATE/agent.token")" \
		-d "{\"ip_address\": \"192.0.2.9\", \"hostname\": \"$1\",
		\"service_name\": \"e2e\", \"preflight\": [$2]}" \
		"$BASE/api/metrics/heartbeat"
}
found ready-host '{"check": "pmu", "outcome": "ok", "text": "counters work"},
	{"check": "gprofiler", "outcome": "ok", "text": "/usr/bin/gprofiler"}'
found virtual-host '{"check": "root", "outcome": "ok", "text": "runs as root"},
	{"check": "pmu", "outcome": "problem",
	"text": "no PMU: <b>the hypervisor</b> does not pass counters on"},
	{"check": "nmi_watchdog", "outcome": "warning", "text": "kernel.nmi_watchdog is 1, which takes a counter"}'
found warned-host '{"check": "pmu", "outcome": "ok", "text": "counters work"},
	{"check": "free_space", "outcome": "warning",
	"text": "400 MiB are free in /tmp"}'
found broken-host '{"check": "gprofiler", "outcome": "problem",
	"text": "gprofiler is not in PATH: see --gprofiler-path"}'
shots=$TOP_BUILDDIR/screenshots
mkdir -p "$shots"
# its lines are TAP from where we are
while read -r line; do
	case $line in
	'ok '*) pass "${line#ok - }" ;;
	'not ok '*) fail "${line#not ok - }" ;;
	*) diag "$line" ;;
	esac
done < <(BASE=$BASE PASSWORD=$ADMIN_PASSWORD SHOTS=$shots PATIENCE=$PATIENCE \
	PROFILE=$TAP_TMP/chromium node "$SRCDIR/t/browser/console.mjs" 2>&1 ||
	echo 'not ok - the browser session ran to its end')
stop_agents
is "$(server_reports)" '' 'no program has a fault to report'
done_testing
