#!/usr/bin/python3
# bench/policies.py - the numbers of the policies.  SPDX-License-Identifier: Apache-2.0
"""Measure what docs/performance.md says under "Policies and simulator", each by one command:

  bench/policies.py costs      ns that a policy takes when a core changes tasks (coop 60, fl 30 at most)
  bench/policies.py scale      fl by many threads at once, with and without the scheduler's lock; and on 1 to 16 simulated cores
  bench/policies.py shares     equal shares of 2, 3 and 4 OpenMP programs, live: Jain's index over work and CPU time (0.99 at least)
  bench/policies.py switch     how long gang takes from a slot's end until all cores run the next program (1 ms at most)
  bench/policies.py hack       groups of senders and receivers: time, and context switches against Linux's
  bench/policies.py all

Repetitions are interleaved, results are medians; each command prints a table and writes bench/results/policies-NAME.json and .md.  What is
measured with anything else running beside is worth little.  --small: fewer and shorter runs, to see that it works."""
import argparse
import json
import os
import re
import shlex
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from usfbench import configs, launch, machine, measure  # noqa: E402

ROOT = os.path.dirname(HERE)
LATER_S = 1.0           # programs that are compared begin to count so long after they were started


class Failed(Exception):
    pass


def jain(values):
    squares = sum(v * v for v in values)
    return sum(values) ** 2 / (len(values) * squares) if squares else 0.0


def median(values):
    return statistics.median(values) if values else 0.0


def output_of(argv, env=None):
    done = subprocess.run(argv, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600,
                          check=False)
    if done.returncode:
        raise Failed(f"{shlex.join(argv)}: exit {done.returncode}: {done.stderr.strip()[-600:]}")
    return done.stdout


class Runs:
    """Starts programs under Linux or in an instance of usf of their own."""

    def __init__(self, args):
        self.usf, self.serial = args.usf, 0

    def instance(self):
        self.serial += 1
        return f"policies-{os.getpid()}-{self.serial}"

    def command(self, argv, policy, instance, options=(), env=None):
        if policy == "linux":
            return launch.Command(argv, env or {})
        return launch.Command([self.usf, "run", "--policy", policy, *options, "--", *argv],
                              {**(env or {}), "USF_INSTANCE": instance, "USF_MONITOR_LINGER": "0"})

    def results(self, commands, timeout):
        """The last line of each, parsed."""
        ended = launch.run(commands, timeout)
        if ended.status != "ok":
            raise Failed(f"{shlex.join(commands[0].argv)}: {ended.status}, exit {ended.exits}: {ended.errors[-600:]}")
        lines = [measure.parse(out)[1] for out in ended.outputs]
        if any(line.get("ok") != "1" for line in lines):
            raise Failed(f"{shlex.join(commands[0].argv)}: a wrong result: {ended.outputs}")
        return lines


# ---- costs, scale -------------------------------------------------------------------------------

COST = re.compile(r"^(\S+) +(\d+) cores +(\d+) processes: ready +([\d.]+) ns, yielding +([\d.]+) ns")


def costs(args, _):
    seen = {}
    for _ in range(args.reps):
        for line in output_of([os.path.join(args.build, "bench", "policy-bench")]).splitlines():
            m = COST.match(line)
            if not m:
                raise Failed(f"policy-bench said: {line}")
            seen.setdefault((m[1], int(m[2]), int(m[3])), []).append((float(m[4]), float(m[5])))
    rows = []
    for (policy, cores, procs), values in seen.items():
        ready, yielding = (median([v[i] for v in values]) for i in (0, 1))
        target = {"coop": 60.0, "fl": 30.0}.get(policy)
        rows.append({"policy": policy, "cores": cores, "processes": procs, "ready ns": ready, "yielding ns": yielding, "target": target,
                     "met": None if target is None else max(ready, yielding) <= target})
    return rows


SCALE = re.compile(r"^fl +(\d+) threads, (with the lock|without a lock): +([\d.]+) ns of CPU time per pick and enqueue, +([\d.]+) million")


def simulated_speed(args, cores):
    sets = ["--set", f"groups={4 if args.small else 20}"]
    out = json.loads(output_of([args.sim, "run", os.path.join(ROOT, "sim", "workloads", "hackbench.usfw"), "-m", f"core:{cores}", "-p", "fl",
                                "--json", "--no-alone", *sets]))
    return out["runs"][0]["makespan_ns"]


