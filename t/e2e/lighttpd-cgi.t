#!/bin/bash
# The main job under lighttpd-cgi.
. "${SRCDIR:-.}/t/lib/e2e.sh"
end_to_end lighttpd-cgi
