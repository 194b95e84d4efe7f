#!/bin/bash
# The programs under cgi-bin/conf/lighttpd-cgi.conf.in.
. "${SRCDIR:-.}/t/lib/server-checks.sh"
server_checks lighttpd-cgi
