# fork from several threads, while others hold locks, and children that use threads.
# SPDX-License-Identifier: Apache-2.0
import os
import signal
import threading
import time

signal.alarm(50)
codes, lock, busy = [], threading.Lock(), True


def churn():
    while busy:
        with lock:
            time.sleep(0.0005)


def forker(n):
    for i in range(8):
        pid = os.fork()
        if pid == 0:
            done = []
            own = [threading.Thread(target=done.append, args=(k,)) for k in range(3)]
            for t in own:
                t.start()
            for t in own:
                t.join()
            inner = os.fork()
            if inner == 0:
                os._exit(len(done))
            status = os.waitstatus_to_exitcode(os.waitpid(inner, 0)[1])
            os._exit(n + status)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


churners = [threading.Thread(target=churn) for _ in range(3)]
forkers = [threading.Thread(target=forker, args=(n,)) for n in range(4)]
for t in churners + forkers:
    t.start()
for t in forkers:
    t.join()
busy = False
for t in churners:
    t.join()
print(sorted(codes))
pid = os.fork()
if pid == 0:
    threading.Thread(target=lambda: os._exit(9)).start()
    time.sleep(100)
print('exit in a thread', os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
