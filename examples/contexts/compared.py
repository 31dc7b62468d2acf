# examples/contexts/compared.py - runs the same work without contexts and in contexts.  SPDX-License-Identifier: Apache-2.0
"""What the examples in Python have in common: options, the three modes, and the comparison of results.

An example names its jobs by context: {"heat": [("parts.heat", 48, 60)], "solve": [...]}. A job is a
function and its arguments. The function prepares data, and returns another function that does the
work, checks the result and returns a checksum.
"""
import argparse
import importlib
import math
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import usf

TOLERANCE = 1e-6        # relative: sums have another order with another number of threads
TINY = 0.001            # the scale of the first run, which loads the libraries


def prepare(job):
    """In a context, the module and the libraries that it imports are the context's copies."""
    path, *args = job
    module, _, function = path.rpartition(".")
    return getattr(importlib.import_module(module), function)(*args)


def in_order(work):
    return [one() for one in work]


def sequential(jobs, _):
    """A plain program: one job after the other, each with as many threads as its library starts."""
    work = [prepare(job) for of_context in jobs.values() for job in of_context]
    start = time.monotonic()
    results = in_order(work)
    return time.monotonic() - start, results


def threads(jobs, _):
    """A plain program with a thread for each job. All of them use the same libraries."""
    work = [prepare(job) for of_context in jobs.values() for job in of_context]
    with ThreadPoolExecutor(len(work)) as pool:
        start = time.monotonic()
        results = list(pool.map(lambda one: one(), work))
        return time.monotonic() - start, results


def contexts(jobs, of_name):
    """A thread in each context, which does the context's jobs one after the other."""
    work = {name: [of_name[name].run(prepare, job) for job in jobs[name]] for name in jobs}
    start = time.monotonic()
    running = [of_name[name].submit(in_order, work[name]) for name in jobs]
    results = [result for future in running for result in future.result()]
    return time.monotonic() - start, results


MODES = {"sequential": sequential, "threads": threads, "contexts": contexts}


def evenly(names, cpus):
    """The CPUs, divided in the order of the names. With fewer CPUs than names, neighbours share one."""
    names, n = list(names), len(names)
    shares = {}
    for i, name in enumerate(names):
        first = i * len(cpus) // n
        shares[name] = cpus[first:max(first + 1, (i + 1) * len(cpus) // n)]
    return shares


def arguments(text, names):
    p = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--mode", choices=[*MODES, "all"], default="all", help="default: %(default)s, and results are compared")
    p.add_argument("--scale", type=float, default=1.0, help="how much work, for each CPU (default: %(default)s: some seconds)")
    p.add_argument("--cpus", metavar="NAME=LIST", action="append", default=[],
                   help=f"CPUs of a context, as in 0-3,8, or `all`; for each of: {' '.join(names)} (default: the CPUs are divided evenly)")
    args = p.parse_args()
    if not 0 < args.scale < math.inf:
        p.error("--scale: a number above 0")
    cpus = sorted(os.sched_getaffinity(0))
    shares = evenly(names, cpus)
    for given in args.cpus:
        name, _, listed = given.partition("=")
        if name not in shares or not listed:
            p.error(f"--cpus {given}: give NAME=LIST; names: {' '.join(names)}")
        shares[name] = cpus if listed == "all" else listed
    args.shares = shares
    return args


def make_contexts(shares):
    try:
        return {name: usf.Context(name, cpus=cpus) for name, cpus in shares.items()}
    except ValueError as e:
        sys.exit(f"--cpus: {e}")


def sizes(scale):
    """size(n, power): n at scale 1 on two CPUs; the work grows with this power of n, and is proportional
    to the scale and to the number of CPUs."""
    factor = scale * len(os.sched_getaffinity(0)) / 2
    return lambda n, power=1: max(1, round(n * factor ** (1 / power)))


def agree(x, y):
    return abs(x - y) <= TOLERANCE * max(abs(x), abs(y))


def sums(jobs, results):
    """One checksum for each context."""
    rest = iter(results)
    return {name: math.fsum(next(rest) for _ in of_context) for name, of_context in jobs.items()}


def main(text, jobs_of, libraries=lambda: ""):
    """Runs an example, and returns its exit status.

    jobs_of(size): the jobs by context; `sizes` makes size. libraries(): which libraries do the work, for
    the first line of the output.
    """
    args = arguments(text, list(jobs_of(sizes(1))))
    jobs, tiny = jobs_of(sizes(args.scale)), jobs_of(sizes(TINY))
    print(" ".join(filter(None, [f"{len(os.sched_getaffinity(0))} CPUs, scale {args.scale:g}.", libraries()])))
    known, of_name = None, {}
    for mode in MODES if args.mode == "all" else [args.mode]:
        if mode == "contexts":      # not before: the other modes are a plain program's
            of_name = make_contexts(args.shares)
        MODES[mode](tiny, of_name)
        seconds, results = MODES[mode](jobs, of_name)
        print(f"{mode:10} {seconds:.3f} s ", *(f" {name} {value:.9g}" for name, value in sums(jobs, results).items()), flush=True)
        known = known or results
        if not all(map(agree, results, known)):
            print(f"{mode}: the results differ from those before: {results}, {known}", file=sys.stderr)
            return 1
    if of_name:
        print("CPUs:", *(f"{name} {','.join(map(str, c.cpus))}" for name, c in of_name.items()))
    return 0
