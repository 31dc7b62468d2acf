#!/usr/bin/python3
# tests/context/test_groups.py - CPUs of contexts that are borrowed and reclaimed, weights.  SPDX-License-Identifier: Apache-2.0
# usage: test_groups.py USF PROGRAM LIBCOUNTER
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from instance import CPUS, Programs, main

USF, PROGRAM, COUNTER = (os.path.abspath(a) for a in sys.argv[1:4])
STRICT = 1


class Groups(Programs):
    tool, kind = USF, "ctxgroups"

    def setUp(self):
        if len(CPUS) < 2:
            self.skipTest("it needs two CPUs")
        super().setUp()

    def program(self, *options):
        return self.start(*self.run_of(*options), PROGRAM, COUNTER)

    def tell(self, p, *words):
        answer = self.says(p, *words).split()
        self.assertEqual(answer[-1], "ok")
        return answer[:-1]

    def groups(self, p):
        return {g["name"]: g for g in self.process(p.pid)["groups"]}

    def seen(self, p, name):
        return {int(c) for c in self.tell(p, "seen", name)}

    def two(self, *options, flags=0):
        """Context a on the first CPU, with more threads than that; b on the second one, without any."""
        p = self.program(*options)
        self.tell(p, "make", "a", CPUS[0], 100, 0)
        self.tell(p, "make", "b", CPUS[1], 100, flags)
        self.tell(p, "compute", "a", 3)
        return p

    def wait_until_borrowed(self, p):
        self.soon(lambda: self.groups(p)["b"]["borrowed_cpus"] == str(CPUS[1]), "b's CPU is not borrowed")

    def test_borrowed_and_reclaimed(self):
        for policy in "coop", "fair", "equi":
            with self.subTest(policy):
                self.take_another_instance()
                p = self.two("--policy", policy)
                self.wait_until_borrowed(p)
                self.soon(lambda: CPUS[1] in self.seen(p, "a"), "a's threads do not use b's CPU")
                before, naps = self.groups(p)["a"]["reclaimed"], 0

                def given_back():
                    nonlocal naps
                    naps += 10
                    self.tell(p, "naps", "b", CPUS[1], 10)
                    return self.groups(p)["a"]["reclaimed"] - before

                # A borrower may end its turn by itself before it is told to, beside other load even most of them.
                self.soon(lambda: given_back() >= 40, "a does not give b's CPU back when b wakes")
                groups = self.groups(p)
                print("%s: b woke %d times, a gave its CPU back %d times" % (policy, naps, groups["a"]["reclaimed"] - before))
                self.assertEqual((groups["a"]["own_cpus"], groups["b"]["own_cpus"], groups[""]["own_cpus"]), (str(CPUS[0]), str(CPUS[1]), None))
                for g in groups.values():       # (b, too, may have a's CPU while other load keeps a's threads from theirs)
                    self.assertGreaterEqual(g["borrowed"], g["reclaimed"])
                shown = self.usf("ps", "-i", self.instance)
                self.assertRegex(shown, r"(?m)group a: 3 threads, .*CPUs %d of its own(, %d borrowed by others)?, borrowed others \d+ times, gave them "
                                        r"back on demand \d+ times$" % (CPUS[0], CPUS[0]))
                self.assertRegex(shown, r"(?m)group b: 0 threads, .*CPUs %d of its own\b" % CPUS[1])
                self.tell(p, "stop", "a")

    def test_strict(self):
        p = self.two(flags=STRICT)
        rounds = dict(map(int, r.split(":")) for r in self.tell(p, "rounds", "b", 60))
        self.assertEqual(rounds, {CPUS[1]: 60})
        self.tell(p, "compute", "b", 2)
        self.soon(lambda: self.seen(p, "b"), "b does not run")
        for _ in range(20):
            self.assertLessEqual(self.seen(p, "a"), {CPUS[0]})
            self.assertLessEqual(self.seen(p, "b"), {CPUS[1]})
        groups = self.groups(p)
        self.assertEqual((groups[""]["cpus"], groups["a"]["cpus"], groups["b"]["cpus"]), (str(CPUS[0]), str(CPUS[0]), str(CPUS[1])))
        self.assertEqual((groups["b"]["exclusive"], groups["b"]["borrowed_cpus"], groups["a"]["borrowed"]), (True, None, 0))

    def test_other_cpus(self):
        """A strict context goes to other CPUs, also the threads of it that compute."""
        p = self.program()
        self.tell(p, "make", "a", CPUS[0], 100, STRICT)
        self.tell(p, "compute", "a", 3)
        self.soon(lambda: self.seen(p, "a") == {CPUS[0]}, "a does not run on its CPU alone")
        self.tell(p, "set", "a", CPUS[1])
        groups = self.groups(p)
        self.assertEqual((groups[""]["cpus"], groups["a"]["cpus"], groups["a"]["own_cpus"]), (str(CPUS[0]), str(CPUS[1]), str(CPUS[1])))
        self.soon(lambda: self.seen(p, "a") == {CPUS[1]}, "a does not run on its new CPU alone")
        for _ in range(20):
            self.assertLessEqual(self.seen(p, "a"), {CPUS[1]})

    def test_weights(self):
        """Both contexts have both CPUs: core time in the ratio of the weights, which other load does not change."""
        for policy in "coop", "fair", "equi":
            with self.subTest(policy):
                self.take_another_instance()
                p = self.program("--policy", policy)
                both = ",".join(map(str, CPUS))
                self.tell(p, "make", "a", both, 300, 0)
                self.tell(p, "make", "b", both, 100, 0)
                self.tell(p, "compute", "a", 4)
                self.tell(p, "compute", "b", 4)
                self.assertEqual(self.groups(p)["a"]["weight"], 300)

                def had():
                    groups = self.groups(p)
                    return [groups[n]["core_time_ns"] for n in "ab"]

                self.soon(lambda: min(had()) > 50e6, "they do not run")
                before = had()

                def ratio():
                    a, b = (now - then for now, then in zip(had(), before))
                    return a / b if a + b > 3e9 else 0

                # Turns end late beside other load, which evens out: with weights that are not heeded the ratio stays at 1.
                self.soon(lambda: 2 < ratio() < 4, "the weights are not heeded: %.3f" % ratio())
                print("%s: weights 3 and 1: core time %.3f" % (policy, ratio()))

    def test_spinning(self):
        """One context busy-waits for the other's thread, on whose CPU borrowers compute."""
        p = self.two()
        self.wait_until_borrowed(p)
        self.tell(p, "spin", "a", "b", 100)
        self.tell(p, "spin", "b", "a", 100)

    def test_destroyed_while_borrowed(self):
        p = self.two()
        self.wait_until_borrowed(p)
        self.tell(p, "destroy", "b")
        self.assertEqual(set(self.groups(p)), {"", "a"})
        self.seen(p, "a")
        self.soon(lambda: self.seen(p, "a") >= set(CPUS), "a's threads do not go on")
        self.tell(p, "make", "b", CPUS[1], 100, 0)
        self.assertEqual(self.tell(p, "rounds", "b", 5)[-1].split(":")[0], str(CPUS[1]))

    def test_killed(self):
        """Another process has the CPUs of one that is killed, whatever its contexts had."""
        other = self.program()
        self.tell(other, "make", "other", ",".join(map(str, CPUS)), 100, 0)
        self.tell(other, "compute", "other", 2)
        for flags in 0, STRICT:
            p = self.two(flags=flags)
            self.soon(lambda: self.groups(p)["a"]["threads"] == 3, "a's threads do not take part")
            p.kill()
            p.wait()
            self.soon(lambda: self.process(p.pid) is None, "the dead process is still there")
            self.soon(lambda: len({t["core"] for t in self.process(other.pid)["threads"] if t["state"] == "running"}) == 2,
                      "the other does not run on both CPUs")
            self.soon(lambda: self.seen(other, "other") == set(CPUS), "the other does not compute on both CPUs")


main(240, taken=3)
