#!/usr/bin/env python3
# tests/policy/test_loop.py - a policy that does not return stops neither other programs nor the instance.  SPDX-License-Identifier: Apache-2.0
# The program is started with a weight that makes the policy (looper.c) loop in its first thread.  usage: test_loop.py USF PROGRAM POLICY
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

usf, program, policy = sys.argv[1:4]
instance = "test-loop-%d" % os.getpid()
OTHER = """
import threading, time
def work():
    while True:
        time.sleep(0.001)
for _ in range(3): threading.Thread(target=work, daemon=True).start()
while True:
    print("on", flush=True)
    time.sleep(0.05)
"""


def fail(what):
    print("FAILED:", what)
    code.append(1)


signal.alarm(110)
code = []
err = tempfile.TemporaryFile("w+")
run = [usf, "run", "-i", instance, "--policy", policy, "--"]
other = subprocess.Popen(run + [sys.executable, "-c", OTHER], stdout=subprocess.PIPE, stderr=err, text=True)
looper = None
try:
    other.stdout.readline()
    looper = subprocess.Popen(run[:-1] + ["--weight", "777", "--", program], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    words = ""
    while "unscheduled" not in words:       # the alarm is the end of it
        other.stdout.readline()
        time.sleep(0.01)
        err.seek(0)
        words = err.read()
    print(words.strip())
    for _ in range(5):
        if not other.stdout.readline():
            fail("the other program has ended")
    looper.kill()
    looper.wait()
    end = time.time() + 30
    shown = {}
    while not shown.get("replaced_because") and time.time() < end:
        r = subprocess.run([usf, "policy", "show", "-i", instance, "--json"], capture_output=True, text=True, timeout=60)
        if r.returncode:
            break       # it has ended, as nobody took part
        shown = json.loads(r.stdout)
        time.sleep(0.01)
    print(shown.get("replaced_because"))
    if shown and "did not return" not in (shown.get("replaced_because") or ""):
        fail("the policy is still in force")
finally:
    for p in (looper, other):
        if p:
            p.kill()
            p.wait()
    subprocess.run([usf, "clean", "-i", instance, "--force"], capture_output=True, timeout=60)
sys.exit(bool(code))
