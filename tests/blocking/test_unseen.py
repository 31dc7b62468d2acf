#!/usr/bin/python3
# tests/blocking/test_unseen.py USF UNSEEN - threads whose core was taken while they slept unseen queue for one when they go on.
# SPDX-License-Identifier: Apache-2.0
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from instance import CPUS, Programs, main

USF, UNSEEN = sys.argv[1:3]
SPIN = 'print("up", flush=True)\nwhile True: pass'      # no system call


class Unseen(Programs):
    tool, kind = USF, 'unseen'

    def setUp(self):
        super().setUp()
        self.env['USF_MONITOR_LINGER'] = '0'

    def on_one_core(self, *command):
        p = self.start(USF, 'run', '-i', self.instance, '--cpus', str(CPUS[0]), '--', *command)
        line = p.stdout.readline()
        if line.startswith('no '):
            self.skipTest(line.strip())
        self.assertEqual(line, 'up\n')
        return p

    def comes_to(self, wanted, *states):
        """The thread that fits."""
        self.soon(lambda: [t['state'] for p in self.shown()['processes'] for t in p['threads'] if wanted(p, t)][0] in states, f'it is never {states}')

    def test_page_fault(self):
        self.on_one_core(UNSEEN)
        self.comes_to(lambda p, t: t['name'] == 'touches', 'running', 'ready')

    def test_stopped(self):
        """A program is stopped and continued: it takes turns again with the one that got its core meanwhile."""
        first, _ = self.on_one_core('/usr/bin/python3', '-c', SPIN), self.on_one_core('/usr/bin/python3', '-c', SPIN)

        def is_first(process, _):
            return process['pid'] == first.pid
        first.send_signal(signal.SIGSTOP)
        self.comes_to(is_first, 'in-kernel')
        first.send_signal(signal.SIGCONT)
        self.comes_to(is_first, 'running', 'ready')


if __name__ == '__main__':
    main(100, taken=2, verbosity=2)
