# python/usf/_context_lib.py - the functions of libusf-context.so.0 that contexts use.  SPDX-License-Identifier: Apache-2.0
"""usf/context.h for Python. All calls keep the GIL: loading a library may execute code that needs it."""
import ctypes
import os

_lib = None


class Options(ctypes.Structure):
    """struct usf_context_options."""

    _fields_ = [("name", ctypes.c_char_p), ("cpus", ctypes.c_char_p), ("env", ctypes.POINTER(ctypes.c_char_p)), ("flags", ctypes.c_uint),
                ("weight", ctypes.c_uint), ("priority", ctypes.c_int), ("memory", ctypes.c_uint64)]


def _open():
    from . import _installed

    try:
        path = _installed("lib", "libusf-context.so.0")
    except FileNotFoundError:
        path = "libusf-context.so.0"
    try:
        return ctypes.PyDLL(path)
    except OSError as e:
        raise ImportError(f"the library of contexts libusf-context.so.0 cannot be loaded: {e}") from e


def load():
    """The library, with types. Call it before anything of ctypes is changed."""
    global _lib
    if _lib is None:
        lib = _open()
        pointer, text, integer = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
        for name, result, *args in (
            ("create", pointer, ctypes.POINTER(Options)), ("destroy", integer, pointer), ("enter", integer, pointer), ("leave", integer),
            ("current", pointer), ("open", pointer, pointer, text), ("find", pointer, pointer, text), ("of", pointer, pointer),
            ("get_cpus", integer, pointer, text, ctypes.c_size_t), ("set_cpus", integer, pointer, text), ("getenv", text, pointer, text),
            ("setenv", integer, pointer, text, text, integer), ("unsetenv", integer, pointer, text), ("id", ctypes.c_uint, pointer),
            ("name", text, pointer), ("shared", text, text), ("error", text), ("python", integer, pointer, *[ctypes.py_object] * 3),
            ("python_open", integer, pointer, text, integer),
            ("python_caller", pointer), ("python_methods", integer, *[ctypes.py_object] * 2), ("python_late", None, ctypes.c_uint),
            ("python_enter", integer, pointer), ("python_leave", integer), ("python_entered_by", pointer), ("python_close", None, pointer),
            ("python_outside", pointer), ("python_back", None, pointer),
        ):
            try:
                f = getattr(lib, "usf_context_" + name)
            except AttributeError:
                raise ImportError(f"libusf-context.so.0 is of another release than this package: it has no usf_context_{name}") from None
            f.restype, f.argtypes = result, args
        _lib = lib
    return _lib


def error():
    """What the last call that failed says."""
    return os.fsdecode(_lib.usf_context_error())


def check(code):
    """Raise ValueError for an argument that is wrong, OSError for anything else."""
    import errno

    if code:
        raise ValueError(error()) if code == errno.EINVAL else OSError(code, error())
