# python/usf/_slots.py - which calls execute: permits, and the watchdog.  SPDX-License-Identifier: Apache-2.0
"""The calls of all executors of a process share the slots of libnosv, one per CPU.

A worker thread executes calls while it has a permit. There are as many permits with a slot as there are
slots: such a worker attaches, so that it is a task of libnosv. A task that blocks keeps its slot, so there
are further permits, without a slot: as many as State.allowance. The watchdog sets that while calls wait, by
what the workers and the process have executed. So blocked calls never keep the others from executing, up to
the executor's max_workers.

Invariants, under State.lock:
    free + permits with a slot == slots, 0 <= free; extra == permits without a slot
    free > 0  =>  no pool with waiting calls may have another permit
    pool.permits <= pool.max_workers; pool.unused of them have not reached a worker yet
"""
import heapq
import itertools
import os
import queue
import threading
import time

from . import _nosv

LOOK = 0.002                    # seconds between two looks of the watchdog at first,
RARE = 0.040                    # ... and at most, while all goes well
LINGER = 0.1                    # how long a watchdog without work stays
LATE = 0.001                    # a watchdog that wakes later finds the CPUs or the interpreter's lock busy
BUSY = 0.75                     # the part of the CPUs' time that makes them busy

_state = None                   # of this process
life_lock = threading.RLock()   # of _state and _exiting; while a thread is started. Before State.lock
_exiting = False


class Pool:
    """The calls and the workers of one executor."""

    def __init__(self, max_workers):
        self.state = state()
        self.max_workers = max_workers
        self.calls = []         # heap of Call; state.lock
        self.permits = 0        # state.lock
        self.unused = 0         # permits in `wake`; state.lock
        self.wake = queue.SimpleQueue()     # True: a permit with a slot, False: without one, None: look whether it is over
        self.workers = []       # state.lock
        self.closing = False    # no further calls; state.lock
        self.owner = None       # weak reference to the executor

    def add(self, worker):
        """Holds state.lock."""
        self.workers.append(worker)
        self.state.pools.add(self)

    def remove(self, worker):
        """Holds state.lock."""
        self.workers.remove(worker)
        if not self.workers:
            self.state.pools.discard(self)
            if not self.state.pools and self.state.watchdog:
                self.state.watchdog.poke.set()

    def may_have_more(self):
        """Calls for which no worker is on its way. Holds state.lock."""
        return len(self.calls) > self.unused and self.permits < self.max_workers

    def is_stale(self):
        """Is it the parent's, and this process the child of a fork?"""
        return self.state is not _state

    def grant(self, slot):
        """Holds state.lock."""
        if slot:
            self.state.free -= 1
        else:
            self.state.extra += 1
        self.permits += 1
        self.unused += 1
        self.wake.put(slot)

    def close(self, *_):
        """Workers end after the last call. Takes no lock: the garbage collector may call it anywhere."""
        self.wake.put(None)


class State:
    """What the executors of this process share."""

    def __init__(self):
        self.lock = threading.RLock()       # no thread takes it twice; see is_inside()
        self.slots = self.free = _nosv.begin()
        self.pools = set()      # with workers
        self.hungry = set()     # with waiting calls
        self.extra = 0          # permits without a slot
        self.allowance = 0      # how many there may be; more end with their calls
        self.numbers = itertools.count()
        self.watchdog = None

    # ---- permits: all hold the lock ---------------------------------------------------------------

    def most_urgent(self):
        """The pool that the next permit is for, or None."""
        best = None
        for p in self.hungry:
            if p.may_have_more() and (best is None or p.calls[0].rank < best.calls[0].rank):
                best = p
        return best

    def give_all(self):
        """Calls that wait get the permits that there are."""
        while self.hungry and (self.free or self.extra < self.allowance):
            pool = self.most_urgent()
            if pool is None:
                break
            pool.grant(self.free > 0)
        if self.is_short():
            self.watch()

    def is_short(self):
        """Calls wait, and another allowance would change something."""
        return bool(self.hungry) and (self.extra > 0 or self.most_urgent() is not None)

    def add(self, pool, call):
        heapq.heappush(pool.calls, call)
        self.hungry.add(pool)
        self.give_all()

    def take_permit(self, worker):
        slot, worker.permit, worker.slot = worker.slot, False, False
        self.drop_permit(worker.pool, slot)

    def drop_permit(self, pool, slot):
        pool.permits -= 1
        if slot:
            self.free += 1
        else:
            self.extra -= 1
        self.give_all()

    def watch(self):
        """Without a thread for the watchdog calls wait for a slot."""
        if self.watchdog is None:
            self.watchdog = Watchdog(self)
            try:
                self.watchdog.start()
            except RuntimeError:
                self.watchdog = None
        elif self.watchdog.idle:
            self.watchdog.poke.set()

    def pop(self, pool):
        call = heapq.heappop(pool.calls)
        if not pool.calls:
            self.starved(pool)
        return call

    def starved(self, pool):
        """No call of it waits."""
        self.hungry.discard(pool)
        if pool.closing:
            pool.close()

    # ---- workers ----------------------------------------------------------------------------------

    def next_call(self, worker):
        """The next call for a worker with a permit. None: the permit is another's now."""
        pool = worker.pool
        with self.lock:
            worker.busy = False
            if worker.fresh:
                worker.fresh = False
                pool.unused -= 1
            if not worker.slot and pool.calls:
                if self.free:
                    self.free -= 1
                    self.extra -= 1
                    worker.slot = True
                elif self.extra > self.allowance:
                    self.take_permit(worker)
                    return None
            other = self.most_urgent() if len(self.hungry) > 1 and worker.slot else None
            if pool.calls and (other is None or pool.calls[0].rank <= other.calls[0].rank):
                worker.busy = True
                return self.pop(pool)
            self.take_permit(worker)
            return None

    def rest(self, worker):
        """The worker has nothing more to execute."""
        with self.lock:
            if not worker.pool.calls:
                self.take_permit(worker)

    def leave_slot(self, worker):
        """The worker waits for another call: it goes on without a slot."""
        with self.lock:
            if worker.slot:
                worker.slot = False
                self.free += 1
                self.extra += 1
                self.give_all()


