# bench/workloads/py_numpy.py - a thread pool that calls numpy.  SPDX-License-Identifier: Apache-2.0
"""ThreadPoolExecutor(workers) x numpy.matmul or numpy.linalg; the BLAS below has threads of its own."""
import argparse
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import py_common

parser = argparse.ArgumentParser()
parser.add_argument("--op", choices=["matmul", "linalg"], default="matmul")
parser.add_argument("--workers", type=int, default=8)
parser.add_argument("--n", type=int, default=384)
parser.add_argument("--tasks", type=int, default=16)
py_common.add_arguments(parser)
args = parser.parse_args()

rng = np.random.default_rng(1)
a = rng.standard_normal((args.n, args.n))
spd = a @ a.T + args.n * np.eye(args.n)
rhs = rng.standard_normal((args.n, 4))


def matmul(_):
    return a @ spd


def linalg(_):
    return np.linalg.solve(spd, rhs)


def right(results):
    if args.op == "matmul":
        return all(np.allclose(r @ rhs, a @ (spd @ rhs)) for r in results)
    return all(np.allclose(spd @ r, rhs) for r in results)


with ThreadPoolExecutor(args.workers) as pool:
    task = {"matmul": matmul, "linalg": linalg}[args.op]
    status = py_common.measure(f"numpy-{args.op}", "task", args.tasks, args,
                               lambda: list(pool.map(task, range(args.tasks))), right,
                               workers=args.workers, n=args.n, numpy=np.__version__)
sys.exit(status)
