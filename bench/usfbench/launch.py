# bench/usfbench/launch.py - run programs, time them, and be sure that they are gone.  SPDX-License-Identifier: Apache-2.0
"""The runner adopts orphans (PR_SET_CHILD_SUBREAPER): whatever a program leaves behind, an MPI rank or a daemon,
becomes a descendant of ours.  So everything that must be killed can be named by its pid, and nothing else is."""
import ctypes
import glob
import os
import resource
import select
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass, field

PR_SET_CHILD_SUBREAPER = 36
LEAVE_S = 2.0  # how long what a program left behind may take to leave
# usf's own daemons: they sleep when nothing runs, tidy up after a run that was killed, and leave by themselves.
DAEMONS = ("usf-monitor", "usf-supervisor")


@dataclass
class Command:
    argv: list
    env: dict = field(default_factory=dict)  # added to ours


@dataclass
class Ended:
    """What became of one set of commands."""
    status: str          # ok, failed, cut (still busy at the timeout), hang (idle at the timeout)
    seconds: float       # from the first start to the last end
    cpu_s: float         # used by the commands and all their descendants
    outputs: list        # stdout of each command
    errors: str = ""     # the end of their stderr
    exits: list = field(default_factory=list)
    leftover: list = field(default_factory=list)  # names of processes that had to be killed


def adopt_orphans():
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def has_threads(pid):
    """A process whose first thread has ended is a zombie by name while its others run on."""
    try:
        return len(os.listdir(f"/proc/{pid}/task")) > 1
    except OSError:
        return False


def descendants(root):
    """Living processes below `root`: {pid: name}."""
    parent, name = {}, {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as f:
                head, _, tail = f.read().rpartition(")")
        except OSError:
            continue  # it ended meanwhile
        state, ppid = tail.split()[:2]
        parent[int(entry)] = int(ppid)
        if state != "Z" or has_threads(entry):
            name[int(entry)] = head.partition("(")[2]
    below = {}
    for pid in name:
        up = pid
        while up in parent and up != root:
            up = parent[up]
        if up == root and pid != root:
            below[pid] = name[pid]
    return below


def reap():
    """Collect adopted children that have ended; their CPU time is then counted with ours."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def others(keep):
    return {pid: name for pid, name in descendants(os.getpid()).items() if pid not in keep and name not in DAEMONS}


def daemons_that_stay(patience=5.0):
    """Pids of daemons that have not left by themselves after that many seconds."""
    deadline = time.monotonic() + patience
    while (left := [pid for pid, name in descendants(os.getpid()).items() if name in DAEMONS]) and time.monotonic() < deadline:
        reap()
        time.sleep(0.05)
    return left


def any_runs(pids):
    """Does one of their threads have the CPU, or want it?"""
    for pid in pids:
        for path in glob.glob(f"/proc/{pid}/task/*/stat"):
            try:
                with open(path, encoding="utf-8", errors="replace") as f:
                    if f.read().rpartition(")")[2].split()[0] == "R":
                        return True
            except OSError:
                pass  # that thread has ended meanwhile
    return False


def signal_all(pids, sig):
    for pid in pids:
        try:
            os.kill(pid, sig)
        except ProcessLookupError:
            pass


def sweep(keep, patience):
    """Wait for descendants other than `keep` to leave; kill what has not left by then; name it."""
    deadline = time.monotonic() + patience
    while (left := others(keep)) and time.monotonic() < deadline:
        reap()
        time.sleep(0.005)
    killed = sorted(left.values())
    for _ in range(100):
        if not (left := others(keep)):
            break
        signal_all(left, signal.SIGKILL)
        time.sleep(0.02)
        reap()
    reap()
    return killed


def cpu_of_children():
    r = resource.getrusage(resource.RUSAGE_CHILDREN)
    return r.ru_utime + r.ru_stime


def start(command, directory, index):
    out = open(os.path.join(directory, f"out{index}"), "w+b")
    err = open(os.path.join(directory, f"err{index}"), "w+b")
    proc = subprocess.Popen(command.argv, env={**os.environ, **command.env}, stdin=subprocess.DEVNULL, stdout=out,
                            stderr=err, start_new_session=True)
    return proc, out, err


def wait_all(procs, deadline):
    """True if all ended in time.  By pidfd, so that waiting takes no CPU from what is measured."""
    fds = {os.pidfd_open(p.pid): p for p in procs}
    poller = select.poll()
    for fd in fds:
        poller.register(fd, select.POLLIN)
    try:
        while fds:
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            for fd, _ in poller.poll(left * 1000):
                fds.pop(fd).wait()
                poller.unregister(fd)
                os.close(fd)
        return True
    finally:
        for fd in fds:
            os.close(fd)


def read(file):
    with file:
        file.seek(0)
        return file.read().decode(errors="replace")


def run(commands, timeout, one_by_one=False, keep=()):
    """Run the commands together, or one after the other; stop them all after `timeout` seconds.  Descendants in
    `keep` (pids) are not ours to stop."""
    cpu0, t0 = cpu_of_children(), time.monotonic()
    deadline = t0 + timeout
    started, in_time, busy = [], False, False
    with tempfile.TemporaryDirectory(prefix="usf-bench-") as directory:
        try:
            for i, command in enumerate(commands):
                started.append(start(command, directory, i))
                in_time = not one_by_one or wait_all([started[-1][0]], deadline)
                if not in_time:
                    break
            if in_time and not one_by_one:
                in_time = wait_all([s[0] for s in started], deadline)
            seconds = time.monotonic() - t0
        finally:
            if not in_time:
                busy = any_runs(others(keep))  # on a loaded machine it may have had little CPU time
                signal_all(others(keep), signal.SIGTERM)
            leftover = sweep(keep, LEAVE_S if in_time else 0.5)
        for proc, _, _ in started:
            proc.poll()
        cpu_s = cpu_of_children() - cpu0
        outputs = [read(out) for _, out, _ in started]
        errors = "".join(read(err)[-2000:] for _, _, err in started).strip()
    if not in_time:
        return Ended("cut" if busy or cpu_s >= 0.05 * seconds else "hang", seconds, cpu_s, outputs, errors)
    exits = [p.returncode for p, _, _ in started]
    return Ended("failed" if any(exits) else "ok", seconds, cpu_s, outputs, errors, exits, leftover)
