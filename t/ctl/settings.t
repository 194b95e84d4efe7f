#!/bin/bash
# conspectctl settings, get and set.
. "${SRCDIR:-.}/t/ctl/ctl.sh"

check_refusals() {
	local value
	on_db get
	refused 2 'a NAME is needed' 'get needs a setting'
	on_db set keep_days
	refused 2 'a SETTING and a VALUE are needed' 'set needs a value'
	on_db set keep_days 1 2
	refused 2 'too many arguments' 'and no more than one'
	on_db settings keep_days
	refused 2 'too many arguments' 'settings takes none'
	on_db get keep_days
	refused 1 'there is no database .*: conspectctl migrate makes one' \
		'a name that is mistyped makes no database'
	ok 'and leaves none' test ! -e "$DB"
	on_db migrate
	on_db get nonsense
	refused 1 'there is no setting nonsense: conspectctl settings' \
		'an unknown setting has no value'
	on_db set nonsense 1
	refused 1 'there is no setting nonsense' 'and takes none'
	for value in 0 3651 -1 1.5 x '' '1 ' 0x10 99999999999999999999; do
		on_db set -- keep_days "$value"
		refused 1 "keep_days takes a whole number from 1 to 3650" \
			"keep_days is never «$value»"
	done
	is "$(sql 'SELECT count(*) FROM Settings')" 0 'nothing of it is kept'
}

check_values() {
	on_db get keep_days
	is "$OUT" 90 'a setting is its default at first'
	on_db set keep_days 7
	done_as '^keep_days +7 days .*default 90, 1 to 3650' 'it can be set'
	on_db get keep_days
	is "$OUT" 7 'and is what was set'
	on_db set keep_days 3650
	done_as '^keep_days +3650 ' 'its greatest value is in its bounds'
	on_db set keep_days default
	done_as '^keep_days +90 ' 'default takes it back'
	is "$(sql 'SELECT count(*) FROM Settings')" 0 'and leaves nothing'
}

check_list() {
	local key
	on_db settings
	is "$STATUS" 0 'settings lists them'
	for key in command_expiry active_window request_hosts keep_commands \
		keep_days results_keep_days results_keep_mib; do
		like "$OUT" "^$key +[0-9]+ [a-zA-Z]+ .+\(default [0-9]+, [0-9]+ to \
[0-9]+\)\$" "$key with its unit, meaning and bounds"
	done
	like "$OUT" '^heartbeat_interval +none s +.+\(default none, 5 to 3600\)$' \
		'heartbeat_interval has no default: each host has its own'
	is "$(wc -l <<<"$OUT")" 8 'one line each'
}

check_no_default() {
	on_db get heartbeat_interval
	is "$STATUS $OUT" '0 none' 'what is not set and has no default is none'
	on_db set heartbeat_interval none
	refused 1 'heartbeat_interval takes a whole number from 5 to 3600' \
		'which is no value to set'
	on_db set heartbeat_interval 4
	refused 1 'heartbeat_interval takes' 'nor is one below its bounds'
	on_db set heartbeat_interval 45
	done_as '^heartbeat_interval +45 s ' 'a value within them is taken'
	on_db set heartbeat_interval default
	done_as '^heartbeat_interval +none s ' 'and taken back'
}

# Either of them, whichever comes last, and a default as well.
check_pair() {
	on_db set heartbeat_interval 600
	refused 1 'heartbeat_interval 600 s and active_window 600 s .*: set '\
'active_window to 1200 or more first, or heartbeat_interval to 300 or less' \
		'an interval that makes hosts inactive is refused'
	on_db set active_window 1200
	on_db set heartbeat_interval 600
	done_as '^heartbeat_interval +600 s ' 'in a longer window it is taken'
	on_db set active_window 1199
	refused 1 'heartbeat_interval 600 s and active_window 1199 s .*: set '\
'active_window to 1200 or more first, or heartbeat_interval to 599 or less' \
		'a window that is too short for it is refused'
	on_db set active_window default
	refused 1 'heartbeat_interval 600 s and active_window 600 s ' \
		'so is its default'
	on_db get active_window
	is "$OUT" 1200 'which changes nothing'
	on_db set heartbeat_interval default
	on_db set active_window default
	done_as '^active_window +600 s ' \
		'what each host sets by itself is not known here'
}

check_refusals
check_values
check_list
check_no_default
check_pair
done_testing
