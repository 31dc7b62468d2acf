# python/usf/_context_who.py - whose call is it?  SPDX-License-Identifier: Apache-2.0
"""Which context the code that is executed belongs to, and which modules have private copies.

1. The nearest frame that is not the standard library's, if its module was imported in a context.
2. The context that the thread is in.

An extension module that asks the interpreter for a module is a nearer caller than any frame: C notes it for the thread.
"""
import os
import sys
import sysconfig

from . import _context_lib

MARK = "__usf_context__"        # in the builtins of modules that were imported in a context

lib = _context_lib.load()
current = lib.usf_context_current       # of the thread: its address, or None
by_address: dict = {}           # of all contexts; a context lives as long as the process
_caller = lib.usf_context_python_caller
_getframe = sys._getframe


def _standard():
    """Names of the standard library's modules."""
    names = set(sys.builtin_module_names)
    if hasattr(sys, "stdlib_module_names"):
        return names | sys.stdlib_module_names
    for folder in (sysconfig.get_path("stdlib"), os.path.join(sysconfig.get_path("stdlib"), "lib-dynload")):
        names.update(f.partition(".")[0] for f in os.listdir(folder) if f != "site-packages")
    return names


STANDARD = frozenset(_standard())
# Modules of which the process has one: those, this package, the program, and tools that look at the whole process.
shared = set(STANDARD) | {
    "usf", "__main__", "__mp_main__", "sitecustomize", "usercustomize", "_distutils_hack", "IPython", "ipykernel", "traitlets", "debugpy", "pydevd",
    "coverage", "pytest", "_pytest", "pluggy",
}


def is_shared(name):
    """Has the process one module of this name?"""
    return type(name) is not str or name.partition(".")[0] in shared


def _is_standard(frame):
    name = frame.f_globals.get("__name__")
    return type(name) is str and name.partition(".")[0] in STANDARD and name != "__main__"


def who(depth=2):
    """The Context that the caller's caller belongs to; None: the program itself."""
    try:
        frame = _getframe(depth)
    except ValueError:          # C asks, and no Python code is executed
        frame = None
    while frame is not None:
        found = frame.f_builtins.get(MARK)
        if found is not None:
            address = None if current() == found._address else _caller()
            return found if address is None else by_address[address]
        if not _is_standard(frame):
            break
        frame = frame.f_back
    return by_address.get(current())


class Inside:
    """As `with context:`, also of one that is closed: the code of its modules goes on."""

    __slots__ = ("address",)

    def __init__(self, context):
        self.address = context._address

    def __enter__(self):
        lib.usf_context_enter(self.address)

    def __exit__(self, *_):
        lib.usf_context_leave()
