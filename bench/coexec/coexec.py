#!/usr/bin/python3
# bench/coexec/coexec.py - programs that share a machine, by several strategies.  SPDX-License-Identifier: Apache-2.0
"""The co-execution experiment of the nOS-V paper (section 5.2): all pairs and triples of seven benchmarks,
each run to its end by several strategies.

  bench/coexec/coexec.py                            all pairs and triples (an hour); results/coexec.{json,md,svg}
  bench/coexec/coexec.py --pairs --only dot,nbody   one pair
  bench/coexec/coexec.py --triples --strategies exclusive,equi --repeat 1
  bench/coexec/coexec.py --report                   the table and the picture of what was measured before

A run that the JSON file has already is not done again, so an interrupted series goes on where it was.

The time of a run is from the start of its programs to the end of the last one.  The score of a strategy for
a combination is the least median time that any strategy has for it, divided by the median time of this one
(performance score, section 5.2): 1 is the best."""
import argparse
import itertools
import json
import os
import shlex
import shutil
import signal
import statistics
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.dirname(HERE))

from usfbench import configs, launch, machine  # noqa: E402

BENCHMARKS = ["matmul", "dot", "heat", "hpccg", "nbody", "cholesky", "hydro"]
TINY = {"matmul": (128, 1), "dot": (1 << 18, 2), "heat": (512, 2), "hpccg": (12, 5), "nbody": (128, 2), "cholesky": (256, 1),
        "hydro": (8, 5)}
FORMAT = 1
ATTEMPTS = 5


# ---- strategies ------------------------------------------------------------------------------------


def partition(cpus, programs, shift):
    """The CPUs of each program: equal parts, the remainder one by one to the first.  Where there are fewer CPUs than
    programs, programs take the CPUs in turn, so that some share one.  `shift` rotates who is first: with the
    repetitions, each program has each part."""
    parts = [[] for _ in range(programs)]
    if len(cpus) < programs:
        for i in range(programs):
            parts[(i + shift) % programs] = [cpus[i % len(cpus)]]
        return parts
    least, more = divmod(len(cpus), programs)
    at = 0
    for i in range(programs):
        n = least + (i < more)
        parts[(i + shift) % programs] = cpus[at:at + n]
        at += n
    return parts


class Strategy:
    def __init__(self, text, env=None, one_by_one=False, static=False, usf=None):
        """usf: the options of usf run, where the programs run below it."""
        self.text, self.env, self.one_by_one, self.static, self.usf = text, env or {}, one_by_one, static, usf

    def commands(self, args, programs, repetition):
        """The commands of one run.  Programs below `usf run` have one instance, which no other run uses."""
        env = dict(self.env)
        prefixes = [[] for _ in programs]
        if self.usf is not None:
            env.update(USF_INSTANCE=f"coexec-{os.getpid()}-{next(SERIAL)}", USF_MONITOR_LINGER="0")
            prefixes = [[args.usf, "run", *self.usf, *shlex.split(args.usf_options), "--"]] * len(programs)
        if self.static:
            cpus = sorted(os.sched_getaffinity(0))
            parts = partition(cpus, len(programs), repetition)
            prefixes = [["taskset", "-c", ",".join(map(str, part))] for part in parts]
        return [launch.Command([*prefix, *program], env) for prefix, program in zip(prefixes, programs)]


SERIAL = itertools.count(1)
STRATEGIES = {
    "exclusive": Strategy("one after the other, each on all CPUs", one_by_one=True),
    "idle": Strategy("together on all CPUs; idle workers sleep", {"NOSV_CONFIG_OVERRIDE": "governor.policy=idle"}),
    "busy": Strategy("together on all CPUs; idle workers spin", {"NOSV_CONFIG_OVERRIDE": "governor.policy=busy"}),
    "static": Strategy("together, each on CPUs of its own", static=True),
    "coop": Strategy("together in one instance of usf, by its default policy", usf=[]),
    "equi": Strategy("together in one instance of usf, by the policy equi", usf=["--policy", "equi"]),
}


# ---- results ---------------------------------------------------------------------------------------


