"""TAP for test scripts in Python: t/lib/tap.sh's counterpart.

    sys.dont_write_bytecode = True      # the source tree may be read-only
    sys.path.insert(0, os.environ["SRCDIR"] + "/t/lib")
    import tap

Each assertion is a sentence; a failing one shows what it found.  tap.TMP is
a directory of the test's own, removed at its end.
"""
import atexit
import os
import shutil
import signal
import sys
import tempfile
import time

count = 0
failed = 0
TMP = tempfile.mkdtemp(prefix="conspect-test-")
atexit.register(shutil.rmtree, TMP, ignore_errors=True)
# so that atexit runs, and what was started is ended
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, lambda *_: sys.exit(1))


def diag(text):
    print("# " + str(text).replace("\n", "\n# "), file=sys.stderr, flush=True)


def ok(good, sentence, found=None):
    """An assertion; `found` is shown where it fails."""
    global count, failed
    count += 1
    print(("ok" if good else "not ok"), count, "-", sentence, flush=True)
    if not good:
        failed += 1
        if found is not None:
            diag("found: %s" % (found,))
    return bool(good)


def equal(got, expected, sentence):
    return ok(got == expected, sentence,
              "%r\nexpected: %r" % (got, expected))


def has(text, part, sentence):
    return ok(part in text, sentence, "%r\nwithout: %r" % (text, part))


def skip_all(reason):
    print("1..0 # SKIP", reason)
    sys.exit(0)


def give_up(sentence):
    """Ends this test as failed."""
    ok(False, sentence)
    print("1..%d" % count)
    sys.exit(1)


def done():
    print("1..%d" % count, flush=True)
    sys.exit(1 if failed else 0)


def wait_for(seconds, condition):
    """Until condition() is true; false at the deadline."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.05)
    return True


def needs(*names):
    """Values of the environment that make check gives."""
    for name in names:
        if not os.environ.get(name):
            give_up("%s is set by make check" % name)
    return [os.environ[name] for name in names]
