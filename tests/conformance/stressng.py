# tests/conformance/stressng.py - stressors of stress-ng.  SPDX-License-Identifier: Apache-2.0
"""Each stressor does a fixed number of operations in a few processes and checks what it got (--verify); what it says at its end
is the result."""
import shutil
import subprocess
import time

import one

# stressor -> operations of all its processes; enough for some tenths of a second
STRESSORS = {
    'cpu': 40, 'pthread': 2000, 'futex': 50000, 'sem': 10000, 'sem-sysv': 50000, 'mutex': 100000, 'pipe': 50000, 'pipeherd': 5000,
    'sock': 500, 'sockpair': 5000, 'clone': 500, 'fork': 1000, 'vfork': 1000, 'spawn': 200, 'exec': 200, 'daemon': 100,
    'signal': 50000, 'sigrt': 5000, 'sigsuspend': 5000, 'sigfd': 5000, 'timer': 5000, 'poll': 20000, 'epoll': 5000, 'eventfd': 20000,
    'mq': 50000, 'msg': 50000, 'yield': 200000, 'switch': 50000, 'wait': 1000, 'membarrier': 500, 'flock': 20000, 'lockf': 20000,
    'nanosleep': 500, 'affinity': 5000, 'aio': 1000, 'io-uring': 1000, 'splice': 5000, 'sendfile': 200, 'tee': 2000, 'vm-splice': 5000,
    'zombie': 500, 'kill': 50000, 'schedpolicy': 5000, 'session': 200, 'set': 1000, 'rlimit': 100, 'full': 20000, 'fifo': 20000,
    'inotify': 20, 'memfd': 100, 'mmapfork': 5, 'madvise': 50, 'userfaultfd': 200, 'ptrace': 2000, 'seccomp': 200, 'rseq': 200,
}
PROCESSES = 4
SLOW = ('inotify', 'mmapfork', 'userfaultfd', 'kill', 'sigrt')     # left out of the fast subset
CI = {'futex', 'sem', 'pthread', 'pipe', 'clone', 'vfork', 'signal', 'poll'}
TIMES = {'sem': 5}     # s; this one does not end by its operations
LIMIT = 300  # s; mmapfork takes its time on a busy machine
STATUS = {0: 'passed', 2: 'failed', 3: 'no resources', 4: 'not implemented'}


def missing():
    return '' if shutil.which('stress-ng') else 'stress-ng is not installed'


def version():
    return subprocess.run(['stress-ng', '--version'], capture_output=True, text=True).stdout.strip()


def items(fast):
    return [s for s in STRESSORS if not (fast and s in SLOW)]


def run(stressor, usf, log, only=None, skip=()):
    """({test: result}, {test: seconds})."""
    name = f'stress-ng {stressor}'
    if name in skip or (only is not None and name not in only):
        return {}, {}
    start = time.monotonic()
    command = ['stress-ng', f'--{stressor}', str(PROCESSES), f'--{stressor}-ops', str(STRESSORS[stressor]), '--verify', '--timeout', str(TIMES.get(stressor, 60)),
               '--temp-path', '.', '--oomable']
    how = one.run(([usf, 'run', '--'] if usf else []) + command, log, one.environment(stressor), LIMIT)
    status = STATUS.get(how, f'exit {how}') if isinstance(how, int) else how
    return {name: status}, {name: round(time.monotonic() - start, 2)}