class Results:
    """What the JSON file has: settings, the machine, and one entry for each run."""

    def __init__(self, path, settings):
        self.path = path
        self.data = {"format": FORMAT, "settings": settings, "machine": machine.describe(ROOT), "runs": []}
        if not os.path.exists(path):
            return
        new = self.data
        try:
            with open(path, encoding="utf-8") as f:
                self.data = json.load(f)
        except ValueError as e:
            sys.exit(f"{path} is no JSON file: {e}; move it away, or name another file with --out")
        if self.data.get("format") != FORMAT or (settings and self.data["settings"] != settings):
            sys.exit(f"{path} was measured with other settings: {json.dumps(self.data.get('settings'))}; "
                     f"move it away, or name another file with --out")
        if settings and self.data["machine"]["commit"] != new["machine"]["commit"]:
            print(f"{path} was begun with commit {self.data['machine']['commit']}", file=sys.stderr)

    def of(self, combination, strategy):
        return [r for r in self.data["runs"] if r["programs"] == list(combination) and r["strategy"] == strategy]

    def has(self, combination, strategy, repetition):
        return any(r["repetition"] == repetition for r in self.of(combination, strategy))

    def add(self, run):
        self.data["runs"].append(run)
        os.makedirs(os.path.dirname(os.path.abspath(self.path)), exist_ok=True)
        new = self.path + ".new"
        with open(new, "w", encoding="utf-8") as f:
            json.dump(self.data, f, indent=1)
            f.write("\n")
        os.replace(new, self.path)

    def drop_failed(self):
        self.data["runs"] = [r for r in self.data["runs"] if r["status"] == "ok"]

    def failed(self):
        return [r for r in self.data["runs"] if r["status"] != "ok"]

    def median(self, combination, strategy):
        """Of the runs that succeeded, or None."""
        seconds = [r["seconds"] for r in self.of(combination, strategy) if r["status"] == "ok"]
        return statistics.median(seconds) if seconds else None

    def checksum(self, program):
        """What this program has computed in an earlier run that succeeded, or None."""
        return next((o["checksum"] for r in self.data["runs"] if r["status"] == "ok" for o in r["outputs"]
                     if o["bench"] == program), None)


def parse(text):
    """The JSON line of a benchmark, or None."""
    try:
        line = json.loads(text.strip())
    except ValueError:
        return None
    return line if isinstance(line, dict) and {"bench", "checksum", "seconds"} <= line.keys() else None


def judge(results, combination, ended):
    """(status, reason, outputs): a run counts only if all its programs end well and compute what they did before."""
    outputs = [parse(text) for text in ended.outputs]
    if ended.status != "ok":
        exits = " ".join(map(str, ended.exits))
        return ended.status, f"exit codes: {exits or 'none'}; {ended.errors[-500:]}", [o for o in outputs if o]
    for name, output in zip(combination, outputs):
        if not output or output["bench"] != name:
            return "failed", f"{name} has printed no result", [o for o in outputs if o]
        expected = results.checksum(name)
        if expected not in (None, output["checksum"]):
            return "wrong", f"{name} has the checksum {output['checksum']}; it was {expected}", outputs
    return "ok", "", outputs


def measure(args, results, combination, strategy, repetition):
    how = STRATEGIES[strategy]
    programs = [args.program[name] for name in combination]
    watch = machine.Watch()
    watch.start()
    ended = launch.run(how.commands(args, programs, repetition), args.timeout, how.one_by_one)
    status, reason, outputs = judge(results, combination, ended)
    run = {"programs": list(combination), "strategy": strategy, "repetition": repetition, "status": status,
           "seconds": round(ended.seconds, 6), "cpu_seconds": round(ended.cpu_s, 3), "beside": watch.stop(ended.cpu_s),
           "outputs": outputs}
    if reason:
        run["reason"] = reason
    if ended.leftover:
        run["leftover"] = ended.leftover
    return run


def undisturbed(args, results, *what):
    """One run; if other programs take too much of the machine meanwhile, the least disturbed of ATTEMPTS."""
    best = None
    for _ in range(ATTEMPTS):
        run = measure(args, results, *what)
        if run["status"] != "ok":
            return run
        if not best or run["beside"]["foreign"] < best["beside"]["foreign"]:
            best = run
        if best["beside"]["foreign"] <= args.foreign:
            break
    return best


def execute(args, results, combinations):
    """Strategies are interleaved, so that what changes on the machine concerns all of them."""
    plan = [(c, s, r) for c in combinations for r in range(args.repeat) for s in args.strategies if not results.has(c, s, r)]
    had = len(combinations) * args.repeat * len(args.strategies) - len(plan)
    if had:
        print(f"{had} runs are in {results.path} already", file=sys.stderr)
    for i, (combination, strategy, repetition) in enumerate(plan):
        run = undisturbed(args, results, combination, strategy, repetition)
        results.add(run)
        said = f"{run['seconds']:.3f} s" if run["status"] == "ok" else f"{run['status']}: {run['reason']}"
        print(f"[{i + 1}/{len(plan)}] {'+'.join(combination)} {strategy} {repetition + 1}: {said}", file=sys.stderr)


