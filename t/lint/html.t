#!/bin/bash
# Nothing that is served asks another machine for anything.
. "${SRCDIR:-.}/t/lib/tap.sh"
cd "${SRCDIR:-.}" || give_up 'no source tree'

# A name space is a name, not an address that is fetched.
outside() {
	grep -rnoE "(https?:)?//[A-Za-z0-9.-]+\.[a-z]{2,}[^\"' )]*" "$1" |
		grep -vF 'http://www.w3.org/'
}

printf 'a { background: url(https://example.org/x.png) }\n' >"$TAP_TMP/a.css"
like "$(outside "$TAP_TMP")" 'example\.org' 'an address that was planted is found'
printf '<script src="//cdn.example.org/x.js">\n' >"$TAP_TMP/a.css"
like "$(outside "$TAP_TMP")" 'example\.org' 'also one without its scheme'
is "$(outside html)" '' 'html/ has no address of another machine'
is "$(grep -rnE 'style="|<style|<script>' html --include='*.html')" '' \
	'and no script or style in the line'
done_testing
