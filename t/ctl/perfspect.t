#!/bin/bash
# conspectctl perfspect add, list and remove: what is pinned, what is
# refused, and what lies in the dist directory after each.
. "${SRCDIR:-.}/t/ctl/ctl.sh"

DIST=$TAP_TMP/dist
PROGRAM=${TOP_BUILDDIR:-$BUILDDIR}/t/standins/perfspect
VERSION=3.17.1_2026-08-07_c399daa0
case $(uname -m) in
x86_64) HERE=x86_64 OTHER=aarch64 OTHER_MACHINE=183 ;;
aarch64) HERE=aarch64 OTHER=x86_64 OTHER_MACHINE=62 ;;
*) skip_all 'there is no PerfSpect for this machine' ;;
esac

# --- archives ------------------------------------------------------------

# pack NAME PROGRAM: sets FILE and DIGEST.
pack() {
	FILE=$TAP_TMP/$1
	DIGEST=$("$SRCDIR/t/standins/make-archive" "$2" "$FILE") ||
		give_up "no archive $1"
}

# pack_for NAME MACHINE: the program, as one for another machine.
pack_for() {
	python3 - "$PROGRAM" "$TAP_TMP/program" "$2" <<'END'
import sys
program = bytearray(open(sys.argv[1], "rb").read())
program[18:20] = int(sys.argv[3]).to_bytes(2, "little")
open(sys.argv[2], "wb").write(program)
END
	pack "$1" "$TAP_TMP/program"
}

# pack_entry NAME ENTRY MODE: one file, a script, and nothing else.
pack_entry() {
	FILE=$TAP_TMP/$1
	python3 - "$FILE" "$2" "$3" <<'END'
import io, sys, tarfile
with tarfile.open(sys.argv[1], "w:gz") as tar:
    entry = tarfile.TarInfo(sys.argv[2])
    text = b"#!/bin/sh\necho perfspect version 1\n"
    entry.size, entry.mode = len(text), int(sys.argv[3], 8)
    tar.addfile(entry, io.BytesIO(text))
END
}

# --- what is there -------------------------------------------------------

in_dist() { (cd "$DIST" 2>/dev/null && find . -mindepth 1 | sort); }
pins() {
	sql 'SELECT arch, version, sha256, bytes, file
		FROM PerfSpectArchives ORDER BY arch'
}
# name ARCH DIGEST
name() { echo "perfspect-$1-${2:0:16}.tgz"; }

# unchanged STATUS REGEX SENTENCE: refused, and nothing is left of it.
unchanged() {
	refused "$1" "$2" "$3"
	is "$(in_dist)|$(pins)" "$KEPT" 'and leaves nothing'
}
# From now on this is what unchanged expects.
keep() { KEPT="$(in_dist)|$(pins)"; }

# --- refusals ------------------------------------------------------------

check_usage() {
	on_db perfspect
	refused 2 'which command' 'perfspect alone is a usage error'
	on_db perfspect add
	refused 2 'a NAME is needed' 'add needs a file'
	on_db perfspect add x --version
	refused 2 "'--version' requires an argument" '--version needs a text'
	on_db perfspect list --version 1
	refused 2 'does not belong' 'which is for add only'
	on_db perfspect add "$FILE"
	refused 1 'there is no database' 'nothing is pinned nowhere'
	ok 'and no directory made' test ! -e "$DIST"
	on_db migrate
	on_db perfspect list
	is "$STATUS $OUT" '0 ' 'a new database has none'
}

