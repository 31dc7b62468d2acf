#!/usr/bin/env python3
# bench/contexts_sim.py - the experiments of the paper on library contexts, on the simulator.  SPDX-License-Identifier: Apache-2.0
"""Sections 6.3 to 6.5 of "Virtual Library Contexts" (Yan et al., SoCC '25) on a simulated machine with two sockets of 12 cores, as the
paper's. usf.tune searches the divisions of the CPUs, with the simulator as its objective. The tables are in docs/papers.md.

    bench/contexts_sim.py gemms      twenty small matrix products and a large one (Figure 9)
    bench/contexts_sim.py arpack     two eigenvalue problems (Figure 10)
    bench/contexts_sim.py workflows  the four workflows (Figure 8)
    bench/contexts_sim.py all

A library call is a serial part, then a parallel region of steps with a barrier after each. What a step costs is in Kernel's values, whose
comments say where each comes from. No value was fitted to a result of the paper; where nothing is known of it, it is varied. Everything is deterministic.
"""
import argparse
import os
import sys
import types

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path.insert(0, HERE)
# The tuner alone: the package `usf` itself loads libraries, which a simulation does not need.
package = types.ModuleType("usf")
package.__path__ = [os.path.join(ROOT, "python", "usf")]
sys.modules.setdefault("usf", package)
import papers  # noqa: E402
from usf import tune  # noqa: E402

MACHINE = "2x12-xeon.machine"
CORES = 24
LINUX = "cfs"                   # the paper's kernel is 5.15
MS, US = 1000000, 1000
FLOPS = 32e9                    # of one core in a matrix product: 16 for each of 2.2e9 cycles, and nine tenths of that


