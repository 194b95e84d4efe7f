#!/bin/bash
# The manual pages are good mdoc.
. "${SRCDIR:-.}/t/lib/tap.sh"
command -v mandoc >/dev/null || skip_all 'not installed: mandoc'
cd "${SRCDIR:-.}" || give_up 'no source tree'

found=0
for page in man/*.[1-8]; do
	[ -e "$page" ] || continue
	found=1
	is "$(mandoc -Tlint -Wwarning "$page" 2>&1)" '' "$page is clean"
done
[ $found = 1 ] || skip_all 'no pages yet'
done_testing
