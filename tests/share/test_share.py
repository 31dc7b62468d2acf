#!/usr/bin/env python3
# tests/share/test_share.py - programs follow a share that changes while they run.  SPDX-License-Identifier: Apache-2.0
import json
import os
import random
import signal
import subprocess
import sys
import time
import unittest

USF, SHARER, WISHES, GCC, CLANG = sys.argv[1:6]
CPUS = sorted(os.sched_getaffinity(0))[:2]
SIZES = ("plain", "static", "dynamic", "guided", "runtime", "sections", "after")


class Case(unittest.TestCase):
    def setUp(self):
        self.instance = "test-share-%d-%d" % (os.getpid(), random.randrange(1 << 30))
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "USF_", "KMP_", "GOMP_"))}
        self.children = []

    def tearDown(self):
        for p in self.children:
            p.kill()
            p.wait()
            p.stdin.close()
            p.stdout.close()
        subprocess.run([USF, "clean", "-i", self.instance, "--force"], env=self.env, capture_output=True, timeout=60)

    def start(self, *command, weight=100, policy=SHARER, **env):
        p = subprocess.Popen([USF, "run", "-i", self.instance, "--policy", policy, "--weight", str(weight), "--malleable", "-c",
                              ",".join(map(str, CPUS)), "--", *command], env={**self.env, **env}, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)
        self.children.append(p)
        return p

    def ask(self, p):
        p.stdin.write("go\n")
        p.stdin.flush()
        line = p.stdout.readline()
        self.assertTrue(line, "the program has ended")
        return {k: int(v) for k, v in (w.split("=") for w in line.split())}

    def usf(self, *args):
        r = subprocess.run([USF, *args], env=self.env, capture_output=True, text=True, timeout=60)
        self.assertEqual((r.returncode, r.stderr), (0, ""), args)
        return r.stdout

    def weight(self, p, n):
        self.usf("policy", "weight", str(p.pid), str(n))

    def record(self, p):
        for i in json.loads(self.usf("ps", "-i", self.instance, "--json")):
            for q in i["processes"]:
                if q["pid"] == p.pid:
                    return q
        self.fail("no such process")

    def follows(self, program):
        p = self.start(program, weight=1)
        self.assertEqual(self.ask(p)["plain"], 1)
        for n in (1, 2, 1, 2):
            self.weight(p, n)
            a = self.ask(p)
            for k in SIZES:
                self.assertEqual(a[k], n, (k, a))
            self.assertEqual((a["asked"], a["max"], a["cpus"], a["online"]), (2, 2, n, n), a)
        q = self.record(p)
        self.assertTrue(q["malleable"])
        self.assertEqual((q["weight"], q["width"], q["share"]), (2, 2, "%d-%d" % tuple(CPUS) if CPUS[1] == CPUS[0] + 1 else "%d,%d" % tuple(CPUS)))
        # plain, asked, four loops, sections, outer, after: nine regions in each of five rounds; inner ones do not count
        self.assertEqual(q["regions"], 45)

    def left_alone(self, program):
        p = self.start(program)
        a = self.ask(p)
        self.assertEqual([a[k] for k in SIZES + ("max", "cpus", "online")], [2] * (len(SIZES) + 3), a)

    def set_by_user(self, program):
        for how in ({"OMP_NUM_THREADS": "2"}, None):
            p = self.start(program, *([] if how else ["set", "2"]), weight=1, **(how or {}))
            a = self.ask(p)
            self.assertEqual((a["plain"], a["static"], a["cpus"]), (2, 2, 1), a)
            self.assertFalse(self.record(p)["malleable"])

    def switched(self, program):
        p = self.start(program, weight=1)
        self.assertEqual(self.ask(p)["plain"], 1)
        self.usf("policy", "set", "coop", "-i", self.instance)
        self.assertEqual(self.ask(p)["plain"], 2)
        self.assertEqual(self.record(p)["share"], None)
        self.usf("policy", "set", SHARER, "-i", self.instance)
        self.assertEqual(self.ask(p)["plain"], 1)
        self.assertEqual(json.loads(self.usf("policy", "show", "-i", self.instance, "--json"))["policy"], "sharer")

    def test_programs_without_openmp(self):
        p = self.start("/bin/sh", "-c", "while read x; do echo cpus=$(nproc); done", weight=1)
        self.assertEqual(self.ask(p)["cpus"], 1)

    def test_wishes_of_threads(self):
        p = self.start(WISHES, str(CPUS[1]), policy="coop")
        self.assertEqual(p.stdout.readline(), "ready=1\n")
        q = self.record(p)
        threads = {t["name"]: (t["priority"], t["affinity"]) for t in q["threads"]}
        self.assertEqual(threads["on"], (0, "core 1"))
        self.assertEqual((threads["nice"], threads["child"], threads["plain"]), ((-5, None), (-5, None), (0, None)))
        p.stdin.close()
        self.assertEqual(p.wait(30), 0)

    def test_options_of_the_program(self):
        p = subprocess.Popen([USF, "run", "-i", self.instance, "--weight", "250", "--priority", "-7", "--no-gang", "--", "/bin/sh", "-c",
                              "cat; exit 0"], env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.children.append(p)
        found = {}
        end = time.time() + 30
        while len(found) < 2 and time.time() < end:     # the shell and its child
            r = subprocess.run([USF, "ps", "-i", self.instance, "--json"], env=self.env, capture_output=True, text=True, timeout=60)
            for i in json.loads(r.stdout) if r.returncode == 0 else []:       # not there yet
                found = {q["name"]: (q["weight"], q["priority"], q["no_gang"]) for q in i["processes"]}
        self.assertEqual(set(found.values()), {(250, -7, True)}, found)
        self.usf("policy", "priority", str(p.pid), "-9")
        self.assertEqual((self.record(p)["priority"], self.record(p)["weight"]), (-9, 250))

    def test_a_hint_of_its_own_counts(self):
        code = "import os, sys\nos.sched_setaffinity(0, {%d, %d})\nfor l in sys.stdin: print('cpus=%%d' %% len(os.sched_getaffinity(0)), flush=True)" % tuple(CPUS)
        p = self.start(sys.executable, "-c", code, weight=1)
        self.assertEqual(self.ask(p)["cpus"], 2)


def add(name, program):
    for what in ("follows", "left_alone", "set_by_user", "switched"):
        setattr(Case, "test_%s_%s" % (name, what), lambda self, what=what: getattr(self, what)(program))


if __name__ == "__main__":
    signal.alarm(110)
    seed = int(os.environ.get("SEED", time.time_ns() % (1 << 30)))
    print("seed", seed, file=sys.stderr)
    random.seed(seed)
    if len(CPUS) < 2 or (GCC == "-" and CLANG == "-"):
        print("skipped: needs two CPUs and an OpenMP compiler")
        sys.exit(77)
    for compiler, program in (("libgomp", GCC), ("libomp", CLANG)):
        if program != "-":
            add(compiler, program)
    unittest.main(argv=sys.argv[:1])
