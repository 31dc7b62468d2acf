#!/usr/bin/python3
# tests/numerics/run.py - are the numbers the same under usf?  SPDX-License-Identifier: Apache-2.0
"""Each program here computes something with a library, with more threads than there are cores, REPEATS times in each of
PROCESSES processes, and prints a hash of each result's bytes.  It runs bare and under usf in turn, with its threads free and each
bound to one CPU.  A library counts only if its bare results are all the same; then each result under usf must be that one.

  USF=build/usf tests/numerics/run.py [--libraries numpy,torch] [--repeats 25] [--processes 4] [--threads 4] [--table FILE]

A program runs with the first of $NUMERICS_PYTHON, .venv's and Debian's Python that has its library.  Exit status: 0 no result differs,
1 some do, 77 there is no library at all."""
import argparse
import collections
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
LIBRARIES = sorted(p.name[:-len("_.py")] for p in HERE.glob("*_.py"))
MODULES = {"fftw": "pyfftw"}
VERSION = "import importlib.metadata as m, sys; [print(d.version) for n in sys.argv[1:] for d in m.distributions(name=n)]"
OTHERS = ("USF", "OMP_", "KMP_", "GOMP_", "OPENBLAS_", "DNNL_", "ONEDNN_")     # variables that change results
HEAD = ["library", "threads", "bare results", "kinds", "results under usf", "different", "processes that failed"]
PACKAGES = {"fftw": ["pyfftw"], "tensorflow": ["tensorflow", "tensorflow-cpu"], "xgboost": ["xgboost", "xgboost-cpu"]}


def pythons():
    return [p for p in (os.environ.get("NUMERICS_PYTHON"), str(HERE.parents[1] / ".venv/bin/python3"), "/usr/bin/python3")
            if p and os.path.exists(p)]


def python_of(name):
    """A Python that has the library, or None."""
    for python in pythons():
        probe = "import importlib.util, sys; sys.exit(not all(map(importlib.util.find_spec, sys.argv[1:])))"
        if subprocess.run([python, "-c", probe, "numpy", MODULES.get(name, name)], capture_output=True).returncode == 0:
            return python
    return None


def version_of(name, python):
    out = subprocess.run([python, "-c", VERSION, *PACKAGES.get(name, [name])], capture_output=True, text=True).stdout.split()
    return out[0] if out else "?"


def results_of(name, python, how, a, usf):
    """(hashes, how many threads it had, what went wrong)"""
    env = {k: v for k, v in os.environ.items() if not k.startswith(OTHERS)}
    env.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NPROC"), str(a.threads)), OMP_DYNAMIC="false",
               PYTHONDONTWRITEBYTECODE="1")
    command = [python, str(HERE / (name + "_.py")), str(a.repeats), str(a.threads), how]
    if usf:
        env["USF_INSTANCE"] = f"numerics-{os.getpid()}"
        command = [usf, "run", *a.usf_option, "--", *command]
    try:
        p = subprocess.run(command, env=env, capture_output=True, text=True, timeout=a.timeout)
    except subprocess.TimeoutExpired as e:
        return (e.stdout or b"").decode().split(), 0, "does not end"
    threads = re.search(r"^threads: (\d+)$", p.stderr, re.M)
    trouble = f"status {p.returncode}: {(p.stderr.strip().splitlines() or [''])[-1]}" if p.returncode else ""
    return p.stdout.split(), int(threads[1]) if threads else 0, trouble


def compare(name, python, how, a, usf):
    """(threads, bare results, kinds of them, results under usf, those that differ, processes that failed)"""
    bare, under, failed, threads = collections.Counter(), collections.Counter(), [], 0
    for _ in range(a.processes):
        for counter, tool in ((bare, None), (under, usf)):
            hashes, seen, trouble = results_of(name, python, how, a, tool)
            counter.update(hashes)
            threads = max(threads, seen)
            if trouble:
                failed.append(f"{'under usf' if tool else 'bare'}: {trouble}")
    different = sum(n for h, n in under.items() if h not in bare)
    return threads, bare.total(), len(bare), under.total(), different, failed


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--libraries", type=lambda s: s.split(","), default=LIBRARIES)
    p.add_argument("--repeats", type=int, default=25, help="results of each process")
    p.add_argument("--processes", type=int, default=4)
    p.add_argument("--threads", type=int, default=4)
    p.add_argument("--timeout", type=int, default=600, help="seconds for each process")
    p.add_argument("--usf-option", action="append", default=[], help="for usf run")
    p.add_argument("--table", type=argparse.FileType("w"), default=None)
    a = p.parse_args()
    usf = os.environ.get("USF", "build/usf")
    lines, bad, seen = [HEAD, ["---"] * len(HEAD)], 0, 0
    for name in a.libraries:
        python = python_of(name)
        if not python:
            print(f"skip  {name}: no Python here has it", flush=True)
            continue
        seen += 1
        for how in "free", "pinned":
            threads, nbare, kinds, nunder, different, failed = compare(name, python, how, a, usf)
            good = kinds == 1 and not different and not failed and nunder == nbare
            bad += not good
            print(f"{'ok   ' if good else 'BAD  '} {name}, {threads} threads, {how}: bare {nbare} results of {kinds} kinds, "
                  f"under usf {nunder}, {different} different", *failed, sep="\n      ", flush=True)
            lines.append([f"{name} {version_of(name, python)}", f"{threads}, {how}", nbare, kinds, nunder, different, len(failed)])
    for line in lines if a.table else ():
        print(f"| {' | '.join(map(str, line))} |", file=a.table)
    if not seen:
        print("none of the libraries is here")
    sys.exit(77 if not seen else bad > 0)


main()
