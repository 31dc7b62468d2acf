#!/usr/bin/python3
# bench/children.py - what the processes below a `usf run` cost.  SPDX-License-Identifier: Apache-2.0
"""Starts `true` --children times by posix_spawn, bare and under usf with each way to attach, in turn, and prints the CPU time and the
wall time per child, as medians of --reps rounds.  Then the same of whole commands that start many processes."""
import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
COMMANDS = {
    "xargs -P8, 200 sh": "seq 200 | xargs -P8 -n1 sh -c true",
    "bash, 300 rounds of a pipe": "for i in $(seq 300); do x=$(echo $i | cat); done",
    "find -exec grep, 300 files": "find $FILES -type f -exec grep -q hello {} ';'",
}


def used():
    r = resource.getrusage(resource.RUSAGE_CHILDREN)
    return r.ru_utime + r.ru_stime


def inner(n):
    """In a process of its own, bare or the first one of a usf run: only its children count."""
    cpu, begin = used(), time.monotonic()
    for _ in range(n):
        os.waitpid(os.posix_spawn("/bin/true", ["true"], os.environ), 0)
    print((used() - cpu) / n, (time.monotonic() - begin) / n)


def spawn(prefix, n):
    out = subprocess.run([*prefix, sys.executable, __file__, "--inner", str(n)], check=True, capture_output=True, text=True).stdout
    return [float(x) for x in out.split()]


def command(prefix, script, env):
    cpu, begin = used(), time.monotonic()
    subprocess.run([*prefix, "bash", "-c", script], check=True, env=env, stdout=subprocess.DEVNULL)
    return [used() - cpu, time.monotonic() - begin]


def table(title, configs, measure, reps):
    rows = {name: [] for name in configs}
    for _ in range(reps):
        for name, prefix in configs.items():
            rows[name].append(measure(prefix))
    medians = {name: [1e3 * statistics.median(x) for x in zip(*r)] for name, r in rows.items()}
    print(title)
    for name, m in medians.items():
        b = medians["bare"]
        print(f"  {name:20} CPU {m[0]:9.3f} ms ({m[0] - b[0]:+.3f}, x {m[0] / b[0]:.2f})   wall {m[1]:9.3f} ms ({m[1] - b[1]:+.3f}, x {m[1] / b[1]:.2f})")


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--usf", default=os.path.join(os.path.dirname(HERE), "build", "usf"))
    p.add_argument("--children", type=int, default=50)
    p.add_argument("--reps", type=int, default=30)
    p.add_argument("--inner", type=int, help=argparse.SUPPRESS)
    args = p.parse_args()
    if args.inner:
        inner(args.inner)
        return
    instance = f"children-{os.getpid()}"
    usf = lambda how: [args.usf, "run", "-i", instance, "--attach", how, "--"]
    configs = {"bare": [], "--attach late": usf("late"), "--attach now": usf("now")}
    with tempfile.TemporaryDirectory(prefix="usf-children-") as folder:
        for i in range(300):
            with open(os.path.join(folder, str(i)), "w", encoding="utf-8") as f:
                f.write("hello\n")
        table("a child, true by posix_spawn", configs, lambda prefix: spawn(prefix, args.children), args.reps)
        env = {**os.environ, "FILES": folder}
        for name, script in COMMANDS.items():
            table(name, configs, lambda prefix, s=script: command(prefix, s, env), max(args.reps // 4, 1))


if __name__ == "__main__":
    main()
