#!/usr/bin/python3
# tests/odd/test_progress.py - the progress guarantee under attack.  SPDX-License-Identifier: Apache-2.0
#
# odd-hog keeps all cores in some way, while two threads want to hand each other something twenty times.  They are to get
# there; no times are checked (docs/design.md, section 8, has what is guaranteed).
import os
import subprocess
import unittest

from odd import HOG, Case, FILES, main


class Progress(Case):
    def gets_there(self, way, *before):
        r = self.run_it(*before, *self.usf("--stats", HOG, way))
        if r.code == 77:
            self.skipTest("%s: not permitted here" % way)
        self.scheduled(r)

    def test_computing(self):
        self.gets_there("spin")

    def test_signals_masked(self):
        self.gets_there("mask")

    def test_signals_masked_behind_libc(self):
        self.gets_there("mask-raw")

    def test_vector_loops(self):
        self.gets_there("vector")

    def test_copying(self):
        self.gets_there("string")

    def test_with_the_lock(self):
        self.gets_there("lock")

    def test_in_a_handler(self):
        self.gets_there("handler")

    def test_real_time(self):
        self.gets_there("fifo")

    def test_vfork(self):
        self.gets_there("vfork")

    def test_vfork_that_computes(self):
        self.gets_there("vfork-spin")

    def test_stopped_by_a_debugger(self):
        self.gets_there("traced")

    def test_other_processes(self):
        """The hogs are one program, who waits is another."""
        hog = self.start(*self.usf(HOG, "mask-raw-alone"))
        try:
            hog.stdout.readline()
            r = self.run_it(*self.usf("--stats", FILES["load"]))
            self.scheduled(r, 3)
        finally:
            hog.kill()
            hog.communicate()

    def test_no_signals_left(self):
        """With the limit of pending signals used up, those that are sent come without their value."""
        self.gets_there("spin", "prlimit", "--sigpending=0")

    def test_without_a_guarantee_of_20_ms(self):
        self.env["USF_PROGRESS"] = "200"
        self.gets_there("mask")


if __name__ == "__main__":
    main()
