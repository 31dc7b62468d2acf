#!/usr/bin/env python3
# tests/share/test_share.py - programs follow a share that changes while they run.  SPDX-License-Identifier: Apache-2.0
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from instance import CPUS, Programs, main

USF, SHARER, ATTRIBUTES, GCC, CLANG = sys.argv[1:6]
SIZES = ("plain", "static", "dynamic", "guided", "runtime", "sections", "after")


class Share(Programs):
    tool, kind = USF, "share"

    def program(self, *command, weight=100, policy=SHARER, **env):
        return self.start(*self.run_of("--policy", policy, "--weight", str(weight), "--malleable"), *command, env={**self.env, **env})

    def ask(self, p):
        return {k: int(v) for k, v in (w.split("=") for w in self.says(p, "go").split())}

    def weight(self, p, n):
        self.usf("policy", "weight", str(p.pid), str(n))

    def follows(self, program):
        p = self.program(program, weight=1)
        self.assertEqual(self.ask(p)["plain"], 1)
        for n in (1, 2, 1, 2):
            self.weight(p, n)
            a = self.ask(p)
            for k in SIZES:
                self.assertEqual(a[k], n, (k, a))
            self.assertEqual((a["asked"], a["max"], a["cpus"], a["online"]), (2, 2, n, n), a)
        q = self.process(p.pid)
        self.assertTrue(q["malleable"])
        self.assertEqual((q["weight"], q["width"], q["share"]), (2, 2, "%d-%d" % tuple(CPUS) if CPUS[1] == CPUS[0] + 1 else "%d,%d" % tuple(CPUS)))
        # plain, asked, four loops, sections, outer, after: nine regions in each of five rounds; inner ones do not count
        self.assertEqual(q["regions"], 45)

    def left_alone(self, program):
        p = self.program(program)
        a = self.ask(p)
        self.assertEqual([a[k] for k in SIZES + ("max", "cpus", "online")], [2] * (len(SIZES) + 3), a)

    def set_by_user(self, program):
        for how in ({"OMP_NUM_THREADS": "2"}, None):
            p = self.program(program, *([] if how else ["set", "2"]), weight=1, **(how or {}))
            a = self.ask(p)
            self.assertEqual((a["plain"], a["static"], a["cpus"]), (2, 2, 1), a)
            self.assertFalse(self.process(p.pid)["malleable"])

    def switched(self, program):
        p = self.program(program, weight=1)
        self.assertEqual(self.ask(p)["plain"], 1)
        self.usf("policy", "set", "coop", "-i", self.instance)
        self.assertEqual(self.ask(p)["plain"], 2)
        self.assertEqual(self.process(p.pid)["share"], None)
        self.usf("policy", "set", SHARER, "-i", self.instance)
        self.assertEqual(self.ask(p)["plain"], 1)
        self.usf("policy", "set", "coop", "-i", self.instance)
        self.usf("policy", "set", "sharer", "-i", self.instance)
        self.assertEqual(json.loads(self.usf("policy", "show", "-i", self.instance, "--json"))["policy"], "sharer")

    def test_programs_without_openmp(self):
        p = self.program("/bin/sh", "-c", "while read x; do echo cpus=$(nproc); done", weight=1)
        self.assertEqual(self.ask(p)["cpus"], 1)

    def test_attributes_of_threads(self):
        for how in [], ["nice", "-n", "3"]:
            p = self.program(*how, ATTRIBUTES, str(CPUS[1]), policy="coop")
            self.assertEqual(p.stdout.readline(), "ready=1\n")
            q = self.process(p.pid)
            threads = {t["name"]: (t["priority"], t["affinity"]) for t in q["threads"]}
            self.assertEqual(threads["on"], (0, "core 1"))
            self.assertEqual((threads["nice"], threads["child"], threads["plain"]), ((-5, None), (-5, None), (0, None)))
            p.stdin.close()
            self.assertEqual(p.wait(30), 0)

    def test_options_of_the_program(self):
        p = self.start(USF, "run", "-i", self.instance, "--attach", "now", "--weight", "250", "--priority", "-7", "--no-gang", "--", "/bin/sh", "-c", "cat; exit 0")
        found = {}

        def both():             # the shell and its child
            found.clear()
            r = subprocess.run([USF, "ps", "-i", self.instance, "--json"], env=self.env, capture_output=True, text=True, timeout=60)
            for i in json.loads(r.stdout) if r.returncode == 0 else []:       # not there yet
                found.update({q["name"]: (q["weight"], q["priority"], q["no_gang"]) for q in i["processes"]})
            return len(found) == 2
        self.soon(both, found)
        self.assertEqual(set(found.values()), {(250, -7, True)}, found)
        self.usf("policy", "priority", str(p.pid), "-9")
        self.assertEqual((self.process(p.pid)["priority"], self.process(p.pid)["weight"]), (-9, 250))

    def test_a_hint_of_its_own_counts(self):
        code = "import os, sys\nos.sched_setaffinity(0, {%d, %d})\nfor l in sys.stdin: print('cpus=%%d' %% len(os.sched_getaffinity(0)), flush=True)" % tuple(CPUS)
        p = self.program(sys.executable, "-c", code, weight=1)
        self.assertEqual(self.ask(p)["cpus"], 2)


def add(name, program):
    for what in ("follows", "left_alone", "set_by_user", "switched"):
        setattr(Share, "test_%s_%s" % (name, what), lambda self, what=what: getattr(self, what)(program))


if __name__ == "__main__":
    if len(CPUS) < 2 or (GCC == "-" and CLANG == "-"):
        print("skipped: needs two CPUs and an OpenMP compiler")
        sys.exit(77)
    for compiler, program in (("libgomp", GCC), ("libomp", CLANG)):
        if program != "-":
            add(compiler, program)
    main(110, taken=5)