check_files() {
	on_db perfspect add "$TAP_TMP/nowhere"
	unchanged 1 "$TAP_TMP/nowhere: No such file" 'a file that is not there'
	on_db perfspect add "$TAP_TMP"
	unchanged 1 "$TAP_TMP is not a regular file" 'a directory'
	mkfifo "$TAP_TMP/pipe"
	on_db perfspect add "$TAP_TMP/pipe"
	unchanged 1 'pipe is not a regular file' 'a pipe, without a wait'
	: >"$TAP_TMP/empty"
	on_db perfspect add "$TAP_TMP/empty"
	unchanged 1 'empty is empty' 'an empty file'
	echo '<html>Sign in</html>' >"$TAP_TMP/page"
	on_db perfspect add "$TAP_TMP/page"
	unchanged 1 'page is not a gzip archive: perfspect.tgz or' "a proxy's page"
	head -c 3000 "$FILE" >"$TAP_TMP/half"
	on_db perfspect add "$TAP_TMP/half"
	unchanged 1 'half: the archive is damaged' 'half an archive'
}

check_contents() {
	pack_entry leaves ../x 0755
	on_db perfspect add "$FILE"
	unchanged 1 'leaves: the archive has a name that leaves its dir' \
		'a name that leads out'
	ok 'and nothing is written there' test ! -e "$TAP_TMP/x"
	pack_entry other perfspect/other 0755
	on_db perfspect add "$FILE"
	unchanged 1 'other holds no perfspect/perfspect' 'another archive'
	pack_entry script perfspect/perfspect 0755
	on_db perfspect add "$FILE"
	unchanged 1 'perfspect/perfspect is not an ELF executable' 'a script'
	pack_for s390 22
	on_db perfspect add "$FILE" --version 1
	unchanged 1 'a program for s390: archives for x86_64 and aarch64' \
		'a program for a machine that PerfSpect is not released for'
	pack wrong "$(type -P true)"
	on_db perfspect add "$FILE"
	unchanged 1 'perfspect --version answered ".*" and no version' \
		'a program that is not PerfSpect'
}

# --- pinning -------------------------------------------------------------

check_add() {
	local file
	pack perfspect.tgz "$PROGRAM"
	FIRST=$FILE FIRST_DIGEST=$DIGEST
	file=$(name "$HERE" "$DIGEST")
	on_db perfspect add "$FILE" --version 3.16
	unchanged 1 "says 3.16, and the program in the archive $VERSION" \
		'another version than the program says'
	on_db perfspect add "$FILE"
	done_as "^PerfSpect $VERSION for $HERE pinned: $DIST/$file, SHA-256" \
		'an archive for this machine is pinned'
	is "$(pins)" "$HERE|$VERSION|$DIGEST|$(stat -c %s "$FILE")|$file" \
		'with its version, digest and size'
	is "$(in_dist)" "./$file" 'its file is all that is there'
	is "$(sha256sum <"$DIST/$file")" "$DIGEST  -" 'it is a copy'
	is "$(stat -c %a "$DIST/$file" "$DIST" | xargs)" '644 755' \
		'that every web server can read'
	on_db perfspect list
	done_as "^$HERE +$VERSION +$DIGEST +[0-9]+ 20[^ ]*Z $file\$" \
		'list has a line for it'
}

check_other_machine() {
	local file
	keep
	pack_for other.tgz "$OTHER_MACHINE"
	file=$(name "$OTHER" "$DIGEST")
	on_db perfspect add "$FILE"
	unchanged 1 "for $OTHER, this is $HERE: .*say it with --version TEXT" \
		'an archive for another machine cannot be asked'
	on_db perfspect add "$FILE" --version 'perfspect version 3'
	unchanged 1 'a version is one word' 'a version with blanks'
	on_db perfspect add "$FILE" --version "$(printf '3\033')"
	unchanged 1 'a version is one word' 'and one that steers a terminal'
	on_db perfspect add "$FILE" --version=3.17.1
	done_as "^PerfSpect 3.17.1 for $OTHER pinned" 'its version can be given'
	is "$(sql "SELECT version, sha256, file FROM PerfSpectArchives
		WHERE arch = '$OTHER'")" "3.17.1|$DIGEST|$file" 'and is kept'
	is "$(in_dist | wc -l)" 2 'each machine has its file'
}

