# tests/apps/watch.py - what a session's processes do, and their end.  SPDX-License-Identifier: Apache-2.0
import os
import signal
import subprocess


def read(path):
    try:
        with open(path, errors='replace') as f:
            return f.read()
    except OSError:
        return ''


def session_pids(sid):
    pids = []
    for name in os.listdir('/proc'):
        if not name.isdigit():
            continue
        stat = read(f'/proc/{name}/stat')
        rest = stat[stat.rfind(')') + 2:].split()
        if len(rest) > 3 and int(rest[3]) == sid and rest[0] != 'Z':
            pids.append(int(name))
    return sorted(pids)


def describe_session(sid):
    """Each thread's state, place in the kernel and system call: what a hang looks like."""
    lines = []
    for pid in session_pids(sid):
        command = read(f'/proc/{pid}/cmdline').replace('\0', ' ')[:100]
        lines.append(f'process {pid}: {command}')
        try:
            tids = sorted(os.listdir(f'/proc/{pid}/task'), key=int)
        except OSError:
            continue
        for tid in tids[:12]:
            base = f'/proc/{pid}/task/{tid}'
            stat = read(base + '/stat')
            state = stat[stat.rfind(')') + 2:][:1]
            call = ' '.join(read(base + '/syscall').split()[:4])
            lines.append(f"  {tid} {state} {read(base + '/wchan')} syscall {call}")
        if len(tids) > 12:
            lines.append(f'  ... {len(tids)} threads')
    return '\n'.join(lines) + '\n'


def remove_instance(usf, name):
    """What is left of an instance whose monitor was ended with a session."""
    subprocess.run([usf, 'clean', '-i', name], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


def end_session(sid):
    for pid in session_pids(sid):
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass
