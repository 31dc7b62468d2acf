#!/usr/bin/python3
# bench/ablation.py - what does each fast path bring?  SPDX-License-Identifier: Apache-2.0
"""Run benchmarks with one fast path switched off at a time, and print each rate divided by the rate with all of them.

  bench/ablation.py                     all benchmarks, all fast paths, 5 interleaved runs
  bench/ablation.py --only fork --reps 3 --without probes,lend
  bench/ablation.py --load 1            beside one busy process per CPU

A number below 1 says what the fast path brings.  Runs of one benchmark are interleaved, and medians are compared.
"""
import argparse
import os
import shutil
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from usfbench import benches, configs, machine, measure  # noqa: E402

VARIANTS = {
    "probes": ["--without", "probes"], "kernel": ["--without", "kernel"],
    "lend": ["--without", "lend"], "contend": ["--without", "contend"], "leases": ["--without", "leases"],
    "delay": ["--without", "delay"], "hints": ["--without", "hints"], "poll": ["--poll", "0"],
    "cache": ["--thread-cache", "off"], "float": ["--float", "off"], "all": ["--without", "all", "--thread-cache", "off", "--poll", "0"],
}


def benchmarks(o):
    """(name, Program, further options of usf run) of each."""
    def tool(name, *args):
        return configs.Program([o.tool(name), *args], {})
    s = ["--seconds", str(o.seconds)]
    for threads in ("2", "8"):
        yield f"yield {threads}, one CPU", tool("micro", "--op", "yield", "--threads", threads, "--rounds", "100000"), ["-c", "0"]
    yield "hand-over, one CPU", tool("micro", "--op", "pingpong", "--rounds", "200000"), ["-c", "0"]
    yield "hand-over by polling, one CPU", tool("micro", "--op", "polled", "--rounds", "200"), ["-c", "0"]
    for name, program in plain_benchmarks(o, tool, s):
        yield name, program, []


def plain_benchmarks(o, tool, s):
    for kind in ("spin-pause", "spin-yield", "pthread"):
        yield f"barrier {kind} 8", tool("barrier", "--kind", kind, "--threads", "8", "--us", "10", *s)
    for runtime in ("gomp", "libomp"):
        for threads in ("2", "8", "32"):
            yield f"fork-join {runtime} {threads}", tool(f"forkjoin-{runtime}", "--threads", threads, "--us", "10", *s)
    for kind in ("ticket-pause", "tas-pause", "mutex"):
        yield f"lock {kind} 8", tool("lock", "--kind", kind, "--threads", "8", *s)
    def files(op, workers):
        return configs.Program([sys.executable, os.path.join(HERE, "workloads", "py_files.py"), "--op", op, "--workers", str(workers), *s], {})
    yield "Python reads 2", files("reads", 2)
    yield "Python reads 16", files("reads", 16)
    yield "Python pool 8", files("pool", 8)
    yield "echo 8", tool("echo", "--clients", "8", *s)
    yield "storm", tool("storm", *s)
    yield "BLIS 8x8", benches.nested_program(o, "blis-pthread", "dgemm", "pthread", 8, 8)
    for library in ("openblas-pthread", "openblas-openmp"):
        yield f"{library.replace('openblas', 'OpenBLAS')} 8x8", benches.nested_program(o, library, "dgemm", "pthread", 8, 8)
    yield "numpy solve 8", benches.numpy_program(o, "linalg", 8)
    yield "MPICH 4", benches.mpi_program(o, "mpich", 4)
    yield "OpenMPI, TCP, 4", benches.mpi_program(o, "openmpi-tcp", 4)
    yield "redis 2", benches.redis_io_program(o, 2)


def run(program, options, usf, instance):
    env = {**os.environ, **program.env, "USF_MONITOR_LINGER": "0"}
    p = subprocess.run([usf, "run", "-i", instance, *options, "--", *program.argv], capture_output=True, text=True,
                       stdin=subprocess.DEVNULL, env=env, timeout=120, check=False)
    result = measure.parse(p.stdout)[1] if p.returncode == 0 else None
    return float(result["rate"]) if result and result.get("ok") == "1" else None


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--only", default="", help="benchmarks whose name contains this")
    p.add_argument("--without", default=",".join(VARIANTS), help="default: %(default)s")
    p.add_argument("--reps", type=int, default=5)
    p.add_argument("--seconds", type=float, default=0.4)
    p.add_argument("--load", type=int, default=0, help="busy processes per CPU beside")
    p.add_argument("--build", default=os.path.join(os.path.dirname(HERE), "build"))
    p.add_argument("--python", default=os.path.join(os.path.dirname(HERE), ".venv/bin/python3"), help="has numpy")
    args = p.parse_args()
    configs.scrub_environment()
    names = args.without.split(",")
    o = benches.Options(os.path.join(args.build, "bench"), os.path.join(args.build, "usf"), args.python, machine.cores(), 0.0,
                        seconds=args.seconds)
    hogs = [subprocess.Popen(["taskset", "-c", str(c), o.tool("hog")])
            for c in os.sched_getaffinity(0) for _ in range(args.load)]
    print("| benchmark | rate with all | " + " | ".join(names) + " |\n|---|---|" + "---|" * len(names))
    try:
        for name, program, options in benchmarks(o):
            if args.only not in name or not shutil.which(program.argv[0]):
                continue
            rates = {v: [] for v in ["", *names]}
            for rep in range(args.reps):
                for v, of in rates.items():
                    r = run(program, [*options, *VARIANTS.get(v, [])], o.usf, f"ablation-{os.getpid()}-{rep}-{v or 'with'}")
                    if r is not None:
                        of.append(r)
            mid = {v: statistics.median(r) if r else None for v, r in rates.items()}
            base = mid[""]
            cells = [f"{mid[v] / base:.2f}" if mid[v] and base else "-" for v in names]
            print(f"| {name} | {base or 0:.4g} | " + " | ".join(cells) + " |", flush=True)
    finally:
        for h in hogs:
            h.kill()
            h.wait()


if __name__ == "__main__":
    main()
