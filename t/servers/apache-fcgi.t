#!/bin/bash
# The programs under cgi-bin/conf/apache-fcgi.conf.in.
. "${SRCDIR:-.}/t/lib/server-checks.sh"
server_checks apache-fcgi
