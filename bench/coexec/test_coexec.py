#!/usr/bin/python3
# bench/coexec/test_coexec.py - the benchmarks compute what a serial program does; the driver counts what it should.
# SPDX-License-Identifier: Apache-2.0
"""test_coexec.py BUILD_DIR"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import coexec  # noqa: E402

BUILD = sys.argv.pop(1) if len(sys.argv) > 1 else "build"
CPUS = sorted(os.sched_getaffinity(0))


def run(argv, cpus=None, env=None):
    mask = (lambda: os.sched_setaffinity(0, cpus)) if cpus else None
    return subprocess.run(argv, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=60, check=False, preexec_fn=mask)


def benchmark(name):
    return os.path.join(BUILD, "bench", "coexec", f"coexec-{name}")


def sized(name):
    size, iterations = coexec.TINY[name]
    return [benchmark(name), "--size", str(size), "--iterations", str(iterations)]


class Benchmarks(unittest.TestCase):
    def test_results_are_the_serial_ones_on_one_and_on_two_cpus(self):
        for name in coexec.BENCHMARKS:
            with self.subTest(name=name):
                checksums = set()
                for cpus in [CPUS[:1], CPUS[:2]]:
                    done = run([*sized(name), "--check"], cpus)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    line = coexec.parse(done.stdout)
                    self.assertEqual((line["bench"], line["check"], line["cpus"]), (name, "ok", len(cpus)))
                    checksums.add(line["checksum"])
                self.assertEqual(len(checksums), 1)

    def test_misspelt_options_are_refused(self):
        for options in (["--sizes", "3"], ["--size", "0"], ["--size", "3x"], ["--size"], ["3"]):
            with self.subTest(options=options):
                done = run([benchmark("dot"), *options])
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertTrue(done.stderr)


class Partition(unittest.TestCase):
    def test_parts_are_equal_and_disjoint(self):
        self.assertEqual(coexec.partition([0, 1], 2, 0), [[0], [1]])
        self.assertEqual(coexec.partition([0, 1], 2, 1), [[1], [0]])
        self.assertEqual(coexec.partition(list(range(8)), 3, 0), [[0, 1, 2], [3, 4, 5], [6, 7]])
        self.assertEqual(coexec.partition(list(range(8)), 3, 1), [[6, 7], [0, 1, 2], [3, 4, 5]])

    def test_where_cpus_are_too_few_programs_share_them_in_turn(self):
        self.assertEqual([coexec.partition([4, 5], 3, shift) for shift in range(3)],
                         [[[4], [5], [4]], [[4], [4], [5]], [[5], [4], [4]]])


class Driver(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="usf-coexec-test-")
        self.addCleanup(shutil.rmtree, self.dir)
        self.out = os.path.join(self.dir, "out.json")

    def drive(self, *options, build=BUILD):
        return run([sys.executable, os.path.join(HERE, "coexec.py"), "--build", build, "--out", self.out, "--tiny", *options])

    def runs(self):
        with open(self.out, encoding="utf-8") as f:
            return json.load(f)["runs"]

    def test_one_pair_by_all_strategies_and_resume(self):
        strategies = list(coexec.STRATEGIES)
        options = ["--pairs", "--only", "dot,nbody"]
        done = self.drive(*options, "--repeat", "1")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        first = self.runs()
        self.assertEqual([(r["strategy"], r["status"], len(r["outputs"])) for r in first], [(s, "ok", 2) for s in strategies])
        self.assertIn("| dot + nbody |", done.stdout)
        for s in strategies:
            self.assertIn(f"| {s} |", done.stdout)
        done = self.drive(*options, "--repeat", "2", "--no-plot")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(f"{len(strategies)} runs are in", done.stderr)
        second = self.runs()
        self.assertEqual(second[:len(first)], first)
        self.assertEqual([r["repetition"] for r in second], [0] * len(strategies) + [1] * len(strategies))
        done = self.drive(*options, "--size", "dot=4096")
        self.assertEqual((done.returncode, self.runs()), (1, second))
        self.assertIn("other settings", done.stderr)

    def stand_in(self, **scripts):
        """A build folder whose benchmarks are shell scripts."""
        folder = os.path.join(self.dir, "bench", "coexec")
        os.makedirs(folder)
        for name in coexec.BENCHMARKS:
            path = os.path.join(folder, f"coexec-{name}")
            good = f"""echo '{{"bench": "{name}", "seconds": 0.1, "checksum": "1"}}'"""
            with open(path, "w", encoding="utf-8") as f:
                f.write(f"#!/bin/sh\n{scripts.get(name, good)}\n")
            os.chmod(path, 0o755)

    def test_what_fails_is_told_and_not_counted(self):
        self.stand_in(heat="echo broken >&2; kill -SEGV $$", dot="echo",
                      matmul=f"""[ -e {self.dir}/ran ] && n=2; touch {self.dir}/ran; echo "{{\\"bench\\": \\"matmul\\", """
                             """\\"seconds\\": 0.1, \\"checksum\\": \\"${n:-1}\\"}\"""")
        done = self.drive("--pairs", "--only", "nbody", "--repeat", "2", "--strategies", "exclusive", "--no-plot", build=self.dir)
        self.assertEqual(done.returncode, 1)
        by = {r["programs"][0] if r["programs"][1] == "nbody" else r["programs"][1]: r for r in self.runs()}
        self.assertEqual({name: r["status"] for name, r in by.items()},
                         {"matmul": "wrong", "dot": "failed", "heat": "failed", "hpccg": "ok", "cholesky": "ok", "hydro": "ok"})
        self.assertIn("broken", by["heat"]["reason"])
        self.assertIn("Not counted: heat+nbody exclusive 1: failed", done.stdout)
        self.assertIn("| nbody + cholesky |", done.stdout)
        self.assertNotIn("| heat + nbody |", done.stdout)

    def test_what_does_not_end_is_stopped(self):
        self.stand_in(hpccg="exec sleep 600")
        done = self.drive("--pairs", "--only", "hpccg,nbody", "--repeat", "1", "--strategies", "exclusive,idle", "--timeout", "0.5",
                          "--no-plot", build=self.dir)
        self.assertEqual(done.returncode, 1)
        for r in self.runs():
            self.assertIn(r["status"], ("hang", "cut"))

    def test_a_file_that_is_no_json_is_left_alone(self):
        with open(self.out, "w", encoding="utf-8") as f:
            f.write("{")
        done = self.drive("--pairs", "--only", "dot,nbody")
        self.assertEqual(done.returncode, 1)
        self.assertIn("is no JSON file", done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        with open(self.out, encoding="utf-8") as f:
            self.assertEqual(f.read(), "{")

    def test_the_score_is_the_least_time_over_the_strategys(self):
        results = coexec.Results(self.out, {})
        for strategy, times in {"exclusive": [3, 4, 9], "coop": [2, 2, 2]}.items():
            for i, t in enumerate(times):
                results.data["runs"].append({"programs": ["dot", "heat"], "strategy": strategy, "repetition": i, "status": "ok", "seconds": t})
        results.data["runs"].append({"programs": ["dot", "heat"], "strategy": "coop", "repetition": 3, "status": "failed", "seconds": 0.1})
        self.assertEqual(coexec.scores(results, [("dot", "heat")], ["exclusive", "coop"]),
                         {"exclusive": {("dot", "heat"): 0.5}, "coop": {("dot", "heat"): 1.0}})

    def test_all_combinations_are_listed(self):
        self.assertEqual(len(self.drive("--list").stdout.split()), 21 + 35)
        self.assertEqual(len(self.drive("--list", "--pairs").stdout.split()), 21)
        self.assertEqual(self.drive("--list", "--triples", "--only", "dot,heat,hydro").stdout.split(), ["dot+heat+hydro"])
        self.assertEqual(self.drive("--list", "--only", "dots").returncode, 2)


if __name__ == "__main__":
    if not os.path.exists(benchmark("dot")):
        print("the benchmarks are not built")
        sys.exit(77)
    signal.alarm(140)
    unittest.main()
