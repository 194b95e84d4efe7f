#!/bin/bash
# cgi-bin/conf/render: what it refuses, and what it puts in.
. "${SRCDIR:-.}/t/lib/tap.sh"
conf=${SRCDIR:-.}/cgi-bin/conf

# run ARGUMENT...: sets OUT and RC.
run() {
	OUT=$("$conf/render" "$@" 2>&1)
	RC=$?
}
template=$TAP_TMP/template
printf 'a "@ONE@" b "@TWO@/@ONE@"\nc @ONE\n' >"$template"

run "$template" ONE=1
is "$RC $OUT" "1 render: $template needs a value for @TWO@" \
	'a placeholder without a value is refused'
run "$template" ONE=1 TWO=2 THREE=3
is "$RC $OUT" "1 render: $template has no placeholder @THREE@" \
	'a value without a placeholder is refused'
run "$template" ONE TWO=2
is "$RC $OUT" '1 render: not NAME=value: ONE' 'a name alone is refused'
for wrong in 'a"b' 'a\b' "a\$b" $'a\nb'; do
	run "$template" ONE="$wrong" TWO=2
	is "$RC" 1 "a value that ends its quotes is refused: ${wrong//$'\n'/ }"
done
run "$TAP_TMP/nothing"
is "$RC $OUT" "1 render: $TAP_TMP/nothing cannot be read" \
	'a template that is not there is named'
run
is "$RC" 1 'so is none at all'

run "$template" ONE='x y&|/1' TWO=@ONE@
is "$RC $OUT" '0 a "x y&|/1" b "@ONE@/x y&|/1"
c @ONE' 'values are put in as they are'
run "$template" ONE= TWO=2
is "$OUT" 'a "" b "2/"
c @ONE' 'also an empty one'

for file in "$conf"/*.conf.in; do
	like "$(cat "$file")" '127\.0\.0\.1:?@?' "${file##*/} listens on loopback"
	unlike "$(grep -E '^ *(Listen|listen|server.bind)' "$file")" \
		'0\.0\.0\.0|\*|\[::|Listen @' "${file##*/} and on nothing else"
done
done_testing
