# python/usf/_context_who.py - whose call is it?  SPDX-License-Identifier: Apache-2.0
"""Which context the code that is executed belongs to, and which modules have private copies.

1. The nearest frame that is not the standard library's, if its module was imported in a context.
2. The context that the thread is in. But a package of the program's that was called from there, and looks for a part of itself, gets its
   own part.

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


class _Passed(dict):
    """By a module's name: it works for the code that calls it, as the standard library and this package do."""

    def __missing__(self, name):
        top = name.partition(".")[0]
        self[name] = (top in STANDARD or top == "usf") and top != "__main__"
        return self[name]


_passed = _Passed()


def _nearest(frame):
    """The nearest frame of a context's module, or of other code than the above; None: there is none."""
    while frame is not None and MARK not in frame.f_builtins:
        name = frame.f_globals.get("__name__")
        if type(name) is not str or not _passed[name]:
            break
        frame = frame.f_back
    return frame


def _of_module(found):
    """The context of a context's module, or of the extension module that it has called."""
    address = None if current() == found._address else _caller()
    return found if address is None else by_address[address]


def who():
    """The Context that the code which is executed belongs to; None: the program itself."""
    frame = _nearest(_getframe(1))
    found = frame and frame.f_builtins.get(MARK)
    return by_address.get(current()) if found is None else _of_module(found)


def importer(name):
    """The Context that the module of this name is imported for, or looked up; None: the program."""
    if type(name) is not str or name.partition(".")[0] in shared:
        return None
    frame = _nearest(_getframe(1))
    found = frame and frame.f_builtins.get(MARK)
    if found is not None:
        return _of_module(found)
    context = by_address.get(current())
    return None if context is None or frame is not None and _is_own_part(name, frame) else context


def _package(frame):
    """The top-level name of the package that the frame's code belongs to."""
    name = frame.f_globals.get("__name__")
    if name == "__main__":
        name = frame.f_globals.get("__package__") or name       # python -m PACKAGE
    return name.partition(".")[0] if type(name) is str else None


def _is_own_part(name, frame):
    """Is it a part of the package that the frame belongs to, which is the program's and was called by code that has entered a context?

    A package that enters a context itself, or is called by Context.run, imports for the context. Threads begin inside.
    """
    package = _package(frame)
    if package != name.partition(".")[0]:
        return False
    module = dict.get(sys.modules, frame.f_globals.get("__name__"))
    if getattr(module, "__dict__", None) is not frame.f_globals:
        return False
    by, last = lib.usf_context_python_entered_by(), package
    while frame is not None:
        name = frame.f_globals.get("__name__")
        if type(name) is not str or not _passed[name]:
            last = _package(frame)
        if id(frame.f_globals) == by:
            return last != package
        frame = frame.f_back
    return False


class Inside:
    """As `with context:`, also of one that is closed: the code of its modules goes on."""

    __slots__ = ("context",)

    def __init__(self, context):
        self.context = context

    def __enter__(self):
        if lib.usf_context_python_enter(self.context._address):
            raise RuntimeError(f"{self.context.name} is closed")

    def __exit__(self, *_):
        lib.usf_context_python_leave()


class Outside:
    """The thread does something for the program, and is in no context meanwhile."""

    __slots__ = ("before",)

    def __enter__(self):
        self.before = lib.usf_context_python_outside()

    def __exit__(self, *_):
        lib.usf_context_python_back(self.before)


