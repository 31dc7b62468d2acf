# python/usf/_context_import.py - each context imports modules of its own.  SPDX-License-Identifier: Apache-2.0
"""sys.modules, sys.path and sys.meta_path have the contents of the context that looks at them.

The interpreter keeps its own pointer to the dictionary sys.modules, and asks a subclass of dict by its methods. So that very dictionary
becomes an instance of Modules, whose own entries are the program's. Modules that are imported in a context have builtins with an
`__import__` of that context: what they import later, wherever they are called, is the context's. Extension modules are loaded as the
context's private copies.
"""
import atexit
import builtins
import copy
import ctypes
import functools
import importlib
import importlib.abc
import importlib.util
import os
import sys
import types
from importlib import _bootstrap, _bootstrap_external

from . import _context_lib
from ._context_who import MARK, Inside, Outside, by_address, current, importer, is_shared, lib, who

_base = dict                    # methods of the program's own dictionary


def _choose(method):
    """A method of Modules: the program's entries, or those of a context as a new dict."""
    of_dict = getattr(dict, method)

    @functools.wraps(of_dict)
    def call(self, *args):
        context = who()
        if context is None:
            return of_dict(self, *args)
        both = {name: module for name, module in list(dict.items(self)) if is_shared(name)}      # other threads import meanwhile
        both.update(context._modules)
        return getattr(both, method)(*args)

    return call


class Modules(dict):
    """sys.modules. A context sees the shared ones of the program, and its own."""

    __slots__ = ()

    def __getitem__(self, name):
        context = importer(name)
        return _base.__getitem__(self, name) if context is None else context._modules[name]

    def __setitem__(self, name, module):
        context = importer(name)
        if context is None:
            _base.__setitem__(self, name, module)
        else:
            context._modules[name] = module

    def __delitem__(self, name):
        context = importer(name)
        if context is None:
            _base.__delitem__(self, name)
        else:
            del context._modules[name]

    def __contains__(self, name):
        context = importer(name)
        return _base.__contains__(self, name) if context is None else name in context._modules

    def get(self, name, default=None):
        context = importer(name)
        return _base.get(self, name, default) if context is None else context._modules.get(name, default)

    def pop(self, name, *default):
        context = importer(name)
        return _base.pop(self, name, *default) if context is None else context._modules.pop(name, *default)

    def setdefault(self, name, default=None):
        context = importer(name)
        return _base.setdefault(self, name, default) if context is None else context._modules.setdefault(name, default)

    def update(self, *others, **more):
        context = who()
        for name, module in dict(*others, **more).items():
            if context is None or is_shared(name):
                _base.__setitem__(self, name, module)
            else:
                context._modules[name] = module

    def __ior__(self, other):     # type: ignore[misc]
        self.update(other)
        return self

    def clear(self):
        context = who()
        if context is None:
            _base.clear(self)
        else:
            context._modules.clear()

    __iter__, __len__, __repr__, __eq__, __ne__ = map(_choose, ("__iter__", "__len__", "__repr__", "__eq__", "__ne__"))
    keys, values, items, copy = map(_choose, ("keys", "values", "items", "copy"))
    __reversed__, __or__, __ror__ = map(_choose, ("__reversed__", "__or__", "__ror__"))
    __hash__ = None


def _delegate(method):
    of_list = getattr(list, method)

    @functools.wraps(of_list)
    def call(self, *args, **kwargs):
        context = who()
        return of_list(self if context is None else getattr(context, self.of_context), *args, **kwargs)

    return call


class Path(list):
    """sys.path. Its own entries are the program's."""

    of_context = "path"
    for _name in ("__getitem__", "__setitem__", "__delitem__", "__contains__", "__iter__", "__len__", "__repr__", "__eq__", "__ne__", "__add__",
                  "__reversed__", "append", "clear", "copy", "count", "extend", "index", "insert", "pop", "remove", "reverse", "sort"):
        locals()[_name] = _delegate(_name)
    del _name
    __hash__ = None

    def __iadd__(self, more):     # type: ignore[misc]
        self.extend(more)
        return self


class MetaPath(Path):
    """sys.meta_path: modules such as six add and remove finders."""

    of_context = "_meta_path"


