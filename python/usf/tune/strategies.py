# python/usf/tune/strategies.py - in which order candidates are measured.  SPDX-License-Identifier: Apache-2.0
"""A strategy is a generator: it yields batches of points to measure once each, and looks at the state between them.

Each draws on the state's random numbers alone, so that it does the same again when a journal answers its requests.
"""
import math

from .model import Model, expected_gain
from .state import SMALL

FEW = 60                        # runs: a search with fewer goes by a model of all of them


def grid(state):
    """Every candidate, in rounds of one run each. The order differs from round to round: what drifts, drifts for all."""
    for _ in range(state.repeats):
        batch = [p for p in state.space.points if p not in state.outcomes or state.outcomes[p].score < math.inf]
        state.random.shuffle(batch)
        yield batch


def _around(state, survivors, radius, count):
    """Unmeasured candidates within so many steps of the survivors: in turns, those of the best one first, near ones first."""
    rings = []
    for o in survivors:
        ring = [(state.space.steps(p, o.point), state.random.random(), p) for p in state.sample(20000) if p not in state.outcomes]
        rings.append([p for steps, _, p in sorted(ring) if steps <= radius])
    picked, seen = [], set()
    while len(picked) < count and any(rings):
        for ring in rings:
            while ring and ring[0] in seen:
                ring.pop(0)
            if ring and len(picked) < count:
                seen.add(ring[0])
                picked.append(ring.pop(0))
    return picked


def halving(state):
    """Successive halving over repeats and over the mesh of the grid.

    The first rung measures candidates that are spread over the space, once each. Each further rung keeps the better
    part of what it knows, repeats the best of it, and adds neighbours of the kept ones, ever nearer ones. What is clearly
    worse is never repeated. The last part of the budget goes to the direct neighbours of the best, in small batches.
    A budget that is too small for rungs goes by a model.
    """
    yield state.spread(1)
    budget = int(min(state.left(), len(state.space) * state.repeats))
    if budget < FEW:
        yield from _by_model(state, budget)
        return
    reserve = min(budget // 4, 3 * (state.repeats - 1))
    wide = max(2, int((budget - reserve) * 0.45))
    yield state.spread(wide)
    polish = reserve + (budget - reserve - wide) // 3
    rungs = max(1, min(4, (budget - polish - wide) // 5))
    for rung in range(rungs):
        share = max(0, int(state.left() - polish) // (rungs - rung))
        survivors = state.ranked()[:max(2, len(state.outcomes) // 3 ** (rung + 1), share // 5)]
        again = [o.point for o in survivors[:max(1, share // 4)] if len(o.runs) < state.repeats]
        radius = max(2, max(len(p.values) for p in state.space.parameters) // 3 >> rung)
        batch = again + _around(state, survivors, radius, max(0, share - len(again)))
        state.random.shuffle(batch)
        yield batch
    while state.left() > reserve:
        top = state.ranked()[:2]
        near = _around(state, top, 2, 3)
        if not near:
            break
        yield [o.point for o in top[:1] if len(o.runs) < state.repeats] + near
    yield from state.finish(3)


def _scores(state):
    """What the model learns from: of two runs the better one, as disturbances make runs slower. What fails counts as the worst."""
    good = {p: min(o.sign * v for v in o.values) if len(o.runs) < 3 else o.score for p, o in state.outcomes.items() if o.score < math.inf}
    worst = max(good.values(), default=None)
    return {p: good.get(p, worst) for p in state.outcomes} if good else {}


def _promising(state, model):
    """The candidate of which most is to be hoped: one that was not measured, or one whose only run is far worse than its neighbours suggest."""
    best = model.best()
    found = [(expected_gain(best, *model.at(p)), p) for p in state.sample(2000) if p not in state.outcomes]
    for i, p in enumerate(model.points):
        mean, deviation, value = model.without(i)
        if len(state.outcomes[p].runs) == 1 and state.outcomes[p].score < math.inf and state.repeats > 1 and value > mean + 2.5 * deviation:
            found.append((expected_gain(best, mean, deviation), p))
    return max(found, default=(0.0, None))


def _by_model(state, budget, other=None):
    """A few runs that are spread over the space, then each where a model of all of them expects most; every third one where `other`
    proposes. Last the best, until it has as many runs as the grid gives each."""
    reserve = min(budget // 6, state.repeats - 1)
    yield state.spread(max(3, (budget - reserve) // 3))
    step = 0
    while state.left() > reserve:
        step += 1
        scores = _scores(state)
        if other and step % 3 == 0 or len(scores) < 2:
            point = state.nearest_unmeasured(other(step) if other else state.random.choice(state.space.points))
        else:
            point = _promising(state, Model(state.space, scores))[1]
        if point is None:
            break
        yield [point]
    yield from state.finish(1)
    yield from state.finish(2)


def bayes(state):
    """optuna's tree-structured Parzen estimator proposes candidates.

    Of four runs one repeats one of the best candidates, and one goes to a neighbour of theirs: the estimator looks at
    how good single values are, and is slow to follow a narrow valley or to take the last step. In a small budget it knows
    too little, and proposes each third run only, beside a model.
    """
    from .bayes import Proposer

    proposer = Proposer(state.space, state.seed)
    yield state.spread(1)
    budget = int(min(state.left(), len(state.space) * state.repeats))
    if budget < FEW:
        yield from _by_model(state, budget, lambda step: proposer.propose(state, step))
        return
    reserve = min(budget // 4, 3 * (state.repeats - 1))
    yield state.spread(max(3, budget // 3))
    step = 0
    while state.left() > reserve:
        step += 1
        top = state.ranked()[:3]
        again = [o.point for o in top if len(o.runs) < state.repeats]
        near = _around(state, top, 2, 1)
        if step % 4 == 0 and again:
            yield again[:1]
        elif step % 4 == 2 and near:
            yield near
        else:
            point = state.nearest_unmeasured(proposer.propose(state, step))
            if point is None and not again:
                break
            yield [point] if point is not None else again[:1]
    yield from state.finish(3)


STRATEGIES = {"grid": grid, "halving": halving, "bayes": bayes}


def default_budget(space, repeats, strategy):
    """In runs. A fifth of the grid's, but never so few that noise decides."""
    whole = len(space) * repeats
    return whole if strategy == "grid" else min(whole, max(SMALL, whole // 5))
