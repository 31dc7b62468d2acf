#!/usr/bin/python3
# bench/contexts.py - examples/contexts with and without contexts, bare and under usf run.  SPDX-License-Identifier: Apache-2.0
"""Measure the examples of library contexts, by name or `all`:

  bench/contexts.py all                         a table, bench/results/contexts.json and .md
  bench/contexts.py multiphysics --reps 9
  bench/contexts.py all --small                 smallest sizes and few runs, to see that it works

Each example does the same work in these configurations. Each repetition runs all of them in turn; the
numbers are medians, in seconds:

  sequential   one part after the other, each by a library that has all CPUs
  threads      a thread for each part, all of which use the same library; bare, and under usf run
  even         a context for each part; CPUs divided evenly
  tuned        the same with the best shares that usf.tune finds: in the grid of all divisions of the CPUs,
               or, where there are fewer CPUs than contexts, of all ranges of CPUs for each context;
               bare, and under usf run
  overlapping  the same, where each context has all CPUs, under usf run

What is measured with anything else running beside is worth little."""
import argparse
import os
import re
import shlex
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from usfbench import configs, launch, machine, report  # noqa: E402

ROOT = os.path.dirname(HERE)
FOLDER = os.path.join(ROOT, "examples", "contexts")
PYTHON = ("multiphysics", "nbody", "sciml", "assimilation", "gemms.py", "arpack.py")
NATIVE = ("gemms", "figure7", "arpack", "fftw", "fortran")
WITHOUT_THREADS = ("arpack", "fortran")      # the library is not thread-safe, and the example has no lock
# name: (mode of the example, shares, under usf run)
CONFIGS = {
    "sequential": ("sequential", None, False), "threads": ("threads", None, False), "threads, usf run": ("threads", None, True),
    "even": ("contexts", "even", False), "tuned": ("contexts", "tuned", False), "tuned, usf run": ("contexts", "tuned", True),
    "overlapping, usf run": ("contexts", "all", True),
}
BASE = ("sequential", "threads")
RESULT = re.compile(r"^(\w+) +([\d.]+) s ((?:  \w+ \S+)+)$", re.M)
TOLERANCE = 1e-6
SMALL = 0.005           # the scale of --small


class Failed(Exception):
    pass


class Example:
    """One example, and what is known of it."""

    def __init__(self, args, name):
        self.args, self.name, self.serial = args, name, 0
        if name in NATIVE:
            self.argv = [os.path.join(args.folder, name)]
        else:
            self.argv = [args.python, os.path.join(args.folder, name.removesuffix(".py") + ".py")]
        self.shares = {"even": {}, "all": {}, "tuned": {}}
        self.results = None
        self.seconds = {c: [] for c in CONFIGS if not (c.startswith("threads") and name in WITHOUT_THREADS)}

    def command(self, mode, cpus, under):
        argv = [*self.argv, "--mode", mode, "--scale", f"{self.args.scale:g}", *(w for item in cpus.items() for w in ("--cpus", "=".join(item)))]
        env = {"PYTHONPATH": os.path.join(self.args.build, "python"), "LD_LIBRARY_PATH": self.args.build}
        if under:
            self.serial += 1
            argv = [self.args.usf, "run", "--", *argv]
            env.update(USF_INSTANCE=f"contexts-{os.getpid()}-{self.serial}", USF_MONITOR_LINGER="0")
        return launch.Command(argv, env)

    def run(self, mode, cpus, under):
        """The seconds that the example prints, and its output. Fails if the results are not those of its other runs."""
        command = self.command(mode, cpus, under)
        ended = launch.run([command], self.args.timeout)
        if ended.status != "ok":
            raise Failed(f"{shlex.join(command.argv)}: {ended.status}, exit {ended.exits}: {ended.errors[-600:]}")
        found = RESULT.search(ended.outputs[0])
        if not found or found[1] != mode:
            raise Failed(f"{shlex.join(command.argv)} said: {ended.outputs[0]}")
        words = found[3].split()
        results = dict(zip(words[::2], map(float, words[1::2])))
        self.results = self.results or results
        if results.keys() != self.results.keys() or any(not abs(v - self.results[k]) <= 2 * TOLERANCE * abs(v) for k, v in results.items()):
            raise Failed(f"{shlex.join(command.argv)}: other results than before: {results}, {self.results}")
        return float(found[2]), ended.outputs[0]

    def prepare(self, cpus):
        """Learns the contexts' names from a first run, and finds their best shares."""
        _, output = self.run("contexts", {}, False)
        words = re.search(r"^CPUs: (.*)$", output, re.M)[1].split()
        self.shares["even"] = dict(zip(words[::2], words[1::2]))
        self.shares["all"] = {name: "all" for name in self.shares["even"]}
        self.shares["tuned"] = tuned(self.args, list(self.shares["even"]), cpus, lambda lists: self.run("contexts", lists, False)[0])

    def measure(self, config):
        mode, shares, under = CONFIGS[config]
        self.seconds[config].append(self.run(mode, self.shares[shares] if shares else {}, under)[0])


