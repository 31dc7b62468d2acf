#!/usr/bin/env python3
# tests/share/test_tasks.py - programs tell usf about their threads: usf/usf.h.  SPDX-License-Identifier: Apache-2.0
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from instance import CPUS, HANG, Programs, main

USF, TASKS, TASKS_CXX = sys.argv[1:4]
POLICIES = ("coop", "fifo", "fair", "equi", "speedup", "gang", "batch", "fl")


class Tasks(Programs):
    tool, kind = USF, "tasks"

    ANSWERS = "ok ok ok range range ok ok ok range ok ok ok device range range range"

    def test_answers(self):
        cpu = str(CPUS[0])
        self.assertEqual(self.result(*self.run_of(), TASKS, "errors", cpu), self.ANSWERS)
        self.assertEqual(self.result(TASKS, "errors", cpu), " ".join(["no"] * 16))
        if TASKS_CXX != "-":
            self.assertEqual(self.result(TASKS_CXX), "38 38 38 38")

    def test_under_the_kernels_policy(self):
        self.assertEqual(self.result(*self.run_of("--policy", "linux"), TASKS, "errors", str(CPUS[0])), " ".join(["no"] * 16))

    def test_strict_where_it_may_not(self):
        """The instance has two CPUs, the program one of them."""
        if len(CPUS) < 2:
            self.skipTest("needs two CPUs")
        self.start(*self.run_of(), "sleep", "1000")
        self.soon(lambda: os.path.exists(self.segment), "there is no instance")
        code = "import ctypes; p = ctypes.CDLL(None).prctl; a = [p(0x75736601, 3, 1, c, s) for c in %r for s in (0, 1)]; print(*a)" % CPUS
        out = self.result("taskset", "-c", str(CPUS[0]), USF, "run", "-i", self.instance, "--", sys.executable, "-c", code)
        self.assertEqual(out, "0 0 0 19")

    def test_order(self):
        out = self.result(USF, "run", "-i", self.instance, "-c", str(CPUS[0]), "--progress", "60000", TASKS, "order")
        self.assertEqual(out, "high-soon high mid soon late plain low")

    def test_places(self):
        for policy in POLICIES:
            self.take_another_instance()
            out = self.result(*self.run_of("--policy", policy), TASKS, "places", "200", *map(str, CPUS))
            self.assertEqual(out, "ok 1", policy)

    def test_shown_and_kept(self):
        p = self.start(*self.run_of("--affinity", "hint", "--attach", "now"), TASKS, "show", str(CPUS[-1]))
        line = p.stdout.readline().split()
        self.assertEqual(line[0], "ready", line)
        core = "core %d" % (len(CPUS) - 1)
        want = {"told": (7, 99, core, True), "fresh": (0, None, None, False), "retold": (-4, None, core, False), "setattr": (-6, None, None, False),
                "kept": (0, None, None, False)}
        first_of_all = (11, None, None, False)
        end = time.monotonic() + HANG
        while True:
            found, child = {}, None
            for q in self.shown()["processes"]:
                its = {t["name"]: (t["priority"], t["deadline_ns"], t["affinity"], t["strict"]) for t in q["threads"]}
                if q["pid"] == p.pid:
                    found = {k: its.get(k) for k in want}
                    first = [v for k, v in its.items() if k not in want]
                elif q["pid"] == int(line[1]):
                    child = list(its.values())
            if (found == want and child == [first_of_all] and first == [first_of_all]) or time.monotonic() > end:
                break
            time.sleep(0.02)
        self.assertEqual((found, child, first), (want, [first_of_all], [first_of_all]))
        p.communicate("", timeout=HANG)
        self.assertEqual(p.returncode, 0)


if __name__ == "__main__":
    main(110, taken=3)
