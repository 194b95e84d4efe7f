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
database = os.path.join(tap.TMP, "conspect.db")
program, quick = (programs.Cgi(os.path.join(directory, "cgi-bin/api"),
                               database) for directory in (builddir, top))
golden.replay(program, programs.Template(builddir, tap.TMP), database, quick)
tap.done()