# ---- report ----------------------------------------------------------------------------------------


def scores(results, combinations, strategies):
    """{strategy: {combination: score}} for the combinations that each strategy has a time for."""
    table = {s: {} for s in strategies}
    for c in combinations:
        times = {s: results.median(c, s) for s in strategies}
        if not all(times.values()):
            continue
        for s in strategies:
            table[s][c] = min(times.values()) / times[s]
    return table


def quartiles(values):
    if len(values) < 2:
        return values[0], values[0]
    q = statistics.quantiles(values, n=4, method="inclusive")
    return q[0], q[2]


def strategy_table(table):
    lines = ["| strategy | median score | quartiles | worst | worst combination |", "|---|---|---|---|---|"]
    for s, of in table.items():
        values = sorted(of.values())
        low, high = quartiles(values)
        worst = min(of, key=of.get)
        lines.append(f"| {s} | {statistics.median(values):.3f} | {low:.3f} - {high:.3f} | {values[0]:.3f} | {' + '.join(worst)} |")
    return lines


def gains(table):
    """How much faster the strategies of usf are than one after the other."""
    lines = []
    for s in (s for s in ("coop", "equi") if s in table and "exclusive" in table):
        gain = {c: table[s][c] / table["exclusive"][c] for c in table[s]}
        least, most = min(gain, key=gain.get), max(gain, key=gain.get)
        slower = sum(g < 1 for g in gain.values())
        lines += ["", f"Speed-up of {s} over exclusive: median {statistics.median(gain.values()):.3f}, least {gain[least]:.3f} ({' + '.join(least)}), "
                      f"most {gain[most]:.3f} ({' + '.join(most)}); below 1 in {slower} of {len(gain)} combinations."]
    return lines


def report(results, strategies):
    lines = [f"# Co-execution\n\n{results.data['machine']['cpu']}, {results.data['machine']['cores']} CPUs; "
             f"commit {results.data['machine']['commit']}; {results.data['machine']['time']}\n"]
    tables = {}
    for name, size in (("pairs", 2), ("triples", 3)):
        combinations = list(dict.fromkeys(tuple(r["programs"]) for r in results.data["runs"] if len(r["programs"]) == size))
        table = scores(results, combinations, strategies)
        complete = list(table[strategies[0]])
        if not complete:
            continue
        tables[name] = table
        lines += [f"## {name.capitalize()}: {len(complete)}", "", *strategy_table(table), *gains(table), "",
                  "| combination | " + " | ".join(f"{s}, s" for s in strategies) + " |", "|---" * (len(strategies) + 1) + "|"]
        lines += [f"| {' + '.join(c)} | " + " | ".join(f"{results.median(c, s):.3f}" for s in strategies) + " |" for c in complete]
        lines.append("")
    foreign = [r["beside"]["foreign"] for r in results.data["runs"]]
    if foreign:
        lines.append(f"CPUs that other programs used: median {statistics.median(foreign)}, most {max(foreign)}.")
    bad = results.failed()
    lines += [f"Not counted: {'+'.join(r['programs'])} {r['strategy']} {r['repetition'] + 1}: {r['status']}: {r['reason']}" for r in bad]
    return "\n".join(lines) + "\n", tables


def draw(tables, path):
    """A box plot for the pairs and one for the triples, as the paper's figures 7 and 8.  False without matplotlib."""
    try:
        import matplotlib
    except ImportError:
        print("no picture: matplotlib is not installed", file=sys.stderr)
        return False
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(1, len(tables), squeeze=False, sharey=True, layout="constrained", figsize=(4.5 * len(tables), 3.5))
    for ax, (name, table) in zip(axes[0], tables.items()):
        ax.boxplot([list(of.values()) for of in table.values()], labels=list(table), whis=(0, 100))
        ax.set_title(f"{name}: {len(next(iter(table.values())))}", fontsize=10)
        ax.set_ylim(0, 1.05)
        ax.grid(axis="y", alpha=0.3)
    axes[0][0].set_ylabel("performance score")
    figure.savefig(path)
    return True