class Builtins(types.ModuleType):
    """The module builtins. What is set there is seen in all contexts. (The module sys cannot be given such a class, for assignments of
    sys.path: importlib and others take type(sys) for the type of modules.)"""

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        copy_to_all()

    def __reduce__(self):
        return importlib.import_module, ("builtins",)       # as tools do for modules, which look at the exact type

    def __delattr__(self, name):
        super().__delattr__(name)
        for context in list(by_address.values()):
            context._builtins.pop(name, None)


def copy_builtins(context):
    """The builtins of modules that are imported in the context."""
    names = dict(builtins.__dict__)
    for own in "__import__", "open":
        names.pop(own, None)
    context._builtins.update(names)


def builtins_of(context):
    """For a module of the context."""
    context._is_used = True
    copy_builtins(context)
    return context._builtins


def copy_to_all():
    for context in list(by_address.values()):
        copy_builtins(context)


def _set_type(obj, cls):
    """The type is the last word of an object's head, in every build of CPython."""
    where = object.__basicsize__ - ctypes.sizeof(ctypes.c_void_p)
    ctypes.c_void_p.from_address(id(obj) + where).value = id(cls)


def keep(obj):
    """C has a pointer to it: it lives as long as the process."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(obj))


def drop(obj):
    """C has none any more."""
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(obj))


# ---- importing ---------------------------------------------------------------------------------------


def make_import(address):
    """`__import__` of a context's modules: it imports there, wherever the thread is."""
    enter, leave = lib.usf_context_enter, lib.usf_context_leave

    def __import__(name, globals=None, locals=None, fromlist=(), level=0):
        if current() == address:
            return builtins.__import__(name, globals, locals, fromlist, level)
        enter(address)
        try:
            return builtins.__import__(name, globals, locals, fromlist, level)
        finally:
            leave()

    return __import__


def _create(context, spec):
    """An extension module from the context's copy. The interpreter opens the copy by the name that the dynamic linker has for it, and
    keeps what it remembers of extension modules under this name."""
    context._is_used = True
    handle = lib.usf_context_open(context._address, os.fsencode(os.path.abspath(spec.origin)))
    if not handle:
        raise ImportError(f"{context.name}: {_context_lib.error()}", name=spec.name, path=spec.origin)
    name = ctypes.c_char_p.from_address(handle + ctypes.sizeof(ctypes.c_void_p)).value      # struct link_map: l_addr, l_name
    if _dlopen(os.fsdecode(name), os.RTLD_NOW | os.RTLD_NOLOAD) != handle:
        raise ImportError(f"{context.name}: the copy of {spec.origin} was not found by its name: please report this", name=spec.name, path=spec.origin)
    private = copy.copy(spec)
    private.origin = os.fsdecode(name)
    flags = sys.getdlopenflags()
    if flags & os.RTLD_GLOBAL:
        sys.setdlopenflags(flags & ~os.RTLD_GLOBAL)     # others would find the copy's symbols
    try:
        module = _bootstrap._call_with_frames_removed(_create_dynamic, private)
    finally:
        if flags & os.RTLD_GLOBAL:
            sys.setdlopenflags(flags)
    if getattr(module, "__file__", None) == private.origin:
        module.__file__ = spec.origin
    return module


def _forget(context, name):
    """A package whose import has failed: parts of it that were imported already would make the next attempt fail in another way."""
    for part in [n for n in list(context._modules) if n.startswith(name + ".")]:
        context._modules.pop(part, None)


def _change_import():
    """The import machinery is Python code, which finds these functions by name."""
    init, lock, load, find_and_load = (getattr(_bootstrap, n) for n in ("_init_module_attrs", "_get_module_lock", "_load_unlocked", "_find_and_load"))
    create = _bootstrap_external.ExtensionFileLoader.create_module

    def _init_module_attrs(spec, module, **kwargs):
        module = init(spec, module, **kwargs)
        context = importer(spec.name)
        if context is not None:
            module.__dict__.setdefault("__builtins__", builtins_of(context))
        return module

    def _get_module_lock(name):
        context = importer(name)
        return lock(name if context is None else f"{name} ({context.name}, {context.id})")

    def _load_unlocked(spec):
        try:
            module = load(spec)
        except BaseException:
            context = importer(spec.name)
            if context is not None:
                _forget(context, spec.name)
            raise
        if spec.name in after:
            after[spec.name](module, importer(spec.name))
        return module

    def _find_and_load(name, import_):
        if current() is None or importer(name) is not None:
            return find_and_load(name, import_)
        with Outside():         # what the program's module imports while it is executed is the program's
            return find_and_load(name, import_)

    def create_module(self, spec):
        context = importer(spec.name)
        return create(self, spec) if context is None else _create(context, spec)

    for function in (_init_module_attrs, _get_module_lock, _load_unlocked, _find_and_load):
        setattr(_bootstrap, function.__name__, _as_importlib(function))
    _bootstrap_external.ExtensionFileLoader.create_module = _as_importlib(create_module)


