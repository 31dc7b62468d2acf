# python/usf/tune/model.py - what runs say of candidates that were not measured.  SPDX-License-Identifier: Apache-2.0
"""A Gaussian process over the space: neighbours of an ordered parameter are alike, the more the nearer. Length scales and noise are those of a few
that make the runs most likely. For searches of few runs: a fit takes time with the cube of their number. No library is needed."""
import itertools
import math

_LENGTHS = (0.15, 0.4, 1.0)     # of an ordered parameter, whose values are 0 to 1
_ALIKE = (0.2, 0.6, 0.9)        # correlation of two values of a parameter without order
_NOISE = (0.02, 0.1, 0.3)       # standard deviation of a run, to that of all scores


def _cholesky(a):
    """The lower triangle; None: it has none."""
    n = len(a)
    low = [[0.0] * n for _ in range(n)]
    for i in range(n):
        row = low[i]
        for j in range(i + 1):
            other = low[j]
            rest = a[i][j] - sum(map(float.__mul__, row[:j], other[:j]))
            if i == j:
                if rest <= 1e-12:
                    return None
                row[i] = math.sqrt(rest)
            else:
                row[j] = rest / other[j]
    return low


def _forward(low, b):
    x = []
    for i, row in enumerate(low):
        x.append((b[i] - sum(map(float.__mul__, row[:i], x))) / row[i])
    return x


def _backward(low, b):
    n = len(low)
    x = [0.0] * n
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - sum(low[k][i] * x[k] for k in range(i + 1, n))) / low[i][i]
    return x


def _normal(z):
    return math.exp(-z * z / 2) / math.sqrt(2 * math.pi), (1 + math.erf(z / math.sqrt(2))) / 2


def expected_gain(best, mean, deviation):
    """How much a value is below `best`, in the mean over its distribution."""
    if deviation <= 0:
        return max(0.0, best - mean)
    z = (best - mean) / deviation
    density, below = _normal(z)
    return (best - mean) * below + deviation * density


class Model:
    """space, and scores: a dict of points and what a run of each has cost. At least two."""

    def __init__(self, space, scores):
        self._space = space
        self._free = space.free
        self.points = list(scores)
        values = list(scores.values())
        self._log = min(values) > 0
        values = [math.log(v) for v in values] if self._log else values
        self._centre = sum(values) / len(values)
        self._scale = math.sqrt(sum((v - self._centre) ** 2 for v in values) / len(values)) or 1.0
        self.y = [(v - self._centre) / self._scale for v in values]
        self._fit()

    def _far(self, a, b):
        """For each parameter: the square of the distance, or whether they differ."""
        found = []
        for i in self._free:
            p = self._space.parameters[i]
            found.append(((a[i] - b[i]) / max(1, len(p.values) - 1)) ** 2 if p.ordered else float(a[i] != b[i]))
        return found

    def _alike(self, far, scales):
        """Correlation: Matern's with 3/2, as times have bends, where one context or another is the slowest."""
        square, other = 0.0, 1.0
        for i, d, s in zip(self._free, far, scales):
            if self._space.parameters[i].ordered:
                square += d / (s * s)
            elif d:
                other *= s
        r = math.sqrt(3 * square)
        return other * (1 + r) * math.exp(-r)

    def _likelihood(self, far, scales, noise):
        n = len(self.y)
        k = [[self._alike(far[i][j], scales) for j in range(i + 1)] for i in range(n)]
        for i in range(n):
            k[i][i] += noise * noise
        low = _cholesky(k)
        if low is None:
            return -math.inf, None, None
        half = _forward(low, self.y)
        return -sum(h * h for h in half) / 2 - sum(math.log(row[i]) for i, row in enumerate(low)), low, half

    def _fit(self):
        far = [[self._far(a, b) for b in self.points[:i + 1]] for i, a in enumerate(self.points)]
        choices = [_LENGTHS if self._space.parameters[i].ordered else _ALIKE for i in self._free]
        many = len(self._free) > 3
        best = -math.inf
        # With many parameters all have the same scale: combinations of scales would be too many.
        for scales in [tuple(c[i] for c in choices) for i in range(3)] if many else itertools.product(*choices):
            for noise in _NOISE:
                likelihood, low, half = self._likelihood(far, scales, noise)
                if likelihood > best:
                    best, self._scales, self._low, self.noise = likelihood, scales, low, noise
                    self._weights = _backward(low, half)

    def alike(self, a, b):
        """Correlation of two candidates."""
        return self._alike(self._far(a, b), self._scales)

    def at(self, point):
        """Mean and deviation of a score that is not measured, in the model's own unit."""
        k = [self.alike(point, p) for p in self.points]
        half = _forward(self._low, k)
        return sum(map(float.__mul__, k, self._weights)), math.sqrt(max(0.0, 1 - sum(h * h for h in half)))

    def without(self, index):
        """The same of points[index], from the others; and what was measured there."""
        n = len(self.y)
        column = _backward(self._low, _forward(self._low, [float(i == index) for i in range(n)]))
        return self.y[index] - self._weights[index] / column[index], math.sqrt(1 / column[index]), self.y[index]

    def best(self):
        """The least mean of those that were measured."""
        return min(self.at(p)[0] for p in self.points)
