# FFTW's own threads.  SPDX-License-Identifier: Apache-2.0
from common import THREADS, library, matrix, np, repeat

fftw = library(lambda: __import__("pyfftw"))
a = matrix(1, 512, 512, kind=np.float64)
line = matrix(2, 1 << 17, kind=np.float32).astype(np.complex64)
cube = matrix(3, 48, 48, 50, kind=np.float64)


def transform(x, **how):
    planned = fftw.empty_aligned(x.shape, dtype=x.dtype)
    result = fftw.empty_aligned(how.pop("shape", x.shape), dtype=how.pop("kind", np.complex128))
    run = fftw.FFTW(planned, result, threads=THREADS, flags=("FFTW_ESTIMATE",), **how)
    planned[:] = x
    return run()


repeat(lambda: [x.view(x.real.dtype) for x in (transform(a, axes=(0, 1), shape=(512, 257)), transform(line, kind=np.complex64),
                                               transform(cube, axes=(0, 1, 2), shape=(48, 48, 26)))])
