# tests/odd/groups.py - control groups, v1 and v2.  SPDX-License-Identifier: Apache-2.0
import os
import time
import unittest


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


def read(path):
    with open(path) as f:
        return f.read()


FILES = {"cpuset": ("cpuset.cpus", "cpuset.cpus"), "cpu": ("cpu.cfs_quota_us", "cpu.max"),
         "memory": ("memory.limit_in_bytes", "memory.max")}        # in v1, in v2: which tell that a controller is there


class Group:
    """A control group with one controller, v1 or v2."""

    def __init__(self, controller, name):
        self.path = None
        with open("/proc/mounts") as f:
            mounts = [l.split() for l in f]
        v1 = [m[1] for m in mounts if m[2] == "cgroup" and controller in m[3].split(",")]
        v2 = [m[1] for m in mounts if m[2] == "cgroup2"]
        self.v2 = not v1
        if not v1 and not v2:
            raise unittest.SkipTest("no control groups here")
        root = (v1 or v2)[0]
        path = os.path.join(root, name)
        try:
            if self.v2:
                write(root + "/cgroup.subtree_control", "+" + controller)
            os.mkdir(path)
            self.path = path
            if controller == "cpuset" and not self.v2:
                write(path + "/cpuset.mems", read(root + "/cpuset.mems"))
            if not os.path.exists(os.path.join(path, FILES[controller][self.v2])):
                raise OSError("no controller")
        except OSError as e:
            self.remove()
            raise unittest.SkipTest("control groups cannot be made here: %s" % e)

    def remove(self):
        end = time.monotonic() + 20
        while self.path:
            try:
                os.rmdir(self.path)
                return
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)

    def cpus(self, *numbers):
        write(self.path + "/cpuset.cpus", ",".join(map(str, numbers)))

    def quota(self, percent):
        """None: no bound."""
        if self.v2:
            write(self.path + "/cpu.max", "max 100000" if percent is None else "%d 100000" % (percent * 1000))
        else:
            write(self.path + "/cpu.cfs_quota_us", "-1" if percent is None else str(percent * 1000))

    def memory(self, size):
        """So many bytes, without any of the disk's."""
        write(os.path.join(self.path, FILES["memory"][self.v2]), str(size))
        for name, value in ("memory.swap.max", "0"), ("memory.swappiness", "0"):
            if os.path.exists(os.path.join(self.path, name)):
                write(os.path.join(self.path, name), value)

    def killed(self):
        """How many of its processes the kernel has killed for their memory."""
        for line in read(os.path.join(self.path, "memory.events" if self.v2 else "memory.oom_control")).splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
        raise unittest.SkipTest("this kernel does not count whom it kills for memory")

    def enter(self):
        return lambda: write(self.path + "/cgroup.procs", "0")
