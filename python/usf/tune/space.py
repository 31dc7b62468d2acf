# python/usf/tune/space.py - what is searched.  SPDX-License-Identifier: Apache-2.0
"""A space has named parameters with finitely many values each, and constraints.

Strategies know a candidate as a tuple of indexes into the parameters' values (a point). Users know it as a dict.
"""
import bisect
import itertools
import math
import re

from . import contexts
from .trouble import TuneError
from .where import Where, spelled

# Names become keys of a TOML file that src/config/toml.c reads: bare, at most 63 bytes.
_NAME = re.compile(r"(?:(?:run|env)\.)?[A-Za-z_][A-Za-z0-9_-]{0,62}\Z")
MOST = 1000000                  # combinations that are looked through for those that meet the constraints
_VALUES = (bool, int, float, str)


class Parameter:
    """A name and its values. Ordered: neighbouring values are alike (thread counts), so strategies may interpolate."""

    def __init__(self, name, values, ordered=None):
        if not isinstance(name, str) or not _NAME.match(name):
            raise TuneError("'%s' is not a name for a variable: letters, digits, _ and -, at most 63" % (name,))
        self.name = name
        self.values = list(values)
        if not self.values:
            raise TuneError("%s: it has no values" % name)
        for value in self.values:
            if not isinstance(value, _VALUES):
                raise TuneError("%s: %r is neither a number nor text" % (name, value))
            if value != value or value in (math.inf, -math.inf):
                raise TuneError("%s: %r is not a number" % (name, value))
        if len(set(map(str, self.values))) != len(self.values):
            raise TuneError("%s: a value comes twice" % name)
        numbers = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in self.values)
        self.ordered = numbers if ordered is None else ordered
        if numbers and ordered is None:
            self.values.sort()

    def __repr__(self):
        return "Parameter(%r, %r)" % (self.name, self.values)


class Space:
    """Parameters: a dict of names and values, or a list of Parameter. where: expressions, or callables of a candidate.

    ways: the candidates, as tuples of values, where they are not all combinations. shares: of contexts, see `shares`.
    """

    def __init__(self, parameters, where=(), ways=None, shares=None):
        self.shares = shares
        if isinstance(parameters, dict):
            parameters = [Parameter(name, values) for name, values in parameters.items()]
        self.parameters = list(parameters)
        if not self.parameters:
            raise TuneError("there is nothing to vary")
        self.names = [p.name for p in self.parameters]
        if len({spelled(name) for name in self.names}) != len(self.names):
            raise TuneError("a variable comes twice: %s" % ", ".join(self.names))
        self.where = [w if callable(w) else Where(w, self.names) for w in ([where] if isinstance(where, str) else where)]
        self.points = [p for p in self._combinations(ways) if self._meets(p)]
        if not self.points:
            raise TuneError("no combination meets the constraints")
        self._known = set(self.points)
        self.points.sort()
        # Where CPUs are divided the last share follows from the others, and has no part in distances.
        rest = len(shares["names"]) - 1 if shares and not shares["overlap"] and len(shares["names"]) > 1 else None
        self.free = [i for i in range(len(self.parameters)) if i != rest]
        self._weights = [1.0 / max(1, len(p.values) - 1) if p.ordered else 1.0 for p in self.parameters]

    def _combinations(self, ways):
        """All of them, or those that `ways` lists as tuples of values."""
        if ways is not None:
            index = [{v: i for i, v in enumerate(p.values)} for p in self.parameters]
            return [tuple(at[v] for at, v in zip(index, way)) for way in ways]
        size = math.prod(len(p.values) for p in self.parameters)
        if size > MOST:
            raise TuneError("there are %d combinations, more than %d: vary fewer variables, or in larger steps" % (size, MOST))
        return itertools.product(*(range(len(p.values)) for p in self.parameters))

    def _meets(self, point):
        candidate = self.candidate(point)
        return all(w(candidate) for w in self.where)

    def __len__(self):
        return len(self.points)

    def __contains__(self, point):
        return point in self._known

    def candidate(self, point):
        return {p.name: p.values[i] for p, i in zip(self.parameters, point)}

    def contexts(self, candidate):
        """The candidate's shares as a value of USF_CONTEXTS; None: the space has none."""
        if self.shares is None:
            return None
        lists = cpulists({name: candidate[contexts.key(name)] for name in self.shares["names"]}, self.shares["cpus"])
        return contexts.text(lists)

    def distance(self, a, b):
        """Between 0 and the number of parameters; from one end of an ordered parameter to the other it is 1."""
        d = 0.0
        for i in self.free:
            if a[i] != b[i]:
                d += self._weights[i] * abs(a[i] - b[i]) if self.parameters[i].ordered else 1.0
        return d

    def steps(self, a, b):
        """The same in steps: to a neighbouring value, or to any other one where there is no order."""
        return sum(abs(a[i] - b[i]) if self.parameters[i].ordered else a[i] != b[i] for i in self.free)

    def quantile(self, fractions):
        """The candidate at these fractions (0 to 1) of the space, one for each free parameter: all candidates are as likely, whatever constraints
        leave of the combinations."""
        lo, hi = 0, len(self.points)
        for i, u in zip(self.free, fractions):
            start = self.points[lo + min(int(u * (hi - lo)), hi - lo - 1)][:i + 1]
            lo, hi = bisect.bisect_left(self.points, start, lo, hi), bisect.bisect_left(self.points, start[:i] + (start[i] + 1,), lo, hi)
        return self.points[lo]

    def describe(self):
        """For the journal: two searches of one description search the same."""
        shares = {"shares": self.shares} if self.shares else {}
        return {**shares, "parameters": [{"name": p.name, "values": p.values, "ordered": p.ordered} for p in self.parameters], "candidates": len(self.points),
                "where": [getattr(w, "text", getattr(w, "__qualname__", "a callable")) for w in self.where]}


