#!/usr/bin/python3
# tests/odd/test_cpus.py - CPUs that come and go while programs run.  SPDX-License-Identifier: Apache-2.0
import json
import os
import re
import subprocess
import time

from groups import Group, read
from odd import FILES, HANG, HOG, LOAD, Case, can, main

CPUS = sorted(os.sched_getaffinity(0))


class Cpus(Case):
    def group(self, controller, more=""):
        if os.geteuid():
            self.skipTest("only root can make control groups")
        if len(CPUS) < 2:
            self.skipTest("one CPU")
        g = Group(controller, self.instance + more)
        self.addCleanup(g.remove)
        return g

    def busy(self, command, **kw):
        """A program that never ends, and has begun."""
        p = self.start(*self.usf(*command), **kw)
        self.addCleanup(p.communicate)
        self.addCleanup(p.kill)
        self.assertEqual(p.stdout.readline(), "started\n")
        return p

    def cores_in_use(self, looks=10):
        """CPUs of cores that were seen with a thread on them."""
        used = set()
        for _ in range(looks):
            r = subprocess.run([FILES["usf"], "ps", "-i", self.instance, "--json"], env=self.env, capture_output=True, text=True, timeout=HANG)
            self.assertEqual(r.returncode, 0, "the program has ended: %s" % r.stderr)
            used |= {c["cpu"] for c in json.loads(r.stdout)[0]["cores"] if c["state"] == "running"}
        return used

    def soon_uses(self, cpus):
        end = time.monotonic() + HANG
        while time.monotonic() < end:
            if self.cores_in_use() == set(cpus):
                return
        self.fail("cores %s are used, not %s" % (self.cores_in_use(), cpus))

    def soon_uses_as_many(self, n):
        end = time.monotonic() + HANG
        while time.monotonic() < end:
            if len(self.cores_in_use()) == n:
                return
        self.fail("cores %s are used, not %d" % (self.cores_in_use(), n))

    def threads_are_on(self, p, cpus):
        for tid in os.listdir("/proc/%d/task" % p.pid):
            status = read("/proc/%d/task/%s/status" % (p.pid, tid))
            mask = int(re.search(r"^Cpus_allowed:\s*([0-9a-f,]+)", status, re.M).group(1).replace(",", ""), 16)
            self.assertTrue(mask & sum(1 << c for c in cpus), "thread %s may run on %x only" % (tid, mask))

    def test_cpuset_shrinks_and_grows(self):
        g, a, b = self.group("cpuset"), *CPUS[:2]
        g.cpus(a, b)
        p = self.busy([HOG, "yield-alone"], preexec_fn=g.enter())
        self.soon_uses([a, b])
        for now in ([a], [b], [a, b]):
            g.cpus(*now)
            self.soon_uses(now)
            self.threads_are_on(p, now)
        self.assertIsNone(p.poll())

    def test_cpuset_of_one_grows(self):
        """The instance has more cores than the program could use at first."""
        g, a, b = self.group("cpuset"), *CPUS[:2]
        g.cpus(b)
        keeper = self.start(*self.usf("sh", "-c", "echo started; exec sleep 1000"))
        self.addCleanup(keeper.communicate)
        self.addCleanup(keeper.kill)
        keeper.stdout.readline()
        self.busy([HOG, "yield-alone"], preexec_fn=g.enter())
        self.soon_uses([b])
        g.cpus(a, b)
        self.soon_uses([a, b])

    def test_cpuset_without_any(self):
        """The program goes on where it may, and takes no core from others; then it is back."""
        g, a, b = self.group("cpuset"), *CPUS[:2]
        g.cpus(a)
        p = self.busy([HOG, "yield-alone"], preexec_fn=g.enter())
        self.soon_uses([a])
        for _ in range(2):
            g.cpus(b)
            self.soon_uses([])
            self.threads_are_on(p, [b])
            r = self.run_it(*self.usf("--stats", LOAD))
            self.scheduled(r)
            g.cpus(a)
            self.soon_uses([a])
        self.assertIsNone(p.poll())

    def test_cpuset_that_keeps_changing(self):
        g, a, b = self.group("cpuset"), *CPUS[:2]
        g.cpus(a, b)
        p = self.start(*self.usf("--stats", "sh", "-ec", "for i in 1 2 3 4 5; do %s >/dev/null; done; echo done" % LOAD), preexec_fn=g.enter())
        while p.poll() is None:
            for now in ([a], [b], [a, b]):
                time.sleep(0.05)
                g.cpus(*now)
        self.scheduled(self.end(p), 16)

    def quota_is_followed(self, *commands):
        g, cpus = self.group("cpu"), CPUS
        g.quota(100 * len(cpus))
        for c in commands:
            self.busy(c, preexec_fn=g.enter())
        self.soon_uses(cpus)
        for n in (1, len(cpus), 1):
            g.quota(100 * n - 50)
            self.soon_uses_as_many(n)
        g.quota(None)
        self.soon_uses(cpus)

    def test_quota_is_followed(self):
        self.quota_is_followed([HOG, "yield-alone"])

    def test_quota_is_followed_by_who_never_looks(self):
        self.quota_is_followed([HOG, "spin-alone"])

    def test_quota_of_two_programs(self):
        """They are one group, and share its cores."""
        self.quota_is_followed([HOG, "yield-alone"], [HOG, "spin-alone"])

    def test_quotas_of_two_groups(self):
        """One does not have to wait for the other."""
        for g in (self.group("cpu"), self.group("cpu", "-other")):
            g.quota(100)
            self.busy([HOG, "yield-alone"], preexec_fn=g.enter())
        self.soon_uses(CPUS[:2])

    def test_quota_that_is_there_before(self):
        g = self.group("cpu")
        g.quota(100)
        self.busy([HOG, "yield-alone"], preexec_fn=g.enter())
        self.soon_uses_as_many(1)
        self.busy([HOG, "yield-alone"])                         # one without bounds uses the others as well
        self.soon_uses(CPUS)

    def test_quota_that_changes(self):
        g = self.group("cpu")
        g.quota(100)
        p = self.start(*self.usf("--stats", "sh", "-ec", "for i in 1 2 3; do %s >/dev/null; done; echo done" % LOAD), preexec_fn=g.enter())
        while p.poll() is None:
            for percent in (20, 50, 200):
                time.sleep(0.1)
                g.quota(percent)
        self.scheduled(self.end(p), 10)

    def test_bound_from_outside(self):
        """taskset on a running program: what it binds is bound again where the scheduler wants it; nothing stops."""
        if len(CPUS) < 2 or not can("taskset", "--version"):
            self.skipTest("one CPU, or no taskset")
        p = self.start(*self.usf("--stats", "sh", "-ec", "for i in 1 2 3; do %s >/dev/null; done; echo done" % LOAD))
        while p.poll() is None:
            for cpu in CPUS[:2]:
                time.sleep(0.02)
                subprocess.run(["taskset", "-acp", str(cpu), str(p.pid)], capture_output=True)
        self.scheduled(self.end(p), 10)


if __name__ == "__main__":
    main()
