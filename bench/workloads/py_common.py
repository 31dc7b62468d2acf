# bench/workloads/py_common.py - what the Python workloads share.  SPDX-License-Identifier: Apache-2.0
"""The same two output lines as workload.h, and a loop that runs rounds until the time is up."""
import importlib.util
import sys
import time


def need(how, *modules):
    """Ends the program if one of the modules is missing.  how: what installs them."""
    for name in modules:
        if not importlib.util.find_spec(name):
            sys.exit(f"{sys.executable} has no module {name}: {how}")


def add_arguments(parser):
    parser.add_argument("--seconds", type=float, default=0.5, help="run at least this long")
    parser.add_argument("--rounds", type=int, default=1, help="run at least so many rounds")


def measure(bench, unit, work, args, one_round, check, **more):
    """one_round() does `work` units; check(its last result) says whether that is right."""
    print(f"begin bench={bench} work={work:.6g} unit={unit}", flush=True)
    rounds = 0
    start = time.monotonic()
    while True:
        result = one_round()
        rounds += 1
        elapsed = time.monotonic() - start
        if elapsed >= args.seconds and rounds >= args.rounds:
            break
    ok = int(bool(check(result)))
    extra = " ".join(f"{k}={v}" for k, v in more.items())
    print(f"result bench={bench} rate={work * rounds / elapsed:.6g} unit={unit}/s seconds={elapsed:.6f} "
          f"ok={ok} rounds={rounds} {extra}", flush=True)
    return 0 if ok else 1
