# python/usf/_context_inside.py - what the standard library tells code of a context.  SPDX-License-Identifier: Apache-2.0
"""The environment, the CPUs, shared libraries by ctypes, and new threads are the context's.

The functions of os, ctypes and threading that are replaced here act as before for the program.
"""
import _posixsubprocess
import _thread
import collections.abc
import ctypes
import functools
import os
import pickle
import sys
import threading

from . import _context_lib
from . import _context_mix  # noqa: F401 (it is told of modules that are imported)
from ._context_import import after, copy_to_all
from ._context_who import Inside, by_address, lib, who


class Environment(collections.abc.MutableMapping):
    """Bytes to bytes: what os.environ keeps its entries in. `program`: the dictionary that did so before."""

    def __init__(self, program):
        self.program = program

    def __getitem__(self, key):
        context = who()
        if context is None:
            return self.program[key]
        value = lib.usf_context_getenv(context._address, key)
        if value is None:
            raise KeyError(key)
        return value

    def __setitem__(self, key, value):
        context = who()
        if context is None:
            self.program[key] = value
        else:
            context._setenv(key, value)

    def __delitem__(self, key):
        context = who()
        if context is None:
            del self.program[key]
        else:
            context._names.remove(key)          # os.environ has called os.unsetenv already
            lib.usf_context_unsetenv(context._address, key)

    def __iter__(self):
        context = who()
        return iter(self.program if context is None else context._variables())

    def __len__(self):
        context = who()
        return len(self.program if context is None else context._variables())


def _change_environment():
    putenv, unsetenv = os.putenv, os.unsetenv

    @functools.wraps(putenv)
    def put(name, value):
        context = who()
        if context is None:
            putenv(name, value)
        else:
            context._setenv(os.fsencode(name), os.fsencode(value))

    @functools.wraps(unsetenv)
    def unset(name):
        context = who()
        if context is None:
            unsetenv(name)
        else:
            context._unsetenv(os.fsencode(name))

    os.putenv, os.unsetenv = put, unset
    os.environ._data = os.environb._data = Environment(os.environ._data)


