#!/usr/bin/python3
# bench/run.py - run benchmarks.  SPDX-License-Identifier: Apache-2.0
"""Run the benchmarks of docs/performance.md, by name or `all`:

  bench/run.py nested                  everything; a table, bench/results/nested.json, docs/img/nested-*.png
  bench/run.py forkjoin --small        fewer cells, one run each
  bench/run.py pairs --only cg32,nbody --configs linux,usf-coop --reps 5
  bench/run.py barriers --load 2       with 2 foreign busy processes beside
"""
import argparse
import os
import shlex
import shutil
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from usfbench import benches, configs, launch, machine, measure, report  # noqa: E402

ROOT = os.path.dirname(HERE)


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("names", nargs="+", metavar="NAME", help=f"all, or some of: {' '.join(benches.BENCHES)}")
    p.add_argument("--small", action="store_true", help="fewer cells and one run of each")
    p.add_argument("--reps", type=int, help="interleaved runs of each (default 3, small 1)")
    p.add_argument("--configs", default=",".join(configs.ALL), help="default: %(default)s")
    p.add_argument("--only", default="", help="cells whose name contains all of these words (comma between)")
    p.add_argument("--load", type=int, default=0, help="foreign busy processes beside")
    p.add_argument("--seconds", type=float, default=0.5, help="length of a time-bounded run")
    p.add_argument("--build", default=os.path.join(ROOT, "build"))
    p.add_argument("--usf", help="default: usf in the build folder")
    p.add_argument("--python", default=os.path.join(ROOT, ".venv/bin/python3"), help="has numpy and scikit-learn")
    p.add_argument("--out", default=os.path.join(HERE, "results"))
    p.add_argument("--images", default=os.path.join(ROOT, "docs/img"))
    p.add_argument("--no-plot", action="store_true")
    p.add_argument("--list", action="store_true", help="print the cells, run nothing")
    args = p.parse_args()
    args.reps = args.reps or (1 if args.small else 3)
    args.configs = args.configs.split(",")
    if args.names == ["all"]:
        args.names = list(benches.BENCHES)
    for name in args.names:
        if name not in benches.BENCHES:
            p.error(f"no such benchmark: {name} (there are: all {' '.join(benches.BENCHES)})")
    for name in args.configs:
        if name not in configs.ALL:
            p.error(f"no such configuration: {name} (there are: {' '.join(configs.ALL)})")
    args.usf = args.usf or os.path.join(args.build, "usf")
    if any(c.startswith("usf") for c in args.configs) and not args.list and not shutil.which(args.usf):
        p.error(f"{args.usf} is not there: build it first (make), or choose --configs without usf")
    return args


def calibrate(tool):
    """The speed of the work loop, asked of the program that has it, so that it is measured with the same compiler."""
    out = subprocess.run([tool, "--kind", "pthread", "--threads", "1", "--us", "1", "--seconds", "0"], capture_output=True,
                         text=True, check=True, stdin=subprocess.DEVNULL).stdout
    return float(measure.parse(out)[1]["loops_per_us"])


def chosen(args, options, name):
    cells, grids = benches.BENCHES[name](options)
    words = [w for w in args.only.split(",") if w]
    cells = [c for c in cells if all(w in c.name() for w in words)]
    lacking = {what for c in cells if (what := benches.lacks(options, c))}
    if lacking:
        print(f"{name}: cells left out, for want of: {' '.join(sorted(lacking))}", file=sys.stderr)
    keep = [c for c in cells if not benches.lacks(options, c)]
    grids = {g: [(label, c) for label, c in entries if not benches.lacks(options, c)] for g, entries in grids.items()}
    return keep, grids


def hogs(args, options):
    return [subprocess.Popen([options.tool("hog")], stdin=subprocess.DEVNULL) for _ in range(args.load)]


def bench(args, options, name):
    cells, grids = chosen(args, options, name)
    plan = measure.Plan(cells, grids, args.configs)
    if args.list:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        for c in cells:
            print(name, c.name())
        return 0
    if not cells:
        print(f"{name}: no cells", file=sys.stderr)
        return 0
    facts = machine.describe(ROOT)
    said = {"reps": args.reps, "small": args.small, "load": args.load, "seconds": args.seconds, "configs": args.configs,
            "loops_per_us": options.loops_per_us, "command": shlex.join(["bench/run.py", *sys.argv[1:]])}
    stem = os.path.join(args.out, name + (f"-load{args.load}" if args.load else ""))
    started = hogs(args, options)
    try:
        measure.execute(plan, args.reps, args.usf, {h.pid for h in started},
                        lambda: report.save(stem, report.to_json(name, plan, cells, facts, said)))
    finally:
        for h in started:
            h.kill()
            h.wait()
    result = report.to_json(name, plan, cells, facts, said)
    table = report.to_markdown(result, plan, cells)
    report.save(stem, result, table)
    print(table)
    print(f"written: {stem}.json {stem}.md")
    if not args.no_plot:
        from usfbench import plot
        draw = plot.nested if name == "nested" else plot.ratios
        print("written:", *draw(result, args.images))
    wrong = report.errors(result)
    for line in wrong:
        print(f"NOT GOOD: {line}")
    return len(wrong)


def main():
    args = arguments()
    configs.scrub_environment()
    launch.adopt_orphans()
    tool = os.path.join(args.build, "bench", "barrier")
    if not os.path.exists(tool):
        sys.exit(f"{tool} is not there: run `make workloads` first")
    options = benches.Options(bin=os.path.join(args.build, "bench"), usf=args.usf, python=args.python, cores=machine.cores(),
                              loops_per_us=0.0 if args.list else calibrate(tool), small=args.small, seconds=args.seconds)
    wrong = sum([bench(args, options, name) for name in args.names])
    if stay := launch.daemons_that_stay():
        print(f"NOT GOOD: monitors that did not leave: {stay}")
        wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
