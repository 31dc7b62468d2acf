# How many programs that compute run at once, when there is one for each CPU?  SPDX-License-Identifier: Apache-2.0
import os
import shlex
import subprocess
import sys
import time

BUSY = 'import signal; signal.alarm(60); print("up", flush=True)\nwhile True: pass'
LOOKS, PAUSE, LONGEST = 20, 0.01, 5     # so many looks, s apart, in each of which as many run; s for that to come about


def runs(pid):
    """On a CPU, or as far as the kernel is concerned ready for one; not asleep, as who waits for another's turn is."""
    with open(f'/proc/{pid}/stat') as f:
        return f.read().rpartition(')')[2].split()[0] == 'R'


def least(programs):
    """... that run in each of some looks."""
    n = len(programs)
    for _ in range(LOOKS):
        n = min(n, sum(runs(p.pid) for p in programs))
        time.sleep(PAUSE)
    return n


command = [*shlex.split(os.environ['UNDER']), sys.executable, '-c', BUSY]
programs = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in os.sched_getaffinity(0)]
for p in programs:
    p.stdout.readline()
most, end = 0, time.monotonic() + LONGEST
while most < len(programs) and time.monotonic() < end:
    most = max(most, least(programs))
for p in programs:
    p.kill()
    p.wait()
print(most)
