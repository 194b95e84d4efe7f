#!/bin/bash
# The programs under cgi-bin/conf/lighttpd-fastcgi.conf.in.
. "${SRCDIR:-.}/t/lib/server-checks.sh"
server_checks lighttpd-fastcgi
