# examples/solve.py - eight threads that solve linear systems.  SPDX-License-Identifier: Apache-2.0
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

a = np.random.rand(384, 384) + 384 * np.eye(384)
b = np.ones((384, 4))
start = time.time()
with ThreadPoolExecutor(8) as pool:
    for _ in range(13):
        list(pool.map(lambda _: np.linalg.solve(a, b), range(16)))
print(f"208 systems solved in {time.time() - start:.2f} s")
