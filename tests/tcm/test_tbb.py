#!/usr/bin/env python3
# tests/tcm/test_tbb.py - oneTBB's loops in two processes at once.  SPDX-License-Identifier: Apache-2.0
#
# usage: test_tbb.py USF LIBTCM FOLDERS PROGRAM [TEST...]     FOLDERS: where a libtbb.so.12 may be that looks for libtcm.so.1, by ':'
import os
import sys
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import instance  # noqa: E402

USF, LIBTCM, FOLDERS, PROGRAM = sys.argv[1:5]
LINES = 20                      # so many loops in a row have the number


def tbb_that_asks():
    for folder in FOLDERS.split(":"):
        path = os.path.join(folder, "libtbb.so.12")
        if os.path.exists(path):
            with open(path, "rb") as f:
                if b"libtcm.so.1" in f.read():
                    return folder
    return None


TBB = tbb_that_asks()


@unittest.skipUnless(TBB, "no libtbb.so.12 that looks for libtcm.so.1 in %s: scripts/setup test" % FOLDERS)
@unittest.skipIf(len(instance.CPUS) < 2, "one CPU")
class Loops(instance.Programs):
    tool, kind = USF, "tcm"

    def setUp(self):
        super().setUp()
        self.env["LD_LIBRARY_PATH"] = os.path.dirname(LIBTCM) + ":" + TBB
        self.env["TCM_ENABLE"] = "1"

    def loops(self, *before):
        p = self.start("taskset", "-c", ",".join(map(str, instance.CPUS)), *before, PROGRAM)
        p.last = []

        def read():
            for line in p.stdout:
                p.last = p.last[1 - LINES:] + [int(line)]
        threading.Thread(target=read, daemon=True).start()
        return p

    def has(self, p, threads):
        """Its last loops had so many."""
        return len(p.last) == LINES and set(p.last) == {threads}

    def follow(self, *before):
        a = self.loops(*before)
        self.soon(lambda: 2 in a.last, "one program has both CPUs")
        b = self.loops(*before)
        self.soon(lambda: self.has(a, 1) and self.has(b, 1), "two programs have one each")
        b.stdin.close()
        self.assertEqual(b.wait(self.patience), 0)
        self.soon(lambda: 2 in a.last, "the other has both again")
        c = self.loops(*before)
        self.soon(lambda: self.has(a, 1) and self.has(c, 1), "a third program gets one")
        c.kill()
        self.soon(lambda: 2 in a.last, "... and was killed")
        a.stdin.close()
        self.assertEqual(a.wait(self.patience), 0)

    def test_bare(self):
        self.follow()

    def test_in_an_instance(self):
        self.follow(USF, "run", "-i", self.instance, "--")

    def test_the_table_is_cleaned(self):
        path = "/dev/shm/.usf-%d-%s.tcm" % (os.geteuid(), self.instance)
        a = self.loops()
        self.soon(lambda: a.last, "it runs")
        self.clean(self.instance)
        self.assertTrue(os.path.exists(path))
        self.end(a)
        self.clean(self.instance)
        self.assertFalse(os.path.exists(path))

    def test_it_is_ours(self):
        p = self.start(PROGRAM, env={**self.env, "TBB_VERSION": "1"}, stderr=-1)
        p.stdin.close()
        p.stdin = None
        self.assertIn("usf", p.communicate()[1])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[5:]], verbosity=2)
