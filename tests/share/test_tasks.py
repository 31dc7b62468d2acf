#!/usr/bin/env python3
# tests/share/test_tasks.py - programs tell usf about their threads: usf/usf.h.  SPDX-License-Identifier: Apache-2.0
import json
import os
import random
import signal
import subprocess
import sys
import time
import unittest

USF, TASKS, TASKS_CXX = sys.argv[1:4]
CPUS = sorted(os.sched_getaffinity(0))[:2]
HANG = 60
POLICIES = ("coop", "fifo", "fair", "equi", "speedup", "gang", "batch", "fl")


class Tasks(unittest.TestCase):
    def setUp(self):
        self.instance = "test-tasks-%d-%d" % (os.getpid(), random.randrange(1 << 30))
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("USF_")}

    def tearDown(self):
        subprocess.run([USF, "clean", "-i", self.instance, "--force"], env=self.env, capture_output=True, timeout=HANG)

    def command(self, *options, cpus=None):
        return [USF, "run", "-i", self.instance, "-c", ",".join(map(str, cpus or CPUS)), *options, "--"]

    def run_it(self, *command):
        r = subprocess.run(command, env=self.env, capture_output=True, text=True, timeout=HANG)
        self.assertEqual((r.returncode, r.stderr), (0, ""), (command, r.stdout))
        return r.stdout.strip()

    ANSWERS = "ok ok ok range range ok ok ok range ok ok ok device range range range"

    def test_answers(self):
        cpu = str(CPUS[0])
        self.assertEqual(self.run_it(*self.command(), TASKS, "errors", cpu), self.ANSWERS)
        self.assertEqual(self.run_it(TASKS, "errors", cpu), " ".join(["no"] * 16))
        if TASKS_CXX != "-":
            self.assertEqual(self.run_it(TASKS_CXX), "38 38 38 38")

    def test_under_the_kernels_policy(self):
        self.assertEqual(self.run_it(*self.command("--policy", "linux"), TASKS, "errors", str(CPUS[0])), " ".join(["no"] * 16))

    def test_strict_where_it_may_not(self):
        """The instance has two CPUs, the program one of them."""
        if len(CPUS) < 2:
            self.skipTest("needs two CPUs")
        p = subprocess.Popen([*self.command(), "sleep", "1000"], env=self.env)
        try:
            while not os.path.exists("/dev/shm/usf-%d-%s" % (os.geteuid(), self.instance)):
                time.sleep(0.01)
            code = "import ctypes; p = ctypes.CDLL(None).prctl; a = [p(0x75736601, 3, 1, c, s) for c in %r for s in (0, 1)]; print(*a)" % CPUS
            out = self.run_it("taskset", "-c", str(CPUS[0]), USF, "run", "-i", self.instance, "--", sys.executable, "-c", code)
            self.assertEqual(out, "0 0 0 19")
        finally:
            p.kill()
            p.wait()

    def test_order(self):
        out = self.run_it(*self.command("--progress", "60000", cpus=CPUS[:1]), TASKS, "order")
        self.assertEqual(out, "high-soon high mid soon late plain low")

    def test_places(self):
        for policy in POLICIES:
            self.tearDown()
            self.setUp()
            out = self.run_it(*self.command("--policy", policy), TASKS, "places", "200", *map(str, CPUS))
            self.assertEqual(out, "ok 1", policy)

    def test_shown_and_kept(self):
        p = subprocess.Popen([*self.command(), TASKS, "show", str(CPUS[-1])], env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            line = p.stdout.readline().split()
            self.assertEqual(line[0], "ready", line)
            core = "core %d" % (len(CPUS) - 1)
            want = {"told": (7, 99, core, True), "fresh": (0, None, None, False), "retold": (-4, None, core, False), "setattr": (-6, None, None, False),
                    "kept": (0, None, None, False)}
            main = (11, None, None, False)
            end = time.monotonic() + HANG
            while True:
                found, child = {}, None
                for q in json.loads(self.run_it(USF, "ps", "-i", self.instance, "--json"))[0]["processes"]:
                    its = {t["name"]: (t["priority"], t["deadline_ns"], t["affinity"], t["strict"]) for t in q["threads"]}
                    if q["pid"] == p.pid:
                        found = {k: its.get(k) for k in want}
                        first = [v for k, v in its.items() if k not in want]
                    elif q["pid"] == int(line[1]):
                        child = list(its.values())
                if (found == want and child == [main] and first == [main]) or time.monotonic() > end:
                    break
                time.sleep(0.02)
            self.assertEqual((found, child, first), (want, [main], [main]))
            p.communicate("", timeout=HANG)
            self.assertEqual(p.returncode, 0)
        finally:
            p.kill()
            p.communicate()


if __name__ == "__main__":
    signal.alarm(110)
    seed = int(os.environ.get("SEED", time.time_ns() % (1 << 30)))
    print("seed", seed, file=sys.stderr)
    random.seed(seed)
    unittest.main(argv=sys.argv[:1])
