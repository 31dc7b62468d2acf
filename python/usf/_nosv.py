# python/usf/_nosv.py - the functions of libnosv.so.0 that the executor uses.  SPDX-License-Identifier: Apache-2.0
"""Threads of this process become tasks of libnosv, and threads again.

The library is the one that was installed with this package, or else the one that the dynamic linker finds
by its name (LD_LIBRARY_PATH, ldconfig).
"""
import ctypes
import re

_LEVELS = {"cpu": 1, "numa": 2, "complex": 3}
_UNBOUND = 1 << 32              # NOSV_ATTACH_UNBOUND

_quick = None                   # functions that never wait: they keep the GIL
_slow = None                    # functions that may wait: they release it


def _load():
    from . import _installed

    try:
        path = _installed("lib", "libnosv.so.0")
    except FileNotFoundError:
        path = "libnosv.so.0"
    try:
        return ctypes.PyDLL(path), ctypes.CDLL(path)
    except OSError as e:
        raise ImportError(f"the tasking library libnosv.so.0 cannot be loaded: {e}") from e


def _check(error):
    if error:
        raise RuntimeError(_quick.nosv_get_error_string(error).decode())


def begin():
    """Initialise the library for this process, and say how many slots it has."""
    global _quick, _slow
    if _quick is None:
        _quick, _slow = _load()
        _quick.nosv_get_error_string.restype = ctypes.c_char_p
        _quick.nosv_detach.argtypes = [ctypes.c_uint64]
        _quick.nosv_set_task_priority.argtypes = [ctypes.c_void_p, ctypes.c_int]
        _slow.nosv_attach.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint64]
        _slow.nosv_schedpoint.argtypes = [ctypes.c_uint64]
    _check(_slow.nosv_init())
    return _quick.nosv_get_num_cpus()


def place(name, strict=True):
    """The library's value for "cpu-3", "numa-0", "complex-1" or None, which is no affinity."""
    if name is None:
        return None
    m = re.fullmatch(r"(cpu|numa|complex)-(\d+)", name)
    if not m or int(m[2]) >= 1 << 29:
        raise ValueError(f'affinity {name!r} is none of "cpu-N", "numa-N", "complex-N"')
    value = _LEVELS[m[1]] | bool(strict) << 2 | int(m[2]) << 3
    _check_place(value, name)
    return value


def _check_place(value, name):
    kind, number = value & 3, value >> 3
    at = {1: 4, 2: 1, 3: 2}[kind]                       # NOSV_TOPO_LEVEL_CPU, _NUMA, _COMPLEX_SET
    if _quick.nosv_get_num_cpus_in_domain(at, number) <= 0:
        raise ValueError(f"affinity {name!r} names a place without a CPU of this process")


def is_strict(value):
    return value is not None and bool(value & 4)


class Attachment:
    """The calling thread is a task from here to end().

    A task without an affinity is not bound to its slot's CPU: threads and processes that the work creates would inherit
    that mask.
    """

    def __init__(self, label, affinity, priority):
        task = ctypes.c_void_p()
        if affinity is None:
            error = _slow.nosv_attach(ctypes.byref(task), None, label, _UNBOUND)
        else:
            error = _slow.nosv_attach(ctypes.byref(task), ctypes.byref(ctypes.c_uint32(affinity)), label, 0)
        _check(error)
        if priority:
            _quick.nosv_set_task_priority(task, priority)

    def let_others_run(self):
        """A scheduling point: another task may have the slot first if this one has had it for a quantum."""
        _slow.nosv_schedpoint(0)

    def end(self):
        _quick.nosv_detach(0)
