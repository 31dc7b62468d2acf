#!/usr/bin/env python3
# bench/papers.py - the papers' experiments on the simulator.  SPDX-License-Identifier: Apache-2.0
"""Runs one figure or table of a paper on `usf sim` and writes what came of it into docs/papers.md.

    bench/papers.py table3        equipartitioning paper, Table III: BP, EQ, TA, CO; sets A to D
    bench/papers.py table3-memory does it matter that memory does not count in it?
    bench/papers.py table3-load   ... or that jobs take no longer than Table I says?
    bench/papers.py hackbench     FLSCHED paper, Figure 4: time and switches over groups
    bench/papers.py nosv2         nOS-V paper, Figures 6 and 7: scores of pairs
    bench/papers.py nosv3         nOS-V paper, Figure 8: scores of triples
    bench/papers.py cholesky      USF paper, Table 2: nested runtimes in Cholesky
    bench/papers.py matmul        USF paper, Figure 3: nested matmul's heat maps
    bench/papers.py microservices USF paper, Figure 4: latency over the rate of requests
    bench/papers.py md            USF paper, Figure 5: MD ensembles
    bench/papers.py all

What stands between the markers of docs/papers.md is replaced: the numbers, and below them what agrees and what does not, which is
written by hand in REMARKS here.  Whoever makes the numbers anew reads the remarks again.  Everything is deterministic: the same sources give the
same numbers.  --quick runs a part of each, for tests, and writes nothing.
"""
import argparse
import itertools
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
WORKLOADS = os.path.join(ROOT, "sim", "workloads")
MACHINES = os.path.join(ROOT, "sim", "machines")


class Failed(Exception):
    pass


class Sim:
    """Runs usf-sim and keeps temporary workloads."""

    def __init__(self, exe, jobs, strict):
        self.exe, self.jobs, self.strict = exe, jobs, strict
        self.dir = tempfile.TemporaryDirectory(prefix="usf-papers-")

    def run(self, workload, machine, policies, sets=(), seeds=1, limit="600s", alone=False, events=30_000_000, options=()):
        """{policy: [run, ...]}; a run that met a limit has ok = False."""
        path = workload if os.path.sep in workload else os.path.join(WORKLOADS, workload + ".usfw")
        if "machine" in machine:
            machine = os.path.join(MACHINES, machine)
        # The papers' policies interrupt no thread, so ours do so less often than by default.  The papers' threads are kernel threads.
        cmd = [self.exe, "run", path, "--progress", "20ms", "--float", "off", "-m", machine, "-p", ",".join(policies), "--json", "-n", str(seeds), "-j", str(self.jobs),
               "--limit", limit, "--events", str(events), *options]
        if not alone:
            cmd.append("--no-alone")
        for s in sets:
            cmd += ["--set", s]
        r = subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
        try:
            out = json.loads(r.stdout)
        except ValueError:
            raise Failed(f"{' '.join(cmd)}: exit {r.returncode}: {r.stderr.strip()[:500]}") from None
        runs = {p: [] for p in policies}
        for one in out["runs"]:
            runs[one["policy"]].append(one)
            if self.strict and not one["ok"]:
                raise Failed(f"{' '.join(cmd)}: {one['policy']}: {one.get('why') or one.get('error') or 'it failed'}")
        return runs

    def one(self, workload, machine, policy, **kw):
        return self.run(workload, machine, [policy], **kw)[policy][0]

    def text(self, name, text):
        path = os.path.join(self.dir.name, name + ".usfw")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path


def source(name, **replace):
    """A workload of the library with words replaced (how threads wait)."""
    with open(os.path.join(WORKLOADS, name), encoding="utf-8") as f:
        text = f.read()
    for old, new in replace.items():
        text = re.sub(rf"\b{old}\b", new, text)
    return text


def seconds(run):
    return run["makespan_ns"] / 1e9 if run["ok"] else None


def fmt(x, form="{:.2f}"):
    return "-" if x is None else form.format(x)


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(str(c) for c in r) + " |" for r in rows])


# ---- equipartitioning, Table III ---------------------------------------------------------------------------------