# ---- the command -----------------------------------------------------------------------------------


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--pairs", action="store_true", help="pairs only")
    p.add_argument("--triples", action="store_true", help="triples only")
    p.add_argument("--only", default="", help="combinations that contain all of these benchmarks (comma between)")
    p.add_argument("--strategies", default=",".join(STRATEGIES), help="default: %(default)s")
    p.add_argument("--repeat", type=int, default=3, help="interleaved repetitions (default %(default)s)")
    p.add_argument("--size", action="append", default=[], metavar="NAME=SIZE[:ITERATIONS]", help="of a benchmark")
    p.add_argument("--tiny", action="store_true", help="sizes of milliseconds, to try the driver")
    p.add_argument("--foreign", type=float, default=float("inf"), metavar="CPUS",
                   help="do a run again, up to 4 times, while other programs use more CPUs than this; keep the least disturbed")
    p.add_argument("--timeout", type=float, default=120, help="of a run, in seconds (default %(default)s)")
    p.add_argument("--retry", action="store_true", help="do again the runs that have failed")
    p.add_argument("--no-plot", action="store_true")
    p.add_argument("--report", action="store_true", help="run nothing")
    p.add_argument("--list", action="store_true", help="print the combinations, run nothing")
    p.add_argument("--build", default=os.path.join(ROOT, "build"))
    p.add_argument("--usf", help="default: usf in the build folder")
    p.add_argument("--usf-options", default="", help="of usf run, beside those of the strategy")
    p.add_argument("--out", default=os.path.join(os.path.dirname(HERE), "results", "coexec.json"))
    args = p.parse_args()
    args.usf = args.usf or os.path.join(args.build, "usf")
    args.strategies = args.strategies.split(",")
    args.only = [name for name in args.only.split(",") if name]
    check(p, args)
    return args


def check(p, args):
    for what, names, known in (("strategy", args.strategies, STRATEGIES), ("benchmark", args.only, BENCHMARKS)):
        for name in names:
            if name not in known:
                p.error(f"no such {what}: {name} (there are: {' '.join(known)})")
    if args.repeat < 1:
        p.error("--repeat is 1 or more")
    args.sizes = dict(TINY) if args.tiny else {}
    for text in args.size:
        name, _, numbers = text.partition("=")
        parts = numbers.split(":")
        if name not in BENCHMARKS or len(parts) > 2 or not all(part.isdigit() for part in parts):
            p.error(f"--size {text}: NAME=SIZE or NAME=SIZE:ITERATIONS is expected")
        args.sizes[name] = tuple(map(int, parts))
    if args.list or args.report:
        return
    args.program = {name: program(args, name) for name in BENCHMARKS}
    needed = [argv[0] for argv in args.program.values()]
    needed += [args.usf] * any(STRATEGIES[s].usf is not None for s in args.strategies) + ["taskset"] * ("static" in args.strategies)
    for path in needed:
        if not shutil.which(path):
            p.error(f"{path} is not there: build it first (meson setup build -Dtests=true; ninja -C build), or choose --strategies")


def program(args, name):
    numbers = args.sizes.get(name, ())
    options = [text for option, n in zip(("--size", "--iterations"), numbers) for text in (option, str(n))]
    return [os.path.join(args.build, "bench", "coexec", f"coexec-{name}"), *options]


def chosen(args):
    sizes = [2] * (args.pairs or not args.triples) + [3] * (args.triples or not args.pairs)
    return [c for n in sizes for c in itertools.combinations(BENCHMARKS, n) if set(args.only) <= set(c)]


def main():
    args = arguments()
    combinations = chosen(args)
    if args.list:
        print("\n".join("+".join(c) for c in combinations))
        return 0
    configs.scrub_environment()
    for name in [n for n in os.environ if n.startswith("NOSV_")]:
        del os.environ[name]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # launch.run then stops what it has started
    launch.adopt_orphans()
    settings = None if args.report else {"sizes": {n: list(v) for n, v in args.sizes.items()}, "usf_options": args.usf_options,
                                         "cpus": sorted(os.sched_getaffinity(0))}
    results = Results(args.out, settings)
    if args.retry:
        results.drop_failed()
    if not args.report:
        execute(args, results, combinations)
    text, tables = report(results, args.strategies)
    stem = os.path.splitext(args.out)[0]
    with open(stem + ".md", "w", encoding="utf-8") as f:
        f.write(text)
    print(text)
    written = [args.out, stem + ".md"]
    if tables and not args.no_plot and draw(tables, stem + ".svg"):
        written.append(stem + ".svg")
    print("written:", *written)
    return 1 if results.failed() else 0


if __name__ == "__main__":
    sys.exit(main())
