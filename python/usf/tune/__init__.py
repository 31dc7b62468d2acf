# python/usf/tune/__init__.py - the tuner.  SPDX-License-Identifier: Apache-2.0
"""Find the best values of parameters by measuring: thread counts, policies, options, CPU shares of contexts.

    space = usf.tune.Space({"threads": range(1, 9), "policy": ["coop", "fl"]}, where=["threads <= 4 or policy == 'coop'"])
    result = usf.tune.search(space, lambda c: seconds_of(c["threads"], c["policy"]))
    result.best                         # {"threads": 4, "policy": "coop"}
    result.save("best.toml")            # for usf.tune.load, and for `usf run --profile` where it has options or variables

An objective is any callable that takes a candidate (a dict) and returns a number, or a `Command`. `usf tune` is the same
for programs, from the command line.
"""
from .measure import Command, Failed
from .result import Profile, Result, load
from .search import search
from .space import Parameter, Space, cpulists, shares
from .trouble import TuneError

__all__ = ["Command", "Failed", "Parameter", "Profile", "Result", "Space", "TuneError", "cpulists", "load", "search", "shares"]
