# python/usf/_executor.py - usf.Executor.  SPDX-License-Identifier: Apache-2.0
"""An executor of concurrent.futures whose calls execute as tasks of libnosv. docs/tasks.md describes it."""
from __future__ import annotations

import concurrent.futures
import contextlib
import contextvars
import functools
import itertools
import operator
import os
import queue
import threading
import time
import typing
import weakref
from concurrent.futures.thread import BrokenThreadPool

from . import _nosv, _slots

_T = typing.TypeVar("_T")
QUANTUM = 0.02                  # seconds after which a worker lets other tasks have its slot
_here = threading.local()       # .worker: of this thread
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _here.__dict__.clear())      # it is a worker of the parent's executor


class Future(concurrent.futures.Future):
    """A future of an Executor. A call that waits for one gives its slot to others meanwhile."""

    def _before_wait(self, timeout):
        worker = getattr(_here, "worker", None)
        if worker is None or self.done() or (timeout is not None and timeout <= 0):
            return None
        return worker

    def result(self, timeout=None):
        worker = self._before_wait(timeout)
        if worker is None:
            return super().result(timeout)
        with worker.waiting():
            return super().result(timeout)

    def exception(self, timeout=None):
        worker = self._before_wait(timeout)
        if worker is None:
            return super().exception(timeout)
        with worker.waiting():
            return super().exception(timeout)

    result.__doc__ = concurrent.futures.Future.result.__doc__
    exception.__doc__ = concurrent.futures.Future.exception.__doc__


class _Options(typing.NamedTuple):
    """How calls are scheduled."""

    label: bytes
    affinity: typing.Optional[int] = None
    priority: int = 0

    def is_strict(self):
        return _nosv.is_strict(self.affinity)


class _Call:
    """A call that waits, or is executed."""

    def __init__(self, number, options, fn, args, kwargs):
        self.rank = (-options.priority, number)
        self.options, self.fn, self.args, self.kwargs = options, fn, args, kwargs
        self.future = Future()

    def __lt__(self, other):
        return self.rank < other.rank

    def begin(self):
        """False: it was cancelled."""
        return self.future.set_running_or_notify_cancel()

    def run(self, worker):
        try:
            result = self.fn(*self.args, **self.kwargs)
        except BaseException as e:
            worker.before_result(self.future)
            self.future.set_exception(e)
            self = worker = None        # the traceback of e refers to this frame
        else:
            worker.before_result(self.future)
            self.future.set_result(result)


class _Worker:
    """A thread of a pool. Between calls of the same options it stays attached: they are one task to the library."""

    def __init__(self, pool, name, initializer, initargs):
        self.pool = pool
        self.permit = False     # it may execute calls,
        self.fresh = False      # ... and counts in pool.unused,
        self.slot = False       # ... and has a slot for that
        self.busy = False       # it executes a call, or callbacks of its future
        self.call = None
        self.task = self.options = None     # what it is attached as; options of that
        self.since = 0.0        # when it has attached, or let others run
        self.thread_id = 0
        self.thread = threading.Thread(name=name, target=self._run, args=(initializer, initargs))

    def _run(self, initializer, initargs):
        self.thread_id = threading.get_native_id()
        try:
            if initializer is not None:
                initializer(*initargs)
        except BaseException:
            concurrent.futures._base.LOGGER.critical("Exception in initializer:", exc_info=True)
            _break(self.pool, "A thread initializer failed, the thread pool is not usable anymore")
        else:
            del initializer, initargs
            _here.worker = self
            self._serve()
        finally:
            _leave(self)

    def _serve(self):
        pool, state = self.pool, self.pool.state
        while True:
            permit = pool.wake.get()
            if permit is None:
                if _is_over(pool):
                    return
                continue
            self.permit, self.fresh, self.slot = True, True, permit
            while self.permit:
                self.call = state.next_call(self)
                if self.call:
                    self._execute(self.call)
                    self.call, self.busy = None, False
                if pool.is_stale():
                    return      # the call has forked, and this is the child
            self.detach()

    def _execute(self, call):
        """The worker goes on whatever happens: with it other calls would lose their thread and their slot."""
        try:
            self._begin_and_run(call)
        except BaseException:   # of a callback; or somebody else has set the future's result
            concurrent.futures._base.LOGGER.critical("Exception in worker", exc_info=True)

    def _begin_and_run(self, call):
        """A call that waits for its place has not begun, so that it can be cancelled. Others have: their slot is there."""
        late = call.options.is_strict()
        if not late and not call.begin():
            return
        try:
            self._enter(call.options)
        except BaseException as e:      # of the library
            if not late or call.begin():
                call.future.set_exception(e)
            return
        if not late or call.begin():
            call.run(self)

    def before_result(self, future):
        """Who waits for the result finds the slot free, and does not meet this thread at the interpreter's lock.

        Callbacks may block: a call that is submitted meanwhile needs another worker.
        """
        self.busy = bool(future._done_callbacks)
        if not self.pool.calls and not self.pool.is_stale():
            self.detach()
            self.pool.state.rest(self)

    # ---- the task ---------------------------------------------------------------------------------

    def _enter(self, options):
        """Without a slot only what has to be at its place becomes a task."""
        if not self.slot and not options.is_strict():
            self.detach()
        elif self.options != options:
            self.detach()
            self.task = _nosv.Attachment(*options)
            self.options, self.since = options, time.monotonic()
        elif time.monotonic() - self.since > QUANTUM:
            self.task.let_others_run()
            self.since = time.monotonic()

    def detach(self):
        if self.task:
            self.task.end()
            self.task = self.options = None

    def waiting(self):
        return _Waiting(self)


