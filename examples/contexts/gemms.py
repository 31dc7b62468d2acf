# examples/contexts/gemms.py - twenty small matrix products beside a large one.  SPDX-License-Identifier: Apache-2.0
"""python examples/contexts/gemms.py [SMALL LARGE]

The experiment of "Virtual Library Contexts" (SoCC '25), at the size of this machine: with one BLAS, all products have as many threads as
the library has. In two contexts the small ones have one thread each, and the large one has the other CPUs.
"""
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import usf


def product(n, times):
    import numpy as np

    a = np.full((n, n), 1 / n)
    b = np.eye(n)
    for _ in range(times):
        b = a @ b
    return float(b.sum())


def main():
    small, large = map(int, sys.argv[1:3]) if len(sys.argv) > 2 else (256, 1536)
    cpus = sorted(os.sched_getaffinity(0))
    jobs = [(small, 40)] * 20 + [(large, 4)]
    for _ in range(2):              # the first time loads the library
        start = time.monotonic()
        with ThreadPoolExecutor(len(jobs)) as pool:
            expected = list(pool.map(lambda job: product(*job), jobs))
        plain = time.monotonic() - start

    one = usf.Context(name="small", cpus=cpus[:1])
    rest = usf.Context(name="large", cpus=cpus[1:] or cpus)
    for _ in range(2):
        start = time.monotonic()
        with ThreadPoolExecutor(2) as pool:
            begun = [pool.submit(one.run, lambda: [product(*job) for job in jobs[:-1]]), pool.submit(rest.run, product, *jobs[-1])]
            got = begun[0].result() + [begun[1].result()]
        divided = time.monotonic() - start
    assert all(abs(x - y) < 1e-6 * abs(y) for x, y in zip(got, expected))
    print(f"21 products: {plain:.3f} s with one BLAS, {divided:.3f} s in two contexts")


if __name__ == "__main__":
    main()
