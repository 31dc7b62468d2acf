# python/usf/tune/process.py - run a program once, with a limit of time.  SPDX-License-Identifier: Apache-2.0
"""The program leads a process group of its own. Whatever is left of the group is killed when the program ends or its time
is over: leftovers would disturb the next run. The group is named by the program's id, which stays taken until the
program is reaped, so that no other process can be hit."""
import contextlib
import os
import select
import signal
import subprocess
import time

from .trouble import Interrupted


class Stop:
    """Signals that ask for the end. They are noticed where a program is waited for, never in the midst of starting one."""

    def __init__(self):
        self.signum = None
        self.fd = None

    @contextlib.contextmanager
    def installed(self, signals=(signal.SIGINT, signal.SIGTERM, signal.SIGHUP)):
        """Only for the main thread of a program of our own."""
        self.fd, write = os.pipe()
        os.set_blocking(write, False)
        before = {s: signal.signal(s, self._on) for s in signals if signal.getsignal(s) != signal.SIG_IGN}
        wakeup = signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        try:
            yield self
        finally:
            signal.set_wakeup_fd(wakeup)
            for s, handler in before.items():
                signal.signal(s, handler)
            os.close(self.fd)
            os.close(write)
            self.fd = None

    def _on(self, signum, frame):
        self.signum = signum

    def check(self):
        if self.signum is not None:
            raise Interrupted(self.signum)


def _ended(pid):
    """It has, and stays a zombie: its id is still its own."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _wait(pid, end, stop):
    """Until the program ends (True), or the time is over. Raises Interrupted."""
    try:
        fd = os.pidfd_open(pid)
    except (AttributeError, OSError):
        fd = None               # before Linux 5.3, and in some sandboxes: look again and again
    try:
        while not _ended(pid):
            stop.check()
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                return False
            wanted = [f for f in (fd, stop.fd) if f is not None]
            select.select(wanted, [], [], left if fd is not None else min(0.002, 1 if left is None else left))
        return True
    finally:
        if fd is not None:
            os.close(fd)


def execute(argv, environ, stdout, stderr, limit, stop, cwd=None):
    """(exit status or None: ended by the limit, seconds). A negative status is a signal. OSError: it cannot be started."""
    stop.check()
    start = time.monotonic()
    p = subprocess.Popen(argv, env=environ, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, start_new_session=True, cwd=cwd)
    try:
        in_time = _wait(p.pid, None if limit is None else start + limit, stop)
        seconds = time.monotonic() - start
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(p.pid, signal.SIGKILL)
        status = p.wait()
    return (status if in_time else None), seconds
