#!/usr/bin/python3
# tests/policy/test_slices.py - the monitor ends time slices.  SPDX-License-Identifier: Apache-2.0
# usage: test_slices.py USF PROGRAM POLICY
#
# Two threads on one core never reach a scheduling point.  They give way at the time that their policy
# says, though the progress guarantee is a minute away.  The monitor ends a turn at its first look after
# the slice.  So a turn takes no more CPU time than the slice, two looks, and what the kernel has the
# monitor wait for a CPU, whatever else runs on the machine.
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from instance import CPUS, Programs, main

USF, PROGRAM, POLICY = (os.path.abspath(a) for a in sys.argv[1:4])
SLICE, LOOK = 5, 1              # ms: a time slice; from one look of the monitor to the next
MS = 800                        # that each run takes


def waited(pid):
    """For how long the process has waited in the kernel's queues, in ms."""
    with open("/proc/%d/schedstat" % pid, encoding="ascii") as f:
        return int(f.read().split()[1]) / 1e6


class Slices(Programs):
    tool, kind = USF, "slices"

    def setUp(self):
        if not os.path.exists("/proc/self/schedstat"):
            self.skipTest("the kernel does not tell how long threads wait for a CPU")
        super().setUp()

    def turns(self, *options):
        """How many turns ended, the CPU and the real time of all, and how long the monitor waited; in ms."""
        self.take_another_instance()
        p = self.start(USF, "run", "-i", self.instance, "-c", str(CPUS[0]), "--progress", "60000", *options, "--", PROGRAM, "2")
        monitor = self.shown()["monitor_pid"] if self.says(p, "ready?") == "ready" else 0
        before = waited(monitor)
        turns, cpu, real = map(float, re.fullmatch(r"turns (\d+), ran (\S+) ms of (\S+) ms", self.says(p, MS)).groups())
        return turns, cpu, real, waited(monitor) - before

    def test_slices(self):
        """As many as the threads have CPU time for."""
        wanted = 0
        while wanted < 50:      # a run in which the machine gives them little proves little
            turns, cpu, real, late = self.turns("--policy", POLICY, "--slice", str(SLICE))
            least = (cpu - late) / (SLICE + 2 * LOOK) - 1
            print("%d turns in %.0f ms of CPU time, the monitor waited %.1f ms for a CPU: at least %.0f" % (turns, cpu, late, least))
            self.assertGreaterEqual(turns, least)
            self.assertLessEqual(turns, real / SLICE + 2)
            wanted += max(0, least)

    def test_no_slices(self):
        self.assertLessEqual(self.turns("--policy", "fifo")[0], 2)


main(140, taken=3)
