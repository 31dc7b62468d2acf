# tests/conformance/posixsuite.py - Debian's posixtestsuite, its conformance tests of interfaces.
# SPDX-License-Identifier: Apache-2.0
"""The Debian package ships a report only, so its source package is fetched and the tests are built
into the cache folder.  Nothing of it comes into this tree."""
import concurrent.futures
import functools
import os
import shutil
import subprocess
import tempfile
import time

import one
import sources

SOURCE = 'posixtestsuite'
TOP = sources.build.CACHE / 'posixtestsuite'
# Tests of asynchronous I/O do nothing but for the standard of 2001, and count on headers that <aio.h> no longer includes.
AIO_PRELUDE = '''
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>
#undef _POSIX_ASYNCHRONOUS_IO
#define _POSIX_ASYNCHRONOUS_IO 200112L
'''
# Those of message queues want more messages in one than a user may have by default.
MANY_MESSAGES = ['unshare', '--ipc', 'sh', '-c', 'echo 100 > /proc/sys/fs/mqueue/msg_max; exec "$0" "$@"']
LEFT_OUT = {'clock_settime'}  # which sets the machine's clock
STATUS = {0: 'PASS', 1: 'FAIL', 2: 'UNRESOLVED', 4: 'UNSUPPORTED', 5: 'UNTESTED'}
CI = {'pthread_mutex_trylock', 'sem_post', 'pthread_once'}
LIMIT = 120  # s; the slowest takes 40


def compile_one(root, source):
    """Build one test beside its source; '' or the first error."""
    target = source.with_suffix('.test')
    more = ['-include', str(root / 'aio-prelude.h')] if source.parent.name.startswith(('aio_', 'lio_')) else []
    r = subprocess.run(['gcc', '-w', '-O2', '-g', '-std=gnu99', '-D_GNU_SOURCE', '-I', str(root / 'include'), *more, '-o',
                        str(target), str(source), '-pthread', '-lrt', '-lm'], cwd=source.parent, capture_output=True, text=True)
    lines = (r.stderr.strip() or 'no message').splitlines()
    return '' if r.returncode == 0 else next((line for line in lines if 'error:' in line), lines[-1])


def fetch():
    """Once; '' or why not."""
    if (TOP / 'fetched').exists():
        return ''
    shutil.rmtree(TOP, ignore_errors=True)
    why = sources.source(SOURCE, TOP)
    if not why:
        (TOP / 'fetched').touch()
    return why


def missing():
    """Fetch and build once; '' or why there is nothing to run."""
    if ready():
        return ''
    why = fetch()
    if why:
        return why
    root = source_folder()
    (root / 'aio-prelude.h').write_text(AIO_PRELUDE)
    programs = [s for s in sorted((root / 'conformance/interfaces').glob('*/*.c')) if s.stem[0].isdigit() and s.parent.name not in LEFT_OUT]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        errors = list(pool.map(lambda s: compile_one(root, s), programs))
    with open(TOP / 'not-built', 'w') as f:
        for s, e in zip(programs, errors):
            if e:
                f.write(f'{s}: {e}\n')
    (TOP / 'all-built').touch()
    return ''


def ready():
    return (TOP / 'all-built').exists()


def source_folder():
    return next(p for p in TOP.glob('posixtestsuite-*') if p.is_dir())


def version():
    return source_folder().name


def tests(group='*'):
    """Built ones, less those that others of them start."""
    found = (source_folder() / 'conformance/interfaces').glob(f'{group}/*.test')
    return [t for t in sorted(found) if 'buildonly' not in t.stem and t.parent.name not in LEFT_OUT]


def items(fast):
    """Groups of tests: folders.  The fast subset leaves out single tests only (slow.txt)."""
    return sorted({t.parent.name for t in tests()})


@functools.lru_cache(maxsize=None)
def many_messages():
    """What starts a test so, where that is allowed."""
    return MANY_MESSAGES if subprocess.run([*MANY_MESSAGES, 'true'], capture_output=True).returncode == 0 else []


def run_one(test, usf, log, instance):
    """In a fresh folder, where some look for files of the suite by their path in it."""
    with tempfile.TemporaryDirectory(prefix='conf-posix-') as folder:
        os.symlink(source_folder() / 'conformance', os.path.join(folder, 'conformance'))
        command = [*(many_messages() if instance.startswith('mq_') else []), *([usf, 'run', '--'] if usf else []), str(test)]
        how = one.run(command, log, one.environment(instance), LIMIT, folder)
    return STATUS.get(how, f'exit {how}') if isinstance(how, int) else how


def run(group, usf, log, only=None, skip=()):
    """({test: result}, {test: seconds}) of a folder, or of the tests named in `only`, less `skip`."""
    results, times = {}, {}
    for test in tests(group):
        name = f'{group}/{test.stem}'
        if name in skip or (only is not None and name not in only):
            continue
        start = time.monotonic()
        results[name] = run_one(test, usf, log, group)
        times[name] = round(time.monotonic() - start, 2)
    return results, times
