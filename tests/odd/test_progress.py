#!/usr/bin/python3
# tests/odd/test_progress.py - the progress guarantee under attack.  SPDX-License-Identifier: Apache-2.0
#
# odd-hog keeps all cores in some way, while two threads hand each other something twenty times.
# docs/design.md, section 8, says how long a task waits for a core at most.  To that comes what the
# kernel decides: how long the two run and wait for a CPU once they have a core, and how long the monitor
# waits for one.  /proc/PID/schedstat has that, so other load does not change the result.
import os
import re
import sys

from odd import HOG, Case, FILES, main, watchers


HOGS = min(os.sysconf("SC_NPROCESSORS_ONLN"), 64)       # as odd-hog counts them
ONE_CPU = ("-c", str(min(os.sched_getaffinity(0))))
LOOKS = 0.003   # seconds: what the monitor's looks, one each millisecond, add to the time after which a core is taken
UNRESPONSIVE = 0.1      # ... and what is left to a thread that does not answer signals
SLEEP = 0.001   # after which each of the two looks again: 0.1 ms, and what a timer may be late


def waited(pid):
    """For how many seconds the process has waited in the kernel's queues."""
    with open("/proc/%d/schedstat" % pid, encoding="ascii") as f:
        return int(f.read().split()[1]) / 1e9


def stolen():
    """For how many seconds a CPU of this virtual machine did not run."""
    with open("/proc/stat", encoding="ascii") as f:
        return int(f.readline().split()[8]) / os.sysconf("SC_CLK_TCK")


class Progress(Case):
    def setUp(self):
        super().setUp()
        self.env["USF_MONITOR_LINGER"] = "60000"        # so that it can be asked how long it has waited

    def gets_there(self, way, *before, ahead=HOGS + 1, answers=False, options=()):
        """ahead: tasks that may be before one of the two in the queue; 0: no time is guaranteed.  answers: the hogs answer signals."""
        lost = stolen()
        r = self.run_it(*before, *self.usf(*options, "--stats", HOG, way))
        if r.code == 77:
            self.skipTest("%s: %s" % (way, r.out or "not permitted here"))
        self.scheduled(r)
        steps, took, ran, queued, hogs = map(float, re.search(
            r"^(\d+) steps: (\S+) s, ran (\S+) s, waited (\S+) s, hogs (\S+) s$", r.err, re.M).groups())
        monitor = sum(map(waited, watchers(self.instance)))
        # In each step each of the two waits for a core once, after it has looked in vain just before.
        p = int(self.env.get("USF_PROGRESS", 5)) / 1000 + LOOKS + (0 if answers else UNRESPONSIVE)
        guaranteed = 2 * steps * (ahead * p + SLEEP)
        kernel = ran + queued + monitor + (hogs if answers else 0) + stolen() - lost
        print("%-8s %d steps in %.3f s; %s, by the kernel %.3f s" % (
            way, steps, took, "guaranteed: %.3f s" % guaranteed if ahead else "nothing is guaranteed", kernel), file=sys.stderr)
        if ahead:
            self.assertLessEqual(took, guaranteed + kernel)

    def test_computing(self):
        self.gets_there("spin", answers=True)

    def test_signals_masked(self):
        self.gets_there("mask")

    def test_signals_masked_behind_libc(self):
        self.gets_there("mask-raw")

    def test_vector_loops(self):
        self.gets_there("vector", answers=True)

    def test_copying(self):
        self.gets_there("string", answers=True)

    # The monitor takes the core of a thread that it finds in the same call at two looks.  If it runs on a hog's CPU,
    # the hog stands still in its call meanwhile.  So the hogs get one CPU, and the monitor runs on another.
    def test_calls_on_files(self):
        self.gets_there("files", answers=True, options=ONE_CPU)

    def test_calls_on_a_pipe(self):
        self.gets_there("pipe", answers=True, options=ONE_CPU)

    def test_with_the_lock(self):
        """Which one waits for that is the hogs' affair."""
        self.gets_there("lock", ahead=0)

    def test_in_a_handler(self):
        self.gets_there("handler", answers=True)

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
        self.gets_there("spin", "prlimit", "--sigpending=0", answers=True)

    def test_a_long_guarantee(self):
        self.env["USF_PROGRESS"] = "200"
        self.gets_there("mask")


if __name__ == "__main__":
    main()
