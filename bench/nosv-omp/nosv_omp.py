#!/usr/bin/python3
# bench/nosv-omp/nosv_omp.py - tasks and OpenMP in one process, beside the same made by hand.  SPDX-License-Identifier: Apache-2.0
"""The experiment of the USF paper's section 5.3: tasks of nosv.h, and OpenMP or BLAS below or above them.

  bench/nosv-omp/nosv_omp.py                       at most five minutes; prints a table
  bench/nosv-omp/nosv_omp.py --only inside,gomp    kinds whose name contains all of these words
  bench/nosv-omp/nosv_omp.py --cells --json FILE   the median rate of each cell, too; all rates as JSON

`inside`: each task multiplies two blocks by a parallel region, or by a call of the BLAS. `around`: the threads
of a parallel region submit tasks and wait for them, as tasks (attached) or by a semaphore. A cell has so many
tasks that can be executed at once (around: for each thread) and so many threads in a region. Hand-made is the same
program with a team of attached threads that waits by nosv.h alone, without `usf run`; each of its threads calls the BLAS
for rows of its own.

All runs are interleaved; a cell's rate is the median of its runs. The middle of the grid, as the paper has it, are the cells
with more than one task, more than one thread, and between 1 and 8 times as many threads in all as there are
CPUs. OpenMP waits passively (OMP_WAIT_POLICY), as in the paper; --wait default leaves that to the runtime."""
import argparse
import itertools
import json
import math
import os
import shutil
import statistics
import sys
import time
from dataclasses import dataclass

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.dirname(HERE))

from usfbench import benches, configs, launch, machine, measure  # noqa: E402

GRID = [1, 2, 4, 8]
HOWS = ["hand", "linux", "usf"]


@dataclass(frozen=True)
class Kind:
    """A row of the table: a program that knows nothing of usf, and the one made by hand that it is compared with."""
    name: str
    block: int
    program: str
    hand: str
    options: tuple = ()
    hand_options: tuple = ()
    work: int = 1       # times that of the others


def kinds(args):
    found = [Kind(f"inside, {omp}", block, f"inside-{omp}", "inside-hand")
             for block in args.blocks for omp in ("gomp", "libomp")]
    single = ("--blas", benches.BLAS["openblas-pthread"])
    found += [Kind(f"inside, {name}", 2 * max(args.blocks), "inside-gomp", "inside-hand", ("--blas", benches.BLAS[name]), single, 3)
              for name in ("openblas-openmp", "openblas-pthread")]
    found += [Kind(f"around, {omp}, {what}", min(args.blocks), f"around-{omp}", "around-hand", ("--wait", wait))
              for omp in ("gomp", "libomp") for wait, what in (("task", "attached"), ("thread", "semaphore"))]
    return [k for k in found if all(word in k.name for word in args.only) and is_there(args, k)]


def program(args, name):
    return os.path.join(args.build, "bench", "nosv-omp", f"omp-{name}")


def is_there(args, kind):
    needs = [program(args, kind.program), *[o for o in kind.options if o.startswith("/")]]
    lacking = [n for n in needs if not os.path.exists(n)]
    if lacking:
        print(f"{kind.name}: left out, for want of {lacking[0]}", file=sys.stderr)
    return not lacking


SERIAL = itertools.count(1)


