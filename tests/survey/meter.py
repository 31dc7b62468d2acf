#!/usr/bin/python3
# tests/survey/meter.py - run one command; measure and end all that it starts.  SPDX-License-Identifier: Apache-2.0
"""meter.py TIMEOUT USER COMMAND...

Prints one line of JSON on descriptor 3: status (an exit status, a signal as a negative number, or "timeout"), wall and cpu
(seconds), left (processes that had to be killed), made (threads and processes that the machine has made meanwhile).  The command's own process ends the wall time.  The CPU time is
that of all descendants: this process is their subreaper, so orphans (a server, usf's monitor) are counted, too.

When the survey dies, the kernel sends this process SIGTERM; it then kills all its descendants, as it does in the end.
USER: a name, which the command runs as, or an empty word."""
import ctypes
import json
import os
import pwd
import resource
import select
import signal
import sys
import time

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
LINGER = 3          # seconds that processes are given to end by themselves when the command has ended


class Over(Exception):
    """The time is over, or the survey has died."""


def over(*_):
    raise Over


def become(name):
    if name:
        who = pwd.getpwnam(name)
        os.setgroups([])
        os.setresgid(who.pw_gid, who.pw_gid, who.pw_gid)
        os.setresuid(who.pw_uid, who.pw_uid, who.pw_uid)


def start(user, command):
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        os.close(3)
        become(user)
        os.execvp(command[0], command)
    except OSError as e:
        os.write(2, f"meter: {command[0]}: {e}\n".encode())
    os._exit(127)


def children():
    with open("/proc/self/task/%d/children" % os.getpid()) as f:
        return [int(p) for p in f.read().split()]


def reap_until(end):
    """Reap until there is no child any more; false: the time is over first."""
    while time.monotonic() < end:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.002)
        except ChildProcessError:
            return True
    return False


def kill_all():
    """Kills children until none is left: those of a killed child come here next.  Returns how many."""
    killed = set()
    for _ in range(500):
        for p in children():
            killed.add(p)
            try:
                os.kill(p, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if reap_until(time.monotonic() + 0.02):
            break
    return len(killed)


def made():
    with open("/proc/stat") as f:
        return int(next(line for line in f if line.startswith("processes ")).split()[1])


def measure(timeout, user, command):
    before = made()
    begin = time.monotonic()
    wall, status, left = None, "timeout", 0
    try:
        pid = start(user, command)
        signal.setitimer(signal.ITIMER_REAL, timeout)
        while wall is None:
            p, s = os.waitpid(-1, 0)
            if p == pid:
                wall, status = time.monotonic() - begin, os.waitstatus_to_exitcode(s)
        signal.setitimer(signal.ITIMER_REAL, 0)
        if not reap_until(time.monotonic() + LINGER):
            left = kill_all()
    except Over:
        kill_all()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"status": status, "wall": wall if wall is not None else time.monotonic() - begin, "cpu": used.ru_utime + used.ru_stime, "left": left,
            "made": made() - before}


def is_alone():
    """The survey died before the kernel knew that it has to tell: nothing reads descriptor 3 any more."""
    reader = select.poll()
    reader.register(3, 0)
    return bool(reader.poll(0))


def main():
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if is_alone():
        return
    for s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM):
        signal.signal(s, over)
    result = measure(float(sys.argv[1]), sys.argv[2], sys.argv[3:])
    os.write(3, json.dumps(result).encode())


if __name__ == "__main__":
    main()
