# examples/contexts/spectrum.py - eigenvalues and singular values by ARPACK, as parts.  SPDX-License-Identifier: Apache-2.0
"""Each function prepares data and returns the work, a function that returns a checksum: compared.py."""
import parts

WANTED = 6


def eigsh(n, times=2):
    """The smallest eigenvalues of a chain of n springs; the k-th one is 2 - 2 cos(k pi / (n + 1))."""
    import numpy as np
    from scipy.sparse import diags
    from scipy.sparse.linalg import eigsh

    n = max(n, 4 * WANTED)
    chain = diags([-np.ones(n - 1), 2 * np.ones(n), -np.ones(n - 1)], [-1, 0, 1], format="csc")
    known = 2 - 2 * np.cos(np.arange(1, WANTED + 1) * np.pi / (n + 1))
    start = np.random.RandomState(1).rand(n)

    def work():
        for _ in range(times):
            found = np.sort(eigsh(chain, k=WANTED, which="LM", sigma=0, v0=start, return_eigenvectors=False))
            parts.check(np.abs(found - known).max() / known[-1], 1e-6, "eigsh")
        return float(n * n * found.sum())

    return work


def svds(n, times=2):
    """The largest singular values of a matrix of 3 n by n whose singular values are 1, 1/2, 1/3, ..."""
    import numpy as np
    from scipy.sparse.linalg import svds

    n = max(n, 4 * WANTED)
    known = 1 / np.arange(1.0, n + 1)
    matrix = np.zeros((3 * n, n))
    matrix[:n] = np.diag(known)
    for _ in range(2):              # mirrored on both sides
        v = np.random.RandomState(n).rand(len(matrix))
        matrix = (matrix - 2 / (v @ v) * np.outer(v, v @ matrix)).T
    start = np.random.RandomState(1).rand(n)

    def work():
        for _ in range(times):
            found = np.sort(svds(matrix, k=WANTED, v0=start, solver="arpack", return_singular_vectors=False))[::-1]
            parts.check(np.abs(found - known[:WANTED]).max(), 1e-6, "svds")
        return float(found.sum())

    return work
