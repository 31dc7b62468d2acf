#!/usr/bin/env python3
# tests/share/test_inherited.py - what a process starts has the weight and priority that it has then.  SPDX-License-Identifier: Apache-2.0
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from instance import HANG, Programs, main

USF = sys.argv[1]

# Works for so long that it surely takes part (what is below the first program stands by at first), and waits until it is killed.
# It shares memory: else a fork's child would have to work for longer.
WAIT = """import mmap, time
memory = mmap.mmap(-1, 4096)
while time.process_time() < 0.1: pass
open("/proc/self/comm", "w").write("waits")
time.sleep(1000)"""

# Reads words, makes a child in that way, and says its pid.
PARENT = "WAIT = %r; USF = %r" % (WAIT, USF) + r"""
import os, sys
WAITER = [sys.executable, "-c", WAIT]
for line in sys.stdin:
    how, *more = line.split()
    env = dict(os.environ)
    for w in more:
        k, _, v = w.partition("=")
        if v: env[k] = v
        else: env.pop(k, None)
    if how == "fork":
        pid = os.fork()
        if not pid:
            exec(WAIT)
            os._exit(0)
    elif how == "exec":
        pid = os.fork()
        if not pid: os.execve(WAITER[0], WAITER, env)
    elif how == "spawn":
        pid = os.posix_spawn(WAITER[0], WAITER, env)
    elif how == "shell":        # through another program, which has been told by its environment
        pid = os.posix_spawn("/bin/sh", ["sh", "-c", "exec \"$0\" \"$@\"", *WAITER], env)
    elif how == "run":          # a run of its own
        pid = os.posix_spawn(USF, [USF, "run", *[w for w in more if w[0] == "-"], "--", *WAITER], os.environ)
    elif how == "fail":         # an exec that fails: the process comes back
        pid = os.fork()
        if not pid:
            try: os.execve("/dev/shm", ["x"], env)
            except OSError: pass
            exec(WAIT)
            os._exit(0)
    elif how == "env":          # what a child is told
        r, w = os.pipe()
        pid = os.posix_spawn("/bin/sh", ["sh", "-c", "env"], env, file_actions=[(os.POSIX_SPAWN_DUP2, w, 1)])
        os.close(w)
        print(repr([l for l in os.fdopen(r).read().split("\n") if l.startswith(("USF_WEIGHT", "USF_PRIORITY"))]), flush=True)
        continue
    elif how == "self":
        print(os.getpid(), flush=True)
        os.execve(sys.executable, [sys.executable, "-c", "PARENT = %r\n" % PARENT + PARENT], env)
    print(pid, flush=True)
"""


class Standing(Programs):
    tool, kind = USF, "inherited"

    def parent(self, *options):
        code = "PARENT = %r\n" % PARENT + PARENT
        self.p = self.start(USF, "run", "-i", self.instance, *options, "--", sys.executable, "-c", code)
        self.said("fork")       # it runs

    def said(self, *words):
        line = self.says(self.p, *words)
        if line[0].isdigit():
            self.addCleanup(self.kill, int(line))
        return line

    @staticmethod
    def kill(pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def live(self, weight, priority):
        self.usf("policy", "weight", str(self.p.pid), str(weight))
        self.usf("policy", "priority", str(self.p.pid), str(priority))

    def inherited(self, pid):
        q = self.process(pid)
        return q and (q["weight"], q["priority"])

    def child(self, expected, *words):
        """Of the child, once it takes part as what it executes in the end."""
        pid = int(self.said(*words))
        end = time.monotonic() + HANG
        while not (self.waits(pid) and self.inherited(pid)) and time.monotonic() < end:
            time.sleep(0.01)
        self.assertEqual(self.inherited(pid), expected, words)

    @staticmethod
    def waits(pid):
        """It has worked; an exec replaces the name."""
        with open("/proc/%d/comm" % pid) as f:
            return f.read() == "waits\n"

    WAYS = ("fork", "exec", "spawn", "shell", "run", "fail")

    def test_inherited(self):
        self.parent()
        self.child((100, 0), "spawn")
        self.live(300, -5)
        for how in self.WAYS:
            self.child((300, -5), how)
        self.live(20, 7)
        for how in self.WAYS:
            self.child((20, 7), how)
        self.live(100, 0)               # what is the default need not be told, but was
        for how in self.WAYS:
            self.child((100, 0), how)

    def test_what_a_run_was_told_is_replaced(self):
        self.parent("--weight", "40", "--priority", "3")
        for how in self.WAYS:
            self.child((40, 3), how)
        self.live(100, 0)
        for how in self.WAYS:
            self.child((100, 0), how)

    def test_one_of_the_two(self):
        self.parent("--priority", "3")
        self.usf("policy", "weight", str(self.p.pid), "77")
        for how in self.WAYS:
            self.child((77, 3), how)

    def test_chosen_by_the_program(self):
        self.parent("--weight", "40")
        self.live(300, 2)
        self.child((50, 2), "spawn", "USF_WEIGHT=50")
        self.child((300, 9), "exec", "USF_PRIORITY=9")
        self.child((60, 2), "run", "--weight=60")
        self.child((40, 2), "run", "--weight=40")       # asked for, though it is what the outer run had

    def test_through_its_own_exec(self):
        self.parent()
        self.live(300, 2)
        self.said("self")
        self.child((300, 2), "spawn")
        self.live(30, 1)
        self.said("self")
        self.child((30, 1), "shell")

    def test_environments(self):
        self.parent("--weight", "40")
        self.assertEqual(self.said("env"), "['USF_WEIGHT=40']")
        self.live(300, 2)
        self.assertEqual(self.said("env"), "['USF_WEIGHT=300', 'USF_PRIORITY=2']")
        self.assertEqual(self.said("env", "USF_INSTANCE=" + self.instance + "x"), "['USF_WEIGHT=40']")
        self.assertEqual(self.said("env", "USF_OWNER="), "['USF_WEIGHT=40']")       # not under usf


if __name__ == "__main__":
    main(110, taken=1)