def _as_importlib(function):
    """Its frames are left out of tracebacks, as those of importlib are."""
    function.__code__ = function.__code__.replace(co_filename="<frozen importlib._bootstrap>")
    return function


after: dict = {}                # module name -> what is called with the module and its context when it was imported


def _change_finder():
    """A context's modules are looked for in its own folders, shared ones in the program's, whatever sys.path is when this is asked."""
    finder = _bootstrap_external.PathFinder
    find = finder.find_spec.__func__

    @functools.wraps(find)
    def find_spec(cls, fullname, path=None, target=None):
        if path is None and current() is not None:
            context = importer(fullname)
            path = list(list.__iter__(sys.path)) if context is None else context.path
        return find(cls, fullname, path, target)

    finder.find_spec = classmethod(find_spec)


def _in_callers_context(function):
    """A function of importlib that is called by a context's module works there, wherever the thread is."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        context = who()
        if context is None or current() == context._address:
            return function(*args, **kwargs)
        with Inside(context):
            return function(*args, **kwargs)

    return call


def _change_runpy(module, _):
    """Code that is executed inside is the context's."""
    run = module._run_code

    @functools.wraps(run)
    def _run_code(code, run_globals, *args, **kwargs):
        context = who()
        if context is not None:
            run_globals["__builtins__"] = builtins_of(context)
        return run(code, run_globals, *args, **kwargs)

    module._run_code = _run_code


after["runpy"] = _change_runpy


class _End(types.ModuleType):
    """The interpreter takes its modules out of sys.modules at the end. Then contexts forget theirs, so that objects are finalised."""

    def __del__(self):
        for context in by_address.values():
            context._modules.clear()


def _restore():
    """Before the interpreter clears its modules: they are ordinary ones again."""
    if type(sys.modules) is Modules:
        _set_type(sys.modules, dict)
    builtins.__class__ = types.ModuleType


def install():
    """Once, before the first context is entered."""
    global _dlopen, _create_dynamic
    from _ctypes import dlopen as _dlopen
    from _imp import create_dynamic as _create_dynamic

    if type(sys.modules) is not dict:
        raise RuntimeError(f"sys.modules is a {type(sys.modules).__name__}: contexts need the interpreter's own dictionary")
    if Modules.__basicsize__ != dict.__basicsize__:
        raise RuntimeError("this Python's dictionaries cannot be subclassed without further fields: contexts do not work with it")
    _change_import()
    _change_finder()
    for name in ("import_module", "reload"):
        setattr(importlib, name, _in_callers_context(getattr(importlib, name)))
    importlib.util.find_spec = _in_callers_context(importlib.util.find_spec)
    sys.path, sys.meta_path = Path(sys.path), MetaPath(sys.meta_path)
    builtins.__class__ = Builtins
    keep(Modules)
    sys.modules["usf._context_end"] = _End("usf._context_end")
    _set_type(sys.modules, Modules)
    atexit.register(_restore)


class _Open:
    """open() for the context's modules: files of /proc and /sys that tell of CPUs and memory have the context's. No function, which as an
    attribute of a class would be a method, as the interpreter's own is not."""

    def __init__(self, address):
        self._address = address
        functools.update_wrapper(self, open)

    def __call__(self, file, *args, **kwargs):
        if isinstance(file, str) and file.startswith(("/proc/", "/sys/")) and len(args) < 7 and kwargs.get("opener") is None:      # opener is the eighth
            kwargs["opener"] = self._opener
        return open(file, *args, **kwargs)

    def _opener(self, path, flags):
        fd = lib.usf_context_python_open(self._address, os.fsencode(path), flags)
        return fd if fd >= 0 else os.open(path, flags, 0o666)

    def __repr__(self):
        return repr(open)

    def __reduce__(self):
        return getattr, (builtins, "open")


def make_builtins(context):
    """See copy_builtins; `__import__` and `open` are the context's own."""
    return {"__import__": make_import(context._address), "open": _Open(context._address), MARK: context}
