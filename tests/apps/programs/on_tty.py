# Drive a program on a terminal of its own.  SPDX-License-Identifier: Apache-2.0
# usage: on_tty.py tty|interrupt|jobs; $UNDER precedes the commands.
import os
import pty
import re
import select
import signal
import sys
import time

UNDER = os.environ['UNDER']


def session(sid):
    """Name and state of each process of the session."""
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/stat', encoding='utf-8') as f:
                name, _, rest = f.read().partition('(')[2].rpartition(')')
        except OSError:         # it has just ended
            continue
        if rest.split()[3] == str(sid):
            yield name, rest.split()[0]


class Terminal:
    def __init__(self, command):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.environ['PS1'] = ''
            os.execvp('/bin/bash', ['bash', '--norc', '--noprofile'] + command)
        self.text = ''

    def read(self, seconds):
        """One more piece of output; '' at its end or when time is up."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return ''
        try:
            piece = os.read(self.fd, 65536).decode(errors='replace')
        except OSError:
            return ''
        self.text += piece
        return piece

    def expect(self, pattern, seconds=20):
        end = time.monotonic() + seconds
        while not re.search(pattern, self.text):
            left = end - time.monotonic()
            if left <= 0 or not self.read(left):
                print(f'not seen: {pattern}; the terminal has: {self.text[-300:]!r}')
                os.kill(self.pid, signal.SIGKILL)
                sys.exit(1)
        self.text = self.text[re.search(pattern, self.text).end():]
        print('seen:', pattern)

    def asleep(self, *names):
        """Until such programs run on the terminal, and all sleep; a signal just before a wait would be lost by Python itself."""
        end, looks = time.monotonic() + 20, 0
        while looks < 2:
            found = sorted(name for name, state in session(self.pid) if state == 'S' and name in names)
            looks = looks + 1 if found == sorted(names) else 0
            if time.monotonic() > end:
                print('not asleep:', *names)
                break
            time.sleep(0.05)

    def type(self, text):
        os.write(self.fd, text.encode())

    def end(self):
        while self.read(20):
            pass
        print('exit', os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1]))


def tty():
    t = Terminal(['-c', f'{UNDER} sh -c "test -t 0 && test -t 1 && echo on-a-tty; stty size; read x; echo got-$x; exit 4"'])
    t.expect('on-a-tty')
    t.expect(r'\d+ \d+')
    t.type('word\n')
    t.expect('got-')
    t.end()
    t = Terminal(['-c', f'{UNDER} /usr/bin/python3 -c "import getpass; print(len(getpass.getpass()))"'])
    t.expect('Password:')
    t.type('secret\n')
    t.expect('6')
    t.end()


def interrupt():
    t = Terminal(['-c', f'exec {UNDER} sleep 100'])
    t.asleep('sleep')
    t.type('\x03')
    t.end()
    t = Terminal(['-c', f'exec {UNDER} /usr/bin/python3 -c "import threading; print(\'re\' + \'ady\'); threading.Event().wait()"'])
    t.expect('ready')
    t.asleep('python3')
    t.type('\x03')
    t.expect('KeyboardInterrupt')
    t.end()
    t = Terminal(['-c', f'{UNDER} bash -c "sleep 100 | cat | cat; echo never"; echo after-$?'])
    t.asleep('sleep', 'cat', 'cat')
    t.type('\x03')
    t.end()
    t = Terminal(['-c', f'exec {UNDER} sleep 100'])
    t.asleep('sleep')
    t.type('\x1c')
    t.end()
    t = Terminal(['-c', f'exec {UNDER} cat'])
    t.type('line\n')
    t.expect('line\r\nline')
    t.type('\x04')
    t.end()


def jobs():
    t = Terminal(['-i'])
    t.type(f'{UNDER} /usr/bin/python3 {os.environ["P"]}/ticker.py 40; echo first-$?\n')
    t.expect('tick 3')
    t.type('\x1a')
    t.expect('Stopped')
    t.type('jobs\n')
    t.expect(r'\[1\]\+  Stopped')
    t.type('fg\n')
    t.expect('tick 9')
    t.type('\x1a')
    t.expect('Stopped')
    t.type('bg %1\n')
    t.expect('tick 39')
    t.type('wait\n')
    t.expect('Done')
    t.type(f'{UNDER} sleep 100 &\n')
    t.expect(r'\[1\] \d+')
    t.type('kill -STOP %1; until jobs | grep -q Stopp; do sleep 0.01; done; jobs\n')
    t.expect('Stopped')
    t.type('kill %1; kill -CONT %1; wait %1; echo "status-$?"\n')
    t.expect('status-143')
    t.type('exit 5\n')
    t.end()


{'tty': tty, 'interrupt': interrupt, 'jobs': jobs}[sys.argv[1]]()
