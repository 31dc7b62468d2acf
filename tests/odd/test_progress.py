#!/usr/bin/python3
# tests/odd/test_progress.py - the progress guarantee under attack.  SPDX-License-Identifier: Apache-2.0
#
# odd-hog keeps all cores in some way, while two threads want to hand each other something twenty times.  They are to get there.
# How soon they do, beside what docs/design.md, section 8, guarantees, is told and not judged: others may have the machine.
import os
import re
import sys

from odd import HOG, Case, FILES, main


HOGS = min(os.sysconf("SC_NPROCESSORS_ONLN"), 64)       # as odd-hog counts them
SLACK = 1.0     # seconds: for all that is no wait for a core


def cpu_times():
    """CPU seconds: that the machine had so far, that were spent on others than our children."""
    with open("/proc/stat", encoding="ascii") as f:
        user, nice, system, idle, iowait, irq, softirq, steal = map(int, f.readline().split()[1:9])
    busy = user + nice + system + irq + softirq + steal
    ours = os.times()
    hz = os.sysconf("SC_CLK_TCK")
    return (busy + idle + iowait) / hz, busy / hz - ours.children_user - ours.children_system


class Progress(Case):
    def guaranteed(self, ahead):
        """In each step each of the two waits for a core, with so many before it, after it has looked in vain just before."""
        p = int(self.env.get("USF_PROGRESS", 5)) / 1000
        return 2 * (p + 0.103) * ahead

    def gets_there(self, way, *before, ahead=HOGS + 1):
        """ahead: tasks that may be before one of the two in the queue; 0: no time is guaranteed."""
        had, others = cpu_times()
        r = self.run_it(*before, *self.usf("--stats", HOG, way))
        if r.code == 77:
            self.skipTest("%s: not permitted here" % way)
        self.scheduled(r)
        now, then = cpu_times()
        share = 1 - max(0, min(0.99, (then - others) / (now - had)))    # of the machine, that was left to us
        steps, took = re.search(r"^(\d+) steps: ([\d.]+) s$", r.err, re.M).groups()
        limit = int(steps) * self.guaranteed(ahead) + SLACK
        print("%-8s %s steps in %s s, on %.2f of the machine; %s" % (
            way, steps, took, share, "guaranteed: %.1f s" % limit if ahead else "nothing is guaranteed"), file=sys.stderr)

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
        """Which one waits for that is the hogs' affair."""
        self.gets_there("lock", ahead=0)

    def test_in_a_handler(self):
        self.gets_there("handler")

    def test_real_time(self):
        """What the others get is what the kernel saves for them."""
        self.gets_there("fifo", ahead=0)

    def test_vfork(self):
        self.gets_there("vfork", ahead=2 * HOGS + 1)    # the children, too

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

    def test_a_long_guarantee(self):
        self.env["USF_PROGRESS"] = "200"
        self.gets_there("mask")


if __name__ == "__main__":
    main()
