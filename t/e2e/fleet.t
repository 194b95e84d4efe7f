#!/usr/bin/env python3
"""A fleet of agents through kill -9 and restarts of the server, lost replies
and kills of agents: each command is carried out once, and none is lost.

bench/load is the same with a thousand agents.
"""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.environ["SRCDIR"] + "/t/lib")
import fleet  # noqa: E402
import tap  # noqa: E402

AGENTS = 100

tap.needs("SRCDIR", "BUILDDIR")
try:
    result = fleet.Fleet(AGENTS, (1, 1), 0.5).live()
except fleet.NotHere as missing:
    tap.skip_all("not installed: %s" % missing)
except RuntimeError as fault:
    tap.give_up(str(fault))
for sentence, broken in result.checks:
    tap.ok(not broken, sentence, broken)
for what, figure in result.lines:
    print("# %s: %s" % (what, figure))
figures = dict(result.lines)
tap.ok("replies dropped" in figures and "agents killed" in figures,
       "replies were lost and agents killed", figures)
tap.done()