def scale(args, _):
    seen, rows = {}, []
    for _ in range(args.reps):
        for line in output_of([os.path.join(args.build, "bench", "policy-bench"), "scale", "16"]).splitlines():
            m = SCALE.match(line)
            if not m:
                raise Failed(f"policy-bench said: {line}")
            seen.setdefault((m[2], int(m[1])), []).append((float(m[3]), float(m[4])))
    for (how, threads), values in seen.items():
        ns, rate = (median([v[i] for v in values]) for i in (0, 1))
        one = median([v[1] for v in seen[(how, 1)]])
        rows.append({"what": f"threads, {how}", "at once": threads, "CPU ns each": ns, "million/s": rate, "times one": rate / one,
                     "met": None})
    base = simulated_speed(args, 1)
    for cores in (1, 2, 4, 8, 16):
        speed = base / simulated_speed(args, cores)
        rows.append({"what": "simulated cores, hackbench", "at once": cores, "CPU ns each": None, "million/s": None, "times one": speed,
                     "met": speed >= 0.9 * cores})
    return rows


# ---- shares, switch -----------------------------------------------------------------------------

def share_commands(args, runs, runtime, n, policy, options, seconds):
    """n programs that count from the same moment on, in one instance."""
    begin, instance = time.monotonic() + LATER_S, runs.instance()
    argv = [os.path.join(args.build, "bench", f"omp_share-{runtime}"), "--from", f"{begin:.3f}", "--until", f"{begin + seconds:.3f}",
            "--loops-per-us", f"{args.loops_per_us:.1f}"]
    return instance, [runs.command(argv, policy, instance, options) for _ in range(n)]


def shares(args, runs):
    kinds = [("linux", ()), ("coop", ()), ("fair", ()), ("equi", ()), ("gang", ()), ("equi", ("--malleable",)), ("gang", ("--malleable",))]
    cells = [(runtime, n, policy, options) for runtime in ("gomp", "libomp") for n in ((2, 3) if args.small else (2, 3, 4))
             for policy, options in kinds]
    seen = {cell: [] for cell in cells}
    for _ in range(args.reps):
        for cell in cells:
            runtime, n, policy, options = cell
            _, commands = share_commands(args, runs, runtime, n, policy, options, args.seconds)
            lines = runs.results(commands, LATER_S + args.seconds + 20)
            seen[cell].append((jain([float(r["rate"]) for r in lines]), jain([float(r["cpu"]) for r in lines]),
                               sum(float(r["rate"]) for r in lines)))
    rows = []
    for (runtime, n, policy, options), values in seen.items():
        work, cpu, total = (median([v[i] for v in values]) for i in range(3))
        rows.append({"runtime": runtime, "programs": n, "policy": " ".join([policy, *options]), "Jain, work": work,
                     "least": min(v[0] for v in values), "Jain, CPU time": cpu, "chunks/s": total,
                     "met": work >= 0.99 if policy in ("equi", "gang") else None})
    return rows


def switch(args, runs):
    """gang's own count, asked for just before the programs end."""
    seen = {n: [] for n in (2, 3, 4)}
    for _ in range(args.reps):
        for n in seen:
            instance, commands = share_commands(args, runs, "gomp", n, "gang", (), args.seconds)
            started = [subprocess.Popen(c.argv, env={**os.environ, **c.env}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) for c in commands]
            time.sleep(LATER_S + args.seconds - 0.1)
            shown = json.loads(output_of([args.usf, "policy", "show", "-i", instance, "--json"]))
            if any(p.wait(timeout=30) for p in started) or "slot_changes" not in shown:
                raise Failed(f"{n} programs under gang: {shown}")
            seen[n].append(shown["slot_changes"])
    rows = []
    for n, values in seen.items():
        late = sum(v["over_1ms"] for v in values) / sum(v["count"] for v in values)
        rows.append({"programs": n, "changes": sum(v["count"] for v in values), "mean us": median([v["mean_ns"] for v in values]) / 1e3,
                     "longest us": max(v["longest_ns"] for v in values) / 1e3, "over 1 ms": f"{100 * late:.2f} %", "met": late == 0})
    return rows


# ---- hack ---------------------------------------------------------------------------------------

def hack(args, runs):
    cells = [(kind, how, groups) for kind in ("socket", "pipe") for how in ("threads", "processes") for groups in ((2,) if args.small else (2, 5, 10))]
    policies = ("linux", "fl", "coop")
    seen = {(cell, policy): [] for cell in cells for policy in policies}
    for _ in range(args.reps):
        for cell in cells:
            kind, how, groups = cell
            argv = [os.path.join(args.build, "bench", "hack"), "--kind", kind, "--as", how, "--groups", str(groups)]
            for policy in policies:
                r = runs.results([runs.command(argv, policy, runs.instance())], 120)[0]
                seen[cell, policy].append((float(r["rate"]), float(r["switches"])))
    rows = []
    for cell in cells:
        base = [median([v[i] for v in seen[cell, "linux"]]) for i in (0, 1)]
        for policy in policies:
            rate, switches = (median([v[i] for v in seen[cell, policy]]) for i in (0, 1))
            rows.append({"over": cell[0], "as": cell[1], "groups": cell[2], "policy": policy, "messages/s": rate, "switches": switches,
                         "speed / Linux": rate / base[0], "switches / Linux": switches / base[1],
                         "met": rate >= base[0] and switches <= base[1] / 3 if policy == "fl" else None})
    return rows


