#!/bin/bash
# The programs under cgi-bin/conf/nginx-fcgiwrap.conf.in.
. "${SRCDIR:-.}/t/lib/server-checks.sh"
server_checks nginx-fcgiwrap