class Kernel:
    """A library's call, made `calls` times: `serial` ns of one thread; then `work` ns of core time by the team, in `steps` steps with a barrier
    after each. A step of a thread takes up to 5 % more or less. memory: part of the work that goes to memory, at 12 GB/s from one core.
    blas: of OpenBLAS, of which one copy executes one parallel part at a time (it has a lock), and whose threads wait by sched_yield. Other runtimes
    give each calling thread a team, whose threads spin for a while and then block."""

    def __init__(self, calls, serial, work, steps, blas=False, memory=0.0):
        self.calls, self.serial, self.work, self.steps, self.memory, self.blas = calls, int(serial), int(work), int(steps), memory, blas
        self.how = "yielding" if blas else "adaptive"

    def text(self, width, one_copy=False, passive=False):
        """one_copy: other threads of the program use the same copy of the library. OpenBLAS has one pool then: a team that waits for its turn takes no time.
        passive: as `usf run` sets it up: idle threads sleep at once."""
        lock = one_copy and self.blas
        idle = "blocking" if lock or passive else self.how
        inside = "blocking" if passive and not self.blas else self.how
        each = max(1, self.work // self.steps // width)
        bandwidth = f" bandwidth {int(12000 * self.memory)}MB/s memory {self.memory}" if self.memory else ""
        step = f"compute uniform({int(each * .95)}ns, {max(int(each * 1.05), int(each * .95) + 1)}ns){bandwidth}"
        lines = [f"repeat {self.calls}", f"compute {self.serial}ns"] if self.serial else [f"repeat {self.calls}"]
        lines += ["lock driver"] * lock + [f"parallel {width} {idle}", f"repeat {self.steps}", step, f"barrier team {inside}", "end", "end"]
        return "\n".join(lines + ["unlock driver"] * lock + ["end"]) + "\n"


def program(name, kernels, width, cpus=None, passive=False):
    """A program whose thread makes the calls of all kernels, one after the other."""
    on = f' on "{cpus}"' if cpus else ""
    return f"program {name}{on}\nthread\n" + "".join(k.text(width, passive=passive) for k in kernels) + f"end\nend\nstart {name}\n"


def threads(calls):
    """One program, and a thread for each list of kernels. Its teams are more threads than cores, which libgomp notices: they spin for a
    thousand rounds only."""
    text = "program threads spin 4us\nlock driver\n"
    for i, kernels in enumerate(calls):
        text += f"thread c{i} 0\n" + "".join(k.text(CORES, one_copy=True) for k in kernels) + "end\n"
    return text + "thread\n" + "".join(f"spawn c{i}\n" for i in range(len(calls))) + "join\nend\nend\nstart threads\n"


class Experiment:
    """Contexts, each with its kernels, and the ways to run them. Times in seconds."""

    def __init__(self, sim, name, contexts):
        self.sim, self.name, self.contexts = sim, name, contexts

    def run(self, text, policy=LINUX):
        run = self.sim.one(self.sim.text(self.name, text), MACHINE, policy, limit="1000s", events=400_000_000)
        if not run["ok"]:
            raise papers.Failed(f"{self.name} under {policy}: {run.get('why') or run.get('error')}")
        return papers.seconds(run)

    def sequential(self):
        """One after the other, each on all cores."""
        return self.run(program("all", [k for kernels in self.contexts.values() for k in kernels], CORES))

    def together(self):
        """Without contexts: a thread for each, and teams for all cores."""
        return self.run(threads(list(self.contexts.values())))

    def divided(self, share):
        """Each on CPUs of its own."""
        lists = tune.cpulists(share, CORES)
        return self.run("".join(program(n, k, share[n], lists[n]) for n, k in self.contexts.items()))

    def overlapping(self, policy, share=None):
        """Contexts that all have all cores, under a policy of usf: groups. share: widths of their teams, else all cores."""
        return self.run("".join(program(n, k, share[n] if share else CORES, passive=True) for n, k in self.contexts.items()), policy)

    def best(self, objective, step=1, overlap=False, budget=None):
        """The best shares. The grid, or where that has more runs than the budget a search with so many."""
        space = tune.shares(list(self.contexts), CORES, step=step, overlap=overlap)
        whole = budget is None or len(space) <= budget
        result = tune.search(space, objective, strategy="grid" if whole else "halving", repeats=1, budget=None if whole else budget, hopeless=None)
        if any(o.excluded for o in result.outcomes):
            raise papers.Failed(next(o.runs[0].detail for o in result.outcomes if o.excluded))
        return result


def told(share):
    return " + ".join(map(str, share.values()))


# ---- 21 matrix products ------------------------------------------------------------------------------------------

def gemm(n, surface):
    """OpenBLAS takes the inner dimension in blocks of 256, after each of which threads wait for each other, by sched_yield. surface: ns of serial work
    for each element of the result."""
    return Kernel(1, surface * n * n, 2 * n ** 3 / FLOPS * 1e9, n // 256, blas=True)


def gemms(sim, quick):
    rows = []
    for surface in (5,) if quick else (0, 1, 2, 5, 10, 20):
        small, large = gemm(2048, surface), gemm(8192, surface)
        small.calls = 20
        e = Experiment(sim, "gemms", {"large": [large], "small": [small]})
        one = gemm(2048, surface)
        base, at_once = e.sequential(), e.run(threads([[one]] * (2 if quick else 20) + [[large]]))
        best = e.best(e.divided, step=12 if quick else 1)
        coop = e.overlapping("coop")
        groups = e.best(lambda share: e.overlapping("coop", share), step=12 if quick else 2, overlap=True)
        rows.append([surface, f"{base:.2f}", f"{base / at_once:.2f}", told(best.best), f"{base / best.value:.2f}",
                     f"{base / e.divided({'large': 17, 'small': 7}):.2f}", f"{base / coop:.2f}", f"{base / groups.value:.2f} ({told(groups.best)})"])
    head = ["serial part, ns for each element", "one after the other, s", "a thread for each call", "best division, large + small", "speed-up", "17 + 7",
            "overlapping, 24 threads each: coop", "overlapping, best teams: coop"]
    return papers.table(head, [["paper", "", "1.35", "17 + 7", "1.58", "1.58", "", ""]] + rows)


# ---- ARPACK -------------------------------------------------------------------------------------------------------

def eigen(serial):
    """300 products of a matrix of 800 MB and a vector, all of it memory; serial: part of the time on one core that ARPACK itself takes."""
    work = 800e6 / 12e9 * 1e9
    return Kernel(300, serial / (1 - serial) * work, work, 1, memory=1.0)


def arpack(sim, quick):
    rows = []
    for serial in (.1,) if quick else (.01, .05, .1, .2, .5, .9):
        k = eigen(serial)
        if quick:
            k.calls = 20
        e = Experiment(sim, "arpack", {"a": [k], "b": [k]})
        base = e.sequential()
        best = e.best(e.divided, step=12 if quick else 1)
        rows.append([f"{100 * serial:.0f} %", f"{base:.2f}", f"{base / e.together():.2f}", f"{base / e.divided({'a': 12, 'b': 12}):.2f}", f"{base / best.value:.2f} ({told(best.best)})",
                     f"{base / e.overlapping('coop'):.2f}", f"{base / e.overlapping('coop', {'a': 12, 'b': 12}):.2f}"])
    head = ["serial part", "one after the other, s", "both at once, undivided", "12 + 12", "best division", "overlapping, 24 threads each: coop", "overlapping, 12 + 12 threads: coop"]
    return papers.table(head, [["paper", "", "", "1.96", "", "", ""]] + rows)


# ---- workflows ----------------------------------------------------------------------------------------------------

def solve(n, panel, work):
    """A blocked factorization: for each of n / 128 blocks a panel on one core, then the update of the rest by all. panel: its part of the work (LU: 0.75 * 128 / n
    of the operations, at a quarter of the speed)."""
    steps = n // 128
    return Kernel(steps, work * panel / steps, work * (1 - panel) / steps, 1, blas=True)


def lu(n):
    return solve(n, 4 * .75 * 128 / n, 2 / 3 * n ** 3 / FLOPS * 1e9)


def cholesky(n):
    return solve(n, 4 * .5 * 128 / n, n ** 3 / 3 / FLOPS * 1e9)


def hotspot(iterations):
    """A stencil on 512 x 512 x 8 cells, a parallel loop in each iteration, half of it memory: 2 ns for each cell."""
    return Kernel(iterations, 5 * US, 2 * 512 * 512 * 8, 1, memory=.5)


def cfd(elements, iterations):
    """An Euler solver: three stages of three loops in each iteration, 40 ns for each element and loop, 0.3 of it memory."""
    return Kernel(iterations * 3, 20 * US, 3 * 40 * elements, 3, memory=.3)


def kmeans(iterations):
    """494,020 points with 34 features in 5 clusters, 120 ns for each; then the threads' sums are added by one."""
    return Kernel(iterations, 1 * MS, 120 * 494020, 1, memory=.3)


def network(layers, work):
    """Layers of operations, each a parallel loop; 60 us of the framework's own before each, on one thread."""
    return Kernel(layers, 60 * US, work, 1)


WORKFLOWS = {
    "multiphysics": {"hotspot": [hotspot(300)], "hotspot2": [hotspot(300)], "cfd": [cfd(97000, 60)], "cholesky": [cholesky(6144)]},
    "N-body": {"gemm": [gemm(4096, 0)], "gesv": [lu(4096)], "cholesky": [cholesky(6144)]},
    "scientific ML": {"cfd": [cfd(97000, 60)], "kmeans": [kmeans(20)], "dnn": [network(1500, 1 * MS)]},
    "data assimilation": {"transformer": [network(1200, 4 * MS)], "cfd1": [cfd(24000, 60)], "cfd2": [cfd(24000, 60)], "cfd3": [cfd(24000, 60)]},
}


def workflows(sim, quick):
    rows, gains = [], []
    for name, contexts in list(WORKFLOWS.items())[1:2] if quick else WORKFLOWS.items():
        e = Experiment(sim, name.replace(" ", "-"), contexts)
        base, sequential = e.together(), e.sequential()
        best = e.best(e.divided, step=6 if quick else 1, budget=250)
        coop, equi = e.overlapping("coop"), e.overlapping("equi")
        groups = e.best(lambda share: e.overlapping("coop", share), step=12 if quick else 2, overlap=True, budget=8 if quick else 250)
        gains.append(base / best.value)
        rows.append([name, ", ".join(contexts), f"{base:.2f}", f"{base / sequential:.2f}", told(best.best), f"{base / best.value:.2f}", f"{base / coop:.2f}", f"{base / equi:.2f}",
                     f"{base / groups.value:.2f} ({told(groups.best)})"])
    mean = sum(gains) / len(gains)
    head = ["workflow", "contexts", "at once under Linux, s", "one after the other", "best division", "speed-up", "overlapping, 24 threads each: coop", "equi", "overlapping, best teams: coop"]
    return papers.table(head, rows) + f"\n\nBest divisions: {max(gains):.2f} at most, {mean:.2f} in the mean (paper: 2.85 and 2.05)."


REMARKS = {
    "gemms": """
Numbers are speed-ups over one after the other. The grid of all 23 divisions was searched; the teams of the last column by a grid of 144.

*Assumed:* the parallel part of a product scales with the cores, but for barriers and 5 % of imbalance. A part that grows with the matrix, not with its product (making
the matrices, copies, the first touch of pages), is serial; the paper does not tell how long that takes. So it is the table's variable: 1 ns for each element is about what page
faults take, 20 ns what it takes to fill two matrices with random numbers.

*Agrees:* the best division is 18 + 6 or 17 + 7 for all serial parts (paper: 17 + 7), since it follows from the sizes: the large product has 0.76 of the work. With 10 ns 17 + 7
is within 4 % of the best. Contexts gain more the longer the serial part is. A thread for each call gains too (paper: 1.35; here so with 5 to 10 ns).

*Disagrees:* 1.58 is not reached by divided contexts (1.44 with 20 ns). The threads of one copy are faster than divided contexts in all rows, by 1 to 22 %: here serial
parts of 21 calls go on at once while the library executes one parallel part at a time on all cores; in the paper contexts are 1.17 times as fast as threads.
Without a serial part there is nothing to gain (0.99).

*Beyond the paper:* contexts that overlap under usf, with 22 + 20 threads or so, are faster than the best division from 5 ns on: 1.58 with 20 ns. The
cores of the one that computes serially serve the other.
""",
    "arpack": """
Numbers are speed-ups over one after the other. A product of a matrix of 800 MB with a vector is all memory: 12 GB/s from one core, 61 GB/s from one socket. How much of its time ARPACK
itself needs is not known, and is the table's variable: the serial part is that of the time on one core.

*Agrees:* the even division is the best of all 23, and better than two contexts that are not divided. With a serial part of 90 % it gains 1.98 (paper: 1.96); the paper's remark that the serial
execution does not use the machine well says the same.

*Disagrees:* with a serial part of 10 % it gains 1.36 only: both problems together then need the bandwidth that one alone takes already. The simulator has each thread's data on the node where it
began. In a program that makes its matrices in one thread all of them are on one node, and two contexts on two nodes would gain more.

*Under usf:* two teams of 24 threads on 24 cores lose (0.54 to 1.94), as each step waits for the last of 24 threads; teams of 12, on all cores, are as fast as the division. So contexts of one size should
have teams of their share, also where they overlap.
""",
    "workflows": """
Numbers are speed-ups over all at once under Linux without contexts. The best division is that of a grid of 253 for three contexts, and of a search with 250 runs of 1771 for four; the best teams
are those of a search with 250 runs in a grid in steps of two.

*Assumed:* sizes, which the paper does not tell. Operations for each cell, element and point, and calls of a serial part are in `bench/contexts_sim.py`; panels of factorizations are computed from
their algorithm.

*Agrees:* contexts gain in all four workflows, 1.23 to 2.17 (paper: up to 2.85), and larger problems get more cores.

*Disagrees:* 1.67 in the mean, paper 2.05. One after the other on all cores is faster than at once in three of four workflows (1.38 to 2.11), and divisions are 1.03 to 1.43 times as fast as that; the paper has
no such column.

*Explained:* with libgomp's usual 1 ms of busy-waiting (`spin 1ms` in the function `threads`) at once takes 0.5 to 2.9 s, and divisions gain 4.8, 1.2, 4.5 and 8.3. But libgomp counts the threads of
a process, and spins for 1,000 rounds where they are more than the cores: that is the table's baseline, with 4 us.

*Under usf:* overlapping contexts with 24 threads each are faster than at once under Linux in all workflows. The best teams on all cores are faster than the best division for the first two
workflows, and slower for the other two. *Supposed:* the short loops of those wait for the last of their threads.
""",
}
EXPERIMENTS = {"gemms": gemms, "arpack": arpack, "workflows": workflows}


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("experiment", choices=list(EXPERIMENTS) + ["all"])
    a.add_argument("--sim", default=papers.find_sim(), help="the program usf-sim (default: $USF_SIM, build/usf-sim, or from PATH)")
    a.add_argument("--quick", action="store_true", help="a part of it, to stdout alone")
    a.add_argument("--doc", default=os.path.join(ROOT, "docs", "papers.md"))
    o = a.parse_args()
    sim = papers.Sim(o.sim, 1, False)
    for name in EXPERIMENTS if o.experiment == "all" else [o.experiment]:
        text = EXPERIMENTS[name](sim, o.quick)
        print(f"{name}\n\n{text}\n", flush=True)
        if not o.quick:
            papers.store(o.doc, "contexts-" + name, text + "\n\n" + REMARKS[name].strip())
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (papers.Failed, tune.TuneError, OSError) as e:
        print(f"contexts_sim.py: {e}", file=sys.stderr)
        sys.exit(1)