# ---- all of them --------------------------------------------------------------------------------

BENCHES = {f.__name__: f for f in (costs, scale, shares, switch, hack)}


def show(value):
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "NO"
    if isinstance(value, float):
        return f"{value:.4f}" if value < 2 else f"{value:.1f}" if value < 10000 else f"{value:.0f}"
    return str(value)


def table(rows):
    heads = list(rows[0])
    return "\n".join(["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|",
                      *("| " + " | ".join(show(r[h]) for h in heads) + " |" for r in rows)]) + "\n"


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("names", nargs="+", metavar="NAME", help=f"all, or some of: {' '.join(BENCHES)}")
    p.add_argument("--small", action="store_true", help="fewer cells, one run of each")
    p.add_argument("--reps", type=int, help="interleaved runs of each (default 5, small 1)")
    p.add_argument("--seconds", type=float, help="that programs count (default 4, small 0.5)")
    p.add_argument("--build", default=os.path.join(ROOT, "build"))
    p.add_argument("--out", default=os.path.join(HERE, "results"))
    args = p.parse_args()
    args.names = list(BENCHES) if args.names == ["all"] else args.names
    for name in args.names:
        if name not in BENCHES:
            p.error(f"no such benchmark: {name} (there are: all {' '.join(BENCHES)})")
    args.reps = args.reps or (1 if args.small else 5)
    args.seconds = args.seconds or (0.5 if args.small else 4.0)
    args.usf, args.sim = os.path.join(args.build, "usf"), os.path.join(args.build, "usf-sim")
    needed = {"costs": ["bench/policy-bench"], "scale": ["bench/policy-bench", "usf-sim"],
              "shares": ["usf", "bench/barrier", "bench/omp_share-gomp", "bench/omp_share-libomp"],
              "switch": ["usf", "bench/barrier", "bench/omp_share-gomp"], "hack": ["usf", "bench/hack"]}
    for what in sorted({path for name in args.names for path in needed[name]}):
        if not os.path.exists(os.path.join(args.build, what)):
            p.error(f"{os.path.join(args.build, what)} is not there: run `ninja -C {args.build}`, `ninja -C {args.build} bench/policy-bench` "
                    "and `make workloads` first")
    return args


def main():
    args = arguments()
    configs.scrub_environment()
    launch.adopt_orphans()
    args.loops_per_us = 0.0
    if {"shares", "switch"} & set(args.names):
        out = output_of([os.path.join(args.build, "bench", "barrier"), "--kind", "pthread", "--threads", "1", "--us", "1", "--seconds", "0"])
        args.loops_per_us = float(measure.parse(out)[1]["loops_per_us"])
    facts, wrong = machine.describe(ROOT), 0
    os.makedirs(args.out, exist_ok=True)
    for name in args.names:
        watch = machine.Watch()
        watch.start()
        cpu = launch.cpu_of_children()
        rows = BENCHES[name](args, Runs(args))
        around = watch.stop(launch.cpu_of_children() - cpu)
        stem = os.path.join(args.out, f"policies-{name}")
        with open(stem + ".json", "w", encoding="utf-8") as f:
            json.dump({"bench": name, "machine": facts, "around": around, "reps": args.reps, "seconds": args.seconds,
                       "command": shlex.join(["bench/policies.py", *sys.argv[1:]]), "rows": rows}, f, indent=1)
            f.write("\n")
        text = table(rows)
        with open(stem + ".md", "w", encoding="utf-8") as f:
            f.write(f"{name}: medians of {args.reps} interleaved runs; {facts['cpu']}, {facts['cores']} CPUs, commit {facts['commit']}\n\n{text}")
        print(f"{text}around: {around}\nwritten: {stem}.json {stem}.md")
        missed = sum(r["met"] is False for r in rows)
        if missed:
            print(f"{name}: {missed} rows do not meet their target")
    if stay := launch.daemons_that_stay():
        print(f"NOT GOOD: monitors that did not leave: {stay}")
        wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as e:
        sys.exit(f"policies.py: {e}")
