# examples/contexts/parts.py - solvers, as parts of workflows.  SPDX-License-Identifier: Apache-2.0
"""Each function prepares data and returns the work, a function that returns a checksum: compared.py.

heat and gas are in libsolvers.so (OpenMP), which `make` builds. gemm is numpy's; gesv and cholesky are
LAPACK's, by scipy.
"""
import ctypes
import functools
import os


def check(error, bound, what):
    if not error <= bound:      # NaN is wrong as well
        raise ArithmeticError(f"{what}: the error is {error:.3g}, more than {bound:.3g}")


@functools.lru_cache(None)
def solvers():
    """In a context: the context's copy, with an OpenMP of its own."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libsolvers.so")
    if not os.path.exists(path):
        raise SystemExit(f"{path} is not there: run make in its folder")
    lib = ctypes.CDLL(path)
    lib.solvers_heat.restype = lib.solvers_heat_known.restype = lib.solvers_gas.restype = ctypes.c_double
    return lib


def heat(n, steps):
    """A cube of n^3 points. It is known how fast the heat leaves."""
    lib, n = solvers(), max(n, 4)
    known = lib.solvers_heat_known(n, steps)

    def work():
        found = lib.solvers_heat(n, steps)
        check(abs(found / known - 1), 1e-9, "heat")
        return found

    return work


def gas(n, steps, times=1):
    """A square of n^2 cells. Its energy does not change."""
    lib, n = solvers(), max(n, 4)
    energy = ctypes.c_double()

    def work():
        for _ in range(times):
            found = lib.solvers_gas(n, steps, ctypes.byref(energy))
            check(abs(energy.value - 3.5), 1e-9, "gas")
        return found

    return work


def gemm(n, times):
    """Reflects a matrix again and again: after an even number of times it is as before."""
    import numpy as np

    v = np.random.RandomState(n).rand(n)
    mirror = np.eye(n) - 2 / (v @ v) * np.outer(v, v)
    start = np.random.RandomState(1).rand(n, n)
    weights = np.arange(n)

    def work():
        b = start
        for _ in range(2 * times):
            b = mirror @ b
        check(np.abs(b - start).max(), 1e-9, "gemm")
        return float(weights @ b @ weights)

    return work


def gesv(n, times=1):
    """Linear systems with a known solution."""
    import numpy as np
    from scipy.linalg import solve

    a = np.random.RandomState(n).rand(n, n) + n * np.eye(n)
    known = np.arange(1.0, n + 1) / n
    b = a @ known

    def work():
        for _ in range(times):
            x = solve(a, b)
            check(np.abs(x - known).max(), 1e-9, "gesv")
        return float(x @ x)

    return work


def cholesky(n, times=1):
    """The matrix min(i, j) d_i d_j. In its factor each row i has d_i only."""
    import numpy as np
    from scipy.linalg import cholesky as factor

    d = 1 + np.arange(n) / n
    i = np.arange(1.0, n + 1)
    a = np.minimum.outer(i, i) * np.outer(d, d)

    def work():
        for _ in range(times):
            rows = factor(a, lower=True)
            check(np.abs(rows - np.tril(np.ones((n, n))) * d[:, None]).max(), 1e-6, "cholesky")
        return float(2 * np.log(np.diag(rows)).sum())

    return work
