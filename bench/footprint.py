#!/usr/bin/python3
# bench/footprint.py - what usf costs that does nothing: memory and idle CPU.  SPDX-License-Identifier: Apache-2.0
"""Starts programs that sleep, bare and under usf, and prints the private memory of the process (what would be freed if it
ended) and the CPU time that it and the instance's monitor use in --seconds of idling."""
import argparse
import os
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from usfbench import configs, launch  # noqa: E402

PROGRAMS = {
    "sleep": ["sleep", "600"],
    "python3": ["/usr/bin/python3", "-c", "import time; time.sleep(600)"],
    "python3, 16 threads": ["/usr/bin/python3", "-c", "import threading, time\n"
                            "for i in range(15): threading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n"
                            "time.sleep(600)"],
}


def private_kib(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="utf-8") as f:
        return sum(int(line.split()[1]) for line in f if line.startswith("Private_"))


def cpu_s(pid):
    """By the scheduler's own account, which is finer than clock ticks; all threads."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat", encoding="utf-8") as f:
            total += int(f.read().split()[0])
    return total / 1e9


def look(argv, env, seconds):
    process = subprocess.Popen(argv, env={**os.environ, **env}, stdin=subprocess.DEVNULL)
    try:
        time.sleep(1)
        watched = [process.pid, *(pid for pid, name in launch.descendants(os.getpid()).items() if name in launch.DAEMONS)]
        before = sum(map(cpu_s, watched))
        time.sleep(seconds)
        return private_kib(process.pid), sum(map(cpu_s, watched)) - before
    finally:
        process.kill()
        process.wait()
        launch.daemons_that_stay()


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--usf", default=os.path.join(os.path.dirname(HERE), "build", "usf"))
    p.add_argument("--seconds", type=float, default=5)
    p.add_argument("--reps", type=int, default=3)
    args = p.parse_args()
    if not os.path.exists(args.usf):
        sys.exit(f"{args.usf} is not there: build it first")
    configs.scrub_environment()
    launch.adopt_orphans()
    print("| program | private KiB, bare | under usf | more | idle CPU, bare, ms/s | under usf, with its monitor |")
    print("|---|---|---|---|---|---|")
    for name, argv in PROGRAMS.items():
        bare, usf = [], []
        for rep in range(args.reps):
            bare.append(look(argv, {}, args.seconds))
            env = {"USF_INSTANCE": f"footprint-{os.getpid()}-{rep}", "USF_MONITOR_LINGER": "0"}
            usf.append(look([args.usf, "run", "--", *argv], env, args.seconds))
        mem = [statistics.median(m for m, _ in series) for series in (bare, usf)]
        cpu = [1e3 * statistics.median(c for _, c in series) / args.seconds for series in (bare, usf)]
        print(f"| {name} | {mem[0]:.0f} | {mem[1]:.0f} | {mem[1] - mem[0]:.0f} | {cpu[0]:.3f} | {cpu[1]:.3f} |", flush=True)


if __name__ == "__main__":
    main()
