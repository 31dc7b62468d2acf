#!/usr/bin/python3
# bench/test_policies.py - policies.py computes what it says, from what programs print.  SPDX-License-Identifier: Apache-2.0
"""Nothing here needs usf or the built workloads: the programs of the build folder are small shell scripts."""
import contextlib
import io
import json
import os
import signal
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import policies  # noqa: E402

FAKES = {
    "bench/policy-bench": """if [ "$1" = scale ]; then
  echo "fl       1 threads, without a lock:  12.8 ns of CPU time per pick and enqueue,   50.0 million per second"
  echo "fl       2 threads, without a lock:  13.0 ns of CPU time per pick and enqueue,  100.0 million per second"
else
  echo "coop     2 cores   8 processes: ready  61.0 ns, yielding  37.4 ns per switch"
  echo "fl     256 cores 512 processes: ready  20.0 ns, yielding  21.0 ns per switch"
fi""",
    "usf-sim": """for w; do case $w in core:*) n=${w#core:};; esac; done
echo "{\\"runs\\": [{\\"makespan_ns\\": $((16000 / n + n * 20))}]}" """,
    "usf": """if [ "$1" = policy ]; then
  echo '{"slot_changes": {"count": 100, "mean_ns": 50000, "longest_ns": 1200000, "over_1ms": 2}}'; exit 0
fi
while [ "$1" != -- ]; do shift; done
shift
FAKE_UNDER_USF=1 exec "$@" """,
    "bench/barrier": 'echo "begin bench=barrier work=1 unit=u"; echo "result bench=barrier rate=1 unit=u/s seconds=1 ok=1 loops_per_us=700"',
    "bench/omp_share-gomp": 'echo "begin bench=share work=1 unit=u"; echo "result bench=share rate=100 unit=u/s seconds=1 ok=1 cpu=0.5 width=2"',
    "bench/omp_share-libomp": 'echo "begin bench=share work=1 unit=u"; echo "result bench=share rate=100 unit=u/s seconds=1 ok=1 cpu=0.5 width=2"',
    "bench/hack": """echo "begin bench=hack work=1 unit=u"
if [ "$FAKE_UNDER_USF" ]; then echo "result bench=hack rate=300 unit=u/s seconds=1 ok=$FAKE_OK switches=10"
else echo "result bench=hack rate=200 unit=u/s seconds=1 ok=1 switches=40"; fi""",
}


class Policies(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory(prefix="usf-test-policies-")
        self.addCleanup(self.dir.cleanup)
        os.mkdir(os.path.join(self.dir.name, "bench"))
        for name, script in FAKES.items():
            path = os.path.join(self.dir.name, name)
            with open(path, "w", encoding="utf-8") as f:
                f.write("#!/bin/sh\n" + script + "\n")
            os.chmod(path, 0o755)
        os.environ["FAKE_OK"] = "1"

    def run_it(self, *names):
        argv, sys.argv = sys.argv, ["policies.py", *names, "--small", "--seconds", "0.1", "--build", self.dir.name, "--out", self.dir.name]
        later, policies.LATER_S = policies.LATER_S, 0.05
        try:
            with contextlib.redirect_stdout(io.StringIO()) as out:
                status = policies.main()
        finally:
            sys.argv, policies.LATER_S = argv, later
        self.assertEqual(status, 0)
        rows = {}
        for name in names:
            with open(os.path.join(self.dir.name, f"policies-{name}.json"), encoding="utf-8") as f:
                rows[name] = json.load(f)["rows"]
            self.assertTrue(os.path.getsize(os.path.join(self.dir.name, f"policies-{name}.md")))
        return rows, out.getvalue()

    def test_jain(self):
        self.assertEqual(policies.jain([3, 3, 3]), 1)
        self.assertEqual(policies.jain([1, 0]), 0.5)
        self.assertEqual(policies.jain([0, 0]), 0)

    def test_costs_and_their_targets(self):
        rows, out = self.run_it("costs")
        self.assertEqual([(r["policy"], r["cores"], r["processes"], r["ready ns"], r["met"]) for r in rows["costs"]],
                         [("coop", 2, 8, 61.0, False), ("fl", 256, 512, 20.0, True)])
        self.assertIn("1 rows do not meet their target", out)

    def test_scale(self):
        rows, _ = self.run_it("scale")
        threads = [r for r in rows["scale"] if r["what"] == "threads, without a lock"]
        self.assertEqual([(r["at once"], r["times one"]) for r in threads], [(1, 1.0), (2, 2.0)])
        cores = {r["at once"]: r for r in rows["scale"] if r["what"].startswith("simulated")}
        self.assertAlmostEqual(cores[2]["times one"], 16020 / 8040)
        self.assertEqual((cores[4]["met"], cores[16]["met"]), (True, False))

    def test_shares_and_switch(self):
        rows, _ = self.run_it("shares", "switch")
        self.assertTrue(all(r["Jain, work"] == 1 for r in rows["shares"]))
        self.assertEqual({r["met"] for r in rows["shares"] if r["policy"].startswith(("equi", "gang"))}, {True})
        self.assertEqual([(r["programs"], r["longest us"], r["met"]) for r in rows["switch"]],
                         [(2, 1200.0, False), (3, 1200.0, False), (4, 1200.0, False)])

    def test_hack_compares_with_linux(self):
        rows, _ = self.run_it("hack")
        fl = [r for r in rows["hack"] if r["policy"] == "fl"]
        self.assertEqual({(r["speed / Linux"], r["switches / Linux"], r["met"]) for r in fl}, {(1.5, 0.25, True)})

    def test_a_wrong_result_is_an_error(self):
        os.environ["FAKE_OK"] = "0"
        with self.assertRaises(policies.Failed):
            self.run_it("hack")


if __name__ == "__main__":
    signal.alarm(120)
    unittest.main()
