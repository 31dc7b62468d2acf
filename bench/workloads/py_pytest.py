# bench/workloads/py_pytest.py - pytest -n N over tests that use numpy.  SPDX-License-Identifier: Apache-2.0
"""Writes a small test file, runs `pytest -n WORKERS` on it as a developer would, and counts tests per second.  numpy's BLAS
has as many threads in each worker as there are cores."""
import argparse
import os
import re
import subprocess
import sys
import tempfile

import py_common

TESTS = """
import numpy as np
import pytest


@pytest.mark.parametrize("seed", range({tests}))
def test_solve(seed):
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((300, 300)) + 300 * np.eye(300)
    b = rng.standard_normal((300, 4))
    for _ in range(20):
        assert np.allclose(a @ np.linalg.solve(a, b), b)
"""

py_common.need("pip install numpy pytest pytest-xdist", "numpy", "pytest", "xdist")
parser = argparse.ArgumentParser()
parser.add_argument("--workers", type=int, default=8)
parser.add_argument("--tests", type=int, default=64)
py_common.add_arguments(parser)
args = parser.parse_args()

with tempfile.TemporaryDirectory() as folder:
    with open(os.path.join(folder, "test_solve.py"), "w", encoding="utf-8") as f:
        f.write(TESTS.format(tests=args.tests))

    def run():
        done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", str(args.workers), "test_solve.py"],
                              cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return done.returncode == 0 and re.search(rf"^{args.tests} passed", done.stdout, re.M)

    status = py_common.measure("pytest", "test", args.tests, args, run, bool, workers=args.workers)
sys.exit(status)
