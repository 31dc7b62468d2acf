# concurrent.futures; with an argument, a process pool of that start method.  SPDX-License-Identifier: Apache-2.0
import concurrent.futures as cf
import multiprocessing
import os
import sys
import time


def square(x):
    return x * x


def fail(x):
    raise ValueError(x)


def nap(s):
    time.sleep(s)
    return s


def die(_):
    os._exit(3)


def main():
    if len(sys.argv) > 1:
        context = multiprocessing.get_context(sys.argv[1])
        make = lambda n: cf.ProcessPoolExecutor(n, mp_context=context)
    else:
        make = cf.ThreadPoolExecutor
    with make(4) as pool:
        print('map', sum(pool.map(square, range(200))))
        futures = [pool.submit(fail, i) for i in range(5)]
        print('exceptions', sorted(f.exception().args[0] for f in futures))
        done, not_done = cf.wait([pool.submit(nap, 0.01), pool.submit(nap, 0.5)], return_when=cf.FIRST_COMPLETED)
        print('first', len(done) >= 1)
        print('completed', sorted(f.result() for f in cf.as_completed([pool.submit(square, i) for i in range(10)])))
        try:
            pool.submit(nap, 0.5).result(timeout=0.02)
        except cf.TimeoutError:
            print('timeout')
    if len(sys.argv) > 1:
        try:
            with make(2) as pool:
                list(pool.map(die, range(4)))
        except cf.process.BrokenProcessPool:
            print('broken pool')
    else:
        with make(8) as outer, make(8) as inner:
            print('nested', sum(outer.map(lambda x: inner.submit(square, x).result(), range(100))))


if __name__ == '__main__':
    main()
