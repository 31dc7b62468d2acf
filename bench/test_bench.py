#!/usr/bin/python3
# bench/test_bench.py - the runner measures what it says.  SPDX-License-Identifier: Apache-2.0
"""Nothing here needs usf or the built workloads: programs and `usf` are small shell scripts."""
import importlib.machinery
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from usfbench import benches, configs, launch, machine, measure, report  # noqa: E402

FAKE_USF = """#!/bin/sh
# stands in for `usf run`: notes how it was called, runs the program
echo "$USF_INSTANCE $*" >>"$FAKE_LOG"
while [ "$1" != -- ]; do shift; done
shift
exec "$@"
"""


def sh(script):
    return launch.Command(["sh", "-c", script])


def program(script):
    return configs.Program(["sh", "-c", script])


def answer(rate, ok=1, begin=100):
    return f"echo begin bench=x work={begin} unit=u; echo result bench=x rate={rate} unit=u/s seconds=1 ok={ok}"


class Launch(unittest.TestCase):
    def test_ends(self):
        ended = launch.run([sh("echo hello; echo oops >&2")], 10)
        self.assertEqual((ended.status, ended.outputs, ended.errors), ("ok", ["hello\n"], "oops"))

    def test_fails(self):
        ended = launch.run([sh("exit 0"), sh("exit 3")], 10)
        self.assertEqual((ended.status, ended.exits), ("failed", [0, 3]))

    def test_idle_at_the_timeout_is_a_hang(self):
        ended = launch.run([sh("sleep 60")], 0.3)
        self.assertEqual(ended.status, "hang")
        self.assertLess(ended.seconds, 5)

    def test_busy_at_the_timeout_is_cut(self):
        self.assertEqual(launch.run([sh("while :; do :; done")], 1).status, "cut")

    def test_ignoring_sigterm_does_not_help(self):
        self.assertIn(launch.run([sh("trap '' TERM; while :; do sleep 0.01; done")], 0.3).status, ("cut", "hang"))
        self.assertEqual(launch.others(()), {})

    def test_orphans_are_found_named_and_killed(self):
        old = launch.LEAVE_S
        launch.LEAVE_S = 0.2
        self.addCleanup(setattr, launch, "LEAVE_S", old)
        ended = launch.run([sh("setsid sh -c 'sleep 50 & exec sleep 50' >/dev/null 2>&1 & exit 0")], 10)
        self.assertEqual(ended.status, "ok")
        self.assertEqual(ended.leftover, ["sleep", "sleep"])
        self.assertEqual(launch.others(()), {})

    def test_what_is_kept_lives(self):
        kept = subprocess.Popen(["sleep", "60"])
        try:
            launch.run([sh("sleep 60")], 0.2, keep={kept.pid})
            self.assertIsNone(kept.poll())
        finally:
            kept.send_signal(signal.SIGKILL)
            kept.wait()

    def test_together_or_one_by_one(self):
        together = launch.run([sh("sleep 1"), sh("sleep 1")], 10)
        in_turn = launch.run([sh("sleep 1"), sh("sleep 1")], 10, one_by_one=True)
        self.assertLess(together.seconds, in_turn.seconds)
        self.assertGreaterEqual(in_turn.seconds, 2)

    def test_cpu_time_of_descendants_is_counted(self):
        ended = launch.run([sh(f"{sys.executable} -c 'import time\nwhile time.process_time() < 0.2: pass'; true")], 60)
        self.assertGreater(ended.cpu_s, 0.19)


