#!/usr/bin/python3
# tests/sched/test_scribble.py USF SCRIBBLE - programs outlive an instance whose memory somebody has written over.
# SPDX-License-Identifier: Apache-2.0
import json
import os
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from game import Players

signal.alarm(150)
USF, SCRIBBLE = sys.argv[1:3]
SAID = r'^usf: (bug: .* does not hold \(.*\); please report it|the memory of instance `\S+` is damaged: \S+ runs unscheduled from now on)\n'


class Scribble(Players):
    usf = USF

    def outlive(self, what):
        instance = f'scribble-{what}-{os.getpid()}'
        games = [self.play(instance) for _ in range(2)]
        for game in games:
            self.goes_on(game)
        subprocess.run([SCRIBBLE, instance, what], check=True)
        for game in games:
            self.goes_on(game)
        while os.path.exists(f'/dev/shm/usf-{os.getuid()}-{instance}'):     # until the monitor has found out, too
            time.sleep(0.05)
        later = self.play(instance)         # in another instance of that name: the others are not in it
        self.goes_on(later)
        report = json.loads(subprocess.run([USF, 'ps', '-i', instance, '--json'], stdout=subprocess.PIPE, check=True).stdout)
        self.assertEqual([p['pid'] for p in report[0]['processes']], [later.pid])
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
    unittest.main(argv=sys.argv[:1], verbosity=2)
