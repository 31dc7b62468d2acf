# python/usf/tune/result.py - what a search has found, and profiles.  SPDX-License-Identifier: Apache-2.0
"""A profile is a TOML file of four tables: [run], options of `usf run`; [env], variables; [parameters], all else that was
varied; [tuning], how it was found. `usf run --profile` takes the first two, `load` gives all of them."""
import os
import tempfile

from . import contexts, toml
from .trouble import TuneError

TABLES = ("run", "env", "parameters", "tuning")


class Profile:
    """A loaded profile. parameters has the CPU shares of contexts, placeholders of a command, and the like."""

    def __init__(self, tables, path=None):
        self.path = path
        self.run, self.env, self.parameters, self.tuning = (dict(tables.get(name, {})) for name in TABLES)
        self.env = {name: str(value) for name, value in self.env.items()}

    @property
    def contexts(self):
        """CPUs of contexts, as a dict: {"small": "0-5", "large": "6-23"}."""
        return contexts.parse(str(self.run.get("contexts", "")))

    def environ(self, environ=None):
        """An environment with the profile's variables, and CPUs of contexts (USF_CONTEXTS). A variable that is set already keeps its
        value, as with `usf run --profile`. `os.environ.update(profile.environ())` lets it count for this program."""
        given = {contexts.VARIABLE: contexts.text(self.contexts)} if self.contexts else {}
        return {**self.env, **given, **(os.environ if environ is None else environ)}


def load(path):
    try:
        with open(path, encoding="utf-8") as f:
            tables = toml.read(f.read())
    except OSError as e:
        raise TuneError("profile %s: %s" % (path, e.strerror)) from None
    except ValueError as e:
        raise TuneError("profile %s: %s" % (path, e)) from None
    for name, table in tables.items():
        if name not in TABLES or not isinstance(table, dict):
            raise TuneError("profile %s: unknown section or key '%s' (sections: %s)" % (path, name, ", ".join(TABLES)))
    return Profile(tables, os.fspath(path))


def write_file(path, data):
    """All or nothing: under another name first."""
    folder = os.path.dirname(os.path.abspath(path))
    mode = "w" if isinstance(data, str) else "wb"
    try:
        fd, temporary = tempfile.mkstemp(dir=folder, prefix="." + os.path.basename(path))
    except OSError as e:
        raise TuneError("cannot write '%s': %s" % (path, e.strerror), 1) from None
    try:
        with open(fd, mode, encoding="utf-8" if mode == "w" else None) as f:
            f.write(data)
            f.flush()
            os.fsync(fd)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except OSError as e:
        os.unlink(temporary)
        raise TuneError("cannot write '%s': %s" % (path, e.strerror), 1) from None


class Result:
    """best: the candidate. value: its median. outcomes: all that were measured, the best first, those that fail last.

    runs, seconds: how many, and their time in all. noise: the usual deviation of a run, as a fraction, or None.
    """

    def __init__(self, state, strategy, objective, history):
        chosen = state.chosen()
        ranked = state.ranked()
        self.space, self.strategy, self.repeats, self.seed = state.space, strategy, state.repeats, state.seed
        self.objective, self.history = objective, history
        self.best, self.value, self.values = dict(chosen.candidate), chosen.sign * chosen.score, chosen.values
        self.chosen = chosen
        self.outcomes = [chosen] + [o for o in ranked if o is not chosen] + [o for o in state.outcomes.values() if o not in ranked]
        self.maximize = state.sign < 0
        self.runs, self.seconds, self.noise = state.nr_runs, state.seconds, state.noise()

    @property
    def like_the_best(self):
        """Further candidates that the noise does not tell from the best one."""
        noise = 2 * (self.noise or 0) * abs(self.value)
        return [o for o in self.outcomes[1:] if o.status == "ok" and len(o.runs) >= len(self.chosen.runs) and o.score - self.chosen.score <= noise]

    def tables(self):
        """The profile, as a dict of dicts."""
        tables = {"run": {}, "env": {}, "parameters": {}}
        place = getattr(self.objective, "place", None) or place_of
        for name, value in self.best.items():
            table, key = place(name)
            tables[table][key] = str(value) if table == "env" else value
        given = self.space.contexts(self.best)
        if given is not None:
            tables["run"]["contexts"] = given
        tuning = {"search": self.strategy, "metric": getattr(self.objective, "metric_name", "objective"), "value": float(self.value),
                  "candidates": len(self.space), "measured": len(self.outcomes), "runs": self.runs, "repeats": self.repeats, "seed": self.seed,
                  "seconds": round(self.seconds, 3)}
        if self.noise is not None:
            tuning["noise"] = round(self.noise, 5)
        return {**{name: table for name, table in tables.items() if table}, "tuning": tuning}

    def save(self, path, comment="Made by usf.tune: load it with usf.tune.load, or with usf run --profile FILE -- PROGRAM"):
        try:
            data = toml.write(self.tables(), comment)
        except ValueError as e:
            raise TuneError("profile %s: %s" % (path, e)) from None
        write_file(path, data)

    def plot(self, path):
        """A heat map and the convergence, as PNG (needs matplotlib) or HTML, by the ending of path."""
        from . import plot

        plot.save(self, path)


def place_of(name):
    """Table and key of a parameter, by its prefix."""
    table, _, key = name.partition(".")
    return (table, key) if table in ("run", "env") and key else ("parameters", name)