def cpu_ids(cpus):
    """The CPUs of a number of them, of a list, or of a list as Linux writes it ("0-3,8,10-14:2")."""
    if isinstance(cpus, str):
        ids = []
        for part in cpus.split(","):
            m = re.match(r"(\d+)(?:-(\d+)(?::([1-9]\d*))?)?\Z", part.strip())
            if not m or int(m.group(2) or m.group(1)) < int(m.group(1)):
                raise TuneError("'%s' is not a list of CPUs (like 0-3,8)" % cpus)
            ids += range(int(m.group(1)), int(m.group(2) or m.group(1)) + 1, int(m.group(3) or 1))
        cpus = ids
    ids = list(range(cpus)) if isinstance(cpus, int) else list(cpus)
    if not ids or len(set(ids)) != len(ids):
        raise TuneError("there are no CPUs to divide, or one comes twice")
    return ids


def _divisions(names, total, step):
    """All ways to divide so many CPUs, as tuples."""
    if len(names) > total:
        raise TuneError("%d CPUs cannot be divided among %d: each needs one" % (total, len(names)))
    cuts = range(step, total, step)
    if len(names) - 1 > len(cuts):
        raise TuneError("%d CPUs in steps of %d cannot be divided among %d" % (total, step, len(names)))
    if math.comb(len(cuts), len(names) - 1) > MOST:
        raise TuneError("there are more than %d ways to divide the CPUs: take a larger step" % MOST)
    return [tuple(b - a for a, b in zip((0,) + inner, inner + (total,))) for inner in itertools.combinations(cuts, len(names) - 1)]


def shares(names, cpus, step=1, overlap=False, vary=(), where=()):
    """The space of all ways to give each of `names` a number of CPUs, at least 1.

    Without overlap the CPUs are divided: the numbers add up to all of them. With overlap each may have up to all CPUs by
    itself, as in the grid of the VLC paper. `step` makes the grid coarser: shares begin at multiples of it. cpus: how many, or
    which. vary: further parameters. A profile of the result gives contexts of these names their CPUs.
    """
    names, ids, vary = list(names), cpu_ids(cpus), list(vary)
    total = len(ids)
    if not names or step < 1:
        raise TuneError("shares need names, and a step of at least 1")
    about = {"names": names, "cpus": ids, "overlap": bool(overlap)}
    if overlap:
        values = sorted(set(range(step, total + 1, step)) | {total})
        return Space([Parameter(contexts.key(name), values) for name in names] + vary, where, shares=about)
    ways = _divisions(names, total, step)
    parameters = [Parameter(contexts.key(name), sorted({way[i] for way in ways})) for i, name in enumerate(names)]
    size = len(ways) * math.prod(len(p.values) for p in vary)
    if size > MOST:
        raise TuneError("there are %d combinations, more than %d: vary fewer variables, or in larger steps" % (size, MOST))
    ways = [way + rest for way in ways for rest in itertools.product(*(p.values for p in vary))]
    return Space(parameters + vary, where, ways, about)


def cpulists(shares_of, cpus):
    """The CPUs of each share, as lists that `usf run -c` takes: {"a": 2, "b": 6} -> {"a": "0-1", "b": "2-7"}.

    Shares lie side by side in the order of the dict. Where they add up to more than all CPUs they go round, so that they
    overlap as little as possible.
    """
    ids, at, lists = cpu_ids(cpus), 0, {}
    for name, count in shares_of.items():
        if not 1 <= count <= len(ids):
            raise TuneError("%s: a share of %r of %d CPUs" % (name, count, len(ids)))
        mine = sorted(ids[(at + i) % len(ids)] for i in range(count))
        at += count
        parts, first = [], 0
        for i, cpu in enumerate(mine):
            if i + 1 == len(mine) or mine[i + 1] != cpu + 1:
                parts.append("%d" % cpu if first == i else "%d-%d" % (mine[first], cpu))
                first = i + 1
        lists[name] = ",".join(parts)
    return lists
