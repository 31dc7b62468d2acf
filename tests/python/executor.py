# tests/python/executor.py - what the tests of usf.Executor share.  SPDX-License-Identifier: Apache-2.0
import ctypes
import os
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import instance  # noqa: E402

from usf import Executor, _nosv, _slots  # noqa: E402

WAIT = 30                       # seconds: it has hung
CPUS = sorted(os.sched_getaffinity(0))
with Executor(1):
    nosv = ctypes.PyDLL("libnosv.so.0")
nosv.nosv_self.restype = nosv.nosv_get_task_type.restype = ctypes.c_void_p
nosv.nosv_get_task_type.argtypes = nosv.nosv_get_task_type_label.argtypes = nosv.nosv_get_task_priority.argtypes = [ctypes.c_void_p]
nosv.nosv_get_task_type_label.restype = ctypes.c_char_p


def label():
    """Of the task that calls this; None outside of tasks."""
    task = nosv.nosv_self()
    return nosv.nosv_get_task_type_label(nosv.nosv_get_task_type(task)).decode() if task else None


def priority():
    return nosv.nosv_get_task_priority(nosv.nosv_self())


class Test(unittest.TestCase):
    """Each test leaves all slots free, and no thread."""

    def setUp(self):
        self.threads = set(threading.enumerate())

    def tearDown(self):
        end = time.monotonic() + WAIT
        left = lambda: [t for t in set(threading.enumerate()) - self.threads if t.name != "usf-watchdog"]
        while left() and time.monotonic() < end:
            time.sleep(0.002)
        self.assertEqual(left(), [])
        self.check()

    def check(self):
        state = _slots.state()
        with state.lock:
            self.assertEqual((state.free, state.hungry, state.pools), (state.slots, set(), set()))


__all__ = ["CPUS", "Executor", "Test", "WAIT", "_nosv", "_slots", "instance", "label", "nosv", "priority"]
