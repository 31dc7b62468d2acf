# tests/game.py - a program whose threads wait for each other.  SPDX-License-Identifier: Apache-2.0
"""GAME says that it is up, plays a thousand rounds and tells for each line that it is sent, and ends with its input.
Players runs it under usf."""
import subprocess
import unittest

GAME = '''
import signal, sys, threading
signal.alarm(100)
turn, stop, cond = 0, False, threading.Condition()
def play(me):
    global turn
    while True:
        with cond:
            while turn % 3 != me and not stop: cond.wait()
            if stop: return
            turn += 1
            cond.notify_all()
players = [threading.Thread(target=play, args=(i,)) for i in range(3)]
[t.start() for t in players]
print("up", flush=True)
for line in sys.stdin:                      # how far?  Some rounds more, and tell
    goal = turn + 1000
    while turn < goal: pass
    print("played", flush=True)
stop = True
with cond: cond.notify_all()
[t.join() for t in players]
print("end")
'''


class Players(unittest.TestCase):
    """What it starts is ended with the test."""

    usf = None      # the tool

    def start(self, *command, **more):
        p = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
        self.addCleanup(self.end, p)
        return p

    @staticmethod
    def end(p):
        if p.poll() is None:
            p.kill()
            p.wait()
        for pipe in (p.stdin, p.stdout, p.stderr):
            if pipe:
                pipe.close()

    def play(self, instance):
        p = self.start(self.usf, 'run', '-i', instance, '--', '/usr/bin/python3', '-c', GAME, stdin=subprocess.PIPE)
        self.assertEqual(p.stdout.readline(), 'up\n')
        return p

    def goes_on(self, game):
        game.stdin.write('\n')
        game.stdin.flush()
        self.assertEqual(game.stdout.readline(), 'played\n')
