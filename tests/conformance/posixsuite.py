# tests/conformance/posixsuite.py - Debian's posixtestsuite, its pthread and sem folders.
# SPDX-License-Identifier: Apache-2.0
"""The Debian package ships a report only, so its source package is fetched and the tests are built
into the cache folder.  Nothing of it comes into this tree."""
import concurrent.futures
import os
import shutil
import subprocess
import time

import one
import sources

SOURCE = 'posixtestsuite'
TOP = sources.build.CACHE / 'posixtestsuite'
STATUS = {0: 'PASS', 1: 'FAIL', 2: 'UNRESOLVED', 4: 'UNSUPPORTED', 5: 'UNTESTED'}
CI = {'pthread_mutex_trylock', 'sem_post', 'pthread_once'}
LIMIT = 120  # s; the slowest takes 40


def compile_one(root, source):
    """Build one test beside its source; '' or the first error."""
    target = source.with_suffix('.test')
    r = subprocess.run(['gcc', '-w', '-O2', '-g', '-std=gnu99', '-D_GNU_SOURCE', '-I', str(root / 'include'), '-o',
                        str(target), str(source), '-pthread', '-lrt', '-lm'], cwd=source.parent, capture_output=True, text=True)
    return '' if r.returncode == 0 else (r.stderr.strip() or 'no message').splitlines()[-1]


def missing():
    """Fetch and build once; '' or why there is nothing to run."""
    if (TOP / 'complete').exists():
        return ''
    shutil.rmtree(TOP, ignore_errors=True)
    why = sources.source(SOURCE, TOP)
    if why:
        return why
    root = source_folder()
    programs = [s for kind in ('pthread_*', 'sem_*') for s in sorted((root / 'conformance/interfaces').glob(f'{kind}/*.c'))
               if s.stem[0].isdigit()]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        errors = list(pool.map(lambda s: compile_one(root, s), programs))
    with open(TOP / 'not-built', 'w') as f:
        for s, e in zip(programs, errors):
            if e:
                f.write(f'{s}: {e}\n')
    (TOP / 'complete').touch()
    return ''


def ready():
    return (TOP / 'complete').exists()


def source_folder():
    return next(p for p in TOP.glob('posixtestsuite-*') if p.is_dir())


def version():
    return source_folder().name


def items(fast):
    """Groups of tests: folders.  The fast subset leaves out single tests only (slow.txt)."""
    root = source_folder() / 'conformance/interfaces'
    return sorted({p.parent.name for p in root.glob('*/*.test')})


def run_one(test, usf, log, instance):
    how = one.run(([usf, 'run', '--'] if usf else []) + [str(test)], log, one.environment(instance), LIMIT)
    return STATUS.get(how, f'exit {how}') if isinstance(how, int) else how


def run(group, usf, log, only=None, skip=()):
    """({test: result}, {test: seconds}) of a folder, or of the tests named in `only`, less `skip`."""
    results, times = {}, {}
    for test in sorted((source_folder() / 'conformance/interfaces' / group).glob('*.test')):
        name = f'{group}/{test.stem}'
        if name in skip or (only is not None and name not in only):
            continue
        start = time.monotonic()
        results[name] = run_one(test, usf, log, group)
        times[name] = round(time.monotonic() - start, 2)
    return results, times
