#!/usr/bin/python3
# tests/blocking/test_unseen.py USF UNSEEN - threads whose core was taken while they slept unseen queue for one when they go on.
# SPDX-License-Identifier: Apache-2.0
import json
import os
import signal
import subprocess
import sys
import time
import unittest

signal.alarm(100)
USF, UNSEEN = sys.argv[1:3]
SPIN = 'print("up", flush=True)\nwhile True: pass'      # no system call


class Unseen(unittest.TestCase):
    def setUp(self):
        self.instance = f'test-unseen-{os.getpid()}-{self._testMethodName}'
        self.core = str(min(os.sched_getaffinity(0)))

    def start(self, *command):
        p = subprocess.Popen([USF, 'run', '-i', self.instance, '--cpus', self.core, '--', *command], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True, env={**os.environ, 'USF_MONITOR_LINGER': '0'})
        self.addCleanup(self.end, p)
        line = p.stdout.readline()
        if line.startswith('no '):
            self.skipTest(line.strip())
        self.assertEqual(line, 'up\n')
        return p

    def end(self, p):
        p.kill()
        p.wait()
        p.stdin.close()
        p.stdout.close()

    def state(self, wanted):
        """Of the thread that fits."""
        text = subprocess.run([USF, 'ps', '--json', '-i', self.instance], stdout=subprocess.PIPE, check=True).stdout
        return [t['state'] for i in json.loads(text) for p in i['processes'] for t in p['threads'] if wanted(p, t)][0]

    def comes_to(self, wanted, *states):
        """Hangs, and is killed by the alarm, if it does not."""
        while self.state(wanted) not in states:
            time.sleep(0.02)

    def test_page_fault(self):
        self.start(UNSEEN)
        self.comes_to(lambda p, t: t['name'] == 'touches', 'running', 'ready')

    def test_stopped(self):
        """A program is stopped and continued: it takes turns again with the one that got its core meanwhile."""
        first, _ = self.start('/usr/bin/python3', '-c', SPIN), self.start('/usr/bin/python3', '-c', SPIN)

        def is_first(process, _):
            return process['pid'] == first.pid
        first.send_signal(signal.SIGSTOP)
        self.comes_to(is_first, 'in-kernel')
        first.send_signal(signal.SIGCONT)
        self.comes_to(is_first, 'running', 'ready')


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
