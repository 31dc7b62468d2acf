# numpy and scipy from threads, BLAS threads within.  SPDX-License-Identifier: Apache-2.0
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np

rng = np.random.default_rng(1)
a = rng.integers(-5, 5, (400, 400)).astype(float)
b = rng.integers(-5, 5, (400, 400)).astype(float)
expected = a @ b


def work(i):
    same = np.array_equal(a @ b, expected)
    x = np.linalg.solve(a + 1000 * np.eye(400), b)
    return same and np.allclose((a + 1000 * np.eye(400)) @ x, b)


with ThreadPoolExecutor(4) as pool:
    print('matmul and solve', all(pool.map(work, range(12))))
results = []
threads = [threading.Thread(target=lambda: results.append(np.linalg.svd(a[:100, :100])[1][0])) for _ in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print('svd', np.allclose(results, results[0]), len(results))
if 'scipy' in sys.argv:
    import scipy.fft
    import scipy.linalg as la
    spd = a @ a.T + 400 * np.eye(400)

    def factor(i):
        c = la.cholesky(spd, lower=True)
        lu, piv = la.lu_factor(spd)
        w = la.eigvalsh(spd[:150, :150])
        return np.allclose(c @ c.T, spd) and np.allclose(la.lu_solve((lu, piv), spd[0]), np.eye(400)[0], atol=1e-8) and w.min() > 0
    with ThreadPoolExecutor(4) as pool:
        print('linalg', all(pool.map(factor, range(8))))
    print('fft', np.allclose(scipy.fft.ifft2(scipy.fft.fft2(a, workers=2), workers=2).real, a))
