# tests/soak/probe.py - does the kernel run us at all?  SPDX-License-Identifier: Apache-2.0
import ctypes
import mmap
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from hung import entries, read


def children_of(pid):
    """pid: (state, name, what it waits for in the kernel) of each"""
    found = {}
    for tid in entries("/proc/%d/task" % pid):
        for child in read("/proc/%d/task/%s/children" % (pid, tid)).split():
            if child.isdigit():
                stat = read("/proc/%s/stat" % child)
                found[int(child)] = (stat.rpartition(")")[2].strip()[:1], stat.partition("(")[2].rpartition(")")[0], read("/proc/%s/wchan" % child))
    return found


def ran_and_died(pid):
    """s of CPU that those have had whom the process has waited for"""
    stat = read("/proc/%d/stat" % pid).rpartition(")")[2].split()
    return sum(map(int, stat[13:15])) / os.sysconf("SC_CLK_TCK") if len(stat) > 15 else 0


def accounts(pids):
    """(pid, tid): name, ns that it ran, ns that it waited for a CPU, how many times it ran"""
    found = {}
    for pid in pids:
        for tid in entries("/proc/%d/task" % pid):
            numbers = read("/proc/%d/task/%s/schedstat" % (pid, tid)).split()
            if len(numbers) == 3 and numbers[0].isdigit():
                found[pid, int(tid)] = (read("/proc/%d/task/%s/comm" % (pid, tid)), *map(int, numbers))
    return found


class Probe:
    """A child on each CPU that wakes up all the time and notes when.  While one does not, the kernel runs nobody of ours there: others have
    the CPU, or the virtual machine has not.  (In one session all are one group to the scheduler: it runs all of us or none.)  Threads
    that usf has put on that CPU cannot go on then, and not by usf's fault.  Each time it also maps the C library: for that, for fork
    and for exec the kernel locks the file against all others, and whoever has the lock may be kept from the CPU."""

    PERIOD, LATE = 0.005, 0.1

    def __init__(self):
        self.cpus = sorted(os.sched_getaffinity(0))
        self.noted = (ctypes.c_double * len(self.cpus)).from_buffer(mmap.mmap(-1, mmap.PAGESIZE))   # written in one piece
        self.stood, self.longest, self.before = 0.0, 0.0, time.monotonic()
        for i in range(len(self.cpus)):
            self.note(i)
        self.pids = [self.start(i) for i in range(len(self.cpus))]

    def note(self, i):
        self.noted[i] = time.monotonic()

    def start(self, i):
        pid = os.fork()
        if pid:
            return pid
        ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)     # PR_SET_PDEATHSIG
        os.sched_setaffinity(0, [self.cpus[i]])
        with open("/proc/self/maps", encoding="utf-8") as f:
            library = os.open(next(line.split()[-1] for line in f if "/libc.so" in line), os.O_RDONLY)
        while True:
            mmap.mmap(library, mmap.PAGESIZE, mmap.MAP_PRIVATE, mmap.PROT_READ).close()
            self.note(i)
            time.sleep(self.PERIOD)

    def late(self, now=None):
        """For how long each CPU has not run its child."""
        now = now or time.monotonic()
        return {cpu: max(0, now - self.noted[i] - self.PERIOD) for i, cpu in enumerate(self.cpus)}

    def is_late(self):
        """Also counts for how long it was so; to be asked often."""
        now = time.monotonic()
        late = max(self.late(now).values())
        if late > self.LATE:
            self.stood += min(now - self.before, late)
            self.longest = max(self.longest, late)
        self.before = now
        return late > self.LATE

    def end(self):
        for pid in self.pids:
            os.kill(pid, signal.SIGKILL)
            try:
                os.waitpid(pid, 0)
            except ChildProcessError:   # somebody else's wait for any child
                pass
        self.pids = []
