# python/usf/tune/bayes.py - proposals of optuna.  SPDX-License-Identifier: Apache-2.0
"""optuna is optional. Its study is made anew for each proposal, from the medians so far: optuna's own trials have one
value for good, while ours change with each repeat. That also makes a proposal a function of seed, step and runs alone."""
import math
import warnings

from .trouble import TuneError


def _optuna():
    try:
        import optuna
    except ImportError as e:
        raise TuneError("--search bayes needs optuna (%s): pip install 'usf[tune]'" % e) from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


class Proposer:
    def __init__(self, space, seed):
        self._optuna = _optuna()
        self._seed = seed
        d = self._optuna.distributions
        self._distributions = {
            p.name: d.IntDistribution(0, len(p.values) - 1) if p.ordered else d.CategoricalDistribution(tuple(range(len(p.values))))
            for p in space.parameters}
        self._names = space.names

    def propose(self, state, step):
        """A point, which may be none of the space's: constraints are not optuna's business."""
        optuna = self._optuna
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sampler = optuna.samplers.TPESampler(seed=self._seed * 1000003 + step, multivariate=True, n_startup_trials=1, n_ei_candidates=48)
            study = optuna.create_study(sampler=sampler)
            scores = [o.score for o in state.outcomes.values()]
            worst = max((s for s in scores if s < math.inf), default=0.0)
            study.add_trials([
                optuna.trial.create_trial(params=dict(zip(self._names, o.point)), distributions=self._distributions,
                                          value=o.score if o.score < math.inf else worst + abs(worst) + 1)
                for o in state.outcomes.values()])
            trial = study.ask(self._distributions)
        return tuple(trial.params[name] for name in self._names)