TABLE3 = {  # set: {approach: (makespan % of BP, average slowdown, reconfigurations)}
    "A": {"BP": (100, 6.7, 0), "EQ": (89, 4.8, 155), "TA": (95, 4.7, 81), "CO": (100, 6.2, 74)},
    "B": {"BP": (100, 10.2, 0), "EQ": (94, 8.4, 170), "TA": (91, 7.3, 103), "CO": (100, 10.4, 64)},
    "C": {"BP": (100, 10.7, 0), "EQ": (92, 8.9, 178), "TA": (90, 8.3, 104), "CO": (101, 13.1, 88)},
    "D": {"BP": (100, 11.9, 0), "EQ": (92, 11.1, 167), "TA": (86, 8.6, 112), "CO": (89, 10.3, 51)},
}
SEEDS3 = {"A": 5, "B": 8, "C": 4, "D": 8}  # workloads per set, Table II
APPROACHES3 = [("BP", "batch", ()), ("EQ", "equi", ("--topology-blind",)), ("TA", "equi", ()), ("CO", "gang", ())]


def span3(run):
    """The paper's makespan: the time in which there is a job, ns."""
    total = end = 0
    for begins, ends in sorted((p["arrival_ns"], p["end_ns"]) for p in run["programs"]):
        total += max(ends, end) - max(begins, end)
        end = max(ends, end)
    return total


def alone3(runs):
    """The isolated parallel times are the same for all approaches: those under BP, which gives a lone job the machine."""
    return {(r["seed"], i): p["alone_ns"] for r in runs for i, p in enumerate(r["programs"])}


def slowdown3(runs, alone):
    return statistics.mean(p["response_ns"] / alone[r["seed"], i] for r in runs for i, p in enumerate(r["programs"]))


def table3(sim, quick):
    """Each approach's policy; EQ is equi without topology.  UE: Linux alone, teams as wide as the machine, which no approach controls."""
    rows = []
    approaches = APPROACHES3 + [("speed-up-aware", "speedup", ()), ("UE (CFS)", "cfs", ()), ("UE (EEVDF)", "eevdf", ())]
    for name in "A" if quick else "ABCD":
        sets = ["regions=50", "jobs=10"] if quick else ["regions=200"]
        base, alone = None, None
        for label, policy, options in approaches:
            runs = sim.run(f"npb-set-{name.lower()}", "4x6-opteron.machine", [policy], sets=sets, seeds=2 if quick else SEEDS3[name],
                           limit="5000s", alone=label == "BP", events=1_000_000_000, options=options)[policy]
            good = [r for r in runs if r["ok"]]
            if not good:
                rows.append([name, label, "-", "-", "-", "-", "-", "-", "-"])
                continue
            span = statistics.mean(span3(r) for r in good)
            base = base or span
            alone = alone or alone3(good)
            paper = TABLE3[name].get(label)
            rows.append([name, label, f"{paper[0]} %" if paper else "", f"{100 * span / base:.0f} %", paper[1] if paper else "",
                         f"{slowdown3(good, alone):.1f}", paper[2] if paper else "",
                         f"{statistics.mean(r['reconfigurations'] - r['moves'] for r in good):.0f}", f"{statistics.mean(r['moves'] for r in good):.0f}"])
    return table(["set", "approach", "makespan, paper", "ours", "slowdown, paper", "ours", "reconfigurations, paper", "ours", "moves"], rows)


def workload3(sim, name, memory, arrivals):
    """A set with all programs so much of their time in memory, of which what is on another node is as far as the machine says, and jobs that come
    faster."""
    programs = source("npb-programs.usfi")
    if memory:
        programs = re.sub(r" divided$", " divided bandwidth 200MB/s memory 0.4", programs, flags=re.M)
    text = source(f"npb-set-{name.lower()}.usfw").replace('include "npb-programs.usfi"', programs)
    text = re.sub(r"poisson (\d+)/", lambda m: f"poisson {float(m[1]) * arrivals:g}/", text)
    return sim.text(f"set-{name}-{memory}-{arrivals}", text)


def table3_memory(sim, quick):
    rows = []
    for name in "A" if quick else "ABCD":
        for kind, path in (("no memory", workload3(sim, name, False, 1)), ("memory", workload3(sim, name, True, 1))):
            cells = [name, kind]
            for options in (("--topology-blind",), ()):
                good = [r for r in sim.run(path, "4x6-opteron.machine", ["equi"], sets=["regions=100"] + (["jobs=6"] if quick else []), seeds=2,
                                           limit="5000s", options=options)["equi"] if r["ok"]]
                cells.append(fmt(statistics.mean(seconds(r) for r in good) if good else None, "{:.0f}"))
                cells.append(fmt(statistics.mean(p["response_ns"] for r in good for p in r["programs"]) / 1e9 if good else None, "{:.1f}"))
            rows.append(cells)
    return table(["set", "programs", "EQ: makespan, s", "mean response, s", "TA: makespan, s", "mean response, s"], rows)


