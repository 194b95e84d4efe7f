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
