#!/usr/bin/python3
"""The recorded exchanges with the original, through the API as CGI."""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ.get("SRCDIR", "."), "t/lib"))
import golden
import programs
import tap

builddir, top, _ = tap.needs("BUILDDIR", "TOP_BUILDDIR", "SRCDIR")
if builddir != top:
    tap.skip_all("golden-server.t replays them under valgrind: a thousand "
                 "starts of a program would take an hour")
database = os.path.join(tap.TMP, "conspect.db")
golden.replay(programs.Cgi(os.path.join(builddir, "cgi-bin/api"), database),
              programs.Template(builddir, tap.TMP), database)
tap.done()
