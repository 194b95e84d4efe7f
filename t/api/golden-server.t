#!/bin/bash
# The recorded exchanges with the original, under a web server and FastCGI.
: "${SRCDIR:?is set by make check}" "${BUILDDIR:?is set by make check}"
# shellcheck source=t/lib/tap.sh
. "$SRCDIR/t/lib/tap.sh"
# shellcheck source=t/lib/servers.sh
. "$SRCDIR/t/lib/servers.sh"
KIND=lighttpd-fastcgi
missing=$(server_missing "$KIND")
[ -z "$missing" ] || skip_all "not installed: $missing"

# One worker: the database is replaced under it for each case, which SQLite
# allows only where nobody else has the old one open.
one_worker() { sed -i '/"max-procs"/s/[0-9][0-9]*/1/' "$1"; }
server_edit=one_worker
server_start "$KIND" || give_up "$KIND does not start"
/usr/bin/python3 -B - "$BASE" "$DB" <<'END' || tap_failed=1
import os
import sys

sys.path[:0] = [os.environ["SRCDIR"] + "/t/" + name for name in ("api", "lib")]
import golden
import programs
import tap

base, database = sys.argv[1:]
golden.replay(programs.Http(base),
              programs.Template(os.environ["BUILDDIR"], tap.TMP), database)
sys.exit(1 if tap.failed else 0)
END
tap_count=$(wc -l <"$SRCDIR/t/api/golden.jsonl")
is "$(server_reports)" '' 'nothing went wrong behind the answers'
done_testing
