# tests/spawn/spawn.py - what the drivers share.  SPDX-License-Identifier: Apache-2.0
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import hung
import instance
from instance import HANG

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


class Case(instance.Instance):
    tool, kind, maxDiff = USF, "spawn", None

    def setUp(self):
        super().setUp()
        self.env.update(SPAWN_PLUGIN=program("plugin.so"), TMPDIR=self.dir)
        self.addCleanup(self.soon, lambda: not os.path.exists(self.segment), "the instance does not end: somebody is left in it")

    def run_it(self, *command, **kw):
        kw.setdefault("env", self.env)
        p = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                             start_new_session=True, **kw)
        out, err = hung.output(self, p, HANG)
        return Result(p.returncode, out, err)

    def same(self, *command, before=(), run=(), **kw):
        """What it does bare it does under usf; before: what starts both."""
        bare = self.run_it(*before, *command, **kw)
        ours = self.run_it(*before, USF, "run", *run, "--", *command, **kw)
        self.assertEqual((bare.code, bare.out, bare.err), (ours.code, ours.out, ours.err), "\n--- bare\n%s\n--- under usf\n%s" % (bare, ours))
        self.assertNotIn("bug:", ours.ours)
        self.assertNotIn(": failed: ", bare.err)
        return bare, ours


def main():
    instance.main(int(os.environ.get("SPAWN_ALARM", "280")), verbosity=2)