class _Waiting:
    """The worker's call waits for another call: it has no slot meanwhile, nor afterwards."""

    def __init__(self, worker):
        self.worker = worker

    def __enter__(self):
        self.strict = self.worker.options if self.worker.options and self.worker.options.is_strict() else None
        self.worker.detach()
        self.worker.pool.state.leave_slot(self.worker)

    def __exit__(self, *_):
        if self.strict:
            self.worker._enter(self.strict)


# ---- the life of a pool ---------------------------------------------------------------------------


def _is_over(pool):
    """All calls were executed or are being executed; then the other workers hear of it."""
    with pool.state.lock:
        pool.closing = True
        if pool.calls:
            return False        # whoever takes the last of them closes again
        over = not pool.unused
        pool.close()
        return over


def _leave(worker):
    """The worker ends."""
    pool = worker.pool
    if pool.is_stale():
        return
    with pool.state.lock:
        pool.remove(worker)


def _drain(q):
    while True:
        try:
            yield q.get_nowait()
        except queue.Empty:
            return


def _give_up(pool):
    """Nobody will execute the pool's calls. Holds state.lock. Returns the calls."""
    state = pool.state
    calls, pool.calls = pool.calls, []
    state.hungry.discard(pool)
    for permit in _drain(pool.wake):
        if permit is not None:
            pool.unused -= 1
            state.drop_permit(pool, permit)
    return calls


def _break(pool, why):
    """No call is executed any more, and none is accepted."""
    with pool.state.lock:
        executor = pool.owner()
        if executor is not None:
            executor._broken = why
        calls = _give_up(pool)
        pool.close()
    for call in calls:
        if call.begin():
            call.future.set_exception(BrokenThreadPool(why))


# ---- what programs use ----------------------------------------------------------------------------


class _Awaitable:
    """run() over submit()."""

    async def run(self, fn: typing.Callable[..., _T], /, *args: typing.Any, **kwargs: typing.Any) -> _T:
        """Execute fn(*args, **kwargs) in this executor, and await its result: asyncio.to_thread with an executor of one's own.

        The call sees a copy of the context variables. If the awaiting task is cancelled, a call that has not begun is
        cancelled with it; one that has begun goes on, and its result is dropped.
        """
        import asyncio

        call = functools.partial(contextvars.copy_context().run, fn, *args, **kwargs)
        return await asyncio.wrap_future(self.submit(call))     # type: ignore[attr-defined, no-any-return]


