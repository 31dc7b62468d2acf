#!/usr/bin/env python3
# tests/sweep.py - what killed tests, and programs that they killed, leave in /dev/shm.  SPDX-License-Identifier: Apache-2.0
#
# usage: sweep.py [DIR]       remove what names a process that does not exist (any more), and belongs to this user (root: to anybody)
#        sweep.py --test      try it on a folder of its own, then sweep /dev/shm
import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile

# Each name has its maker's pid.  (The OpenMP runtime of clang, libfaketime, tests/os/check.h, tests/fuzz, instances of tests/apps and others.)
LEFT = re.compile(r"__KMP_REGISTERED_LIB_(\d+)_\d+|(?:sem\.)?faketime_(?:shm|sem)_(\d+)|usf-(?:test|fuzz)-(\d+)-\w{6}"
                  r"|\.?usf-\d+-(?:apps|test-[a-z]+)-(\d+)-.+")


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    return True


def sweep(folder="/dev/shm", since=0.0):
    """The names that were removed.  since: only what is not older (seconds since the epoch)."""
    gone = []
    for e in os.scandir(folder):
        m = LEFT.fullmatch(e.name)
        if not m or is_alive(int(next(g for g in m.groups() if g))):
            continue
        with contextlib.suppress(OSError):
            st = e.stat(follow_symlinks=False)
            if (os.geteuid() and st.st_uid != os.geteuid()) or st.st_mtime < since:
                continue
            if e.is_dir(follow_symlinks=False):
                shutil.rmtree(e.path)
            else:
                os.unlink(e.path)
            gone.append(e.name)
    return sorted(gone)


def test():
    dead = subprocess.Popen(["true"])
    dead.wait()
    names = ["__KMP_REGISTERED_LIB_%d_0", "faketime_shm_%d", "sem.faketime_sem_%d", "usf-test-%d-abcDE1", "usf-fuzz-%d-abcDE1", "usf-0-apps-%d-x",
             "usf-0-test-odd-%d-123", ".usf-0-test-odd-%d-123.tcm"]
    others = ["usf-0-default", "faketime_shm_x", "usf-test-abcDE1", ".usf-0-said", "usf-0-mine-%d" % dead.pid, "x__KMP_REGISTERED_LIB_%d_0" % dead.pid]
    with tempfile.TemporaryDirectory(prefix="usf-sweep-") as d:
        for n in [n % pid for n in names for pid in (dead.pid, os.getpid(), os.getppid())] + others:
            if n.startswith("usf-test-") and n[-6:] == "abcDE1":
                os.mkdir(os.path.join(d, n))
            else:
                open(os.path.join(d, n), "w").close()
        assert sweep(d, since=2.0 ** 40) == []
        gone = sweep(d)
        assert gone == sorted(n % dead.pid for n in names), gone
        assert len(os.listdir(d)) == 2 * len(names) + len(others), os.listdir(d)


if __name__ == "__main__":
    if sys.argv[1:] == ["--test"]:
        test()
    for name in sweep(*[a for a in sys.argv[1:] if a != "--test"]):
        print("left by a test that was killed, and removed:", name)