# A host that was told of the old one can download it, for a day from now,
# however long ago it was added.
check_replaced() {
	local old new
	old=$DIST/$(name "$HERE" "$FIRST_DIGEST")
	touch -d '1 year ago' "$old"
	cp "$PROGRAM" "$TAP_TMP/newer"
	printf '\0' >>"$TAP_TMP/newer"
	pack newer.tgz "$TAP_TMP/newer"
	new=$(name "$HERE" "$DIGEST")
	on_db perfspect add "$FILE" --version "$VERSION"
	done_as "pinned: $DIST/$new" 'a newer one takes its place'
	is "$(sql "SELECT sha256, file FROM PerfSpectArchives
		WHERE arch = '$HERE'")" "$DIGEST|$new" 'in the database'
	is "$(sha256sum <"$old")" "$FIRST_DIGEST  -" 'the old file stays'
	touch -d '23 hours ago' "$old"
	on_db perfspect add "$FILE"
	done_as "pinned: $DIST/$new" 'the same one again is no harm'
	ok 'and keeps its file' test -s "$DIST/$new"
	ok 'and the old one, less than a day after' test -s "$old"
	touch -d '24 hours ago' "$old"
	on_db perfspect add "$FILE"
	ok 'a day after it is removed' test ! -e "$old"
	is "$(in_dist | wc -l)" 2 'nothing else is there'
}

