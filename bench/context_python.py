#!/usr/bin/env python3
# bench/context_python.py - what contexts cost in Python.  SPDX-License-Identifier: Apache-2.0
"""Time contexts in Python: creating one, `with context: pass`, and `import numpy` in four of them.

  PYTHONPATH=build/python LD_LIBRARY_PATH=build /usr/bin/python3 bench/context_python.py
"""
import statistics
import subprocess
import sys
import time

import usf


def seconds(function, times=1):
    begin = time.perf_counter()
    for _ in range(times):
        function()
    return (time.perf_counter() - begin) / times


def fresh(code):
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def with_context(context=usf.Context()):
    with context:
        pass


def import_in_context():
    with usf.Context():
        import numpy  # noqa: F401


ONE = "import time; t = time.perf_counter(); import numpy; print(time.perf_counter() - t)"
print(f"create: {seconds(usf.Context, 200) * 1e6:.1f} us")
print(f"with context: {seconds(with_context, 200000) * 1e6:.3f} us")
print(f"import numpy, one fresh process: {statistics.median(float(fresh(ONE)) for _ in range(5)) * 1e3:.0f} ms")
print(f"import numpy, four fresh processes: {seconds(lambda: fresh('import numpy'), 4) * 4e3:.0f} ms")
print(f"import numpy, four contexts: {seconds(import_in_context, 4) * 4e3:.0f} ms")
