# python/usf/tune/state.py - what a search knows.  SPDX-License-Identifier: Apache-2.0
import math
import random
import statistics

SMALL = 12                      # runs: a search that may have fewer cannot tell much


class Outcome:
    """A candidate and its runs."""

    __slots__ = ("point", "candidate", "runs", "sign", "_score")

    def __init__(self, point, candidate, sign):
        self.point = point
        self.candidate = candidate
        self.sign = sign
        self.runs = []
        self._score = math.inf

    def add(self, run):
        self.runs.append(run)
        self._score = self._median()

    @property
    def values(self):
        return [r.value for r in self.runs if r.ok]

    @property
    def excluded(self):
        """It does not work: one failed run is enough."""
        return any(r.excluded for r in self.runs)

    @property
    def score(self):
        """What strategies minimise: the median. A run that was ended as hopeless counts as slower than all others."""
        return self._score

    def _median(self):
        if self.excluded:
            return math.inf
        ordered = sorted(self.sign * r.value if r.ok else math.inf for r in self.runs)
        middle = len(ordered) // 2
        if len(ordered) % 2 or math.isinf(ordered[middle]):
            return ordered[middle - (len(ordered) % 2 == 0)]
        return (ordered[middle - 1] + ordered[middle]) / 2

    @property
    def status(self):
        if self.excluded:
            return next(r.status for r in self.runs if r.excluded)
        return "ok" if self.values else "hopeless"


class State:
    """Shared by the engine and a strategy. Everything here follows from the seed and the runs, in their order."""

    def __init__(self, space, repeats, seed, runs=None, seconds=None, sign=1):
        self.space = space
        self.repeats = repeats
        self.random = random.Random(seed)
        self.seed = seed
        self.sign = sign
        self.runs_allowed, self.seconds_allowed = runs, seconds
        self.nr_runs, self.seconds = 0, 0.0
        self.outcomes = {}

    def note(self, point, run):
        outcome = self.outcomes.get(point)
        if outcome is None:
            outcome = self.outcomes[point] = Outcome(point, self.space.candidate(point), self.sign)
        outcome.add(run)
        self.nr_runs += 1
        self.seconds += run.seconds

    def left(self):
        """Runs that the budget still allows: by their number, or by their time so far."""
        left = math.inf if self.runs_allowed is None else self.runs_allowed - self.nr_runs
        if self.seconds_allowed is None:
            return left
        if self.seconds >= self.seconds_allowed:
            return 0
        each = self.seconds / self.nr_runs if self.nr_runs else 0
        return min(left, max(1, int((self.seconds_allowed - self.seconds) / each))) if each > 0 else left

    def ranked(self):
        """Candidates that work, the best first. Ties go to the one with more runs, then to the first in the space."""
        good = [o for o in self.outcomes.values() if o.score < math.inf]
        return sorted(good, key=lambda o: (o.score, -len(o.runs), o.point))

    def best_score(self):
        return min((o.score for o in self.outcomes.values()), default=math.inf)

    def noise(self):
        """How far runs of one candidate lie apart: their usual deviation from its median, as a fraction. None: not known."""
        off = []
        for o in self.outcomes.values():
            values = o.values
            middle = statistics.median(values) if len(values) > 1 else 0
            if middle:
                off += [abs(v - middle) / abs(middle) for v in values]
        # 1.4826: from the median deviation to the standard deviation. One value of each candidate is its median, or nearly.
        return 1.4826 * statistics.median(off) if off else None

    def chosen(self):
        """The best of the candidates that were repeated as often as any: a lucky first run does not win. None: none works."""
        good = self.ranked()
        most = min(self.repeats, max((len(o.runs) for o in good), default=0))
        return next((o for o in good if len(o.runs) >= most), None)

    # ---- what strategies share --------------------------------------------------------------------
    def unmeasured(self, point):
        return point in self.space and point not in self.outcomes

    def nearest_unmeasured(self, point, taken=()):
        """The candidate nearest to a point that may not be one. None: all are measured."""
        if self.unmeasured(point) and point not in taken:
            return point
        best, at = None, math.inf
        for p in self.sample(4000):
            if p not in self.outcomes and p not in taken:
                d = self.space.distance(p, point)
                if d < at or (d == at and self.random.random() < 0.5):
                    best, at = p, d
        return best

    def sample(self, most):
        """All candidates, or so many of them where there are more."""
        points = self.space.points
        return points if len(points) <= most else self.random.sample(points, most)

    def spread(self, count):
        """So many unmeasured candidates that cover the space evenly: a Halton sequence with a random shift."""
        picked, taken = [], set()
        shift = [self.random.random() for _ in self.space.free]
        for i in range(1, count + 1):
            u = [(_halton(i, prime) + s) % 1.0 for prime, s in zip(_primes(len(shift)), shift)]
            point = self.nearest_unmeasured(self.space.quantile(u), taken)
            if point is None:
                break
            picked.append(point)
            taken.add(point)
        self.random.shuffle(picked)
        return picked

    def finish(self, finalists):
        """Batches that bring the best candidates to as many runs as the grid has, so that medians are compared with medians.
        They take turns, so that a slow phase of the machine hits all of them."""
        for _ in range(self.repeats * finalists):
            short = [o for o in self.ranked()[:finalists] if len(o.runs) < self.repeats]
            if not short:
                return
            batch = [o.point for o in short]
            self.random.shuffle(batch)
            yield batch


def _halton(i, base):
    x, f = 0.0, 1.0
    while i:
        f /= base
        x += f * (i % base)
        i //= base
    return x


def _primes(n):
    found, candidate = [], 2
    while len(found) < n:
        if all(candidate % p for p in found):
            found.append(candidate)
        candidate += 1
    return found
