# examples/contexts/gemms.py - twenty small matrix products beside a large one.  SPDX-License-Identifier: Apache-2.0
"""python examples/contexts/gemms.py [OPTION]...

The nested products of "Virtual Library Contexts" (SoCC '25, section 6.4). With one BLAS, all products
have as many threads as the library has. In two contexts, each has a BLAS with threads for its CPUs.
"""
import sys

import compared


def jobs(size):
    return {
        "small": [("parts.gemm", size(256, 3), 20)] * 20,
        "large": [("parts.gemm", size(1536, 3), 2)],
    }


if __name__ == "__main__":
    sys.exit(compared.main(__doc__, jobs))
