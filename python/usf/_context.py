# python/usf/_context.py - library contexts.  SPDX-License-Identifier: Apache-2.0
"""usf.Context: private copies of packages, with CPUs, an environment and thread pools of their own.

    import usf

    a = usf.Context(cpus=[0], env={"OMP_NUM_THREADS": "1"})
    b = usf.Context(cpus="1-7")
    with a:
        import numpy                # a's numpy
    with b:
        import numpy                # another one, with another pool of threads
"""
from __future__ import annotations

import ctypes
import functools
import inspect
import os
import re
import threading
import types
from typing import TYPE_CHECKING, Any, Callable, Iterable, Mapping, Optional, TypeVar, Union

from . import _context_lib
from ._context_who import by_address, current, is_shared, lib, shared

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
Cpus = Union[str, Iterable[int]]
Path = Union[str, "os.PathLike[str]"]

class _Late(threading.local):
    """Contexts that were to be left while the thread had entered another one: they are left when it leaves that. Code that was
    told of the wrong order may then leave once more."""

    def __init__(self):
        self.leaves = []
        self.left = []


_late = _Late()
_sched_getaffinity = os.sched_getaffinity        # the process's own, before contexts have views of it


def _leave_late(context):
    """Context.__exit__, where the context is not what the thread has entered last, or such contexts remain to be left."""
    if current() != context._address:
        if context._address in _late.left:
            _late.left.remove(context._address)
            _count_late()
            return
        _late.leaves.append(context._address)
        _count_late()
        raise RuntimeError(f"{context.name} is not what this thread has entered last: contexts are left in the opposite order, by the thread that "
                           "has entered them, and not across `await` or `yield`")
    lib.usf_context_python_leave()
    while _late.leaves and current() in _late.leaves:
        _late.leaves.remove(current())
        _late.left.append(current())
        lib.usf_context_python_leave()
    _count_late()


def _count_late():
    lib.usf_context_python_late(len(_late.leaves) + len(_late.left))


_installing = threading.RLock()
_installed = False
# A child of fork has all that was changed, or nothing.
os.register_at_fork(before=_installing.acquire, after_in_parent=_installing.release, after_in_child=_installing.release)


def _install():
    global _installed
    if _installed:
        return
    with _installing:
        if _installed:
            return
        import sys
        import sysconfig

        if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
            raise RuntimeError("contexts need CPython with its global lock (GIL)")
        api = ctypes.pythonapi
        api.PyInterpreterState_Get.restype = api.PyInterpreterState_Main.restype = ctypes.c_void_p
        if api.PyInterpreterState_Get() != api.PyInterpreterState_Main():
            raise RuntimeError("contexts need the main interpreter of the process: this is a sub-interpreter")
        from . import _context_import, _context_inside

        _context_import.install()
        _context_inside.install(sys.modules)
        _installed = True


def _list_of(cpus):
    """A list of CPUs as text: from text as in "0-3,8", or numbers."""
    if isinstance(cpus, str):
        return cpus.encode()
    try:
        numbers = [int(cpu) for cpu in cpus]
    except TypeError:
        raise TypeError(f'cpus={cpus!r}: give a list of numbers, or text as in "0-3,8"') from None
    return ",".join(map(str, numbers)).encode()


def _numbers(text):
    found = set()
    for part in text.split(",") if text else ():
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def _bytes_of(memory):
    """A number of bytes: from a number, or text as in "4G" (K, M, G and T are powers of 1024)."""
    if memory is None:
        return 0
    if not isinstance(memory, str):
        size = int(memory)
    else:
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?\s*", memory, re.IGNORECASE)
        if match is None:
            raise ValueError(f'memory={memory!r}: give a number of bytes, or text as in "4G"')
        size = int(float(match[1]) * _UNITS[match[2].upper()])
    if not 1 << 20 <= size < 1 << 63:
        raise ValueError(f"memory={memory!r}: it should be 1 MiB at least")
    return size