# Not more than so many of them, and these are the newest.
check_many_replaced() {
	local i digest=0123456789abcde
	for i in 0 1 2 3 4 5 6 7 8 9; do
		echo x >"$DIST/$(name "$OTHER" $digest$i)"
		touch -d "$i hours ago" "$DIST/$(name "$OTHER" $digest$i)"
	done
	on_db perfspect add "$FILE"
	is "$(in_dist | grep -c $digest)" 8 'eight that were replaced stay'
	ok 'the oldest go first' test ! -e "$DIST/$(name "$OTHER" ${digest}8)"
	rm "$DIST"/*"$digest"*
}

check_failures_keep_the_old() {
	keep
	on_db perfspect add "$TAP_TMP/half"
	unchanged 1 'the archive is damaged' 'a damaged one replaces nothing'
	sql "CREATE TRIGGER no BEFORE UPDATE ON PerfSpectArchives
		BEGIN SELECT RAISE(ABORT, 'not today'); END"
	on_db perfspect add "$FIRST"
	unchanged 1 'is not pinned' 'nor does one that cannot be pinned'
	sql 'DROP TRIGGER no'
	exec 8<"$DIST"
	flock -n 8
	on_db perfspect add "$FIRST"
	exec 8<&-
	unchanged 1 'another conspectctl works on it' 'nor two at a time'
}

# One that was killed leaves something, until the next one comes.
check_leftovers() {
	# no process has such a number
	local left=$DIST/.conspect-perfspect.4194305.abcdef
	mkdir -p "$left/unpacked"
	echo half >"$left/archive"
	echo x >"$DIST/$(name "$HERE" 0123456789abcdef)"
	touch -d @0 "$DIST/$(name "$HERE" 0123456789abcdef)"
	echo mine >"$DIST/perfspect.tgz"
	on_db perfspect add "$FIRST"
	is "$STATUS" 0 'after one that was killed the next one works'
	ok 'and removes its workspace' test ! -e "$left"
	ok 'and what it did not pin' \
		test ! -e "$DIST/$(name "$HERE" 0123456789abcdef)"
	is "$(cat "$DIST/perfspect.tgz")" mine 'but no file of another name'
	rm "$DIST/perfspect.tgz"
}

all_aged() { find "$DIST" -name '*.tgz' -exec touch -d '1 day ago' {} +; }

# --- removing ------------------------------------------------------------

check_remove() {
	local file
	file=$DIST/$(sql "SELECT file FROM PerfSpectArchives
		WHERE arch = '$OTHER'")
	keep
	on_db perfspect remove riscv
	unchanged 1 'its architecture, x86_64 or aarch64, not "riscv"' \
		'an unknown architecture'
	rm "$DIST/$(name "$HERE" "$FIRST_DIGEST")"
	on_db perfspect list
	like "$OUT" "^$HERE .*\\.tgz \\(missing: add it again\\)\$" \
		'list tells when a file is gone'
	on_db perfspect remove "$HERE"
	done_as "^PerfSpect for $HERE is no longer pinned; its file stays for a" \
		'one is removed'
	on_db perfspect remove "$OTHER"
	is "$STATUS" 0 'and the other one'
	is "$(pins)" '' 'nothing is pinned'
	ok 'but can be downloaded' test -s "$file"
	all_aged
	on_db perfspect remove "$HERE"
	is "$(in_dist)" '' 'until a day has passed'
	keep
	on_db perfspect remove "$HERE"
	unchanged 1 "no archive is pinned for $HERE" 'what is not there'
}

# --- the directory -------------------------------------------------------

check_directory() {
	chmod 0775 "$DIST"
	on_db perfspect add "$FIRST"
	unchanged 1 "$DIST can be written by other users \(mode 0775\): chmod" \
		'a directory that others can write'
	chmod 0755 "$DIST"
	ln -s dist "$TAP_TMP/link"
	on_db perfspect add "$FIRST" --dist "$TAP_TMP/link"
	unchanged 1 "$TAP_TMP/link: Not a directory \(a link is not" 'a link'
	on_db perfspect add "$FIRST" --dist "$TAP_TMP/no/where"
	unchanged 1 "$TAP_TMP/no/where: No such file" 'one that cannot be made'
	(cd "$TAP_TMP" && "$BUILDDIR/conspectctl" --db conspect.db \
		perfspect add perfspect.tgz --dist elsewhere >/dev/null)
	is "$(cd "$TAP_TMP/elsewhere" && ls -A)" \
		"$(name "$HERE" "$FIRST_DIGEST")" \
		'--dist names another one; relative names are right'
	on_db perfspect list
	like "$OUT" missing 'which list must be told, too'
	on_db perfspect list --dist "$TAP_TMP/elsewhere"
	unlike "$OUT" missing 'to find it'
	on_db perfspect remove "$HERE" --dist "$TAP_TMP/elsewhere"
	is "$STATUS $(ls -A "$TAP_TMP/elsewhere")" \
		"0 $(name "$HERE" "$FIRST_DIGEST")" 'and remove as well'
}

# Root may write everywhere: another user tries then, with a copy of the
# program that it can reach.
check_unwritable() {
	local home=$TAP_TMP/home as=()
	mkdir -p "$home/dist"
	cp "${TOP_BUILDDIR:-$BUILDDIR}/conspectctl" "$TAP_TMP/conspectctl"
	cp "$FIRST" "$home/perfspect.tgz"
	chmod 0644 "$home/perfspect.tgz"
	"$BUILDDIR/conspectctl" --db "$home/conspect.db" migrate >/dev/null
	chmod 0555 "$home/dist"
	if [ "$(id -u)" = 0 ]; then
		chmod 0755 "$TAP_TMP"
		as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
		chown -R 65534:65534 "$home"
	fi
	STATUS=0
	OUT=$("${as[@]}" "$TAP_TMP/conspectctl" --db "$home/conspect.db" \
		perfspect add "$home/perfspect.tgz" 2>"$TAP_TMP/err") || STATUS=$?
	ERR=$(cat "$TAP_TMP/err")
	refused 1 "$home/dist: .* as user [0-9]+: Permission denied" \
		'a directory that may not be written'
	is "$(find "$home/dist" -mindepth 1)" '' 'and leaves nothing'
	[ "$(id -u)" = 0 ] || return 0
	on_db perfspect add "$FIRST" --dist "$home/dist"
	unchanged 1 "belongs to user 65534 and this is user 0: do it as" \
		"root runs nothing in another user's directory"
}

pack perfspect.tgz "$PROGRAM"
check_usage
keep
check_files
check_contents
check_add
check_other_machine
check_replaced
check_many_replaced
check_failures_keep_the_old
check_leftovers
check_remove
check_directory
check_unwritable
done_testing
