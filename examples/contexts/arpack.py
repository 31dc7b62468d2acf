# examples/contexts/arpack.py - eigenvalues by ARPACK, in several threads at once.  SPDX-License-Identifier: Apache-2.0
"""python examples/contexts/arpack.py [CONTEXTS]

ARPACK keeps its state in variables of the library, so scipy lets one thread at a time use it. Each
context has an ARPACK of its own: as many threads compute at once as there are contexts.
"""
import sys
import time

import usf

SIZES = [6000, 7000, 8000, 9000]
WANTED = 6


def smallest(n):
    """Of a chain of n springs; the k-th eigenvalue is known: 2 - 2 cos(k pi / (n + 1))."""
    import numpy as np
    from scipy.sparse import diags
    from scipy.sparse.linalg import eigsh

    chain = diags([-np.ones(n - 1), 2 * np.ones(n), -np.ones(n - 1)], [-1, 0, 1], format="csc")
    values = eigsh(chain, k=WANTED, which="LM", sigma=0, return_eigenvectors=False)
    known = 2 - 2 * np.cos(np.arange(1, WANTED + 1) * np.pi / (n + 1))
    return float(np.abs(np.sort(values) - known).max() / known[-1])


def main():
    contexts = [usf.Context(env={"OPENBLAS_NUM_THREADS": "1"}) for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 2)]
    for c in contexts:
        c.run(smallest, 100)        # scipy is imported in it
    jobs = 4 * SIZES
    start = time.monotonic()
    for n in jobs:
        contexts[0].run(smallest, n)
    alone = time.monotonic() - start
    start = time.monotonic()
    running = [contexts[i % len(contexts)].submit(smallest, n) for i, n in enumerate(jobs)]
    errors = [f.result() for f in running]
    together = time.monotonic() - start
    print(f"{len(jobs)} problems: {alone:.2f} s one after the other, {together:.2f} s in {len(contexts)} contexts; largest error {max(errors):.1e}")
    return 0 if max(errors) < 1e-6 else 1


if __name__ == "__main__":
    sys.exit(main())
