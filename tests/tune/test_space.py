#!/usr/bin/python3
# tests/tune/test_space.py - spaces, shares, constraints, values, profiles.  SPDX-License-Identifier: Apache-2.0
import itertools
import math
import random
import tomllib
import unittest

from common import Case, instance, tune
from usf.tune import toml, vary
from usf.tune.model import Model, expected_gain


class Spaces(unittest.TestCase):
    def test_all_ways_to_divide(self):
        space = tune.shares(["a", "b", "c"], 8)
        ways = {tuple(space.candidate(p).values()) for p in space.points}
        self.assertEqual(len(ways), math.comb(7, 2))
        self.assertTrue(all(sum(w) == 8 and min(w) >= 1 for w in ways))

    def test_steps_and_overlap(self):
        space = tune.shares(["a", "b"], 24, step=3, overlap=True)
        self.assertEqual(len(space), 64)            # as in the VLC paper
        space = tune.shares(["a", "b"], "0-5,8", step=3)
        self.assertEqual([tuple(space.candidate(p).values()) for p in space.points], [(3, 4), (6, 1)])
        self.assertEqual(len(tune.shares(["a"], 4)), 1)

    def test_shares_that_cannot_be(self):
        for arguments in (["a", "b"], 1), (["a", "b", "c"], 6, 3), ([], 4), (["a"], "3-1"), (["a", "a"], 4):
            with self.assertRaises(tune.TuneError):
                tune.shares(*arguments)
        with self.assertRaisesRegex(tune.TuneError, "larger step"):
            tune.shares(["a", "b", "c", "d", "e"], 256)

    def test_a_place_for_each_candidate(self):
        for space in tune.shares(["a", "b", "c"], 9), tune.Space({"a": range(5), "b": range(5)}, where=["a + b > 6"]), tune.Space({"n": [1]}), \
                tune.shares(["a", "b"], 6, vary=[tune.Parameter("n", [1, 2])]):
            size = 1000 if len(space.free) == 1 else 60
            found = {}
            for place in itertools.product(*([(i + .5) / size for i in range(size)] for _ in space.free)):
                found.setdefault(space.quantile(place), []).append(place)
            self.assertEqual(set(found), set(space.points))
            shares = [len(v) / size ** len(space.free) * len(space) for v in found.values()]
            self.assertTrue(all(.7 < s < 1.4 for s in shares), shares)       # each has as much room, but for rounding

    def test_distances_of_divided_cpus(self):
        space = tune.shares(["a", "b"], 8)
        self.assertEqual([space.steps((0, 6), (i, 6 - i)) for i in range(7)], list(range(7)))
        self.assertEqual(space.distance((0, 6), (6, 0)), 1.0)

    def test_cpulists(self):
        self.assertEqual(tune.cpulists({"a": 2, "b": 6}, 8), {"a": "0-1", "b": "2-7"})
        self.assertEqual(tune.cpulists({"a": 3, "b": 3}, 4), {"a": "0-2", "b": "0-1,3"})
        self.assertEqual(tune.cpulists({"a": 1, "b": 2}, "2,5,9"), {"a": "2", "b": "5,9"})
        with self.assertRaises(tune.TuneError):
            tune.cpulists({"a": 5}, 4)

    def test_parameters(self):
        for name, values in ("", [1]), ("a b", [1]), ("x" * 70, [1]), ("n", []), ("n", [1, 1]), ("n", [None]), ("n", [math.inf]), ("1n", [1]):
            with self.assertRaises(tune.TuneError):
                tune.Space({name: values})
        with self.assertRaisesRegex(tune.TuneError, "combinations"):
            tune.Space({"a": range(2000), "b": range(2000)})

    def test_vary(self):
        for text, values in {"n=1,2,4": [1, 2, 4], "n=1:4": [1, 2, 3, 4], "n=2:9:3": [2, 5, 8], "n=1:20:*4": [1, 4, 16], "p=coop,fl": ["coop", "fl"],
                             "cpus=0;0-1;0,2": [0, "0-1", "0,2"], "f=0.5,0.25": [0.25, 0.5], "m=08,1": ["08", 1], "x=a=b": ["a=b"], "n=1:2,8": [1, 2, 8]}.items():
            self.assertEqual(vary.parse(text).values, values, text)
        self.assertTrue(vary.parse("n=1,2").ordered)
        self.assertFalse(vary.parse("p=coop,fl").ordered)
        for text in "n", "n=", "n=1,,2", "n=4:1", "n=1:9:0", "n=0:9:*2", "n=1:9:*1", "=1", "n=1:99999999":
            with self.assertRaises(tune.TuneError, msg=text):
                vary.parse(text)


