#!/bin/bash
# Shell scripts are clean by shellcheck.
. "${SRCDIR:-.}/t/lib/tap.sh"
command -v shellcheck >/dev/null || skip_all 'not installed: shellcheck'
cd "${SRCDIR:-.}" || give_up 'no source tree'

# Those of ours that begin like one, or say which shell they are for.
scripts() {
	find appliance bootstrap .ci agentd bench cgi-bin ctl lib migrations t \
		-name node_modules -prune -o -type f -print 2>/dev/null |
		while read -r file; do
			head -n 1 "$file" | tr -d '\0' | grep -Eq \
				'^#!/(usr/)?bin/(env )?(ba)?sh|^# shellcheck shell' &&
				echo "$file"
		done | sort
}

while read -r script; do
	ok "$script is clean" shellcheck -x "$script"
done < <(scripts)
done_testing
