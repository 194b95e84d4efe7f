#!/bin/bash
# A CGI program is started for each request: each library that it links
# costs it speed, and these three two thirds of it.
. "${SRCDIR:-.}/t/lib/tap.sh"
dir=${TOP_BUILDDIR:-.}

for program in api console; do
	ok "$program is built" test -x "$dir/cgi-bin/$program"
	linked=$(ldd "$dir/cgi-bin/$program")
	like "$linked" 'libsqlite3' "$program is a program that ldd reads"
	for library in libcurl libarchive libcrypto libssl libnettle; do
		unlike "$linked" "$library" "$program does not link $library"
	done
done
done_testing
