#!/bin/bash
# What README and CONTRIBUTING name exists: links, paths in `code`, packages.
. "${SRCDIR:-.}/t/lib/tap.sh"
cd "${SRCDIR:-.}" || give_up 'no source tree'

# Targets of [text](target) and of images, without addresses and anchors.
links() {
	grep -oE '\]\([^)]+\)' "$1" | sed 's/^](//; s/)$//; s/#.*//' |
		grep -Ev '^(https?:|mailto:|$)' | sort -u
}

# `code` that looks like a path in the tree: it has a slash and begins with
# a directory of ours.
paths() {
	local top
	top='agentd|bench|cgi-bin|ctl|docs|html|lib|man|migrations|t|\.ci'
	# shellcheck disable=SC2016 # the quotes are Markdown's
	grep -oE '`[^` ]+`' "$1" | tr -d '`' |
		grep -E "^($top)/[A-Za-z0-9_./-]*\$" | sort -u
}

for doc in README.md CONTRIBUTING.md; do
	while read -r target; do
		ok "$doc links to $target, which exists" test -e "$target"
	done < <(links "$doc")
	while read -r target; do
		ok "$doc names $target, which exists" test -e "$target"
	done < <(paths "$doc")
	ok "$doc says something" test "$(wc -l <"$doc")" -gt 20
done

# The packages that README names are those that ./appliance installs.
words() { grep -oE '[a-z][a-z0-9.+-]+' | sort; }
is "$(sed -n '/^apt-get install/,/[^\\]$/p' README.md | words)" \
	"$({ echo apt-get install && tr '\n' ' ' <appliance |
		grep -oE "(BUILD|RUN)_PACKAGES='[^']*'" | cut -d"'" -f2; } | words)" \
	'README and ./appliance need the same packages'
done_testing
