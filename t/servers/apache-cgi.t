#!/bin/bash
# The programs under cgi-bin/conf/apache-cgi.conf.in.
. "${SRCDIR:-.}/t/lib/server-checks.sh"
server_checks apache-cgi
