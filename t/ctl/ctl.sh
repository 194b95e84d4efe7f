# shellcheck shell=bash
# conspectctl on a database of the test's own, for t/ctl/*.t.
: "${SRCDIR:?is set by make check}" "${BUILDDIR:?is set by make check}"
# shellcheck source=t/lib/tap.sh
. "$SRCDIR/t/lib/tap.sh"
command -v sqlite3 >/dev/null || skip_all 'sqlite3 is not installed'

DB=$TAP_TMP/conspect.db
unset CONSPECT_DB

# on_db ARGUMENT...: sets STATUS, OUT and ERR.
on_db() {
	STATUS=0
	"$BUILDDIR/conspectctl" --db "$DB" "$@" </dev/null \
		>"$TAP_TMP/out" 2>"$TAP_TMP/err" || STATUS=$?
	OUT=$(cat "$TAP_TMP/out")
	ERR=$(cat "$TAP_TMP/err")
}

# refused STATUS REGEX SENTENCE
refused() {
	is "$STATUS" "$1" "$3"
	like "$ERR" "$2" 'and says why'
	is "$OUT" '' 'on standard error only'
}

# done_as REGEX SENTENCE
done_as() {
	is "$STATUS" 0 "$2"
	like "$OUT" "$1" 'and says so'
}

sql() { sqlite3 "$DB" "$1"; }
