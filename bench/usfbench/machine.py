# bench/usfbench/machine.py - what the numbers were measured on, and what else ran.  SPDX-License-Identifier: Apache-2.0
import os
import platform
import subprocess
import time


def cores():
    return len(os.sched_getaffinity(0))


def field(path, key):
    try:
        with open(path, encoding="utf-8") as f:
            for line in f:
                if line.startswith(key):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return ""


def version_of(command):
    try:
        out = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20).stdout
        return out.splitlines()[0].strip() if out else ""
    except (OSError, subprocess.TimeoutExpired):
        return ""


def packages():
    """Versions of the Debian packages whose code is measured."""
    names = ["libc6", "libgomp1", "libomp5-14", "libopenblas0-pthread", "libopenblas0-openmp", "libblis4-pthread",
             "libblis4-openmp", "libtbb12", "mpich", "openmpi-bin"]
    try:
        out = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${Version}\n", *names], capture_output=True,
                             text=True, check=False).stdout
    except OSError:
        return {}
    return dict(line.split() for line in out.splitlines() if len(line.split()) == 2)


def describe(root):
    hypervisor = "hypervisor" in field("/proc/cpuinfo", "flags").split()
    return {
        "cpu": field("/proc/cpuinfo", "model name"),
        "cores": cores(),
        "virtual": hypervisor,
        "memory": field("/proc/meminfo", "MemTotal"),
        "kernel": platform.release(),
        "distribution": os_release(),
        "packages": packages(),
        "gcc": version_of(["gcc", "--version"]),
        "commit": version_of(["git", "-C", root, "describe", "--always", "--dirty"]),
        "time": time.strftime("%Y-%m-%d %H:%M:%S %z"),
    }


def os_release():
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "")
    except OSError:
        return ""


class Watch:
    """How busy the machine was with other things between start() and stop(), in cores."""

    @staticmethod
    def _stat():
        with open("/proc/stat", encoding="utf-8") as f:
            v = [int(x) for x in f.readline().split()[1:]]
        hz = os.sysconf("SC_CLK_TCK")
        idle, steal = v[3] + v[4], v[7]
        return (sum(v[:8]) - idle - steal) / hz, steal / hz

    def start(self):
        self.load = os.getloadavg()[0]
        self.busy, self.steal = self._stat()
        self.t = time.monotonic()

    def stop(self, own_cpu_s):
        busy, steal = self._stat()
        t = max(time.monotonic() - self.t, 1e-3)
        return {"load": round(self.load, 2), "foreign": round(max(0.0, (busy - self.busy - own_cpu_s) / t), 2),
                "steal": round((steal - self.steal) / t, 2)}
