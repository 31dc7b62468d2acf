# examples/contexts/nbody.py - many dense solves of different sizes.  SPDX-License-Identifier: Apache-2.0
"""python examples/contexts/nbody.py [OPTION]...

The N-body workflow of "Virtual Library Contexts" (SoCC '25, section 6.3): products, general solves and
Cholesky factorizations of several sizes, as in the factorization of a hierarchical matrix. Small ones
do not gain from many threads, the large ones do.
"""
import sys

import compared


def jobs(size):
    return {
        "near": [("parts.gemm", size(96, 3), 60)] * 8 + [("parts.cholesky", size(128, 3), 40)] * 4,
        "solve": [("parts.gesv", size(n, 3), 8) for n in (400, 500, 600)],
        "far": [("parts.gemm", size(800, 3), 2), ("parts.cholesky", size(1000, 3), 2)],
    }


if __name__ == "__main__":
    sys.exit(compared.main(__doc__, jobs))
