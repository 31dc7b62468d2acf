# queue: makers and takers, priorities, timeouts.  SPDX-License-Identifier: Apache-2.0
import queue
import threading

q, got, lock = queue.Queue(5), [], threading.Lock()


def make(n):
    for i in range(100):
        q.put((n, i))


def take():
    while True:
        item = q.get()
        try:
            if item is None:
                return
            with lock:
                got.append(item)
        finally:
            q.task_done()


takers = [threading.Thread(target=take) for _ in range(4)]
makers = [threading.Thread(target=make, args=(n,)) for n in range(4)]
for t in takers + makers:
    t.start()
for t in makers:
    t.join()
for _ in takers:
    q.put(None)
q.join()
for t in takers:
    t.join()
print('queue', len(got), len(set(got)))
p = queue.PriorityQueue()
threads = [threading.Thread(target=p.put, args=(i,)) for i in (5, 1, 4, 2, 3)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print('priority', [p.get() for _ in range(5)])
try:
    queue.Queue().get(timeout=0.05)
except queue.Empty:
    print('empty')
full = queue.Queue(1)
full.put(1)
try:
    full.put(2, timeout=0.05)
except queue.Full:
    print('full')
s = queue.SimpleQueue()
threading.Timer(0.02, s.put, ('x',)).start()
print('simple', s.get(timeout=20))
