# multiprocessing by one start method: pools, queues, pipes, managers, shared memory, locks, barriers.
# SPDX-License-Identifier: Apache-2.0
import multiprocessing as mp
import multiprocessing.shared_memory
import os
import signal
import sys
import time


def square(x):
    return x * x


def producer(q, n):
    for i in range(n):
        q.put(i)
    q.put(None)


def echo(conn):
    while True:
        x = conn.recv()
        if x is None:
            return
        conn.send(x * 2)


def count(value, lock, barrier):
    barrier.wait()
    for _ in range(200):
        with lock:
            value.value += 1


def fill(name):
    shm = mp.shared_memory.SharedMemory(name)
    shm.buf[:4] = b'abcd'
    shm.close()


def waits(event, cond, ready):
    with cond:
        ready.release()     # whoever gets the lock now does so when this one waits
        cond.wait(20)
    event.set()


def forever():
    time.sleep(1000)


def main(method):
    c = mp.get_context(method)
    with c.Pool(4) as pool:
        print('map', sum(pool.map(square, range(100))))
        print('unordered', sum(pool.imap_unordered(square, range(100), chunksize=7)))
        print('async', pool.apply_async(square, (7,)).get(30))
        print('starmap', pool.starmap(pow, [(2, 3), (3, 2)]))
    q = c.Queue(3)
    p = c.Process(target=producer, args=(q, 50))
    p.start()
    print('queue', sum(iter(q.get, None)))
    p.join()
    print('exit', p.exitcode)
    here, there = c.Pipe()
    p = c.Process(target=echo, args=(there,))
    p.start()
    total = 0
    for i in range(100):
        here.send(i)
        total += here.recv()
    here.send(None)
    p.join()
    print('pipe', total)
    value, lock, barrier = c.Value('i', 0, lock=False), c.Lock(), c.Barrier(4)
    ps = [c.Process(target=count, args=(value, lock, barrier)) for _ in range(4)]
    for p in ps:
        p.start()
    for p in ps:
        p.join()
    print('value', value.value, [p.exitcode for p in ps])
    with c.Manager() as m:
        d, shared = m.dict(), m.list(range(5))
        d['x'] = 1
        with c.Pool(2) as pool:
            shared.extend(pool.map(square, range(3)))
        print('manager', dict(d), list(shared))
    shm = mp.shared_memory.SharedMemory(create=True, size=100)
    p = c.Process(target=fill, args=(shm.name,))
    p.start()
    p.join()
    print('shared memory', bytes(shm.buf[:4]))
    shm.close()
    try:
        shm.unlink()
    except FileNotFoundError:
        pass
    event, cond, ready = c.Event(), c.Condition(), c.Semaphore(0)
    ps = [c.Process(target=waits, args=(event, cond, ready)) for _ in range(3)]
    for p in ps:
        p.start()
        ready.acquire()
    with cond:
        cond.notify_all()
    print('event', event.wait(20))
    for p in ps:
        p.join()
    p = c.Process(target=forever)
    p.start()
    os.kill(p.pid, signal.SIGKILL)
    p.join()
    print('killed', p.exitcode)


if __name__ == '__main__':
    main(sys.argv[1])
