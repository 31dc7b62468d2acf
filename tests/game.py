# tests/game.py - a program whose threads wait for each other.  SPDX-License-Identifier: Apache-2.0
"""GAME says that it is up, plays a thousand rounds and tells for each line that it is sent, and ends with its input.
Players run it under usf."""
import subprocess

from instance import HANG, Programs

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


class Game:
    """For a test case that plays."""

    def goes_on(self, game):
        try:
            game.stdin.write('\n')
            game.stdin.flush()
        except BrokenPipeError:
            pass                            # the next line is not there, and says why
        line = game.stdout.readline()
        if line != 'played\n':
            out, err = game.communicate(timeout=HANG)
            self.fail("the game has ended with code %d: %s%s\n%s" % (game.returncode, line, out, err))


class Players(Game, Programs):
    def play(self):
        p = self.start(self.tool, 'run', '-i', self.instance, '--', '/usr/bin/python3', '-c', GAME, stderr=subprocess.PIPE)
        self.assertEqual(p.stdout.readline(), 'up\n')
        return p
