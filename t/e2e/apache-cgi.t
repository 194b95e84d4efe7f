#!/bin/bash
# The main job under apache-cgi.
. "${SRCDIR:-.}/t/lib/e2e.sh"
end_to_end apache-cgi
