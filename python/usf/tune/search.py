# python/usf/tune/search.py - the engine: runs a strategy within a budget.  SPDX-License-Identifier: Apache-2.0
import math
import time

from .result import Result
from .state import State
from .store import Journal, Memory, Run
from .strategies import STRATEGIES, default_budget
from .trouble import TuneError


class _Callable:
    """An objective that is a plain callable, in the form of Command."""

    stoppable = False           # a call cannot be ended while it runs

    def __init__(self, function):
        self._function = function

    def describe(self):
        return {"objective": getattr(self._function, "__qualname__", type(self._function).__qualname__)}

    def measure(self, candidate, limit):
        start = time.monotonic()
        try:
            value = float(self._function(dict(candidate)))
        except Exception as e:              # whatever the objective raises: this candidate does not work
            return Run(None, time.monotonic() - start, "failed", "%s: %s" % (type(e).__name__, e))
        seconds = time.monotonic() - start
        if not math.isfinite(value):
            return Run(None, seconds, "failed", "the objective is %s" % value)
        return Run(value, seconds)


def _check(space, strategy, repeats, budget, seconds, hopeless):
    if strategy not in STRATEGIES:
        raise TuneError("there is no search '%s': grid, halving or bayes" % strategy)
    if not len(space):
        raise TuneError("the space is empty")
    for name, value, least in ("repeats", repeats, 1), ("budget", budget, 1):
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < least):
            raise TuneError("%s is a whole number from %d on, not %r" % (name, least, value))
    if seconds is not None and not seconds > 0:
        raise TuneError("a budget of %r seconds" % (seconds,))
    if hopeless is not None and not hopeless > 1:
        raise TuneError("hopeless is a factor above 1, not %r" % (hopeless,))


def _everything_fails(state):
    """One message that has what the first candidate said."""
    o = next(iter(state.outcomes.values()))
    return TuneError("all %d candidates that were measured fail; the first one, %s: %s" % (
        len(state.outcomes), " ".join("%s=%s" % item for item in o.candidate.items()), next(r.detail for r in o.runs if r.excluded)), 1)


class _Engine:
    def __init__(self, state, objective, journal, hopeless, progress):
        self._state, self._objective, self._journal = state, objective, journal
        self._hopeless = hopeless if objective.stoppable else None
        self._progress = progress or (lambda state, last: None)
        self.history = []       # (point, run, best median so far), for the plot of the convergence

    def _limit(self):
        """Seconds after which a run is ended; None: no limit. For times, which are what is minimised."""
        best = self._state.best_score()
        return best * self._hopeless if self._hopeless and best < math.inf else None

    def _measure(self, point):
        candidate = self._state.space.candidate(point)
        run = self._journal.take(candidate)
        if run is None:
            run = self._objective.measure(candidate, self._limit())
            self._journal.add(candidate, run)
        self._state.note(point, run)
        best = self._state.best_score()
        self.history.append((point, run, self._state.sign * best if best < math.inf else None))
        self._progress(self._state, self._state.outcomes[point])

    def go(self, strategy):
        state = self._state
        for batch in strategy(state):
            for point in batch:
                if state.left() <= 0:
                    return
                if point in state.outcomes and state.outcomes[point].excluded:
                    continue
                self._measure(point)
            # More of the same would say nothing else.  A first batch of one candidate is too few to judge by.
            if len(state.outcomes) > 1 and all(o.excluded for o in state.outcomes.values()):
                raise _everything_fails(state)


def search(space, objective, *, strategy="halving", repeats=3, budget=None, seconds=None, seed=0, maximize=False, hopeless=3.0,
           journal=None, resume=False, settings=None, progress=None):
    """Measure candidates of the space and return a Result.

    objective   a callable: takes a candidate (dict), returns a number; an exception or a number that is not finite excludes the
                candidate. Or a Command.
    strategy    "grid", "halving" or "bayes"
    repeats     runs of each candidate that is compared at the end, by their median
    budget      runs; default: all of the grid's, a fifth of them for the others. seconds: time of the runs in all.
    hopeless    a Command's run is ended when it takes so many times as long as the best candidate; None: never
    journal     path of a file that survives the tuner; resume: it may be there already, and answers what it knows
    progress    called after each run with the State and the run's Outcome
    """
    _check(space, strategy, repeats, budget, seconds, hopeless)
    if not hasattr(objective, "measure"):
        objective = _Callable(objective)
    if budget is None and seconds is None:
        budget = default_budget(space, repeats, strategy)
    what = {"space": space.describe(), "maximize": bool(maximize), **objective.describe()}
    store = Journal(journal, {"what": what, "settings": settings or {}}, resume) if journal else Memory()
    state = State(space, repeats, seed, budget, seconds, -1 if maximize else 1)
    engine = _Engine(state, objective, store, hopeless, progress)
    try:
        engine.go(STRATEGIES[strategy])
    finally:
        store.close()
    if state.chosen() is None:
        raise _everything_fails(state) if any(o.excluded for o in state.outcomes.values()) else TuneError("nothing was measured", 1)
    return Result(state, strategy, objective, engine.history)
