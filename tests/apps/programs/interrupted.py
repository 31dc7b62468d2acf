# SIGINT to programs that wait.  A shell's background jobs ignore it, so this starts them.
# SPDX-License-Identifier: Apache-2.0
import os
import shlex
import signal
import subprocess
import time

CLOCK_NANOSLEEP, FUTEX, READ, WAIT4, EPOLL_WAIT = '230', '202', '0', '61', '232'
WAITS = {
    'sleep': (CLOCK_NANOSLEEP, 'import time; go(); time.sleep(50)'),
    'event': (FUTEX, 'import threading; go(); threading.Event().wait()'),
    'lock': (FUTEX, 'import threading; l = threading.Lock(); l.acquire(); go(); l.acquire()'),
    'join': (FUTEX, 'import threading, time; t = threading.Thread(target=time.sleep, args=(50,), daemon=True); t.start(); go(); t.join()'),
    'read': (READ, 'import os; r, w = os.pipe(); go(); os.read(r, 1)'),
    'loop': (None, 'go()\nwhile True: pass'),
    'yielding loop': (None, 'import os; go()\nwhile True: os.sched_yield()'),
    'child': (WAIT4, 'import subprocess; p = subprocess.Popen(["sleep", "50"], start_new_session=True)\ntry: go(); p.wait()\nfinally: p.kill()'),
    'asyncio': (EPOLL_WAIT, 'import asyncio\nasync def main(): go(); await asyncio.sleep(50)\nasyncio.run(main())'),
}


def until_it_waits(pid, call):
    """A signal just before the wait would be lost by Python itself."""
    end, looks = time.monotonic() + 20, 0
    while looks < 2 and time.monotonic() < end:
        with open(f'/proc/{pid}/syscall', encoding='ascii') as f:
            looks = looks + 1 if f.read().split()[0] == call else 0
        time.sleep(0.02)


for name, (call, body) in WAITS.items():
    p = subprocess.Popen(shlex.split(os.environ['UNDER']) + ['/usr/bin/python3', '-c',
                         'def go(): print("ready", flush=True)\n' + body],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    p.stdout.readline()
    if call:
        until_it_waits(p.pid, call)
    p.send_signal(signal.SIGINT)
    out, err = p.communicate()
    print(name, p.returncode, err.strip().splitlines()[-1])
