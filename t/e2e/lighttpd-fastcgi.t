#!/bin/bash
# The main job under lighttpd-fastcgi.
. "${SRCDIR:-.}/t/lib/e2e.sh"
end_to_end lighttpd-fastcgi
