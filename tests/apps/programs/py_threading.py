# Python's threading: every kind of meeting.  SPDX-License-Identifier: Apache-2.0
import sys
import threading
import time

sys.setswitchinterval(1e-4)
lock, total = threading.Lock(), 0


def count():
    global total
    for _ in range(500):
        with lock:
            total += 1


def run(n, target, args=()):
    threads = [threading.Thread(target=target, args=args) for _ in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


run(8, count)
print('lock', total)

cond, turn = threading.Condition(), 0


def take_turn(me):
    global turn
    with cond:
        cond.wait_for(lambda: turn == me)
        turn += 1
        cond.notify_all()


threads = [threading.Thread(target=take_turn, args=(i,)) for i in range(12)]
for t in reversed(threads):
    t.start()
for t in threads:
    t.join()
print('condition', turn)

barrier, passed = threading.Barrier(6), []


def meet():
    for _ in range(20):
        if barrier.wait() == 0:
            passed.append(1)


run(6, meet)
print('barrier', len(passed))
try:
    threading.Barrier(2).wait(0.05)
except threading.BrokenBarrierError:
    print('broken barrier')

semaphore, inside, most = threading.BoundedSemaphore(3), 0, 0
three = threading.Barrier(3)        # all that may be inside are, however late they come


def enter():
    global inside, most
    with semaphore:
        with lock:
            inside += 1
            most = max(most, inside)
        three.wait(60)
        with lock:
            inside -= 1


run(9, enter)
print('semaphore', most)

event = threading.Event()
threading.Timer(0.05, event.set).start()
print('timer', event.wait(20), threading.Event().wait(0.02))

held = threading.Lock()
held.acquire()
start = time.monotonic()
print('timed lock', held.acquire(timeout=0.1), time.monotonic() - start >= 0.1)
rlock = threading.RLock()
with rlock, rlock:
    print('reentrant lock')

local = threading.local()
values = []


def keep(n):
    local.x = n
    time.sleep(0.005)
    values.append(local.x)


threads = [threading.Thread(target=keep, args=(i,)) for i in range(8)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print('local', sorted(values))
daemon = threading.Thread(target=threading.Event().wait, daemon=True)
daemon.start()
many = [threading.Thread(target=lambda: None) for _ in range(300)]
for t in many:
    t.start()
for t in many:
    t.join()
print('alive', threading.active_count(), threading.main_thread().ident == threading.get_ident())
