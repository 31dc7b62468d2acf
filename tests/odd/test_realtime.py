#!/usr/bin/python3
# tests/odd/test_realtime.py - threads that become real-time ones.  SPDX-License-Identifier: Apache-2.0
import os

from odd import FILES, Case, can, main

REALTIME = FILES["realtime"]


class Realtime(Case):
    def as_bare(self, way):
        bare = self.run_it(REALTIME, way)
        if bare.code == 77:
            self.skipTest(bare.err.strip())
        self.assertEqual((bare.code, bare.out), (0, "done\n"), bare)
        r = self.run_it(*self.usf("--stats", REALTIME, way, *["usf"] * (os.cpu_count() > 1)))
        self.scheduled(r)

    def test_itself(self):
        self.as_bare("itself")

    def test_with_a_deadline(self):
        self.as_bare("deadline")

    def test_by_another_thread(self):
        self.as_bare("another")

    def test_from_birth(self):
        self.as_bare("birth")

    def test_that_forks(self):
        self.as_bare("forks")

    def test_signals_while_they_wake(self):
        self.as_bare("signals")

    def test_that_are_bound(self):
        self.as_bare("bound")

    def test_that_end_soon(self):
        self.as_bare("ends")

    def test_whole_programs(self):
        """Started so, and one of them becomes an ordinary one."""
        if not can("chrt", "-f", "1", "true"):
            self.skipTest("no chrt, or it is not allowed")
        self.scheduled(self.run_it(*self.usf("--stats", "chrt", "-f", "1", "sh", "-c", "chrt -o 0 %s itself; exit" % REALTIME)), 2)


if __name__ == "__main__":
    main()
