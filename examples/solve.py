# examples/solve.py - eight threads that solve linear systems.  SPDX-License-Identifier: Apache-2.0
import time
from concurrent.futures import ThreadPoolExecutor
import numpy as np

a, b = np.random.rand(400, 400) + 400 * np.eye(400), np.ones(400)
start = time.time()
with ThreadPoolExecutor(8) as pool:
    list(pool.map(lambda _: np.linalg.solve(a, b), range(200)))
print(f"200 systems solved in {time.time() - start:.2f} s")
