#!/bin/bash
# What the documents say of an installation is so: where its files are, and
# which directories its programs look into after another configure.
. "${SRCDIR:-.}/t/lib/tap.sh"
dir=${TOP_BUILDDIR:-.}
command -v make >/dev/null || skip_all 'not installed: make'
cd "${SRCDIR:-.}" || give_up 'no source tree'
# a make that started us must not lend its flags to ours
unset MAKEFLAGS MFLAGS MAKELEVEL

root=$TAP_TMP/root
make -s -C "$dir" install prefix=/usr DESTDIR="$root" >"$TAP_TMP/log" 2>&1 ||
	give_up "make install failed: $(tail "$TAP_TMP/log")"

found=0
while read -r path; do
	ok "$path is installed" test -e "$root$path"
	found=$((found + 1))
done < <(cat README.md man/* agentd/init/* cgi-bin/conf/* |
	grep -oE '/usr/(share|libexec)/conspect[A-Za-z0-9_./-]*' |
	sed 's/[.,]*$//' | sort -u)
ok 'paths were found in the documents' test $found -gt 3
for page in man/*.[1-8]; do
	ok "$page is installed" \
		test -e "$root/usr/share/man/man${page##*.}/${page##*/}"
done

# Make's own list of what is made from what.
make -C "$dir" -pnq nothing 2>/dev/null >"$TAP_TMP/rules"
while read -r file; do
	object="${file%/*}/[a-z_]*-$(basename "$file" .c)\\.o"
	ok "$file, which holds directories, is compiled after a configure" \
		grep -Eq "^$object:.* Makefile( |\$)" "$TAP_TMP/rules"
done < <(grep -lE '(SYSCONF|LOCALSTATE)DIR' {agentd,ctl,cgi-bin,lib/*}/*.c)
done_testing
