#!/usr/bin/python3
# tests/sched/test_stall.py USF STALL - programs go on while another is stopped with the lock.
# SPDX-License-Identifier: Apache-2.0
import os
import subprocess
import sys
import time
import unittest

USF, STALL = sys.argv[1:3]
PING_PONG = '''
import threading
turn, cond = 0, threading.Condition()
def play(me):
    global turn
    for _ in range(ROUNDS):
        with cond:
            while turn % 3 != me: cond.wait()
            turn += 1
            cond.notify_all()
players = [threading.Thread(target=play, args=(i,)) for i in range(3)]
print("playing", flush=True)
[t.start() for t in players]; [t.join() for t in players]
print(turn)
'''


def state_of(pid):
    with open(f'/proc/{pid}/stat', encoding='utf-8') as f:
        return f.read().rpartition(')')[2].split()[0]


class Stall(unittest.TestCase):
    def start(self, *command, **more):
        p = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
        self.addCleanup(self.end, p)
        return p

    def end(self, p):
        if p.poll() is None:
            p.kill()
            p.wait()
        for pipe in (p.stdin, p.stdout, p.stderr):
            if pipe:
                pipe.close()

    def play(self, instance, rounds):
        p = self.start(USF, 'run', '-i', instance, '--', '/usr/bin/python3', '-c', f'ROUNDS = {rounds}' + PING_PONG)
        self.assertEqual(p.stdout.readline(), 'playing\n')
        return p

    def stall(self, instance, mode):
        p = self.start(STALL, instance, mode, stdin=subprocess.PIPE)
        self.assertEqual(p.stdout.readline(), 'holds\n')
        return p

    def test_stopped_by_a_signal(self):
        """It is helped out of the critical section and is stopped again; nobody else notices."""
        instance = f'stall-signal-{os.getpid()}'
        game = self.play(instance, 20000)
        stopped = self.stall(instance, 'signal')
        self.assertEqual(stopped.stdout.readline(), 'released\n')
        out, err = game.communicate(timeout=60)
        self.assertEqual((out, err), ('60000\n', ''))
        for _ in range(100):
            if state_of(stopped.pid) == 'T':
                break
            time.sleep(0.05)
        self.assertEqual(state_of(stopped.pid), 'T')

    def test_stopped_by_a_tracer(self):
        """The others run on unscheduled and say so; later ones join again once it is over."""
        instance = f'stall-trace-{os.getpid()}'
        games = [self.play(instance, 20000) for _ in range(2)]
        stopped = self.stall(instance, 'trace')
        for game in games:
            out, err = game.communicate(timeout=60)
            self.assertEqual(out, '60000\n')
            self.assertRegex(err, r'^usf: `stall` \(process \d+\) is stopped while instance `stall-trace-\d+` waits '
                             r'for it: \S+ runs unscheduled from now on\n$')
        stopped.communicate(timeout=20)
        later = self.play(instance, 10)
        self.assertEqual(later.communicate(timeout=60), ('30\n', ''))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