def _change_cpus():
    count, allowed, sysconf = os.cpu_count, os.sched_getaffinity, os.sysconf

    @functools.wraps(allowed)
    def sched_getaffinity(pid):
        context = who()
        own = context and context._own_cpus
        real = allowed(pid)
        return (real & own or set(own)) if own and pid in (0, os.getpid(), threading.get_native_id()) else real

    @functools.wraps(count)
    def cpu_count():
        context = who()
        return len(context._own_cpus) if context and context._own_cpus else count()

    @functools.wraps(sysconf)
    def sysconf_(name):
        context = who()
        if context and context._own_cpus and name in ("SC_NPROCESSORS_ONLN", os.sysconf_names["SC_NPROCESSORS_ONLN"]):
            return len(context._own_cpus)
        result = sysconf(name)
        if context and context._memory and name in ("SC_PHYS_PAGES", "SC_AVPHYS_PAGES", *map(os.sysconf_names.get, ("SC_PHYS_PAGES", "SC_AVPHYS_PAGES"))):
            return min(result, context._memory // sysconf("SC_PAGESIZE"))
        return result

    os.sched_getaffinity, os.cpu_count, os.sysconf = sched_getaffinity, cpu_count, sysconf_
    if hasattr(os, "process_cpu_count"):                # Python 3.13
        of_process = os.process_cpu_count

        @functools.wraps(of_process)
        def process_cpu_count():
            context = who()
            return len(context._own_cpus) if context and context._own_cpus else of_process()

        os.process_cpu_count = process_cpu_count


def _change_ctypes():
    dlopen = ctypes._dlopen

    @functools.wraps(dlopen)
    def _dlopen(name=None, mode=ctypes.DEFAULT_MODE):
        context = who() if name else None
        if context is None or lib.usf_context_shared(os.fsencode(name)) is not None:
            return dlopen(name, mode)
        context._is_used = True
        load = lib.usf_context_find if mode & os.RTLD_NOLOAD else lib.usf_context_open
        handle = load(context._address, os.fsencode(name))
        if not handle:
            raise OSError(_context_lib.error())
        return handle

    ctypes._dlopen = _dlopen


# ---- threads -----------------------------------------------------------------------------------------


class _Bound:
    """The calling thread was created in a context and follows its CPUs. Ends with the thread, as a thread-local variable does."""

    def __init__(self, context):
        self.context, self.thread = context, threading.get_native_id()
        context._bound.add(self.thread)

    def __del__(self):
        self.context._bound.discard(self.thread)


_here = threading.local()
_sched_getaffinity, _sched_setaffinity = os.sched_getaffinity, os.sched_setaffinity


def bind():
    """The calling thread, which was created in a context, runs on its CPUs."""
    context = by_address.get(lib.usf_context_current())
    if context is None:
        return
    _here.bound = _Bound(context)
    cpus = None
    while cpus is not context._own_cpus:        # others may be set meanwhile
        cpus = context._own_cpus
        if cpus:
            _sched_setaffinity(0, cpus)


def rebind(context, before):
    """Threads that are bound follow: from the CPUs `before` to those that the context has now. A mask of their own is cut."""
    now = set(context._own_cpus or _sched_getaffinity(os.getpid()))
    for thread in list(context._bound):
        try:
            mask = _sched_getaffinity(thread)
            _sched_setaffinity(thread, now if mask == before else mask & now or now)
        except ProcessLookupError:              # it has ended
            pass


def _forget_threads():
    for context in by_address.values():
        context._bound.clear()


class _Start(threading.local):
    """For whom the thread starts threads: a context or None, in a tuple; none: for the code that calls."""

    whom = ()


_start = _Start()


def _starts_inside(start):
    """A function that starts a thread: the thread belongs to the context of the code that starts it."""

    @functools.wraps(start)
    def call(function, *args, **kwargs):
        context = _start.whom[0] if _start.whom else who()
        if context is None:
            return start(function, *args, **kwargs)
        context._starting.add(begins := object())
        try:
            context._check_start()

            def begin(*args, **kwargs):
                with Inside(context):
                    context._starting.discard(begins)
                    bind()
                    return function(*args, **kwargs)

            return start(begin, *args, **kwargs)
        except BaseException:
            context._starting.discard(begins)
            raise

    return call


def _change_threads():
    for module, name in ((_thread, "start_new_thread"), (_thread, "start_joinable_thread"), (threading, "_start_new_thread"),
                         (threading, "_start_joinable_thread")):
        if hasattr(module, name):
            setattr(module, name, _starts_inside(getattr(module, name)))
    _thread.start_new = _thread.start_new_thread
    os.register_at_fork(after_in_child=_forget_threads)


def _starts_for(method, whom):
    """A method that starts threads: they belong to whom(self), a context or None."""

    @functools.wraps(method)
    def call(self, *args, **kwargs):
        before, _start.whom = _start.whom, (whom(self),)
        try:
            return method(self, *args, **kwargs)
        finally:
            _start.whom = before

    return call


def _makers(pool):
    return getattr(pool, "_usf_context", None)


def _change_pools(module, _):
    """The threads of a pool belong to the context of the code that has made it, whoever submits a call."""
    cls = module.ThreadPoolExecutor
    init = cls.__init__

    @functools.wraps(init)
    def __init__(self, *args, **kwargs):
        is_loops = sys._getframe(1).f_globals.get("__name__") == "asyncio.base_events"      # calls of all contexts are executed there
        self._usf_context = None if is_loops else who()
        init(self, *args, **kwargs)

    cls.__init__, cls._adjust_thread_count = __init__, _starts_for(cls._adjust_thread_count, _makers)


def _change_executors(module, _):
    """Those of this package. A thread that watches those of all contexts is the program's."""
    module.Executor._start = _starts_for(module.Executor._start, _makers)
    module._slots.State.watch = _starts_for(module._slots.State.watch, lambda _: None)


def _change_loops(module, _):
    """A call that an event loop executes in its own pool (asyncio.to_thread) is executed for the code that submits it."""
    run = module.BaseEventLoop.run_in_executor

    @functools.wraps(run)
    def run_in_executor(self, executor, func, *args):
        context = who() if executor is None else None
        if context is None:
            return run(self, executor, func, *args)

        def call():
            with Inside(context):
                return func(*args)

        return run(self, None, call)

    module.BaseEventLoop.run_in_executor = run_in_executor


# ---- messages and tools ------------------------------------------------------------------------------


def _explain(error, hint):
    """The same error with a hint at the end of its message."""
    if error.args and isinstance(error.args[0], str):
        error.args = (f"{error.args[0]}\n{hint}", *error.args[1:])
    return error


def _change_pickle():
    """An object of a context names its class by a module, which outside of the context is another one."""

    def with_hint(function):
        @functools.wraps(function)
        def call(*args, **kwargs):
            try:
                return function(*args, **kwargs)
            except pickle.PicklingError as e:
                if "not the same object" in str(e) or "import of module" in str(e):
                    _explain(e, "It may be an object of another usf.Context: pickle it inside of that (`with context:`), or pickle usf.view(it).")
                raise

        return call

    pickle.dumps, pickle.dump = with_hint(pickle.dumps), with_hint(pickle.dump)


def _filter_pools(module, context):
    """threadpoolctl looks at all libraries of the process: it sees those of the context whose copy of it this is, or that calls."""
    for cls in (getattr(module, name, None) for name in ("ThreadpoolController", "_ThreadpoolInfo")):
        for name in ("_make_controller_from_path", "_make_module_from_path"):
            if hasattr(cls, name):
                setattr(cls, name, _only_own(getattr(cls, name), context))


def _only_own(make, context):
    """Some releases ask for all files that are mapped, others for all names that the dynamic linker has: a copy has its file, and a name of
    its own."""

    @functools.wraps(make)
    def call(self, path, *args, **kwargs):
        asks = context or by_address.get(lib.usf_context_current())
        handle = _noload(path)
        owner = lib.usf_context_of(ctypes.c_void_p.from_address(handle).value) if handle else None      # link_map.l_addr
        if asks and owner != asks._address:
            handle = lib.usf_context_find(asks._address, os.fsencode(path))
        seen = vars(self).setdefault("_usf_seen", set())
        if not handle or handle in seen or owner and not asks:
            return None
        seen.add(handle)
        return make(self, path, *args, **kwargs)

    return call


def _noload(path):
    """The handle of the library that the dynamic linker knows by exactly this name; None: there is none."""
    from _ctypes import dlopen

    try:
        return dlopen(path, os.RTLD_LAZY | os.RTLD_NOLOAD)
    except OSError:
        return None


def _change_programs():
    """Programs that a context starts get its environment."""
    fork_exec, execv = _posixsubprocess.fork_exec, os.execv

    @functools.wraps(fork_exec)
    def fork_exec_(*args):
        context = who()
        if context is None or args[5] is not None:      # the sixth is the environment
            return fork_exec(*args)
        return fork_exec(*args[:5], [b"%s=%s" % item for item in os.environb._data.items()], *args[6:])

    @functools.wraps(execv)
    def execv_(path, argv):
        if who() is None:
            execv(path, argv)
        else:
            os.execve(path, argv, os.environ)

    _posixsubprocess.fork_exec, os.execv = fork_exec_, execv_


def _change_subprocess(module, _):
    if hasattr(module, "_fork_exec"):                   # Python 3.11
        module._fork_exec = _posixsubprocess.fork_exec


def _change_gettext(module, _):
    install = module.NullTranslations.install

    @functools.wraps(install)
    def install_(self, *args, **kwargs):
        install(self, *args, **kwargs)                  # it writes into the dictionary of builtins
        copy_to_all()

    module.NullTranslations.install = install_


after["threadpoolctl"] = _filter_pools
after["subprocess"] = _change_subprocess
after["gettext"] = _change_gettext
after["concurrent.futures.thread"] = _change_pools
after["usf._executor"] = _change_executors
after["asyncio.base_events"] = _change_loops


def install(loaded):
    """Once. loaded: sys.modules."""
    _change_environment()
    _change_cpus()
    _change_ctypes()
    _change_threads()
    _change_programs()
    _change_pickle()
    for name, change in after.items():
        if name in loaded:
            change(loaded[name], None)
