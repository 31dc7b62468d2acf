# examples/contexts/multiphysics.py - heat, gas and a dense factorization at once.  SPDX-License-Identifier: Apache-2.0
"""make -C examples/contexts; python examples/contexts/multiphysics.py [OPTION]...

The multiphysics workflow of "Virtual Library Contexts" (SoCC '25, section 6.3): two small heat solvers
and a medium-sized gas solver (OpenMP), and Cholesky factorizations (LAPACK). Each library starts threads
for the whole machine; in a context it starts threads for the context's CPUs.
"""
import sys

import compared


def jobs(size):
    return {
        "heat1": [("parts.heat", size(80, 3), 120)],
        "heat2": [("parts.heat", size(72, 3), 120)],
        "cfd": [("parts.gas", size(220, 2), 100)],
        "solve": [("parts.cholesky", size(1200, 3), 8)],
    }


if __name__ == "__main__":
    sys.exit(compared.main(__doc__, jobs))
