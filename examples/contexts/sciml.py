# examples/contexts/sciml.py - a simulation beside machine learning.  SPDX-License-Identifier: Apache-2.0
"""make -C examples/contexts; python examples/contexts/sciml.py [OPTION]...

The scientific machine learning workflow of "Virtual Library Contexts" (SoCC '25, section 6.3): a gas
solver (OpenMP), k-means (scikit-learn) and a neural network. While k-means runs, it sets BLAS to one
thread. Without contexts that holds for the network as well.
"""
import sys

import compared
import learning


def jobs(size):
    return {
        "cfd": [("parts.gas", size(220, 2), 150)],
        "kmeans": [("learning.kmeans", size(60000))],
        "dnn": [("learning.dnn", size(4000))],
    }


if __name__ == "__main__":
    sys.exit(compared.main(__doc__, jobs, learning.network))