class Models(unittest.TestCase):
    """What a few runs say of the others."""

    def test_between_neighbours(self):
        space = tune.Space({"n": range(21), "p": ["x", "y"]})
        function = lambda p: 2 + abs(p[0] - 12) * .1 + p[1] * .5
        model = Model(space, {(n, p): function((n, p)) for n in range(0, 21, 4) for p in (0, 1)})
        means = {p: model.at(p)[0] for p in space.points}
        self.assertEqual(min(means, key=means.get), (12, 0))
        self.assertLess(abs(means[12, 0] - model.best()), 1e-9)
        for n in range(13, 20):
            self.assertLess(means[n, 0], means[n + 1, 0])
            self.assertLess(means[n, 0], means[n, 1])
        self.assertLess(model.at((12, 0))[1], model.at((10, 0))[1])          # what was measured is known better

    def test_without_one(self):
        """The short way to leave one run out is the same as a model without it."""
        space = tune.Space({"n": range(10)})
        scores = {(0,): 3.0, (2,): 2.5, (4,): 1.9, (5,): 9.0, (7,): 2.6, (9,): 3.2}
        model = Model(space, scores)
        mean, deviation, value = model.without(3)
        rest = [i for i in range(6) if i != 3]
        k = [[model.alike(model.points[i], model.points[j]) + (model.noise ** 2 if i == j else 0) for j in rest] for i in rest]
        c = [model.alike(model.points[i], (5,)) for i in rest]
        y = [model.y[i] for i in rest]
        solved = solve(k, y)
        self.assertAlmostEqual(mean, sum(a * b for a, b in zip(c, solved)), 9)
        self.assertAlmostEqual(deviation ** 2, 1 + model.noise ** 2 - sum(a * b for a, b in zip(c, solve(k, c))), 9)
        self.assertEqual(value, model.y[3])
        self.assertGreater(value, mean + 2 * deviation)

    def test_expected_gain(self):
        self.assertEqual(expected_gain(1.0, 3.0, 0.0), 0.0)
        self.assertEqual(expected_gain(3.0, 1.0, 0.0), 2.0)
        self.assertAlmostEqual(expected_gain(0.0, 0.0, 1.0), 1 / math.sqrt(2 * math.pi))
        r = random.Random(1)
        drawn = sum(max(0.0, 1.0 - r.gauss(1.5, 2.0)) for _ in range(100000)) / 100000
        self.assertAlmostEqual(expected_gain(1.0, 1.5, 2.0), drawn, 1)


def solve(a, b):
    """Gauss, for what is small and well-conditioned."""
    n = len(b)
    rows = [[*row, x] for row, x in zip(a, b)]
    for i in range(n):
        for j in range(i + 1, n):
            f = rows[j][i] / rows[i][i]
            rows[j] = [x - f * y for x, y in zip(rows[j], rows[i])]
    x = [0.0] * n
    for i in reversed(range(n)):
        x[i] = (rows[i][n] - sum(rows[i][j] * x[j] for j in range(i + 1, n))) / rows[i][i]
    return x


