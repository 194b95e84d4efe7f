#!/usr/bin/python3
"""The recorded exchanges with the original, under lighttpd and FastCGI."""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ.get("SRCDIR", "."), "t/lib"))
import golden
import programs
import tap

builddir, _ = tap.needs("BUILDDIR", "SRCDIR")
# One worker: the database is replaced under it for each case, which SQLite
# allows only where nobody else has the old one open.
server = programs.Server("lighttpd-fastcgi", one_worker=True)
golden.replay(programs.Http(server.base),
              programs.Template(builddir, tap.TMP), server.database)
tap.equal(server.stop(), "", "nothing went wrong behind the answers")
tap.done()