class _View(_Awaitable, concurrent.futures.Executor):
    """An executor with options; see Executor.options."""

    def __init__(self, executor, options):
        self._executor, self._options = executor, options

    def submit(self, fn: typing.Callable[..., _T], /, *args: typing.Any, **kwargs: typing.Any) -> concurrent.futures.Future[_T]:
        """As Executor.submit, with the options."""
        return self._executor._submit(self._options, fn, args, kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Shut down the executor that this is a view of."""
        self._executor.shutdown(wait, cancel_futures=cancel_futures)


class Executor(_Awaitable, concurrent.futures.ThreadPoolExecutor):
    """A ThreadPoolExecutor whose calls execute as tasks of libnosv, as many at once as there are CPUs.

        with usf.Executor() as executor:
            squares = list(executor.map(pow, range(8), [2] * 8))
            urgent = executor.options(priority=5, label="urgent").submit(work, argument)

    It has all that a ThreadPoolExecutor has, with the same meaning:
        max_workers          how many calls may have begun and not ended, and how many threads there are; default
                             min(32, CPUs + 4)
        thread_name_prefix   of the names of the threads, and the label of the tasks; default usf.Executor-N
        initializer          called with initargs by each thread at its start, outside of tasks

    Of the calls that have begun, as many execute at once as the process has CPUs, whatever max_workers is. Calls that
    block do not count: others execute meanwhile, up to max_workers. A call that waits for a future of an Executor is known
    to block; others are found by a look at their threads, within 5 to 50 ms.

    A child of fork() cannot use the executors of its parent, and may make its own.
    """

    _counter = itertools.count().__next__

    def __init__(self, max_workers: typing.Optional[int] = None, thread_name_prefix: str = "",
                 initializer: typing.Optional[typing.Callable[..., object]] = None, initargs: typing.Tuple[typing.Any, ...] = ()) -> None:
        super().__init__(max_workers, thread_name_prefix or f"usf.Executor-{self._counter()}", initializer, initargs)
        self._begin = (initializer, initargs)
        self._options = _Options(self._thread_name_prefix.encode())     # type: ignore[union-attr]
        self._pool = pool = _slots.Pool(self._max_workers)
        # Workers end when the executor is collected. The callback takes no lock, and does not refer to the executor.
        pool.owner = weakref.ref(self, lambda _, wake=pool.wake: wake.put(None))     # type: ignore[misc]

    def options(self, *, priority: int = 0, affinity: typing.Optional[str] = None, strict: bool = True, label: typing.Optional[str] = None) -> _View:
        """An executor that submits to this one, with options for its calls.

        The options are not arguments of submit(), which belong to the function; and a view can be used wherever an executor
        can: map(), run(), loop.run_in_executor(). Its shutdown() is that of this executor.
            priority   calls of a higher one begin first; any int of 32 bits, 0 is normal
            affinity   "cpu-N", "numa-N" or "complex-N": where the call executes; None: on any CPU
            strict     False: elsewhere rather than wait
            label      the name of the task in traces; default the executor's
        """
        if not -1 << 31 <= operator.index(priority) < 1 << 31:
            raise ValueError("priority must be an int of 32 bits")
        name = self._options.label if label is None else label.encode()
        return _View(self, _Options(name, _nosv.place(affinity, strict), operator.index(priority)))

    def submit(self, fn: typing.Callable[..., _T], /, *args: typing.Any, **kwargs: typing.Any) -> concurrent.futures.Future[_T]:
        return self._submit(self._options, fn, args, kwargs)

    submit.__doc__ = concurrent.futures.Executor.submit.__doc__

    def _submit(self, options, fn, args, kwargs):
        pool = self._pool
        if pool.is_stale():
            raise RuntimeError("cannot schedule new futures after fork: this executor is the parent's, make a new one")
        if _slots.is_inside():
            raise RuntimeError("cannot schedule new futures in a finalizer that has interrupted an executor")
        with _slots.life_lock:
            if self._broken:
                raise BrokenThreadPool(self._broken)
            if self._shutdown:
                raise RuntimeError("cannot schedule new futures after shutdown")
            if _slots.is_exiting():
                raise RuntimeError("cannot schedule new futures after interpreter shutdown")
            call = _Call(next(pool.state.numbers), options, fn, args, kwargs)
            with pool.state.lock:
                worker = self._further_worker()
                pool.state.add(pool, call)
            if worker:
                self._start(worker, call)
        return call.future

    def _further_worker(self):
        """A new one if those that are free have calls to execute already, or None. Holds state.lock."""
        pool = self._pool
        if len(pool.workers) == pool.max_workers or [w.busy for w in pool.workers].count(False) > len(pool.calls):
            return None
        worker = _Worker(pool, f"{self._thread_name_prefix}_{len(self._threads)}", *self._begin)
        pool.add(worker)
        return worker

    def _start(self, worker, call):
        """Without a further thread those that there are execute the call; if there is none, submit() fails. Holds life_lock."""
        pool = self._pool
        try:
            worker.thread.start()
        except RuntimeError:
            with pool.state.lock:
                pool.remove(worker)
                if pool.workers:
                    return
                _give_up(pool)
            raise
        self._threads.add(worker.thread)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        pool = self._pool
        if pool.is_stale():
            return
        if _slots.is_inside():
            self._shutdown = True
            threading.Thread(target=self.shutdown, args=(wait,), kwargs={"cancel_futures": cancel_futures}).start()
            return
        waiting, at_place = [], []
        with _slots.life_lock, pool.state.lock:
            self._shutdown = True
            if cancel_futures:
                waiting, pool.calls = pool.calls, []
                pool.state.hungry.discard(pool)
                at_place = [w.call for w in pool.workers]       # some wait for their place, perhaps
            pool.close()
        for call in at_place:
            if call:
                call.future.cancel()
        for call in waiting:
            if call.future.cancel():
                call.begin()            # who waits for it hears of it
        if wait:
            self._join()

    shutdown.__doc__ = concurrent.futures.Executor.shutdown.__doc__

    def _join(self):
        """A call of another executor that waits here gives its slot to others."""
        worker = getattr(_here, "worker", None)
        with worker.waiting() if worker else contextlib.nullcontext():
            for thread in self._threads:
                thread.join()
