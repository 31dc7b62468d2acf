#!/usr/bin/python3
# tests/sched/test_scribble.py USF SCRIBBLE - programs outlive an instance whose memory somebody has written over.
# SPDX-License-Identifier: Apache-2.0
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from game import Players
from instance import main

USF, SCRIBBLE = sys.argv[1:3]
# A build with expensive asserts says first what it has found.
SAID = r"^(usf: .*\n)?usf: (bug: .* does not hold \(.*\); please report it|the memory of instance '\S+' is damaged: \S+ runs unscheduled from now on)\n"


class Scribble(Players):
    tool, kind = USF, 'scribble'

    def outlive(self, what):
        games = [self.play() for _ in range(2)]
        for game in games:
            self.goes_on(game)
        subprocess.run([SCRIBBLE, self.instance, what], check=True)
        for game in games:
            self.goes_on(game)
        self.soon(lambda: not os.path.exists(self.segment), 'the monitor does not find out')
        later = self.play()         # in another instance of that name: the others are not in it
        self.goes_on(later)
        self.assertEqual([p['pid'] for p in self.shown()['processes']], [later.pid])
        for game in games:
            out, err = game.communicate(timeout=60)
            self.assertEqual((game.returncode, out), (0, 'end\n'))
            self.assertRegex(err, SAID)
        self.assertEqual(later.communicate(timeout=60), ('end\n', ''))

    def test_states(self):
        self.outlive('states')

    def test_queue(self):
        """Only the monitor can find that."""
        self.outlive('queue')

    def test_cores(self):
        self.outlive('cores')


if __name__ == '__main__':
    main(150, taken=2, verbosity=2)
