#!/usr/bin/python3
# tests/tune/test_engine.py - what a search does whatever its strategy.  SPDX-License-Identifier: Apache-2.0
import sys
import unittest

from common import instance, tune
from surfaces import REPEATS, SURFACES, noisy


class Engine(unittest.TestCase):
    def test_grid(self):
        """All candidates, as often as wished, in rounds."""
        order = []
        space = tune.Space({"a": [1, 2, 3], "b": ["x", "y"]})
        result = tune.search(space, lambda c: order.append((c["a"], c["b"])) or c["a"], strategy="grid", repeats=3)
        self.assertEqual((result.runs, result.best["a"], result.value), (18, 1, 1.0))
        for round_ in range(3):
            self.assertEqual(len(set(order[6 * round_:6 * round_ + 6])), 6)
        self.assertNotEqual(order[:6], order[6:12])

    def test_median_beats_a_lucky_run(self):
        runs = {1: iter([1, 9, 9]), 2: iter([5, 5, 5])}
        result = tune.search(tune.Space({"n": [1, 2]}), lambda c: next(runs[c["n"]]), strategy="grid", repeats=3)
        self.assertEqual((result.best, result.value), ({"n": 2}, 5))

    def test_maximize(self):
        result = tune.search(tune.Space({"n": range(30)}), lambda c: -(c["n"] - 17) ** 2, maximize=True, budget=40)
        self.assertEqual((result.best, result.value), ({"n": 17}, 0))

    def test_budget(self):
        space = tune.Space({"n": range(100)})
        for strategy in "grid", "halving":
            self.assertLessEqual(tune.search(space, lambda c: c["n"], budget=17, strategy=strategy).runs, 17)
        self.assertEqual(tune.search(space, lambda c: c["n"], budget=1).runs, 1)
        self.assertLessEqual(tune.search(space, lambda c: c["n"]).runs, 60)

    def test_small_spaces(self):
        self.assertEqual(tune.search(tune.Space({"n": [3]}), lambda c: 1.0).best, {"n": 3})
        self.assertEqual(tune.search(tune.Space({"n": [1, 2]}), lambda c: c["n"]).runs, 6)

    def test_everything_fails(self):
        def objective(c):
            raise RuntimeError("broken %d" % c["n"])
        with self.assertRaisesRegex(tune.TuneError, r"all \d+ candidates that were measured fail; .*RuntimeError: broken"):
            tune.search(tune.Space({"n": range(50)}), objective)

    def test_mistakes(self):
        space = tune.Space({"n": [1, 2]})
        for words, more in ("no search 'hill'", {"strategy": "hill"}), ("repeats", {"repeats": 0}), ("budget", {"budget": 0}), ("budget", {"seconds": 0}), \
                           ("hopeless", {"hopeless": 1}):
            with self.assertRaisesRegex(tune.TuneError, words):
                tune.search(space, lambda c: 1, **more)

    def test_bayes_without_optuna(self):
        from unittest import mock
        with mock.patch.dict(sys.modules, {"optuna": None}), self.assertRaisesRegex(tune.TuneError, r"pip install 'usf\[tune\]'"):
            tune.search(tune.Space({"n": [1, 2]}), lambda c: 1, strategy="bayes")

    def test_noise_is_reported(self):
        space, function = SURFACES["overlapping by 3"]
        result = tune.search(space, noisy(function, 3), strategy="grid", repeats=REPEATS)
        self.assertTrue(0.002 < result.noise < 0.08, result.noise)


instance.main(60)
