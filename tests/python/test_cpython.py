#!/usr/bin/python3
# tests/python/test_cpython.py - CPython's own tests of ThreadPoolExecutor, with usf.Executor.  SPDX-License-Identifier: Apache-2.0
"""The classes are imported as they are. In them concurrent.futures.ThreadPoolExecutor is usf.Executor, and the programs
that they start import that."""
import importlib
import os
import sys
import unittest
from concurrent import futures
from unittest import mock

import usf

try:
    import test.support.script_helper as script_helper
    import test.test_concurrent_futures as suite
except ImportError as e:
    print("SKIP: CPython's tests are not installed (libpython3.11-testsuite): %s" % e)
    sys.exit(77)

# One module up to 3.11, a package since.
PARTS = ("test_thread_pool", "test_shutdown", "test_wait", "test_as_completed", "test_init") if hasattr(suite, "__path__") else ()
MODULES = [importlib.import_module("test.test_concurrent_futures." + part) for part in PARTS] or [suite]
FEWEST = 40                     # of tests: there must be some
NOT_HERE = {
    "test_thread_names_default": "it asserts the name of the class",
}


def run_script(*args, **env):
    *options, script = args
    for name in "Executor", "ThreadPoolExecutor":
        script = script.replace("from concurrent.futures import %s\n" % name, "from usf import Executor as %s\n" % name)
    passed = {k: os.environ[k] for k in ("PYTHONPATH", "LD_LIBRARY_PATH") if k in os.environ}
    return script_helper.assert_python_ok(*options, script, __isolated=False, **{**passed, **env})


def adapted(module, base):
    class Adapted(base):
        executor_type = usf.Executor

        def setUp(self):
            if self._testMethodName in NOT_HERE:
                self.skipTest(NOT_HERE[self._testMethodName])
            self.enter(mock.patch.object(futures, "ThreadPoolExecutor", usf.Executor))
            if hasattr(module, "assert_python_ok"):
                self.enter(mock.patch.object(module, "assert_python_ok", run_script))
            super().setUp()

        def enter(self, patch):
            patch.start()
            self.addCleanup(patch.stop)

    Adapted.__name__ = Adapted.__qualname__ = base.__name__
    return Adapted


def load_tests(loader, *_):
    tests = unittest.TestSuite()
    for module in MODULES:
        for name, base in sorted(vars(module).items()):
            if isinstance(base, type) and issubclass(base, unittest.TestCase) and getattr(base, "executor_type", None) is futures.ThreadPoolExecutor:
                tests.addTests(loader.loadTestsFromTestCase(adapted(module, base)))
    assert tests.countTestCases() >= FEWEST, tests.countTestCases()
    return tests


if __name__ == "__main__":
    unittest.main(verbosity=2)
