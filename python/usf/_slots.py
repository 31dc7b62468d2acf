# python/usf/_slots.py - which calls execute: permits, and the watchdog.  SPDX-License-Identifier: Apache-2.0
"""The calls of all executors of a process share the slots of libnosv, one per CPU.

A worker thread executes calls while it has a permit. There are as many permits with a slot as there are
slots: such a worker attaches, so that it is a task of libnosv. A task that blocks keeps its slot, so the
watchdog gives further permits, without a slot, while calls wait and fewer workers than slots make progress.
So blocked calls never keep the others from executing, up to the executor's max_workers.

Invariants, under State.lock:
    free + permits with a slot == slots, 0 <= free
    free > 0  =>  no pool with waiting calls may have another permit
    pool.permits <= pool.max_workers; pool.unused of them have not reached a worker yet
"""
import heapq
import itertools
import os
import queue
import threading

from . import _nosv

LOOK = 0.005                    # seconds between two looks of the watchdog at first,
RARE = 0.040                    # ... and at most, while all goes well
LINGER = 0.1                    # how long a watchdog without work stays

_state = None                   # of this process
life_lock = threading.Lock()    # of _state and _exiting; while a thread is started. Before State.lock
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
        return bool(self.calls) and self.permits < self.max_workers

    def is_stale(self):
        """Is it the parent's, and this process the child of a fork?"""
        return self.state is not _state

    def grant(self, slot):
        """Holds state.lock."""
        self.permits += 1
        self.unused += 1
        self.wake.put(slot)

    def close(self, *_):
        """Workers end after the last call. Takes no lock: the garbage collector may call it anywhere."""
        self.wake.put(None)


class State:
    """What the executors of this process share."""

    def __init__(self):
        self.lock = threading.Lock()
        self.slots = self.free = _nosv.begin()
        self.pools = set()      # with workers
        self.hungry = set()     # with waiting calls
        self.surplus = 0        # workers without a slot that are too many
        self.numbers = itertools.count()
        self.watchdog = None

    # ---- permits: all hold the lock ---------------------------------------------------------------

    def most_urgent(self):
        """The pool that the next permit is for, or None."""
        pools = [p for p in self.hungry if p.may_have_more()]
        return min(pools, key=lambda p: p.calls[0].rank) if pools else None

    def give_slot(self):
        """A slot is not needed any more where it was."""
        pool = self.most_urgent()
        if pool:
            pool.grant(True)
        else:
            self.free += 1

    def add(self, pool, call):
        heapq.heappush(pool.calls, call)
        self.hungry.add(pool)
        if pool.permits < pool.max_workers:
            if self.free:
                self.free -= 1
                pool.grant(True)
            else:
                self.watch()

    def drop_permit(self, pool, slot):
        pool.permits -= 1
        if slot:
            self.give_slot()
        if pool.may_have_more():
            self.watch()

    def watch(self):
        """Calls wait although they could execute. Without a thread for the watchdog they wait for a slot."""
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
            if not worker.slot and pool.calls:
                if self.free:
                    self.free -= 1
                    worker.slot = True
                elif self.surplus > 0:
                    self.surplus -= 1
                    self.drop_permit(pool, False)
                    return None
            other = self.most_urgent() if len(self.hungry) > 1 and worker.slot else None
            if pool.calls and (other is None or pool.calls[0].rank <= other.calls[0].rank):
                worker.busy = True
                return self.pop(pool)
            self.drop_permit(pool, worker.slot)
            return None

    def leave_slot(self, worker):
        """The worker waits for another call: it goes on without a slot."""
        with self.lock:
            if worker.slot:
                worker.slot = False
                self.give_slot()


class Watchdog(threading.Thread):
    """Looks at the workers while calls wait, and lets others execute instead of those that are blocked."""

    def __init__(self, of):
        super().__init__(name="usf-watchdog", daemon=False)
        self.of = of
        self.poke = threading.Event()
        self.idle = False       # it waits for work, not for its next look; state.lock

    def run(self):
        seen, pause = {}, LOOK
        while not self._is_over():
            self.poke.wait(LINGER if self.idle else pause)
            if not self.idle:
                seen, found = self._look(seen)
                pause = LOOK if found else min(1.25 * pause, RARE)
            elif self.poke.is_set():
                seen, pause = {}, LOOK
            self.poke.clear()

    def _is_over(self):
        """Is there nothing to look at, and was there nothing the last time?"""
        with self.of.lock:
            was_idle, self.idle = self.idle, self.of.most_urgent() is None
            if not self.idle or not (was_idle or _exiting or not self.of.pools):
                return False
            self.of.watchdog = None
            return True

    def _look(self, before):
        """What each worker has executed until now, and whether further permits were given."""
        with self.of.lock:
            threads = [w.thread_id for p in self.of.pools for w in p.workers if w.busy]
        now = {t: _executed(t) for t in threads}
        blocked = sum(1 for t in threads if t in before and before[t] == now[t] and _is_asleep(t))
        with self.of.lock:
            return now, self._give(blocked)

    def _give(self, blocked):
        """As many go on as there are slots; while all are blocked, twice as many each time. Holds the lock."""
        active = max(0, sum(p.permits for p in self.of.pools) - blocked)
        more = max(self.of.slots - active, 0 if active else blocked)
        self.of.surplus = max(0, active - self.of.slots)
        for _ in range(more):
            pool = self.of.most_urgent()
            if pool is None:
                break
            pool.grant(False)
        return more > 0


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


def _forget():
    """In the child of a fork: executors begin anew. Those of the parent keep the old state, which has no threads."""
    global _state, life_lock
    _state = None
    life_lock = threading.Lock()


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


threading._register_atexit(_at_exit)        # as concurrent.futures.thread does; sub-interpreters have no daemon threads
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
