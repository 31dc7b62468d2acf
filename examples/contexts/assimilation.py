# examples/contexts/assimilation.py - a transformer and an ensemble of simulations.  SPDX-License-Identifier: Apache-2.0
"""make -C examples/contexts; python examples/contexts/assimilation.py [OPTION]...

The data assimilation workflow of "Virtual Library Contexts" (SoCC '25, section 6.3): a transformer
learns a time series, beside many small gas solvers (OpenMP). The solvers are in two contexts.
"""
import sys

import compared
import learning


def jobs(size):
    return {
        "transformer": [("learning.transformer", size(400))],
        "ensemble1": [("parts.gas", size(64 + 4 * i, 2), 150) for i in range(6)],
        "ensemble2": [("parts.gas", size(66 + 4 * i, 2), 150) for i in range(6)],
    }


if __name__ == "__main__":
    sys.exit(compared.main(__doc__, jobs, learning.attention))
