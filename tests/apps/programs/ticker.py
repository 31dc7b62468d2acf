# Lines at a steady pace, from threads that hand over to each other.  SPDX-License-Identifier: Apache-2.0
import sys
import threading
import time

turn, cond = 0, threading.Condition()
total = int(sys.argv[1])


def run(me):
    global turn
    while True:
        with cond:
            cond.wait_for(lambda: turn % 3 == me or turn >= total)
            if turn >= total:
                cond.notify_all()
                return
            print('tick', turn, flush=True)
            turn += 1
            cond.notify_all()
            time.sleep(0.05)


threads = [threading.Thread(target=run, args=(i,)) for i in range(3)]
for t in threads:
    t.start()
for t in threads:
    t.join()