def tuned(args, names, cpus, seconds):
    """The CPUs of each context, as lists, with which an example takes the least time."""
    from usf import tune

    if len(names) <= len(cpus):
        space, lists = tune.shares(names, cpus, step=args.step), lambda candidate: tune.cpulists({name: candidate[name] for name in names}, cpus)
    else:
        ranges = [",".join(map(str, cpus[i:j])) for i in range(len(cpus)) for j in range(i + 1, len(cpus) + 1)]
        space, lists = tune.Space({name: ranges for name in names}), dict
    result = tune.search(space, lambda candidate: seconds(lists(candidate)), strategy=args.search, repeats=args.tune_reps,
                         progress=lambda state, _: progress(f"  {state.nr_runs} runs of the tuner; {len(space)} candidates"))
    progress("")
    return lists(result.best)


def progress(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def row(example):
    median = {c: statistics.median(v) for c, v in example.seconds.items() if v}
    base = min(median[c] for c in BASE if c in median)
    return {"example": example.name, "seconds": example.seconds, "median": median, "base": base, "shares": example.shares,
            "ratio": {c: base / m for c, m in median.items()}}


def table(rows):
    head = ["example", *CONFIGS, "tuned shares"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for r in rows:
        cells = [f"{r['median'][c]:.3f} ({r['ratio'][c]:.2f})" if c in r["median"] else "-" for c in CONFIGS]
        lines.append("| " + " | ".join([r["example"], *cells, ", ".join(f"{k} {v}" for k, v in r["shares"]["tuned"].items())]) + " |")
    return "\n".join(lines) + "\n"


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("names", nargs="+", metavar="NAME", help=f"all, or some of: {' '.join(PYTHON + NATIVE)}")
    p.add_argument("--reps", type=int, help="interleaved runs of each configuration (default 5, small 1)")
    p.add_argument("--scale", type=float, help=f"how much work (default 1, small {SMALL})")
    p.add_argument("--small", action="store_true", help="smallest sizes, one run of each")
    p.add_argument("--search", choices=["grid", "halving", "bayes"], default="grid", help="of the tuner (default: %(default)s)")
    p.add_argument("--step", type=int, default=1, help="of the tuner's grid, CPUs (default: %(default)s)")
    p.add_argument("--tune-reps", type=int, help="runs of each candidate that the tuner compares at the end (default 3, small 1)")
    p.add_argument("--timeout", type=float, default=300, help="seconds for one run (default: %(default)s)")
    p.add_argument("--python", default="/usr/bin/python3", help="has numpy, scipy and scikit-learn (default: %(default)s)")
    p.add_argument("--build", default=os.path.join(ROOT, "build"))
    p.add_argument("--folder", default=FOLDER, help="of the examples (default: %(default)s)")
    p.add_argument("--out", default=os.path.join(HERE, "results"))
    args = p.parse_args()
    args.names = list(PYTHON + NATIVE) if args.names == ["all"] else args.names
    for name in args.names:
        if name not in PYTHON + NATIVE:
            p.error(f"no such example: {name} (there are: all {' '.join(PYTHON + NATIVE)})")
    args.reps, args.tune_reps = args.reps or (1 if args.small else 5), args.tune_reps or (1 if args.small else 3)
    args.scale = args.scale or (SMALL if args.small else 1.0)
    args.build = os.path.abspath(args.build)
    args.usf = os.path.join(args.build, "usf")
    if not os.path.exists(args.usf):
        p.error(f"{args.usf} is not there: build it first (make)")
    return args


def make(args):
    targets = ["libsolvers.so", *(name for name in args.names if name in NATIVE)]
    done = subprocess.run(["make", "-s", "-C", args.folder, *targets, f"BUILD={args.build}", f"SOURCE={ROOT}"], stdin=subprocess.DEVNULL, check=False)
    if done.returncode:
        raise Failed(f"the examples in {args.folder} cannot be built (`scripts/setup test` installs what they need)")


def main():
    args = arguments()
    configs.scrub_environment()
    launch.adopt_orphans()
    make(args)
    sys.path.insert(0, os.path.join(args.build, "python"))
    examples = [Example(args, name) for name in args.names]
    for example in examples:
        progress(example.name)
        example.prepare(sorted(os.sched_getaffinity(0)))
    for rep in range(args.reps):
        for example in examples:
            for config in example.seconds:
                progress(f"repetition {rep + 1} of {args.reps}: {example.name}, {config}")
                example.measure(config)
    progress("")
    facts, rows = machine.describe(ROOT), [row(e) for e in examples]
    text = table(rows)
    stem = os.path.join(args.out, "contexts")
    head = (f"Medians of {args.reps} interleaved runs, s, and in brackets how many times as fast as the better one of `sequential` and `threads`; "
            f"{facts['cpu']}, {facts['cores']} CPUs, commit {facts['commit']}\n\n")
    report.save(stem, {"bench": "contexts", "machine": facts, "reps": args.reps, "scale": args.scale, "search": args.search, "rows": rows,
                       "command": shlex.join(["bench/contexts.py", *sys.argv[1:]])}, head + text)
    print(f"{text}written: {stem}.json {stem}.md")
    if stay := launch.daemons_that_stay():
        print(f"NOT GOOD: monitors that did not leave: {stay}")
        return 1
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as e:
        sys.exit(f"contexts.py: {e}")
