# OpenBLAS, LAPACK and NumPy's own loops, from four threads at once.  SPDX-License-Identifier: Apache-2.0
from concurrent.futures import ThreadPoolExecutor

from common import THREADS, matrix, np, repeat

a, b = matrix(1, 300, 300), matrix(2, 300, 300, kind=np.float64)
spd = b @ b.T + 1e9 * np.eye(300)


def part(i):
    if i == 0:
        return a @ a, a.sum(axis=0), np.einsum("ij,jk->ik", a[:40, :40], a[:40, :40])
    if i == 1:
        return (np.linalg.solve(spd, b),)
    if i == 2:
        return np.linalg.svd(b[:120, :120], compute_uv=False), np.linalg.eigvalsh(spd[:120, :120])
    return np.fft.fft2(b), np.linalg.cholesky(spd), np.exp(np.sin(a))


pool = ThreadPoolExecutor(THREADS)
repeat(lambda: [x for results in pool.map(part, range(4)) for x in results])