def _array_of(env):
    """NAME=VALUE, or NAME for None."""
    texts = [os.fsencode(k) if v is None else os.fsencode(k) + b"=" + os.fsencode(v) for k, v in (env or {}).items()]
    return (ctypes.c_char_p * (len(texts) + 1))(*texts, None)


_IN_PIECES = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR | inspect.CO_ITERABLE_COROUTINE


def _refuse_pieces(function):
    inner = function
    while isinstance(inner, functools.partial):
        inner = inner.func
    for code in (getattr(inner, "__code__", None), getattr(getattr(type(inner), "__call__", None), "__code__", None)):
        if isinstance(code, types.CodeType) and code.co_flags & _IN_PIECES:
            name = getattr(inner, "__qualname__", repr(inner))
            raise TypeError(f"{name} is executed in pieces, between which its thread does other work: take what it calls into the context")


class Context:
    """Private copies of packages, with CPUs, an environment and thread pools of their own.

    Inside of `with context:` the thread imports the context's modules. Their functions may be called anywhere. Modules of the
    standard library, and those of usf.share_modules, exist once. Threads that are started inside belong to the context.

    name: for messages. cpus: numbers, or text as in "0-3,8"; None: all that the program has. What the user gives a context of this
    name (USF_CONTEXTS="NAME=CPUS; ...") goes before cpus, also when cpus is set later. env: changes of the environment; None as
    a value takes the variable out. path: folders to look for modules in before those of sys.path. memory: bytes, or text as in "4G", that libraries
    see as the machine's memory; they may take more.

    Under `usf run`: strict: the context borrows no CPUs, and no other borrows its own. weight: its share of the CPUs that it has in common with others, 1 to
    10,000; 100 is normal. priority: -1,000 to 1,000; policies that follow priorities serve the highest first. ValueError: out of range.

    >>> import usf, os
    >>> context = usf.Context("doc", env={"USF_DOC": "1"})
    >>> with context:
    ...     os.environ["USF_DOC"]
    '1'
    >>> os.environ.get("USF_DOC") is None
    True
    """

    def __init__(self, name: Optional[str] = None, *, cpus: Optional[Cpus] = None, env: Optional[Mapping[str, Optional[str]]] = None,
                 path: Union[Path, Iterable[Path]] = (), strict: bool = False, weight: int = 100, priority: int = 0,
                 memory: Union[int, str, None] = None) -> None:
        if isinstance(path, (str, os.PathLike)):
            path = [path]
        _install()
        import sys

        env = {k: v for k, v in (env or {}).items()}
        if not 1 <= weight <= 10000:
            raise ValueError(f"weight {weight}: it should be from 1 to 10000")
        if not -1000 <= priority <= 1000:
            raise ValueError(f"priority {priority}: it should be from -1000 to 1000")
        options = _context_lib.Options(os.fsencode(name) if name else None, None if cpus is None else _list_of(cpus), _array_of(env), int(strict),
                                       weight, priority, _bytes_of(memory))
        self._memory: int = options.memory
        self._address = lib.usf_context_create(ctypes.byref(options))
        if not self._address:
            raise ValueError(_context_lib.error())
        self._name, self._id = os.fsdecode(lib.usf_context_name(self._address)), lib.usf_context_id(self._address)
        self._modules: dict[str, Any] = {}      # its own
        self._state: dict[str, Any] = {}        # what extension modules keep per interpreter
        self._closed = False
        self._is_used = False                   # it has modules or libraries, or has had
        self._starting: set[object] = set()     # threads that have not begun yet
        self._bound: set[int] = set()           # native ids of threads that follow its CPUs
        variables: Any = os.environb
        self._names = {k for k in variables._data.program if k} | {os.fsencode(k) for k in env}
        self.path = [os.path.abspath(p) for p in path] + list.copy(sys.path)
        self._meta_path = list.copy(sys.meta_path)
        self._look_at_cpus(cpus is not None)
        from ._context_import import copy_builtins, keep, make_builtins

        self._builtins = make_builtins(self)
        copy_builtins(self)
        for dictionary in (self._modules, self._builtins, self._state):
            keep(dictionary)
        lib.usf_context_python(self._address, self._modules, self._builtins, self._state)
        by_address[self._address] = self

    # ---- entering ---------------------------------------------------------------------------------

    if TYPE_CHECKING:           # C has them: see usf_context_python_methods

        def __enter__(self) -> Context: ...

        def __exit__(self, *_: object) -> None: ...

    def run(self, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """Call it inside. TypeError: a function that is executed in pieces (async, or with `yield`): run what it calls.

        >>> import os, usf
        >>> usf.Context(env={"X": "inside"}).run(os.getenv, "X")
        'inside'
        """
        _refuse_pieces(function)
        with self:
            return function(*args, **kwargs)

    def submit(self, function: Callable[..., T], *args: Any, **kwargs: Any) -> Future[T]:
        """Call it in a new thread inside, on the context's CPUs: a concurrent.futures.Future. TypeError: as for run.

        >>> import os, usf
        >>> usf.Context(env={"X": "inside"}).submit(os.getenv, "X").result()
        'inside'
        """
        _refuse_pieces(function)
        from concurrent.futures import Future

        future: Future[T] = Future()

        def work():
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = function(*args, **kwargs)
            except BaseException as e:
                future.set_exception(e)
            else:
                future.set_result(result)

        with self:
            threading.Thread(target=work, name=f"{self.name}: {getattr(function, '__name__', 'submit')}").start()
        return future

    def __call__(self, function: F) -> F:
        """A decorator: the function is executed inside."""
        _refuse_pieces(function)
        if not callable(function) or isinstance(function, type):
            raise TypeError(f"{function!r} is no function")

        @functools.wraps(function)
        def inside(*args, **kwargs):
            with self:
                return function(*args, **kwargs)

        return inside       # type: ignore[return-value]

    # ---- what it has --------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """For messages."""
        return self._name

    @property
    def id(self) -> int:
        """1, 2, ...; unique in the process."""
        return self._id

    @property
    def cpus(self) -> list[int]:
        """The CPUs that its libraries see. Libraries look when they are loaded: set them before. Threads that are bound to its CPUs follow."""
        return sorted(_numbers(lib_cpus(self)))

    @cpus.setter
    def cpus(self, cpus: Optional[Cpus]) -> None:
        from ._context_inside import rebind

        self._check()
        before = set(self.cpus)
        _context_lib.check(lib.usf_context_set_cpus(self._address, None if cpus is None else _list_of(cpus)))
        self._look_at_cpus(cpus is not None)
        rebind(self, before)

    def _look_at_cpus(self, has_own):
        cpus = frozenset(self.cpus)     # the user may have given it some (USF_CONTEXTS)
        self._own_cpus = cpus if has_own or cpus != _sched_getaffinity(0) else None

    @property
    def modules(self) -> dict[str, Any]:
        """Its private modules, by name: a copy of the list."""
        return dict(self._modules)

    def set_allowed_cpus(self, cpus: Cpus) -> None:
        """As VLC.set_allowed_cpus of the paper: the CPUs that its libraries see."""
        self.cpus = cpus

    def setenv(self, name: str, value: str) -> None:
        """Set a variable of its environment."""
        self._setenv(os.fsencode(name), os.fsencode(value))

    def unsetenv(self, name: str) -> None:
        """Take a variable out of its environment."""
        self._unsetenv(os.fsencode(name))
        self._names.discard(os.fsencode(name))

    def getenv(self, name: str, default: Any = None) -> Any:
        """A variable of its environment."""
        self._check()
        value = lib.usf_context_getenv(self._address, os.fsencode(name))
        return default if value is None else os.fsdecode(value)

    def _check_start(self):
        """May a thread begin inside? It was noted in _starting before, and _free looks there after the context is closed."""
        if not self._address or self._closed and not self._is_used and current() != self._address:
            raise RuntimeError(f"{self.name} is closed")

    def _check(self):
        if not self._address:
            raise RuntimeError(f"{self.name} is closed")

    def _setenv(self, name, value):
        self._check()
        _context_lib.check(lib.usf_context_setenv(self._address, name, value, 1))
        self._names.add(name)

    def _unsetenv(self, name):
        self._check()
        _context_lib.check(lib.usf_context_unsetenv(self._address, name))

    def _variables(self):
        return [name for name in list(self._names) if lib.usf_context_getenv(self._address, name) is not None]

    def close(self) -> None:
        """It cannot be entered any more.

        Objects of it that are still used go on working, so its modules and libraries stay. A context without any is freed: at once, or, if a
        thread is inside, when another one is closed later.
        """
        if not self._closed:
            self._closed = True
            lib.usf_context_python_close(self._address)
            _closing.append(self)
        _free_closed()

    def _free(self):
        """False: it is in use still."""
        from ._context_import import drop

        if self._starting or lib.usf_context_destroy(self._address):
            return False
        del by_address[self._address]
        self._address = 0
        self._own_cpus = None
        for dictionary in (self._modules, self._builtins, self._state):
            drop(dictionary)
        self._builtins.clear()
        return True

    # ---- for people -----------------------------------------------------------------------------------

    def _packages(self):
        for name, module in sorted(self._modules.items()):
            if "." not in name and getattr(module, "__version__", None) and not name.startswith("_"):
                yield name, str(module.__version__)

    def __repr__(self) -> str:
        parts = ["closed"] if self._closed else [f"cpus={lib_cpus(self)}", *(f"{n} {v}" for n, v in self._packages())]
        return f"<usf.{type(self).__name__} {self.name!r}: {', '.join(parts)}>"

    def _repr_html_(self) -> str:
        from html import escape

        rows = [("closed", "")] if self._closed else [("CPUs", lib_cpus(self)), *self._packages()]
        body = "".join(f"<tr><th>{escape(k)}</th><td>{escape(v)}</td></tr>" for k, v in rows)
        return f"<table><caption>{escape(repr(self).split(':')[0][1:])}</caption>{body}</table>"


def lib_cpus(context):
    """As text."""
    context._check()
    text = ctypes.create_string_buffer(4096)
    lib.usf_context_get_cpus(context._address, text, len(text))
    return text.value.decode()


_closing: list[Context] = []    # closed, and not free yet
_freeing = threading.Lock()


def _end_others_work():
    """In a child of fork: the thread that was freeing contexts is not there."""
    global _freeing
    _freeing = threading.Lock()


os.register_at_fork(after_in_child=_end_others_work)


def _free_closed():
    """Contexts without modules that no thread is inside of. If a thread frees contexts already, or is interrupted meanwhile, the rest is freed later."""
    freeing = _freeing
    if freeing.acquire(blocking=False):
        try:
            for context in _closing[:]:
                if context._is_used or context._free():
                    _closing.remove(context)
        finally:
            freeing.release()


_context_lib.check(lib.usf_context_python_methods(Context, _leave_late))


class VLC(Context):
    """The name that the paper "Virtual Library Contexts" (SoCC '25) gives to a context.

    >>> from usf import VLC
    >>> a = VLC()
    >>> a.set_allowed_cpus([0])
    >>> a.setenv("OMP_NUM_THREADS", "1")
    >>> a.unsetenv("OMP_NUM_THREADS")
    """


def current_context() -> Optional[Context]:
    """The context that the calling thread is in, or None.

    >>> import usf
    >>> usf.current_context() is None
    True
    """
    return by_address.get(current())


def share_modules(*names: str) -> None:
    """Modules of these top-level names exist once in the process, as those of the standard library do: the program's.

    Classes of a shared module are the same in all contexts. It must not have been imported in a context before.
    """
    for name in names:
        if "." in name:
            raise ValueError(f"{name!r}: packages are shared as a whole, by their top-level name")
        having = [c.name for c in by_address.values() if name in c._modules]
        if having and not is_shared(name):
            raise RuntimeError(f"{name} was imported in {', '.join(having)} already: share it before")
    shared.update(names)