class Constraints(unittest.TestCase):
    def count(self, *where):
        return len(tune.Space({"a": [1, 2, 3], "b": [1, 2, 3], "p": ["x", "y"], "run.topology-blind": ["on", "off"]}, where=where))

    def test_values(self):
        self.assertEqual(self.count("a * b <= 4"), 6 * 4)
        self.assertEqual(self.count("a < b <= 3 and p in ('x', 'z')"), 3 * 2)
        self.assertEqual(self.count("not (a == b or p == 'x')"), 6 * 2)
        self.assertEqual(self.count("a % 2 == 1", "max(a, b) - min(a, b) == 2", "abs(-a) // 1 > 0"), 2 * 4)
        self.assertEqual(self.count("run.topology_blind == 'on'"), 18)
        self.assertEqual(self.count("a / (b - 1) >= 1"), 5 * 4)             # where it cannot be computed, it does not hold

    def test_refused(self):
        for text in "a ** b", "a.b < 1", "__import__('os')", "(lambda: 1)()", "[x for x in (1,)]", "a if b else 1", "a << 3", "f'{a}'", "open", "a +", "", \
                    "min()", "min(a, key=b)", "().__class__", "a[0]", "a := 3", "'x' * 9", "p < 1", "1" + "+1" * 600, "(" * 300 + "a" + ")" * 300:
            with self.assertRaises(tune.TuneError, msg=text):
                self.count(text)
        with self.assertRaisesRegex(tune.TuneError, "no combination"):
            self.count("a > 3")


class Profiles(Case):
    def test_toml_means_what_toml_says(self):
        r = random.Random(instance.SEED)
        letters = "abc \"\\\n\t\r'=#[]{}\x01\x7f\u00e4\u20ac\U0001f600"
        for _ in range(300):
            table = {"k%d" % i: r.choice(["".join(r.choice(letters) for _ in range(r.randrange(12))), r.randrange(-9, 1 << 40), r.random() * 10 ** r.randrange(-30, 30),
                                          r.random() < .5, 1e300, -0.0]) for i in range(r.randrange(6))}
            text = toml.write({"run": table, "env": {}}, "comment\nof two lines")
            self.assertEqual(tomllib.loads(text), {"run": table, "env": {}}, text)
            self.assertEqual(toml.read_small(text), {"run": table, "env": {}}, text)

    def test_what_toml_cannot_have(self):
        for table in {"a b": 1}, {"k": "\0"}, {"k": "x" * 3000}, {"k": 1 << 70}, {"k": math.nan}, {"x" * 64: 1}:
            with self.assertRaises(ValueError):
                toml.write({"run": table})
        for text in "a", "[a]\n[a]", "a = 1\na = 2", "a = b", "a = \"\\q\"", "[a.b]":
            with self.assertRaises(ValueError, msg=text):
                toml.read_small(text)

    def test_save_and_load(self):
        space = tune.Space({"run.policy": ["coop", "fl"], "env.OMP_NUM_THREADS": [1, 2], "left": [1, 2, 3]})
        result = tune.search(space, lambda c: c["left"] + c["env.OMP_NUM_THREADS"] + (c["run.policy"] == "coop"), strategy="grid", repeats=1)
        result.save(self.path("p.toml"))
        p = tune.load(self.path("p.toml"))
        self.assertEqual((p.run, p.env, p.parameters), ({"policy": "fl"}, {"OMP_NUM_THREADS": "1"}, {"left": 1}))
        self.assertEqual((p.tuning["value"], p.tuning["runs"]), (2.0, 12))
        self.assertEqual(p.environ({"OMP_NUM_THREADS": "7", "A": "b"}), {"OMP_NUM_THREADS": "7", "A": "b"})
        for text, words in ("[ran]\n", "unknown section"), ("x", "profile "), ("policy = 'coop'", "unknown section or key"):
            self.write("bad.toml", text)
            with self.assertRaisesRegex(tune.TuneError, words):
                tune.load(self.path("bad.toml"))
        with self.assertRaisesRegex(tune.TuneError, "No such file"):
            tune.load(self.path("none.toml"))

    def test_an_unwritable_profile_leaves_the_old_one(self):
        result = tune.search(tune.Space({"n": [1]}), lambda c: 1)
        with self.assertRaisesRegex(tune.TuneError, "cannot write"):
            result.save(self.path("no/folder.toml"))


instance.main(60)
