# examples/contexts/arpack.py - eigenvalues and singular values by ARPACK, in several threads at once.  SPDX-License-Identifier: Apache-2.0
"""python examples/contexts/arpack.py [OPTION]...

ARPACK keeps its state in variables of the library, so scipy lets one thread at a time use it (eigsh
and svds). Each context has an ARPACK of its own: as many threads compute at once as there are
contexts, two to four.
"""
import os
import sys

import compared

CONTEXTS = min(4, max(2, len(os.sched_getaffinity(0))))


def jobs(size):
    """Each context has problems of all sizes, beginning with another one."""
    problems = [("spectrum.eigsh", size(n)) for n in (6000, 7000, 8000, 9000)] + [("spectrum.svds", size(n, 2)) for n in (300, 350, 400, 450)]
    return {f"arpack{i + 1}": problems[i:] + problems[:i] for i in range(CONTEXTS)}


if __name__ == "__main__":
    sys.exit(compared.main(__doc__, jobs))
