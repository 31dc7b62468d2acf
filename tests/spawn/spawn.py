# tests/spawn/spawn.py - what the drivers share.  SPDX-License-Identifier: Apache-2.0
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SEED = int(os.environ.get("SEED", random.randrange(1 << 30)))
HANG = 60                       # seconds: it has hung
BIN = os.path.abspath(os.environ["SPAWN_BIN"])      # folder of the programs
USF = os.path.abspath(os.environ["SPAWN_USF"])
# Said by us, and by the dynamic linker about us where a new root does not have our files.
OURS = re.compile(r"usf: |ERROR: ld\.so: object '[^']*/libusf\.so' from LD_PRELOAD cannot be preloaded")


def program(name):
    return os.path.join(BIN, "spawn-" + name)


class Result:
    def __init__(self, code, out, err):
        self.code, self.out = code, out
        self.err = "".join(l for l in err.splitlines(True) if not OURS.match(l))
        self.ours = "".join(l for l in err.splitlines(True) if OURS.match(l))

    def __str__(self):
        return "exit %s\n%s\n%s%s" % (self.code, self.out, self.err, self.ours)


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="usf-spawn-")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.instance = "test-spawn-%d-%d" % (os.getpid(), random.randrange(1 << 30))
        self.env = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": self.dir, "LANG": "C.UTF-8", "USF_SYSTEM_CONFIG": "/nowhere/none",
                    "USF_MONITOR_LINGER": "0", "USF_INSTANCE": self.instance, "SPAWN_PLUGIN": program("plugin.so"), "TMPDIR": self.dir}
        self.addCleanup(self.ends)

    def ends(self):
        """The instance has ended: whatever its programs did, nobody is left in it."""
        segment = "/dev/shm/usf-%d-%s" % (os.geteuid(), self.instance)
        until = time.monotonic() + HANG
        while os.path.exists(segment) and time.monotonic() < until:
            time.sleep(0.01)
        left = os.path.exists(segment)
        if left:
            subprocess.run([USF, "clean", "-i", self.instance, "--force"], env=self.env, capture_output=True, timeout=HANG)
        self.assertFalse(left, "instance %s has not ended" % self.instance)

    def run_it(self, *command, **kw):
        kw.setdefault("env", self.env)
        p = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                             start_new_session=True, **kw)
        try:
            out, err = p.communicate(timeout=HANG)
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            out, err = p.communicate()
            self.fail("%s hangs\n%s\n%s" % (command, out, err))
        return Result(p.returncode, out, err)

    def same(self, *command, before=(), run=(), **kw):
        """What it does bare it does under usf; before: what starts both."""
        bare = self.run_it(*before, *command, **kw)
        ours = self.run_it(*before, USF, "run", *run, "--", *command, **kw)
        self.assertEqual((bare.code, bare.out, bare.err), (ours.code, ours.out, ours.err), "\n--- bare\n%s\n--- under usf\n%s" % (bare, ours))
        self.assertNotIn("bug:", ours.ours)
        self.assertNotIn("not so:", bare.err)
        return bare, ours


def main():
    signal.alarm(int(os.environ.get("SPAWN_ALARM", "280")))
    print("seed", SEED, file=sys.stderr)
    random.seed(SEED)
    unittest.main(verbosity=2)
