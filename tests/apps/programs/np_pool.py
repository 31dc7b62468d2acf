# BLAS in the parent, then in forked and spawned children.  SPDX-License-Identifier: Apache-2.0
import multiprocessing as mp

import numpy as np


def work(n):
    a = np.full((n, n), 2.0)
    return float((a @ a).sum())


if __name__ == '__main__':
    print('parent', work(300))
    for method in ('fork', 'spawn', 'forkserver'):
        with mp.get_context(method).Pool(3) as pool:
            print(method, pool.map(work, [100, 200, 300, 150]))
    print('parent again', work(300))