def command(args, kind, how, cell):
    tasks, threads = cell
    name, options = (kind.hand, kind.hand_options) if how == "hand" else (kind.program, kind.options)
    env = {"OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)}
    if args.wait == "passive":
        env["OMP_WAIT_POLICY"] = "passive"
    prefix = []
    if how == "usf":
        env.update(USF_INSTANCE=f"nosv-omp-{os.getpid()}-{next(SERIAL)}", USF_MONITOR_LINGER="0")
        prefix = [args.usf, "run", "--"]
    return launch.Command([*prefix, program(args, name), "--tasks", str(tasks), "--threads", str(threads), "--block", str(kind.block),
                           "--gflop", str(kind.work * args.gflop), *options], env)


class Rates:
    def __init__(self):
        self.of, self.bad, self.sums = {}, [], {}

    def key(self, kind, how, cell):
        """What is made by hand is the same for several kinds."""
        return (kind.hand, kind.hand_options, kind.block, cell) if how == "hand" else (kind.name, kind.block, how, cell)

    def add(self, args, kind, how, cell):
        ended = launch.run([command(args, kind, how, cell)], args.timeout)
        _, result = measure.parse(ended.outputs[0])
        where = f"{kind.name} {kind.block} {how} {cell[0]}x{cell[1]}"
        if ended.status != "ok" or "rate" not in result:
            self.bad.append(f"{where}: {ended.status} {ended.errors[-200:]}")
            return
        expected = self.sums.setdefault((kind.hand, kind.block, cell), result["checksum"])
        if expected != result["checksum"]:
            self.bad.append(f"{where}: the checksum is {result['checksum']}; it was {expected}")
            return
        self.of.setdefault(self.key(kind, how, cell), []).append(float(result["rate"]))

    def median(self, kind, how, cell):
        rates = self.of.get(self.key(kind, how, cell))
        return statistics.median(rates) if rates else None


def execute(args, every, cells):
    """Whole repetitions, as many as end in time, so that a disturbance hits all alike."""
    rates, begun, longest = Rates(), time.monotonic(), 0.0
    for repetition in range(args.reps):
        t0 = time.monotonic()
        if repetition and t0 + longest > begun + 60 * args.minutes:
            print(f"{repetition} repetitions; one more would not end in time", file=sys.stderr)
            break
        done = set()
        for cell, kind, how in itertools.product(cells, every, HOWS):
            key = rates.key(kind, how, cell)
            if key not in done:
                done.add(key)
                rates.add(args, kind, how, cell)
        longest = max(longest, time.monotonic() - t0)
        print(f"repetition {repetition + 1}: {time.monotonic() - t0:.0f} s", file=sys.stderr)
    return rates


def is_middle(cell):
    tasks, threads = cell
    return tasks > 1 and threads > 1 and machine.cores() <= tasks * threads <= 8 * machine.cores()


def mean(values):
    return math.exp(statistics.fmean(map(math.log, values))) if values else math.nan


def row(rates, kind, cells):
    middle = [c for c in cells if is_middle(c)]

    def ratios(how, of):
        pairs = {c: (rates.median(kind, how, c), rates.median(kind, "hand", c)) for c in of}
        return {c: a / b for c, (a, b) in pairs.items() if a and b}

    columns = [kind.name, str(kind.block), f"{mean([r for c in middle if (r := rates.median(kind, 'hand', c))]):.1f}"]
    for how in ("linux", "usf"):
        of = ratios(how, middle)
        worst = min(of, key=of.get, default=None)
        columns += [f"{mean(of.values()):.3f}", f"{of[worst]:.3f} ({worst[0]} x {worst[1]})" if worst else "-"]
    columns.append(f"{mean(ratios('usf', cells).values()):.3f}")
    return "| " + " | ".join(columns) + " |"


def table(rates, every, cells):
    return "\n".join(["| parallel region and tasks | block | hand-made, GFLOP/s | Linux: mean | worst | usf run: mean | worst | usf run: mean of all cells |",
                      "|---" * 8 + "|", *[row(rates, k, cells) for k in every]])


def print_cells(rates, every, cells):
    for kind, cell in itertools.product(every, cells):
        said = " ".join(f"{how} {m:.2f}" for how in HOWS if (m := rates.median(kind, how, cell)))
        print(f"{kind.name} {kind.block}, {cell[0]} x {cell[1]}{' (middle)' if is_middle(cell) else ''}: {said}", file=sys.stderr)


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--only", default="", help="kinds whose name contains all of these words (comma between)")
    p.add_argument("--middle", action="store_true", help="only the middle of the grid")
    p.add_argument("--blocks", default="128,256", help="rows of the blocks, multiples of 64 (default %(default)s)")
    p.add_argument("--gflop", type=float, default=2, help="work of a run (default %(default)s)")
    p.add_argument("--reps", type=int, default=5, help="interleaved runs of each (default %(default)s), ...")
    p.add_argument("--minutes", type=float, default=4.7, help="... as far as they end in time (default %(default)s)")
    p.add_argument("--wait", choices=["passive", "default"], default="passive", help="OMP_WAIT_POLICY (default %(default)s)")
    p.add_argument("--timeout", type=float, default=20, help="of a run, in seconds (default %(default)s)")
    p.add_argument("--cells", action="store_true", help="print each cell, too (stderr)")
    p.add_argument("--json", metavar="FILE", help="write all rates")
    p.add_argument("--build", default=os.path.join(ROOT, "build"))
    p.add_argument("--usf", help="default: usf in the build folder")
    args = p.parse_args()
    args.usf = args.usf or os.path.join(args.build, "usf")
    args.only = [word for word in args.only.split(",") if word]
    args.blocks = sorted(int(b) for b in args.blocks.split(","))
    for needed in (args.usf, program(args, "inside-hand"), program(args, "around-hand")):
        if not shutil.which(needed):
            p.error(f"{needed} is not there: build it first (ninja -C build nosv-omp usf)")
    return args


def main():
    args = arguments()
    configs.scrub_environment()
    launch.adopt_orphans()
    cells = [c for c in itertools.product(GRID, GRID) if is_middle(c) or not args.middle]
    every = kinds(args)
    rates = execute(args, every, cells)
    print(table(rates, every, cells))
    if args.cells:
        print_cells(rates, every, cells)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump({"machine": machine.describe(ROOT), "rates": {str(k): v for k, v in rates.of.items()}}, f, indent=1)
    for line in rates.bad:
        print(f"NOT GOOD: {line}")
    return 1 if rates.bad else 0


if __name__ == "__main__":
    sys.exit(main())
