# SIGINT to programs that wait.  A shell's background jobs ignore it, so this starts them.
# SPDX-License-Identifier: Apache-2.0
import os
import shlex
import signal
import subprocess
import time

WAITS = {
    'sleep': 'import time; go(); time.sleep(50)',
    'event': 'import threading; go(); threading.Event().wait()',
    'lock': 'import threading; l = threading.Lock(); l.acquire(); go(); l.acquire()',
    'join': 'import threading, time; t = threading.Thread(target=time.sleep, args=(50,), daemon=True); t.start(); go(); t.join()',
    'read': 'import os; r, w = os.pipe(); go(); os.read(r, 1)',
    'loop': 'go()\nwhile True: pass',
    'yielding loop': 'import os; go()\nwhile True: os.sched_yield()',
    'child': 'import subprocess; p = subprocess.Popen(["sleep", "50"], start_new_session=True)\ntry: go(); p.wait()\nfinally: p.kill()',
    'asyncio': 'import asyncio\nasync def main(): go(); await asyncio.sleep(50)\nasyncio.run(main())',
}
for name, body in WAITS.items():
    p = subprocess.Popen(shlex.split(os.environ['UNDER']) + ['/usr/bin/python3', '-c',
                         'def go(): print("ready", flush=True)\n' + body],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    p.stdout.readline()
    time.sleep(0.2)  # a signal just before the wait would be lost by Python itself
    p.send_signal(signal.SIGINT)
    out, err = p.communicate()
    print(name, p.returncode, err.strip().splitlines()[-1])