# Table I: sequential time in seconds, speed-up on 24 cores
TABLE1 = {"bt": (94, 13.4), "cg": (169, 9.2), "ft": (82, 11.7), "is_c": (52, 12.2), "lu": (75, 12.9), "mg": (13, 4.3), "sp": (71, 7.0), "ua": (68, 15.9)}
LOADS3 = [("as Table I", False, 1), ("1.3 times the arrivals", False, 1.3), ("memory", True, 1)]


def queue3(name, longer, draws=1000):
    """Average slowdown of a set's workloads under BP, as a queue has it whose jobs take so many times as long as Table I says: 2.5 %, mean, 97.5 % of draws."""
    rng = random.Random(1)
    left_out = {"C": ("lu",), "D": ("ft", "mg")}.get(name, ())
    times = [s / f * longer for p, (s, f) in TABLE1.items() if p not in left_out]
    found = []
    for _ in range(draws):
        slow = []
        for _ in range(SEEDS3[name]):
            now = free = 0
            for _ in range(40):
                now += rng.expovariate((6 if name == "A" else 9) / 60)
                takes = rng.choice(times)
                free = max(now, free) + takes
                slow.append((free - now) / takes)
        found.append(statistics.mean(slow))
    found.sort()
    return found[draws // 40], statistics.mean(found), found[-draws // 40]


def table3_load(sim, quick):
    rows, queue = [], []
    for name in "A" if quick else "ABCD":
        slow, span = {}, {}
        for kind, memory, arrivals in LOADS3:
            alone = None
            for label, policy, options in APPROACHES3:
                good = [r for r in sim.run(workload3(sim, name, memory, arrivals), "4x6-opteron.machine", [policy],
                                           sets=["regions=100"] + (["jobs=6"] if quick else []), seeds=1 if quick else SEEDS3[name] // 2, limit="5000s",
                                           alone=label == "BP", events=1_000_000_000, options=options)[policy] if r["ok"]]
                if not good:
                    continue
                alone = alone or alone3(good)
                slow[kind, label] = slowdown3(good, alone)
                span[kind, label] = statistics.mean(span3(r) for r in good)
        for label, _, _ in APPROACHES3:
            rows.append([name, label, TABLE3[name][label][1]] + [fmt(slow.get((k, label)), "{:.1f}") for k, _, _ in LOADS3] + [TABLE3[name][label][0]] +
                        [fmt(100 * span[k, label] / span[k, "BP"] if (k, label) in span and (k, "BP") in span else None, "{:.0f}") for k, _, _ in LOADS3])
        queue.append([name, TABLE3[name]["BP"][1]] + ["{1:.1f} ({0:.1f} to {2:.1f})".format(*queue3(name, x, 40 if quick else 1000)) for x in (1, 1.3, 1.5)])
    return (table(["set", "approach", "slowdown, paper"] + [k for k, _, _ in LOADS3] + ["makespan, paper, %"] + [k for k, _, _ in LOADS3], rows) +
            "\n\nBP is a queue with one server. Its slowdowns with Table I's times, by 1,000 draws of each set (mean, and between what 95 % of them are):\n\n" +
            table(["set", "paper", "jobs as Table I", "jobs 1.3 times as long", "1.5 times"], queue))


# ---- FLSCHED, hackbench ------------------------------------------------------------------------------------------

def hackbench(sim, quick):
    """Time and switches without those of creating the threads: less what a run without messages has."""
    rows = []
    names = {"cfs": "CFS", "sched-rr": "RR", "sched-fifo": "FIFO", "fl": "fl", "coop": "coop"}
    for groups, loops in ((2, 50),) if quick else ((10, 40), (40, 40), (50, 40), (100, 40), (200, 40)):
        time, switches, begin = [], [], []
        for p in names:
            r, none = [sim.one("hackbench", "phi-57x4.machine", p, sets=[f"groups={groups}", f"loops={n}"], limit="300s", events=200_000_000)
                       for n in (loops, 0)]
            both = r["ok"] and none["ok"]
            time.append(fmt(seconds(r) - seconds(none) if both else None))
            switches.append(fmt((r["switches"] - none["switches"]) / 1e3 if both else None, "{:.1f}"))
            begin.append(fmt(none["switches"] / 1e3 if both else None, "{:.1f}"))
        rows.append([groups, groups * 40] + time + switches + begin)
    return table(["groups", "threads"] + [n + ", s" for n in names.values()] + [n + ", 1000 switches" for n in names.values()] +
                 [n + ", to begin" for n in names.values()], rows)


# ---- nOS-V, pairs and triples ------------------------------------------------------------------------------------

NOSV = ["matmul", "dot", "heat", "hpccg", "nbody", "cholesky", "lulesh"]
STRATEGIES = ["exclusive", "oversubscription idle", "oversubscription busy", "static", "DLB", "nOS-V (coop)", "equi"]


def nosv_scores(sim, combos, machine="1x64-epyc.machine"):
    """{combination: [score per strategy]}: the best makespan over the strategies', by the paper's equation."""
    programs = source("nosv-programs.usfi")
    alone = {}
    for b in sorted({b for c in combos for b in c}):
        alone[b] = seconds(sim.one(sim.text("alone", programs + f"\nstart {b}\n"), machine, "cfs"))
        if alone[b] is None:
            raise Failed(f"{b} alone met a limit")
    out = {}
    for combo in combos:
        starts = "\n" + "".join(f"start {b}\n" for b in combo)
        idle = sim.text("idle", programs + starts)
        busy = sim.text("busy", source("nosv-programs.usfi", blocking="spinning") + starts)
        part = sim.text("part", programs.replace("taskgraph cores", f"taskgraph floor(cores / {len(combo)})") + starts)
        spans = [sum(alone[b] for b in combo), seconds(sim.one(idle, machine, "cfs")), seconds(sim.one(busy, machine, "cfs", limit="30s")),
                 seconds(sim.one(part, machine, "static")), seconds(sim.one(idle, machine, "dlb")), seconds(sim.one(idle, machine, "coop")),
                 seconds(sim.one(idle, machine, "equi"))]
        best = min(s for s in spans if s)
        out[combo] = [best / s if s else 0.0 for s in spans]
    return out


def summary(scores):
    rows = []
    for i, name in enumerate(STRATEGIES):
        col = sorted(s[i] for s in scores.values())
        q = statistics.quantiles(col, n=4) if len(col) > 1 else [col[0]] * 3
        rows.append([name, f"{q[1]:.2f}", f"{q[0]:.2f} - {q[2]:.2f}", f"{col[0]:.2f}", f"{col[-1]:.2f}"])
    return table(["strategy", "median score", "quartiles", "least", "most"], rows)


def nosv2(sim, quick):
    combos = list(itertools.combinations_with_replacement(NOSV, 2))
    scores = nosv_scores(sim, combos[:1] if quick else combos)
    gains = sorted((s[5] / s[0], c) for c, s in scores.items())
    text = summary(scores) + f"\n\nSpeed-up of coop over exclusive: median {statistics.median(g for g, _ in gains):.2f}, most {gains[-1][0]:.2f} "
    text += f"({' and '.join(gains[-1][1])}), least {gains[0][0]:.2f} ({' and '.join(gains[0][1])}).\n\n"
    return text + table(["pair"] + STRATEGIES, [[" + ".join(c)] + [f"{x:.2f}" for x in s] for c, s in scores.items()])


def nosv3(sim, quick):
    combos = list(itertools.combinations(NOSV, 3))
    scores = nosv_scores(sim, combos[:1] if quick else combos)
    gains = sorted((s[5] / s[0], c) for c, s in scores.items())
    return summary(scores) + f"\n\nSpeed-up of coop over exclusive: median {statistics.median(g for g, _ in gains):.2f}, most {gains[-1][0]:.2f} " \
        f"({', '.join(gains[-1][1])}), least {gains[0][0]:.2f} ({', '.join(gains[0][1])})."


# ---- USF ---------------------------------------------------------------------------------------------------------

CORES56 = "package:1 numa:1 l3:1 core:56"
TABLE2 = {"gnu llvm opb": ((1468, 1.1), (580, 2.36), (347, 3.14)), "tbb llvm opb": ((1619, 1.1), (602, 2.47), (363, 3.22)),
          "tbb gnu blis": ((2004, 1.06), (694, 3.23), (358, 4.28)), "tbb pth blis": ((1590, 1.34), (356, 6.28), (103, 14.4)),
          "gnu pth blis": ((1413, 1.33), (254, 6.86), (86, 14.7))}


def cholesky(sim, quick):
    degrees = [("mild", 8), ("medium", 14), ("high", 28)]
    rows, mine = [], []
    spin = sim.text("cholesky-spin", source("cholesky-nested.usfw", yielding="spinning"))
    for name, n in degrees[:1] if quick else degrees:
        sets = [f"outer={n}", f"inner={n}"] + (["n=4"] if quick else [])
        base = seconds(sim.one("cholesky-nested", CORES56, "cfs", sets=sets))
        coop = seconds(sim.one("cholesky-nested", CORES56, "coop", sets=sets))
        bare = seconds(sim.one(spin, CORES56, "cfs", sets=sets, limit="60s"))
        mine.append((name, n, base, coop, bare))
    if any(m[2] is None or m[3] is None for m in mine):
        raise Failed("a run met a limit")
    for name, n, base, coop, bare in mine:
        i = [d[0] for d in degrees].index(name)
        paper = [TABLE2[r][i] for r in TABLE2]
        rel = [TABLE2[r][i][0] / TABLE2[r][0][0] for r in list(TABLE2)[:3]]
        rows.append([f"{name}, {n}x{n}", f"{min(rel):.2f} - {max(rel):.2f}", f"{mine[0][2] / base:.2f}",
                     f"{min(p[1] for p in paper[:3])} - {max(p[1] for p in paper[:3])}", f"{base / coop:.2f}",
                     "60 s met" if bare is None else f"{bare / base:.0f} times as long"])
    return table(["threads", "baseline, of mild's: paper (reused teams)", "ours", "speed-up of SCHED_COOP: paper (reused teams)", "ours",
                  "barrier spins, no yield (ours)"], rows)


def heatmap(values, tasks, inners, form):
    return table(["tasks \\ inner threads"] + [str(i) for i in inners],
                 [[t] + [fmt(values.get((t, i)), form) for i in inners] for t in tasks])


def matmul(sim, quick):
    tasks, inners = ([16], [1, 8]) if quick else ([1, 4, 16, 64, 256, 1024], [1, 8, 28, 56])
    spin = sim.text("matmul-spin", source("matmul-nested.usfw", yielding="spinning"))
    total = "total=2s" if quick else "total=10s"
    base, coop, hard, bare = {}, {}, {}, {}
    for t in tasks:
        for i in inners:
            sets = [f"tasks={t}", f"inner={i}", total]
            kw = {"sets": sets, "limit": "20s", "events": 30_000_000}
            base[t, i] = seconds(sim.one("matmul-nested", CORES56, "cfs", **kw))
            coop[t, i] = seconds(sim.one("matmul-nested", CORES56, "coop", **kw))
            hard[t, i] = seconds(sim.one("matmul-nested", CORES56, "coop", options=["--float", "off"], **kw))
            bare[t, i] = seconds(sim.one(spin, CORES56, "cfs", **{**kw, "limit": "2s", "events": 3_000_000}))
    ideal = (2 if quick else 10) / 56
    share = {k: ideal / v for k, v in base.items() if v}
    gain = {k: base[k] / v for k, v in coop.items() if v and base[k]}
    parked = {k: base[k] / v for k, v in hard.items() if v and base[k]}
    loss = {k: base[k] / v for k, v in bare.items() if v and base[k]}
    cshare = {k: ideal / v for k, v in coop.items() if v}
    return ("Baseline (CFS, as in the paper's Linux 5.14; barriers that yield): performance, of all cores computing\n\n" + heatmap(share, tasks, inners, "{:.2f}") +
            "\n\nSCHED_COOP: performance\n\n" + heatmap(cshare, tasks, inners, "{:.2f}") +
            "\n\nSCHED_COOP: speed-up over the baseline\n\n" + heatmap(gain, tasks, inners, "{:.2f}") +
            "\n\nSCHED_COOP, threads that do not float (`--float off`): speed-up over the baseline\n\n" + heatmap(parked, tasks, inners, "{:.2f}") +
            "\n\nOriginal (CFS, barriers that spin): speed-up over the baseline (-: more than 2 s, or 3 million events, the ideal being 0.18 s)\n\n" +
            heatmap(loss, tasks, inners, "{:.3f}"))


def microservices(sim, quick):
    rows = []
    for rate in (0.33,) if quick else (0.1, 0.33, 1.0):
        sets = [f"rate={rate}/s", "requests=2" if quick else "requests=6"] + (["layers=20"] if quick else [])
        cells = [rate]
        for policy in ("cfs", "coop"):
            r = sim.one("microservices", "2x56.machine", policy, sets=sets, limit="2000s", events=400_000_000)
            lat = next((p.get("requests") or {} for p in r.get("programs", []) if p["name"] == "client"), {})
            cells += [fmt(lat["mean_ns"] / 1e9 if "mean_ns" in lat else None), fmt(seconds(r), "{:.1f}")]
        rows.append(cells)
    return table(["requests per second", "CFS: latency, s", "makespan, s", "coop: latency, s", "makespan, s"], rows)


def md(sim, quick):
    sets = ["steps=10"] if quick else []
    alone = seconds(sim.one("md-ensembles", "2x56.machine", "cfs", sets=sets + ["ensembles=1"]))
    both = {p: seconds(sim.one("md-ensembles", "2x56.machine", p, sets=sets, limit="300s", events=400_000_000)) for p in ("cfs", "static", "coop")}
    polite = sim.text("md", source("md-ensembles.usfw", spinning="yielding"))
    both["cfs, yields"] = seconds(sim.one(polite, "2x56.machine", "cfs", sets=sets, limit="300s"))
    rows = [["exclusive", f"{2 * alone:.2f}", "1.00"]] + [[p, fmt(t), fmt(2 * alone / t if t else None)] for p, t in both.items()]
    text = table(["scenario", "both ensembles, s", "speed-up over exclusive"], rows)
    return text if all(both.values()) else text + "\n\n-: stopped by a limit before its end (400 million events, or 300 s): there is no result."


# ---- What agrees and what does not: by hand, stands below the tables ---------------------------------------------

REMARKS = {
    "table3": """
Makespan is the time in which there is a job, as in the paper. A reconfiguration here is a change of a program's width, as the paper's programs saw it: a request to adapt the number of threads. `moves` are
changes to other cores, as many as before: programs that share an emptier partition and a crowded one take turns (EQUI_TURN_NEAR, EQUI_TURN_FAR in src/policy/equi.h), which the paper's TA does not do.

*Agrees:* set A's makespans of EQ and TA (90 and 93 %, paper 89 and 95 %); TA has fewer reconfigurations than EQ in all sets (0.62 to 0.68 of them; paper 0.52 to 0.67); EQ, TA and CO are
shorter than BP and have less slowdown in all sets, as the paper's EQ and TA.

*Disagrees:*
- EQ is the best here in makespan and slowdown in all sets; in the paper TA has the least slowdown in all of them and the least makespan in B to D.
- In B to D the makespans of EQ, TA and CO are 6 to 18 points below the paper's, and their slowdowns 0.33 to 0.60 of it. BP's slowdowns are 0.51 to 0.77 of the paper's.
- TA has 109 to 153 reconfigurations, the paper's 81 to 112; CO 132 to 200, the paper's 51 to 88.

`speedup` is no better than TA: no less slowdown, no shorter makespan, and more reconfigurations. UE is not in the paper's table. Where one program makes use of cores that another does
not, it helps: `usf sim run speedup-mix --float off -m 4x6-opteron -p equi,speedup` ends after 37.9 s instead of 42.0.

*Explained:* an earlier table had no gain over BP in set A (99 to 103 %): it counted the time up to the last job's end, when there was none to be run as well, where six jobs a minute leave the machine
idle for a quarter of it. The slowdowns: `bench/papers.py table3-load`, below. The programs of Table I as they are here have no memory, so that a partition across sockets costs nothing but
colder caches: `bench/papers.py table3-memory`. Regions are limited to 200 a program, to save time.
""",
    "table3-memory": """
The same programs, two workloads of each set, without memory and with 40 % of their time in it, at 200 MB/s a thread; makespans up to the last job's end. Without, EQ responds in 0.82 to 0.88 of TA's time; with it
in 0.94 to 0.99, and the makespans are within 1 % (0.98 to 1.00 without). So what crossing sockets costs takes EQ's lead away, as supposed before, but does not turn it around. In
the paper communication between the threads of a program is what decides, which the workload does not have at all.
""",
    "table3-load": """
Half of the workloads of each set; slowdowns are over isolated times of the same kind. *Explained:* BP's slowdowns hang on arrivals and jobs' times alone. With Table I's times all four of the paper's are
above what 97.5 % of draws have, so it is not chance; with jobs 1.3 times as long (or arrivals as much faster) all four are within. So in the paper's experiment jobs took longer than Table I says, which
has whole experiments with 6 and 9 jobs a minute at 1.0 and 1.45 of what the machine can do, instead of 0.75 and 1.12. That alone brings EQ, TA and CO to 0.42 to 0.74 of the paper's. With memory, where jobs take
longer by themselves (BP has the slowdowns of 1.3) and those at the same time take bandwidth from each other, TA comes to 0.78 to 0.89, EQ to 0.61 to 0.83, CO to 0.50 to 0.76.

*Not explained:* the rest. Narrow partitions pay more here than in the paper: with a higher load EQ, TA and CO gain more over BP (makespans of 68 to 79 % in B to D), not less. The paper says of
lu.A and cg.B that a partition across sockets is their worst case, and of mg.B that it is bound by memory; by how much it does not say.
""",
    "hackbench": """
Time and switches without those of creating the threads (a run without messages is subtracted; the last columns are its switches). 40 loops: the 800 messages to
each receiver are more than its pipe holds (655), so senders wait, too; the default of hackbench is 100.

*Agrees:* CFS switches 10.9 times as often as fl with 8,000 threads (paper: 11 times), and its switches grow faster than the groups do; fl has fewer than RR and FIFO as well;
time grows in proportion to the groups; fl takes as long as RR and FIFO.

*Disagrees:* CFS takes 1.1 times as long as fl with 8,000 threads; in the paper up to 3.12 times.

coop switches 5 times as often as fl: its free cores take waiting threads of others, which then find little in their pipes. An earlier table had coop at fl's level and 44 to 88 thousand
switches to begin: of these most were yields at the barrier before the first message, which came in the run with messages just as often.

*Explained:* an earlier table had fl switch twice as often as CFS. Its few loops never made a sender wait, so that it counted the switches of threads that begin, in the last columns: three per
thread under fl and two under CFS. And its times were those of creating 8,000 threads, one after the other. *Supposed, not tested:* that the paper's times come of locks
within Linux's scheduler, which the models do not have: 300,000 switches of 3 us each, on 228 CPUs, are 4 ms of 480.
""",
    "nosv2": """
The paper's medians are pictures and formulas that its text as we have it does not contain: what its words say is compared.

*Agrees:* busy oversubscription is the worst and spreads most; no pair is slower under nOS-V than exclusively (least 1.02); static partitions are among the first.

*Disagrees:*
- nOS-V's policy is not ahead: static has the median 0.98, DLB 0.97, coop 0.96. In the paper nOS-V has the best median and the smallest range.
- The pair that gains most is lulesh + lulesh (1.42); in the paper HPCCG + N-body, which has 1.09 here. dot + heat, one of those that gain least there, gains 1.04.

*Tested:* coop loses against DLB where one of the two is bound by memory, as supposed, but not since it gives both the same time: with weights of 1:2 to 1:4 or 4:1 dot + nbody takes
the same 1.03 s (DLB 0.84 s). Under coop nbody ends at 0.58 to 0.67 s, and the rest of dot, on all cores, has no more bandwidth than half of them take; DLB's halves give dot its full bandwidth
from the beginning. *Supposed, not tested:* that our DLB is too good, as its model lends and takes back CPUs without any cost of its own.

*What wins there is `equi`*, which is not in the paper: it has the best median and the best least score (0.95). Each program has a half of the machine, so the one that is bound by memory runs
beside the one that computes from the beginning; cores that one has no work for run threads of the other. Why it is ahead of DLB as well was not looked into.
""",
    "nosv3": """
As with pairs the paper's numbers are not in its text.

*Agrees:* triples gain more over exclusive execution than pairs (median 1.17 against 1.09); static is below DLB; exclusive and busy oversubscription are low.

*Disagrees:* coop (0.92) is behind DLB (0.95) and idle oversubscription (0.94); in the paper nOS-V is far ahead, with little spread, and oversubscription is
among the lowest. As for pairs, that our DLB costs too little is supposed and not tested.

As with pairs `equi` has the best median and the best least score (0.97).
""",
    "cholesky": """
*Agrees:* coop gains the more the more threads there are, at mild and high about as much as in the paper (1.16 against 1.06 to 1.10, 4.50 against 3.14 to 4.28), and the
baseline falls to 0.26 of mild's at high (0.18 to 0.24); barriers that only spin are far worse than those that yield where there are more threads than cores.

*Disagrees:* at medium the baseline keeps 0.60 of mild's performance (paper 0.35 to 0.40), so that coop gains 1.90 instead of 2.4 to 3.2.

*Explained:* an earlier table had a baseline that hardly suffered (1.12 of mild's at medium, 0.74 at high), and gains of 1.63, 1.23 and 1.98: in our workload the ends of calls yielded like the
barriers within them. The paper runs all runtimes with the passive wait policy (section 5.2): they block there, and BLAS's own barriers alone yield, as now. (`sed 's/inner blocking/inner yielding/'`
of the workload has the old numbers.) At high the loss is switches: CFS has 25 million, 31 of 46 s of its CPUs, coop 0.5 million and 0.8 s. The scheduler's own price is not it:
without `sched` and `lock` costs coop takes the same 0.18 s. (`usf sim run cholesky-nested --float off -m core:56 -p coop,cfs --set outer=28 --set inner=28 --json`, with and without `lock=0ns sched=0ns` after
the machine.)
*Tested:* that caches make the difference at medium: no, with `cold-same=20us` after the machine instead of 2 the old workload's baseline kept 1.15. That more blocks (12 x 12 here,
32 x 32 in the paper) do: no, with 24 x 24 (`--set n=24`) coop gains 1.15 at mild and 1.75 at medium. *Known:* the paper's rows with
threads that are made anew for each call (gains of 1.3, 6 and 14) are not simulated.
""",
    "matmul": """
The baseline is CFS, as the paper's Linux is 5.14; it was EEVDF before, which balances these teams better, and 4 x 28 threads perfectly.

*Agrees:* few tasks and few threads leave cores unused; barriers that only spin are slower the more threads there are; coop is never slower than the baseline by more than 1 %, and faster in the
middle of the map, 4 to 64 tasks with 28 and 56 threads and 16 to 256 with 8: 1.06 to 1.33 (paper: 1.02 to 1.28).

*Disagrees:* the more finely the work is cut, the more coop gains: up to 3.41 with 256 tasks of 56 threads. (The paper leaves that corner out of its claim, as too finely cut.)
The best cell of coop (0.98) is not better than the baseline's best (0.99); the paper's is by 9.8 %.

*Explained:* earlier tables had coop at 0.47 and 0.86 of the baseline with 1,024 tasks of 56 and 28 threads, for two causes. First, in the workload the ends of calls yielded; with the passive wait policy of
the paper's section 5.2 they block, and only the barriers within calls yield (as in Cholesky, above). Second, in the scheduler: soft waits, which usf no longer has. Not the cause, as was
supposed: that those that sleep get one turn in 16 (`OFFERS`): with one in 4 it took 0.48 s, with one in 64 the same 0.29.
""",
    "microservices": """
6 requests at each rate, not the paper's 28, to save time: so the latencies are those of the beginning of a run, and means of 6.

*Agrees:* coop answers sooner than Linux at every rate, 1.02 to 1.16 times.

*Disagrees:* Linux does not collapse at higher rates; 6 requests are too few for that.

*Explained:* an earlier table had Linux at 12.6 to 13.7 s, and coop 1.25 to 2.1 times as fast: the threads of idle teams yielded while they waited for the next request. With the paper's passive wait policy
(section 5.2) they block, and yield in the barriers within a request alone.

*Known:* the servers' times and widths are the paper's, arrivals are by chance with a seed of our own, and what a request does within a server is 200 equal layers with a barrier each.
""",
    "md": """
*Agrees:* all ways to run both ensembles at once are faster than one after the other, as in the paper; coop is faster than Linux (1.25 times; paper: up to 1.04), and the fastest.

*Disagrees:* coop and Linux with spins turned into yields (1.29 and 1.20 over exclusive) are further ahead than in the paper.

*Known:* in the paper ensembles on halves of the machine have 28 ranks instead of 56; here all have 56, and bandwidth and imbalance are round numbers, not measured ones. Results where many threads spin on few
CPUs depend on who happens to be where: with another order of simultaneous events both under EEVDF took 13.8 s, now 10.8 s. (Take differences of 10 % there as none.)
""",
}


EXPERIMENTS = {"table3": table3, "table3-memory": table3_memory, "table3-load": table3_load, "hackbench": hackbench, "nosv2": nosv2, "nosv3": nosv3,
               "cholesky": cholesky, "matmul": matmul, "microservices": microservices, "md": md}


def store(path, name, text):
    with open(path, encoding="utf-8") as f:
        doc = f.read()
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    if begin not in doc or end not in doc:
        raise Failed(f"{path} has no markers '{begin}' and '{end}' to write between")
    head, rest = doc.split(begin, 1)
    with open(path, "w", encoding="utf-8") as f:
        f.write(head + begin + "\n\n" + text + "\n\n" + end + rest.split(end, 1)[1])


def find_sim():
    for d in (os.environ.get("USF_SIM", ""), os.path.join(ROOT, "build", "usf-sim")):
        if d and os.access(d, os.X_OK):
            return d
    return "usf-sim"


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("experiment", choices=list(EXPERIMENTS) + ["all"])
    a.add_argument("--sim", default=find_sim(), help="the program usf-sim (default: $USF_SIM, build/usf-sim, or from PATH)")
    a.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1, help="simulations at a time")
    a.add_argument("--quick", action="store_true", help="a part of it, to stdout alone")
    a.add_argument("--doc", default=os.path.join(ROOT, "docs", "papers.md"))
    o = a.parse_args()
    sim = Sim(o.sim, o.jobs, o.quick)
    for name in EXPERIMENTS if o.experiment == "all" else [o.experiment]:
        text = EXPERIMENTS[name](sim, o.quick)
        print(f"{name}\n\n{text}\n", flush=True)
        if not o.quick:
            store(o.doc, name, text + "\n\n" + REMARKS[name].strip())
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Failed, OSError) as e:
        print(f"papers.py: {e}", file=sys.stderr)
        sys.exit(1)
