#!/bin/bash
# Who may include which library: what is not said here is for all.
. "${SRCDIR:-.}/t/lib/tap.sh"
cd "${SRCDIR:-.}" || give_up 'no source tree'

# only_in HEADER DIRECTORY...: nobody else includes it.
only_in() {
	local header=$1 allowed
	shift
	allowed=$(printf '|%s' "$@")
	is "$(grep -rlE "#[[:space:]]*include[[:space:]]*[<\"]$header" \
		--include='*.[ch]' lib cgi-bin ctl agentd 2>/dev/null |
		grep -Ev "^(${allowed#|})/")" '' "$header is included in $* only"
}

only_in 'sqlite3\.h' lib/store agentd
only_in 'curl/' agentd ctl
only_in 'archive' agentd ctl
only_in 'nettle/' agentd
only_in 'fcg' lib/web cgi-bin
is "$(grep -rlE '#[[:space:]]*include[[:space:]]*[<"]openssl/' \
	--include='*.[ch]' lib cgi-bin ctl agentd 2>/dev/null)" '' \
	'nobody includes libcrypto'
done_testing
