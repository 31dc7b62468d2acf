#!/usr/bin/python3
# tests/sched/test_wild.py USF - a program's wild write does not reach the instance, and ends that program alone.
# SPDX-License-Identifier: Apache-2.0
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from game import Players
from instance import main

USF = sys.argv[1]
FAR = 1 << 30
NEAREST = '''
import ctypes, sys
maps = []
for line in open("/proc/self/maps"):
    ends, rights, *rest = line.split(None, 5)
    lowest, end = (int(x, 16) for x in ends.split("-"))
    maps.append((lowest, end, rights, rest[-1].strip() if len(rest) == 4 else ""))
at = [i for i, m in enumerate(maps) if m[3].startswith("/dev/shm/usf-")]
first, last = at[0], at[-1]
lowest, end = maps[first][0], maps[last][1]
'''
TELL = NEAREST + '''
before, behind = maps[first - 1], maps[last + 1]
print(lowest, len(at), before[1] == lowest, behind[0] == end, before[2], behind[2],
      before[0] - maps[first - 2][1], maps[last + 2][0] - behind[1])
'''
WRITE = NEAREST + '''
place = {"before": lowest - 8, "behind": end, "over": None}[sys.argv[1]]
if place: ctypes.memset(place, 0x41, 8)
# From the end of the nearest memory below that can be written, upwards.
start = max(m[1] for m in maps if m[1] <= lowest and m[2].startswith("rw"))
ctypes.memset(start - 8, 0x41, 1 << 40)
'''


class Wild(Players):
    tool, kind = USF, 'wild'

    def run_python(self, *args):
        return subprocess.run([USF, 'run', '-i', self.instance, '--', '/usr/bin/python3', '-c', *args], capture_output=True, text=True)

    def test_place(self):
        """Far from all else, guarded, and another time elsewhere."""
        seen = set()
        for _ in range(3):
            done = self.run_python(TELL)
            self.assertEqual((done.returncode, done.stderr), (0, ''))
            lowest, parts, meets, met, before, behind, below, above = done.stdout.split()
            self.assertEqual((parts, meets, met, before, behind), ('1', 'True', 'True', '---p', '---p'))
            self.assertGreater(int(below), FAR)
            self.assertGreater(int(above), FAR)
            seen.add(lowest)
        self.assertEqual(len(seen), 3)

    def test_writes(self):
        game = self.play()
        with open(self.segment, 'rb') as f:
            header = f.read(64)
        for where in ('before', 'behind', 'over'):
            with self.subTest(where=where):
                self.assertEqual(self.run_python(WRITE, where).returncode, -signal.SIGSEGV)
                with open(self.segment, 'rb') as f:
                    self.assertEqual(f.read(64), header)
                self.goes_on(game)
        self.assertEqual([p['pid'] for p in self.shown()['processes']], [game.pid])
        self.assertEqual(game.communicate(timeout=60), ('end\n', ''))


if __name__ == '__main__':
    main(100, taken=1, verbosity=2)
