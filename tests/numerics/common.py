# tests/numerics/common.py - what the programs here share.  SPDX-License-Identifier: Apache-2.0
"""A program computes the same thing again and again and prints a hash of the result's bytes each time.

  PROGRAM.py REPEATS THREADS free|pinned

After a first result, which is not printed, it says on stderr how many threads it has, and `pinned` binds each of them to one CPU.
Exit status 77: the library is missing."""
import hashlib
import os
import sys

try:
    import numpy as np
except ImportError as e:
    print(e)
    sys.exit(77)

REPEATS, THREADS, PINNED = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "pinned"


def library(load):
    """What load() imports."""
    try:
        return load()
    except ImportError as e:
        print(e)
        sys.exit(77)


def matrix(seed, *shape, kind=np.float32):
    """Numbers of very different size: another order of additions gives another sum."""
    random = np.random.Generator(np.random.PCG64(seed))
    return (random.standard_normal(shape) * 10.0 ** random.integers(-4, 5, shape)).astype(kind)


def look_at_threads():
    cpus, tasks = sorted(os.sched_getaffinity(0)), sorted(map(int, os.listdir("/proc/self/task")))
    print("threads:", len(tasks), file=sys.stderr)
    for i, task in enumerate(tasks if PINNED else ()):
        try:
            os.sched_setaffinity(task, {cpus[i % len(cpus)]})
        except ProcessLookupError:
            pass                # it has ended


def repeat(compute):
    """compute() returns arrays, or bytes."""
    for i in range(REPEATS + 1):
        results = compute()
        if i == 0:
            look_at_threads()
            continue
        digest = hashlib.sha256()
        for r in results:
            digest.update(r if isinstance(r, bytes) else np.ascontiguousarray(r).tobytes())
        print(digest.hexdigest()[:32], flush=True)
