# numba: parallel loops by the layer that NUMBA_THREADING_LAYER names.  SPDX-License-Identifier: Apache-2.0
import sys

try:
    import numpy as np
    from numba import njit, prange, threading_layer
except ImportError as e:
    print(e)
    sys.exit(77)


@njit(parallel=True)
def total(a):
    s = 0
    for i in prange(a.shape[0]):
        s += a[i] * a[i]
    return s


a = np.arange(200000)
try:
    print(all(total(a) == 2666646666700000 for _ in range(20)), threading_layer())
except ValueError as e:
    print(e)
    sys.exit(77)
