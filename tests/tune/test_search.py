#!/usr/bin/python3
# tests/tune/test_search.py - strategies on objectives of known shapes.  SPDX-License-Identifier: Apache-2.0
import math
import sys
import unittest

from common import instance, tune
from surfaces import SMALL, SURFACES, compare, noisy

STRATEGY = sys.argv.pop(1)      # halving or bayes
SEEDS = range(9 if STRATEGY == "halving" else 5)
SMALL_SEEDS = range(20 if STRATEGY == "halving" else 10)


def missing():
    if STRATEGY != "bayes":
        return None
    try:
        import optuna  # noqa: F401
    except ImportError:
        return "optuna is neither in .venv nor in this Python"
    return None


@unittest.skipIf(missing(), missing())
class Against(unittest.TestCase):
    """Within 3 % of the best candidate there is, which the grid can at most find, in a fifth of the grid's runs."""

    def test_surfaces(self):
        for name in SURFACES if STRATEGY == "halving" else [name for name in SURFACES if name != "overlapping"]:
            with self.subTest(surface=name):
                worse, within, fraction = compare(name, STRATEGY, SEEDS)
                self.assertLessEqual(worse, 0.03)
                self.assertGreaterEqual(within, 0.6)
                self.assertLessEqual(fraction, 0.2)

    def test_small_grids(self):
        """A dozen runs, in which a disturbed one may hide the best candidate: most seeds find it. (A fifth of such a grid would be fewer runs.)"""
        found = [compare(name, STRATEGY, SMALL_SEEDS)[1] for name in SMALL]
        self.assertGreaterEqual(sum(found) / len(found), 0.8)
        self.assertGreaterEqual(min(found), 0.45)

    def test_a_seed_repeats(self):
        space, function = SURFACES["overlapping by 3"]
        first, second = (tune.search(space, noisy(function, 1), strategy=STRATEGY, seed=5) for _ in range(2))
        self.assertEqual([(o.point, [r.value for r in o.runs]) for o in first.outcomes], [(o.point, [r.value for r in o.runs]) for o in second.outcomes])

    def test_constraints_hold(self):
        space = tune.Space({"a": range(1, 9), "b": range(1, 9), "c": ["x", "y"]}, where=["a * b <= 16", "c == 'x' or a > 2"])
        seen = []
        tune.search(space, lambda c: seen.append(c) or c["a"] + c["b"], strategy=STRATEGY)
        self.assertEqual([c for c in seen if c["a"] * c["b"] > 16 or (c["c"] == "y" and c["a"] <= 2)], [])

    def test_failing_candidates_are_passed_over(self):
        def objective(c):
            if c["n"] < 12:
                raise tune.Failed("too few")
            return c["n"] if c["n"] != 15 else math.nan
        result = tune.search(tune.Space({"n": range(1, 41)}), objective, strategy=STRATEGY)
        self.assertGreaterEqual(result.best["n"], 12)
        self.assertEqual({o.status for o in result.outcomes if o.candidate["n"] < 12} - {"failed"}, set())
        self.assertTrue(all(len(o.runs) == 1 for o in result.outcomes if o.excluded))


instance.main(170)
