# bench/workloads/py_common.py - what the Python workloads share.  SPDX-License-Identifier: Apache-2.0
"""The same two output lines as workload.h, and a loop that runs rounds until the time is up."""
import time


def measure(bench, unit, work, seconds, one_round, check, **more):
    """one_round() does `work` units; check(its last result) says whether that is right."""
    print(f"begin bench={bench} work={work:.6g} unit={unit}", flush=True)
    rounds = 0
    start = time.monotonic()
    while True:
        result = one_round()
        rounds += 1
        elapsed = time.monotonic() - start
        if elapsed >= seconds:
            break
    ok = int(bool(check(result)))
    extra = " ".join(f"{k}={v}" for k, v in more.items())
    print(f"result bench={bench} rate={work * rounds / elapsed:.6g} unit={unit}/s seconds={elapsed:.6f} "
          f"ok={ok} rounds={rounds} {extra}", flush=True)
    return 0 if ok else 1
