# bench/usfbench/measure.py - cells, and how they are measured.  SPDX-License-Identifier: Apache-2.0
"""A cell is one question ("BLIS, 4 outer x 4 inner threads"), asked of several configurations.  All runs of all
cells and configurations are interleaved, repetition by repetition, so that a disturbance hits all alike; a result is
the median of the repetitions."""
import statistics
import sys
import time
from dataclasses import dataclass, field

from . import configs, launch, machine


@dataclass
class Cell:
    key: dict                    # names and values, in the order of the table's columns
    programs: list               # of configs.Program
    unit: str
    timeout: float = 10.0
    metric: str = "rate"         # of the program's result line; or "makespan" of all programs (1/s)
    one_by_one: bool = False
    group: tuple = ()            # cells of a group share the hand-tuned result
    only: tuple = ()             # the configurations that make sense for it, () = all
    peers: tuple = ()            # cells with the same value are ways of doing the same thing: the best of them is the measure
    inverse: tuple = ()          # (unit, factor): shown as factor / rate, a time; () = shown as a rate

    def name(self):
        return " ".join(str(v) for v in self.key.values())


@dataclass
class Series:
    """All runs of one cell under one configuration."""
    cell: Cell
    config: str
    rates: list = field(default_factory=list)
    bound: float = None          # an upper bound, from a run that was cut
    bad: dict = field(default_factory=dict)   # status -> how often
    seconds: list = field(default_factory=list)
    around: list = field(default_factory=list)  # what else ran: load, foreign, steal
    detail: dict = field(default_factory=dict)  # of the last result line
    error: str = ""
    argv: list = field(default_factory=list)
    env: dict = field(default_factory=dict)

    def median(self):
        """0 if most runs gave no result: a configuration that hangs is not to be read as a fast one."""
        if len(self.rates) <= sum(self.bad.values()):
            return 0.0
        return statistics.median(self.rates)

    def spread(self):
        """(max - min) / median."""
        m = self.median()
        return (max(self.rates) - min(self.rates)) / m if m else 0.0

    def ceiling(self):
        """The most that can be claimed for it: its median, or the bound of a cut run."""
        return self.median() or self.bound or 0.0


def parse(output):
    """(begin, result): the key=value pairs of a workload's two lines."""
    found = {"begin": {}, "result": {}}
    for line in output.splitlines():
        word, _, rest = line.partition(" ")
        if word in found and rest.startswith("bench="):
            found[word] = dict(pair.partition("=")[::2] for pair in rest.split())
    return found["begin"], found["result"]


def outcome(cell, ended):
    """(rate or None, bound or None, status, result pairs) of one set of runs."""
    lines = [parse(o) for o in ended.outputs]
    status = ended.status
    if status == "ok" and any(r.get("ok") != "1" for _, r in lines):
        status = "wrong"
    if cell.metric == "makespan":
        rate = 1 / ended.seconds
        if status == "ok":
            return rate, None, status, {}
        return None, rate if status == "cut" else None, status, {}
    begin, result = lines[0]
    if status == "ok":
        return float(result["rate"]), None, status, result
    bound = float(begin["work"]) / ended.seconds if status == "cut" and "work" in begin else None
    return None, bound, status, result


class Plan:
    """The runs to make: for each configuration of each cell a series, and the grids of hand-tuning."""

    def __init__(self, cells, grids, wanted):
        """grids: {group: [(label, Cell), ...]}, measured under plain Linux; the best label wins."""
        self.series = []
        for cell in cells:
            for name in wanted:
                if name in configs.CONFIGS and (not cell.only or name in cell.only):
                    self.series.append(Series(cell, name))
        self.grid = {}
        if configs.TUNED in wanted:
            for group in dict.fromkeys(c.group for c in cells if c.group in grids):
                self.grid[group] = {label: Series(cell, "linux") for label, cell in grids[group]}

    def all(self):
        """Everything, and what is compared close together: a group's grid right before its cells."""
        seen = set()
        for series in self.series:
            group = series.cell.group
            if group in self.grid and group not in seen:
                seen.add(group)
                yield from self.grid[group].values()
            yield series
        yield from (s for g, entries in self.grid.items() if g not in seen for s in entries.values())

    def tuned(self, group):
        """(label, series) of the best setting found, or None."""
        best = max(self.grid.get(group, {}).items(), key=lambda item: item[1].median(), default=None)
        return best if best and best[1].median() else None

    def of(self, cell, config):
        return next((s for s in self.series if s.cell is cell and s.config == config), None)


def run_once(series, usf, keep):
    cell, watch = series.cell, machine.Watch()
    commands = configs.CONFIGS[series.config].commands(cell.programs, usf)
    series.argv = [c.argv for c in commands]
    series.env = [c.env for c in commands]
    watch.start()
    ended = launch.run(commands, cell.timeout, cell.one_by_one, keep)
    series.around.append(watch.stop(ended.cpu_s))
    series.seconds.append(round(ended.seconds, 4))
    rate, bound, status, detail = outcome(cell, ended)
    series.detail.update(detail)
    if rate is not None:
        series.rates.append(rate)
    else:
        series.bad[status] = series.bad.get(status, 0) + 1
        series.error = f"exit {ended.exits} {ended.errors[-600:]}" if ended.exits else ended.errors[-600:]
        if bound is not None:
            series.bound = min(bound, series.bound or bound)
    if ended.leftover:
        series.bad["leftover"] = series.bad.get("leftover", 0)
        series.error = (series.error + f" left behind: {' '.join(ended.leftover)}").strip()
    return status


def worth_repeating(series):
    """Plain Linux that had to be cut at first is not waited for again; of usf we want to know how often."""
    return series.config.startswith("usf") or bool(series.rates) or not (series.bad.get("cut") or series.bad.get("hang"))


class Progress:
    """One line on stderr that moves, if somebody looks; otherwise a line now and then."""

    def __init__(self, total):
        self.total, self.done, self.tty, self.said, self.t0 = total, 0, sys.stderr.isatty(), 0.0, time.monotonic()

    def step(self, what):
        self.done += 1
        now = time.monotonic()
        left = (now - self.t0) / self.done * (self.total - self.done)
        line = f"{self.done}/{self.total}, about {left / 60:.0f} min left: {what}"
        if self.tty:
            print(f"\r\033[K{line[:110]}", end="\n" if self.done == self.total else "", file=sys.stderr, flush=True)
        elif now - self.said > 30 or self.done == self.total:
            self.said = now
            print(line, file=sys.stderr, flush=True)


def execute(plan, reps, usf, keep=(), after_each=None):
    """after_each() is called after each repetition, to save what there is."""
    everything = list(plan.all())
    progress = Progress(reps * len(everything))
    for _ in range(reps):
        for series in everything:
            progress.step(f"{series.config} {series.cell.name()}")
            if worth_repeating(series):
                run_once(series, usf, keep)
        if after_each:
            after_each()