class Measure(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="usf-bench-test-")
        self.addCleanup(shutil.rmtree, self.dir)
        self.usf = os.path.join(self.dir, "usf")
        self.log = os.path.join(self.dir, "log")
        with open(self.usf, "w", encoding="utf-8") as f:
            f.write(FAKE_USF)
        os.chmod(self.usf, 0o755)
        os.environ["FAKE_LOG"] = self.log
        self.addCleanup(os.environ.pop, "FAKE_LOG")

    def run_plan(self, cells, grids=None, wanted=("linux", "usf-coop"), reps=1):
        plan = measure.Plan(cells, grids or {}, list(wanted))
        measure.execute(plan, reps, self.usf)
        return plan

    def test_rate_of_the_result_line(self):
        cell = measure.Cell({"n": 1}, [program(answer(42))], "u/s")
        plan = self.run_plan([cell], reps=3)
        self.assertEqual(plan.of(cell, "linux").rates, [42.0] * 3)
        self.assertEqual(plan.of(cell, "usf-coop").median(), 42.0)

    def test_each_run_has_an_instance_of_its_own_that_its_programs_share(self):
        cell = measure.Cell({"n": 1}, [program("true"), program("true")], "1/s", metric="makespan")
        self.run_plan([cell], wanted=["usf-coop"], reps=2)
        with open(self.log, encoding="utf-8") as f:
            calls = [line.split() for line in f]
        names = [c[0] for c in calls]
        self.assertEqual(len(names), 4)
        self.assertEqual(sorted(names.count(n) for n in set(names)), [2, 2])
        self.assertEqual(calls[0][1:5], ["run", "--policy", "coop", "--"])

    def test_wrong_results_are_not_speed(self):
        cell = measure.Cell({"n": 1}, [program(answer(42, ok=0))], "u/s")
        series = self.run_plan([cell], wanted=["usf-coop"]).series[0]
        self.assertEqual((series.median(), series.bad), (0.0, {"wrong": 1}))

    def test_a_cut_run_gives_a_bound(self):
        cell = measure.Cell({"n": 1}, [program(answer(1, begin=10).split(";")[0] + "; while :; do :; done")], "u/s", timeout=0.5)
        series = self.run_plan([cell], wanted=["linux"], reps=3).series[0]
        self.assertEqual(series.bad, {"cut": 1})  # not waited for again
        self.assertTrue(2 < series.bound <= 20, series.bound)  # 10 units in the 0.5 s it was given, or a little more
        self.assertEqual(report.show(series)[0], "<")

    def test_mostly_hanging_is_no_rate(self):
        series = measure.Series(None, "usf-coop", rates=[10.0], bad={"hang": 2})
        self.assertEqual(series.median(), 0.0)

    def test_median_and_spread(self):
        series = measure.Series(None, "linux", rates=[9.0, 10.0, 12.0])
        self.assertEqual((series.median(), series.spread()), (10.0, 0.3))

    def test_hand_tuning_names_its_winner(self):
        cell = measure.Cell({"n": 1}, [program(answer(5))], "u/s", group=("g",))
        grid = {("g",): [(str(r), measure.Cell({"s": r}, [program(answer(r))], "u/s")) for r in (3, 7, 6)]}
        plan = self.run_plan([cell], grid, ["linux", configs.TUNED, "usf-coop"])
        data = report.cell_json(plan, cell)
        self.assertEqual(data["configs"][configs.TUNED]["winner"], "7")
        self.assertAlmostEqual(report.ratio(data), 5 / 7)
        result = report.to_json("x", plan, [cell], machine.describe(HERE), {"reps": 1, "command": "c"})
        self.assertIn("| 1 | u/s |", report.to_markdown(result, plan, [cell]))

    def test_static_partition_confines_under_both(self):
        p = configs.Program(["true"], cpus="0")
        self.assertEqual(configs.CONFIGS["linux"].commands([p], "usf")[0].argv, ["taskset", "-c", "0", "true"])
        self.assertEqual(configs.CONFIGS["usf-coop"].commands([p], "usf")[0].argv,
                         ["usf", "run", "--policy", "coop", "-c", "0", "--", "true"])


class Benches(unittest.TestCase):
    def options(self, small):
        return benches.Options("/bin", "/bin/usf", "/usr/bin/python3", 2, 1000.0, small)

    def test_every_benchmark_has_cells_with_names_of_their_own(self):
        for name, make in benches.BENCHES.items():
            for small in (True, False):
                cells, grids = make(self.options(small))
                names = [c.name() for c in cells]
                self.assertTrue(names, name)
                self.assertEqual(len(names), len(set(names)), name)
                for cell in cells:
                    self.assertTrue(not cell.group or cell.group in grids, (name, cell.name()))

    def test_shares_cover_the_cpus_without_overlap(self):
        cpus = len(os.sched_getaffinity(0))
        parts = [set(p.split(",")) for p in benches.shares(cpus, cpus)]
        self.assertEqual(len(set.union(*parts)), cpus)
        self.assertTrue(all(benches.shares(cpus, cpus + 3)))


class CountTests(unittest.TestCase):
    def test_outcomes(self):
        path = os.path.join(os.path.dirname(HERE), "scripts", "run-tests")
        loader = importlib.machinery.SourceFileLoader("run_tests", path)
        module = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_tests", loader))
        loader.exec_module(module)
        self.assertEqual([module.outcome(r) for r in ("OK", "EXPECTEDFAIL", "SKIP", "FAIL", "TIMEOUT", "ERROR", "UNEXPECTEDPASS")],
                         ["passed", "passed", "skipped", "failed", "failed", "failed", "failed"])
        self.assertEqual(module.skip_reason({"stdout": "a\nwhy\n"}), "why")


if __name__ == "__main__":
    signal.alarm(120)
    sys.dont_write_bytecode = True
    launch.adopt_orphans()
    unittest.main()
