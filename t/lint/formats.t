#!/bin/bash
# No SQL and no HTML is put together from unescaped text.
. "${SRCDIR:-.}/t/lib/tap.sh"
check=${SRCDIR:-.}/t/lib/format-check

# planted C-TEXT SENTENCE: the checker finds it.
planted() {
	printf '%s\n' "$1" >"$TAP_TMP/planted.c"
	if "$check" "$TAP_TMP/planted.c" >/dev/null; then
		fail "$2"
	else
		pass "$2"
	fi
}
harmless() {
	printf '%s\n' "$1" >"$TAP_TMP/harmless.c"
	ok "$2" "$check" "$TAP_TMP/harmless.c"
}

planted 'f("SELECT a FROM b WHERE c = %s", x);' 'SQL from a text is found'
planted 'f("SELECT a FROM b "
	"WHERE c = '"'%.*s'"'");' 'and over two lines'
planted 'f("DELETE FROM %-10s");' 'and with a width'
planted 'f("<td class=\"%s\">");' 'HTML from a text is found'
planted 'f("</h1>" /* why */ "%s");' 'and over a comment'
harmless 'f("SELECT a FROM b WHERE c = ?", x);' 'bound SQL is harmless'
harmless "f(\"SELECT format('x%s', a) FROM b\");" "and SQL's own format"
harmless '/* "<td>%s" */ f("<td>");' 'and so is a comment'
harmless 'f("<p>%d</p>");' 'and a number'
harmless 'f("%s: <not a tag> %s");' 'and what only looks like a tag'

cd "${SRCDIR:-.}" || give_up 'no source tree'
mapfile -t files < <(find lib cgi-bin ctl agentd -name '*.[ch]' 2>/dev/null |
	sort)
ok "none of ${#files[@]} files does it" "$check" "${files[@]}"
done_testing
