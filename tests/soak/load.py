# tests/soak/load.py - a Python program among those that are killed.  SPDX-License-Identifier: Apache-2.0
"""load.py KIND SLOT THREADS FILE: threads pass numbers through queues; tells its progress as load.c does."""
import mmap
import queue
import struct
import sys
import threading
import time

from board import HEAD, PAGE, SLOT, THREAD

SLOTTED, THREADS, PATH = int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
with open(PATH, "r+b") as f:
    board = mmap.mmap(f.fileno(), 0)
base = PAGE + SLOTTED * SLOT
queues = [queue.Queue() for _ in range(THREADS)]
good = [False] * THREADS


def went_on(i):
    at = base + HEAD + i * THREAD
    epoch, stop = struct.unpack_from("<2Q", board, 0)
    count, seen = struct.unpack_from("<2Q", board, at)
    struct.pack_into("<Q", board, at, count + 1)
    if seen != epoch:
        struct.pack_into("<Q", board, at + 16, time.clock_gettime_ns(time.CLOCK_MONOTONIC))
        struct.pack_into("<Q", board, at + 8, epoch)
    return not stop


def work(i):
    expected = 0
    while True:
        n = queues[i].get()
        if n is not None and n != expected:
            struct.pack_into("<Q", board, base + 16, 1)
            return
        expected += 1
        end = not went_on(i) or n is None
        if end:
            queues[(i + 1) % THREADS].put(None)
            good[i] = True
            return
        queues[(i + 1) % THREADS].put(n if i + 1 < THREADS else n + 1)


struct.pack_into("<Q", board, base + 8, THREADS)
struct.pack_into("<Q", board, base, 1)
workers = [threading.Thread(target=work, args=(i,)) for i in range(THREADS)]
for w in workers:
    w.start()
queues[0].put(0)
for w in workers:
    w.join()
sys.exit(0 if all(good) else 1)
