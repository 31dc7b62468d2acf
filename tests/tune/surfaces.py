# tests/tune/surfaces.py - objectives of known shapes, with noise.  SPDX-License-Identifier: Apache-2.0
import math
import random
import statistics

from common import tune


def work(total, parallel, n):
    """Amdahl's time on n CPUs, with a cost for each."""
    return total * (1 - parallel + parallel / n) + 0.02 * n


def overlapping(c):
    """Two trainings at once on 24 CPUs, as in the VLC paper's heat map; CPUs that both have cost."""
    over = max(0, c["a"] + c["b"] - 24) / 24
    return max(work(10, .95, c["a"]), work(26, .97, c["b"])) * (1 + 1.5 * over)


def program(c):
    """Threads, policy and an option; the best number of threads depends on the policy."""
    policy = {"coop": 1, "fl": 1.08, "equi": 1.15, "fifo": 1.3, "gang": 1.05}[c["policy"]]
    poll = {0: 1.12, 50: 1.0, 200: 1.03, 1000: 1.2}[c["poll"]]
    return (1 + 0.02 * (c["n"] - (6 if c["policy"] == "gang" else 9)) ** 2) * policy * poll + 0.3


def valley(c):
    """Only the product of the two matters, nearly."""
    return 1 + abs(math.log2(c["a"] * c["b"] / 48)) * .5 + 0.004 * abs(c["a"] - 12) ** 1.2


def steps(c):
    """Work in chunks: plateaus and jumps."""
    return math.ceil(64 / (c["n"] * c["chunk"])) * c["chunk"] * 0.1 + 0.05 * c["n"] + 0.3 * math.ceil(c["chunk"] / 8)


def decoy(c):
    """A wide basin that is 15 % worse than a narrow one elsewhere."""
    a, b = c["a"], c["b"]
    return min(1.15 + 0.002 * ((a - 4) ** 2 + (b - 5) ** 2), 1.0 + 0.03 * ((a - 15) ** 2 + (b - 14) ** 2))


def three(c):
    """24 CPUs divided among three."""
    return max(work(10, .9, c["x"]), work(20, .95, c["y"]), work(5, .99, c["z"]))


SURFACES = {
    "overlapping": (tune.shares(["a", "b"], 24, overlap=True), overlapping),
    "overlapping by 3": (tune.shares(["a", "b"], 24, step=3, overlap=True), overlapping),
    "program": (tune.Space({"n": range(1, 17), "policy": ["coop", "fl", "equi", "fifo", "gang"], "poll": [0, 50, 200, 1000]}), program),
    "valley": (tune.Space({"a": range(1, 17), "b": range(1, 17)}), valley),
    "steps": (tune.Space({"n": range(1, 17), "chunk": range(1, 17)}), steps),
    "decoy": (tune.Space({"a": range(20), "b": range(20)}), decoy),
    "three": (tune.shares(["x", "y", "z"], 24), three),
}
# Grids of fewer than 60 runs, or not many more.
SMALL = {
    "curve": (tune.Space({"n": range(1, 17)}), lambda c: 1 + .02 * (c["n"] - 9) ** 2),
    "amdahl": (tune.Space({"n": range(1, 25)}), lambda c: work(20, .97, c["n"])),
    "two of 24": (tune.shares(["a", "b"], 24), overlapping),
    "two of 12": (tune.shares(["a", "b"], 12), lambda c: max(10 / c["a"], 30 / c["b"])),
    "three of 8": (tune.shares(["x", "y", "z"], 8), lambda c: max(5 / c["x"], 9 / c["y"], 3 / c["z"])),
    "threads, option": (tune.Space({"n": [1, 2, 4], "p": ["x", "y", "z"]}), lambda c: (1 + abs(c["n"] - 2) * .2) * {"x": 1, "y": 1.1, "z": 1.3}[c["p"]]),
    "threads, policy": (tune.Space({"n": [1, 2, 4, 8], "p": ["x", "y", "z"]}), lambda c: (1 + abs(math.log2(c["n"] / 4)) * .3) * {"x": 1, "y": 1.07, "z": 1.2}[c["p"]]),
    "few steps": (tune.Space({"n": range(1, 9), "chunk": [1, 2, 4, 8, 16]}), steps),
}
REPEATS = 3


def noisy(function, seed):
    """2 % of noise, and every twentieth run is disturbed by half as much again."""
    r = random.Random(seed)
    return lambda c: function(c) * math.exp(r.gauss(0, .02)) * (1.5 if r.random() < .05 else 1)


def compare(name, strategy, seeds):
    """(worse, within, fraction): by how much the choice is worse than the best there is, in the median over the seeds, without the noise;
    the part of the seeds whose choice is within 3 %; the largest part of the grid's runs."""
    space, function = SURFACES[name] if name in SURFACES else SMALL[name]
    best = min(function(space.candidate(p)) for p in space.points)
    worse, fractions = [], []
    for seed in seeds:
        result = tune.search(space, noisy(function, 1000 + seed), strategy=strategy, seed=seed, repeats=REPEATS)
        worse.append(function(result.best) / best - 1)
        fractions.append(result.runs / (len(space) * REPEATS))
    within = sum(w < .03 + 1e-9 for w in worse) / len(worse)
    print("%-8s %-17s %4d candidates, %4d of the grid's %4d runs: %.1f %% worse than the best (median), %.1f %% (worst seed); %.0f %% of seeds within 3 %%" % (
        strategy, name, len(space), max(fractions) * len(space) * REPEATS + .5, len(space) * REPEATS, 100 * statistics.median(worse), 100 * max(worse), 100 * within))
    return statistics.median(worse), within, max(fractions)
