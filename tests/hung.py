# tests/hung.py - what the processes do that a test has waited for in vain.  SPDX-License-Identifier: Apache-2.0
"""A hang that comes once in a thousand runs is only understood if the report says where each thread was."""
import os
import signal
import subprocess


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read().strip()
    except OSError as e:        # it has just ended, or is not ours to look at
        return e.strerror


def entries(path):
    try:
        return os.listdir(path)
    except OSError:
        return []


def threads_of(pids):
    """A line for each thread: what the kernel says that it does, and for how long it ran and waited for a CPU."""
    for pid in sorted(pids):
        for tid in sorted(map(int, entries("/proc/%d/task" % pid))):
            at = "/proc/%d/task/%d/" % (pid, tid)
            stat = read(at + "stat").rpartition(")")[2].split()
            if len(stat) > 36:
                signals = [l.replace("\t", " ") for l in read(at + "status").splitlines() if l.startswith(("SigPnd", "ShdPnd", "SigBlk"))]
                yield "%6d %6d %-15s %s parent %s group %s session %s CPU %s ran, waited, times %s; call %s; %s; %s" % (
                    pid, tid, read(at + "comm"), *stat[:4], stat[36], read(at + "schedstat"), read(at + "syscall"), " ".join(signals),
                    read(at + "stack").replace("\n", " "))


def report(pids):
    """How busy the machine is, and the processes' threads."""
    return "\n".join(["uptime %s; load %s" % (read("/proc/uptime"), read("/proc/loadavg")),
                      *("%s: %s" % (k, read("/proc/pressure/" + k)) for k in ("cpu", "memory", "io")), *threads_of(pids)])


def descendants(pid):
    """The processes that this one has started, those that they have started, and so on, but for orphans."""
    parent = {}
    for p in entries("/proc"):
        fields = p.isdigit() and read("/proc/%s/stat" % p).rpartition(")")[2].split()
        if fields and len(fields) > 1 and fields[1].isdigit():      # it has not ended meanwhile
            parent[int(p)] = int(fields[1])
    found, new = set(), {pid}
    while new:
        new = {p for p, of in parent.items() if of in new} - found
        found |= new
    return found


def session(sid):
    """The session's threads, and how busy the machine is."""
    def is_in(pid):
        return read("/proc/%s/stat" % pid).rpartition(")")[2].split()[3:4] == [str(sid)]

    pids = [int(pid) for pid in entries("/proc") if pid.isdigit() and is_in(pid)]
    return report(pids)


def output(test, p, patience):
    """What p, which leads a session, writes until it ends; the test fails if that takes longer than `patience`, in seconds."""
    try:
        return p.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        state = session(p.pid)
        os.killpg(p.pid, signal.SIGKILL)
        out, err = p.communicate()
        test.fail("%s hangs\n%s\n%s\n%s" % (p.args, out, err, state))
