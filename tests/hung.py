# tests/hung.py - what the processes do that a test has waited for in vain.  SPDX-License-Identifier: Apache-2.0
"""A hang that comes once in a thousand runs is only understood if the report says where each thread was."""
import os


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read().strip()
    except OSError as e:        # it has just ended, or is not ours to look at
        return e.strerror


def fields(path):
    """Of a stat file: the name, and what follows it."""
    text = read(path)
    name, _, rest = text.rpartition(") ")
    return name.partition("(")[2], rest.split()


def thread(pid, tid):
    name, stat = fields(f"/proc/{pid}/task/{tid}/stat")
    if len(stat) < 13:
        return f"  thread {tid}: ended"
    status = dict(line.split(":\t", 1) for line in read(f"/proc/{pid}/task/{tid}/status").splitlines() if ":\t" in line)
    masks = " ".join(f"{k}={status[k]}" for k in ("SigPnd", "ShdPnd", "SigBlk") if k in status)
    call = read(f"/proc/{pid}/task/{tid}/syscall")
    return (f"  thread {tid} ({name}): state {stat[0]}, {stat[11]} + {stat[12]} ticks, in {read(f'/proc/{pid}/task/{tid}/wchan')}, "
            f"call {call}, {masks}")


def session(sid):
    """The processes of the session, a line for each thread; and how busy the machine is."""
    lines = ["uptime %s; load %s" % (read("/proc/uptime"), read("/proc/loadavg")),
             *("%s: %s" % (k, read("/proc/pressure/" + k)) for k in ("cpu", "memory", "io"))]
    for pid in sorted(filter(str.isdigit, os.listdir("/proc")), key=int):
        name, stat = fields(f"/proc/{pid}/stat")
        if len(stat) < 20 or int(stat[3]) != sid:
            continue
        command = read(f"/proc/{pid}/cmdline").replace("\0", " ")
        lines.append(f"process {pid} ({name}), parent {stat[1]}, began at tick {stat[19]}: {command}")
        try:
            lines += [thread(pid, tid) for tid in sorted(os.listdir(f"/proc/{pid}/task"), key=int)]
        except OSError:
            lines.append("  it has ended")
    return "\n".join(lines)
