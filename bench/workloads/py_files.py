# bench/workloads/py_files.py - threads of Python that read files.  SPDX-License-Identifier: Apache-2.0
"""Each read releases the lock of the interpreter and takes it again.  reads: threads read 4 KiB at a time, and do nothing else.
pool: a ThreadPoolExecutor whose tasks read 64 KiB and parse a text."""
import argparse
import json
import os
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor

import py_common

parser = argparse.ArgumentParser()
parser.add_argument("--op", choices=["reads", "pool"], default="pool")
parser.add_argument("--workers", type=int, default=8)
parser.add_argument("--tasks", type=int, default=500, help="of the pool, or reads of each thread, in a round")
py_common.add_arguments(parser)
args = parser.parse_args()

TEXT = json.dumps(list(range(200)))
SIZE = 1 << 20


def read_all(fd):
    return sum(len(os.pread(fd, 4096, i * 4096 % SIZE)) for i in range(args.tasks))


def reads(fd):
    got = [0] * args.workers

    def work(i):
        got[i] = read_all(fd)
    threads = [threading.Thread(target=work, args=(i,)) for i in range(args.workers)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return got


def parse(fd, i):
    return len(os.pread(fd, 65536, i * 4096 % (SIZE - 65536))) + len(json.loads(TEXT))


with tempfile.TemporaryFile() as f:
    f.write(bytes(SIZE))
    f.flush()
    if args.op == "reads":
        status = py_common.measure("files-reads", "read", args.tasks * args.workers, args, lambda: reads(f.fileno()),
                                   lambda got: got == [4096 * args.tasks] * args.workers, workers=args.workers)
    else:
        with ThreadPoolExecutor(args.workers) as pool:
            status = py_common.measure("files-pool", "task", args.tasks, args,
                                       lambda: list(pool.map(lambda i: parse(f.fileno(), i), range(args.tasks))),
                                       lambda got: got == [65536 + 200] * args.tasks, workers=args.workers)
sys.exit(status)
