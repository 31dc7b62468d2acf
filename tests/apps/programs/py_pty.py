# pty: a shell behind a pseudo-terminal.  SPDX-License-Identifier: Apache-2.0
import os
import pty
import sys
import termios
import tty

pid, fd = pty.fork()
if pid == 0:
    os.execv('/bin/sh', ['sh', '-c', 'tty | sed s,[0-9]*$,N,; read x; echo "got $x"; exit 6'])
os.write(fd, b'hello\n')
text = b''
while True:
    try:
        piece = os.read(fd, 1000)
    except OSError:
        break
    if not piece:
        break
    text += piece
print(sorted(text.split()))
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
master, slave = pty.openpty()
tty.setraw(slave)
os.write(master, b'\x03raw')
print(os.read(slave, 10), os.isatty(slave), termios.tcgetwinsize(slave))
sys.stdout.flush()