class Watchdog(threading.Thread):
    """Looks at the workers while calls wait, and lets others execute instead of those that are blocked."""

    def __init__(self, of):
        super().__init__(name="usf-watchdog", daemon=False)
        self.of = of
        self.poke = threading.Event()
        self.idle = False       # it waits for work, not for its next look; state.lock

    def run(self):
        seen, pause, last = {}, LOOK, None
        while not self._is_over():
            if self.idle:
                self.poke.wait(LINGER)
                seen, pause, last = {}, LOOK, None
            else:
                last = last or (time.monotonic(), time.process_time())
                self.poke.wait(pause)
                now = time.monotonic(), time.process_time()
                wall, used = now[0] - last[0], now[1] - last[1]
                room = wall - pause < LATE and used < BUSY * self.of.slots * wall
                seen, found = self._look(seen, room)
                pause, last = LOOK if found else min(2 * pause, RARE), None
            self.poke.clear()

    def _is_over(self):
        """Is there nothing to look at, and was there nothing the last time?"""
        with self.of.lock:
            was_idle, self.idle = self.idle, not self.of.is_short()
            if not self.idle or not (was_idle or _exiting or not self.of.pools):
                return False
            self.of.watchdog = None
            return True

    def _look(self, before, room):
        """What each worker has executed until now, and whether further permits were given."""
        with self.of.lock:
            threads = [w.thread_id for p in self.of.pools for w in p.workers if w.busy and w.permit]
        now = {} if room else {t: _executed(t) for t in threads}
        blocked = sum(1 for t in now if before.get(t) == now[t] and _is_asleep(t))
        with self.of.lock:
            return now, self._allow(room, blocked)

    def _allow(self, room, blocked):
        """While the CPUs have room, calls block, if only for a short time: twice as many may execute. Else as many as there are
        slots, and those that have been blocked since the last look. Holds the lock."""
        s = self.of
        permits, extra = sum(p.permits for p in s.pools), s.extra
        if room:
            s.allowance = min(max(s.allowance, extra) + permits, sum(p.max_workers for p in s.pools))
        elif permits > blocked:
            s.allowance = max(0, extra + s.slots - (permits - blocked))
        else:
            s.allowance = extra + max(s.slots, blocked)
        s.give_all()
        return s.extra > extra


def _read(thread, name):
    try:
        with open(f"/proc/self/task/{thread}/{name}", "rb", buffering=0) as f:
            return f.read(1024)
    except OSError:
        return b""


def _executed(thread):
    """Changes when the thread executes: its time on CPUs, and how often it got one."""
    return _read(thread, "schedstat").split()[::2] or _read(thread, "stat").rpartition(b")")[2].split()[11:13]


def _is_asleep(thread):
    """A thread that waits for a CPU is not blocked. One that cannot be looked at is taken for blocked."""
    return _read(thread, "stat").rpartition(b")")[2].split()[:1] in ([b"S"], [b"D"], [])


# ---- the process ----------------------------------------------------------------------------------


def state():
    """What the executors of this process share; made by the first of them."""
    global _state
    with life_lock:
        if _state is None:
            _state = State()
        return _state


def is_exiting():
    return _exiting


def is_inside():
    """Has the calling thread one of the locks? Then the garbage collector has interrupted it, and executes a finalizer."""
    return life_lock._is_owned() or (_state is not None and _state.lock._is_owned())


def _forget():
    """In the child of a fork: executors begin anew. Those of the parent keep the old state, which has no threads."""
    global _state, life_lock
    _state = None
    life_lock = threading.RLock()


def _at_exit():
    """Before threads are joined at the end of the interpreter: all calls are executed, and workers end."""
    global _exiting
    with life_lock:
        _exiting = True
        s = _state
    if s is None:
        return
    with s.lock:
        pools = list(s.pools)
        threads = [w.thread for p in pools for w in p.workers]
    for p in pools:
        p.close()
    for t in threads:
        t.join()
    watchdog = s.watchdog
    if watchdog:
        watchdog.poke.set()
        watchdog.join()


# As concurrent.futures.thread does; sub-interpreters have no daemon threads.
threading._register_atexit(_at_exit)        # type: ignore[attr-defined]
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
