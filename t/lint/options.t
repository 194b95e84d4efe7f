#!/bin/bash
# The manual pages name each option, command, setting and check that the
# programs have, and no other.
. "${SRCDIR:-.}/t/lib/tap.sh"
dir=${BUILDDIR:-.}
man=$(cd "${SRCDIR:-.}" && pwd)/man
agent=$man/conspect-agentd.8
conf=$man/conspect-agentd.conf.5
ctl=$man/conspectctl.8

# items PAGE MACRO: what items of its lists begin with.
items() { sed -n "s/^\.It $2 \([^ ]*\).*/\1/p" "$1" | sort -u; }

options=$("$dir/conspect-agentd" --help | grep -oE -- '--[a-z]+[a-z-]*' |
	sed 's/^--//' | sort -u)
ok 'the agent has options' test "$(wc -w <<<"$options")" -gt 20
is "$(items "$agent" Fl | sed 's/^-//')" "$options" \
	'conspect-agentd.8 describes the options of --help'
is "$(sed -n '/^\.Sh SYNOPSIS/,/^\.Sh DESC/p' "$agent" |
	grep -oE '(Fl|\|) -[a-z-]+' | sed 's/.* -//' | sort -u)" "$options" \
	'and its synopsis has them'
# these are for the command line alone
is "$(items "$conf" Cm)" \
	"$(grep -vxE 'config|help|preflight|version' <<<"$options")" \
	'conspect-agentd.conf.5 describes those that may stand in a file'
is "$(items "$agent" Cm)" \
	"$("$dir/conspect-agentd" --preflight --config /dev/null |
		cut -d' ' -f1 | sort -u)" \
	'conspect-agentd.8 describes the checks of --preflight'

# "user add NAME [--role ...]" and "user add --role": a line for each.
commands=$("$dir/conspectctl" --help | grep '^  [a-z]' |
	while read -r first second rest; do
		case $second in [a-z]*) first="$first $second" ;; esac
		case $first in
		'settings all' | 'migrate make') first=${first% *} rest= ;;
		esac
		echo "$first"
		grep -oE -- '--[a-z-]+' <<<"$second $rest" |
			sed "s/^/$first /"
	done | sort -u)
ok 'conspectctl has commands' test "$(wc -l <<<"$commands")" -gt 20
is "$(awk '/^\.Sh DESC/ { exit }
	/^\.Cm / { name = $2; if ($3 ~ /^[a-z]/) name = name " " $3
		print name }
	/^\.Op Fl / && $3 != "-db" { print name " -" $3 }' "$ctl" |
	sort -u)" "$commands" \
	'the synopsis of conspectctl.8 has the commands and options of --help'
database=$TAP_TMP/conspect.db
"$dir/conspectctl" --db "$database" migrate >/dev/null
settings=$("$dir/conspectctl" --db "$database" settings | cut -d' ' -f1 |
	sort -u)
ok 'there are settings' test "$(wc -w <<<"$settings")" -gt 5
is "$(sed -n '/^\.Ss Settings/,/^\.Ss History/p' "$ctl" |
	sed -n 's/^\.It Cm \([a-z_]*_[a-z_]*\)$/\1/p' | sort -u)" "$settings" \
	'conspectctl.8 describes the settings'
done_testing
