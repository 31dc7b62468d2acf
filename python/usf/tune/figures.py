# python/usf/tune/figures.py - what the plots show, without drawing it.  SPDX-License-Identifier: Apache-2.0
import math
import statistics

_RAMP = ((255, 247, 188), (254, 178, 76), (227, 74, 51), (122, 4, 60), (40, 0, 40))     # light is good, as in the VLC paper
_FAILED = "#bbbbbb"
WORST = 3.0                     # colours end at so many times the best


def number(value):
    return "%.4g" % value


def colour(f):
    """Of a fraction, 0 the best."""
    f = min(max(f, 0.0), 1.0) * (len(_RAMP) - 1)
    i = min(int(f), len(_RAMP) - 2)
    return "#%02x%02x%02x" % tuple(round(a + (b - a) * (f - i)) for a, b in zip(_RAMP[i], _RAMP[i + 1]))


def _influence(result, index):
    """How far the best scores of a parameter's values lie apart: what a map should have as its axes."""
    best = {}
    for o in result.outcomes:
        if o.score < math.inf:
            best[o.point[index]] = min(o.score, best.get(o.point[index], math.inf))
    return statistics.pstdev(best.values()) if len(best) > 1 else 0.0


class Heat:
    """The two parameters that matter most; a cell has the best candidate of all others' values."""

    def __init__(self, result):
        space = result.space
        varied = [i for i, p in enumerate(space.parameters) if len(p.values) > 1] or [0]
        rest = self._rest(space)
        if rest in varied and len(varied) > 1:
            varied.remove(rest)
        axes = sorted(sorted(varied, key=lambda i: -_influence(result, i))[:2])
        x, y = axes[0], axes[1] if len(axes) > 1 else None
        self._result = result
        self.sign = -1 if result.maximize else 1
        self.x_name, self.x_values = space.names[x], space.parameters[x].values
        self.y_name, self.y_values = ("", [""]) if y is None else (space.names[y], space.parameters[y].values)
        self.cells = {}
        for o in reversed(result.outcomes):         # so that the chosen one is the last, and wins a tie
            at = (o.point[x], 0 if y is None else o.point[y])
            if at not in self.cells or o.score <= self.cells[at].score or o is result.chosen:
                self.cells[at] = o
        self.best = (result.chosen.point[x], 0 if y is None else result.chosen.point[y])
        others = [space.names[i] for i in varied if i not in axes]
        self.title = "Heat map" + (": %s at their best" % ", ".join(others) if others else "")
        if rest is not None and len(space.shares["names"]) > 1:
            self.title += "; %s has the other CPUs" % space.shares["names"][-1]
        self.summary = "Best: %s. %s of %d candidates measured in %d runs, %.4g s; search %s." % (
            " ".join("%s=%s" % item for item in result.best.items()), len(result.outcomes), len(space), result.runs, result.seconds, result.strategy)

    @staticmethod
    def _rest(space):
        """The last share, where CPUs are divided: it follows from the others, and would make the map a diagonal. None: there is none."""
        return len(space.shares["names"]) - 1 if space.shares and not space.shares["overlap"] else None

    def fraction(self, cell):
        """Colour of a cell: by the factor to the best for values above 0, else by the place among all."""
        best, score = self._result.chosen.score, cell.score
        if best > 0:
            return (score / best - 1) / (WORST - 1)
        if best < 0 and score < 0:
            return (best / score - 1) / (WORST - 1)
        scores = [c.score for c in self.cells.values() if c.score < math.inf]
        return (score - best) / ((max(scores) - best) or 1)

    def fill(self, cell):
        return _FAILED if cell.excluded else colour(1.0 if math.isinf(cell.score) else self.fraction(cell))

    def ink(self, cell):
        return "#fff" if not cell.excluded and (math.isinf(cell.score) or self.fraction(cell) > 0.45) else "#222"

    def label(self, cell):
        return number(self.sign * cell.score) if cell.score < math.inf else cell.status if cell.excluded else "> %gx" % WORST

    def told(self, cell):
        return number(self.sign * cell.score) if cell.score < math.inf else cell.runs[-1].detail[:200]


class Line:
    """Values of all runs in their order, and the best median so far."""

    def __init__(self, result):
        self.name = getattr(result.objective, "metric_name", "objective")
        self.runs = result.runs
        self.dots = [(i, run.value) for i, (_, run, _) in enumerate(result.history, 1) if run.ok]
        self.best = [(i, best) for i, (_, _, best) in enumerate(result.history, 1) if best is not None]
        values = [v for _, v in self.dots] + [v for _, v in self.best]
        low, high = min(values), max(values)
        if not result.maximize and low > 0:
            high = min(high, low * 2 * WORST)
        self.bounds = (low, high if high > low else low + (abs(low) or 1.0))
