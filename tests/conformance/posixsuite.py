# tests/conformance/posixsuite.py - Debian's posixtestsuite, its pthread and sem folders.
# SPDX-License-Identifier: Apache-2.0
"""The Debian package ships a report only, so its source package is fetched and the tests are built
into the cache folder.  Nothing of it comes into this tree."""
import concurrent.futures
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / 'apps'))
import build  # noqa: E402
import watch  # noqa: E402

SOURCE = 'posixtestsuite'
TOP = build.CACHE / 'posixtestsuite'
STATUS = {0: 'PASS', 1: 'FAIL', 2: 'UNRESOLVED', 4: 'UNSUPPORTED', 5: 'UNTESTED'}
LIMIT = 120  # s; the slowest takes 40
APT_LINE = 'deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm main\n'


def fetch():
    """Source by apt with lists of its own: the machine's sources need not name deb-src."""
    if not shutil.which('apt-get') or not shutil.which('dpkg-source'):
        return 'apt-get source does not work here'
    apt = TOP / 'apt'
    for folder in ('lists/partial', 'cache/archives/partial'):
        (apt / folder).mkdir(parents=True, exist_ok=True)
    (apt / 'sources.list').write_text(APT_LINE)
    options = ['-o', f'Dir::Etc::sourcelist={apt}/sources.list', '-o', 'Dir::Etc::sourceparts=/dev/null', '-o',
               f'Dir::State::lists={apt}/lists', '-o', f'Dir::Cache={apt}/cache', '-o', 'APT::Sandbox::User=root', '-q']
    for command in (['update'], ['source', SOURCE]):
        r = subprocess.run(['apt-get'] + options + command, cwd=TOP, capture_output=True, text=True)
        if r.returncode:
            return 'source package not to be had: ' + (r.stderr.strip() or 'no message').splitlines()[-1]
    return ''


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
    TOP.mkdir(parents=True)
    why = fetch()
    if why:
        return why
    root = source_folder()
    sources = [s for kind in ('pthread_*', 'sem_*') for s in sorted((root / 'conformance/interfaces').glob(f'{kind}/*.c'))
               if s.stem[0].isdigit()]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        errors = list(pool.map(lambda s: compile_one(root, s), sources))
    with open(TOP / 'not-built', 'w') as f:
        for s, e in zip(sources, errors):
            if e:
                f.write(f'{s}: {e}\n')
    (TOP / 'complete').touch()
    return ''


def source_folder():
    return next(p for p in TOP.glob('posixtestsuite-*') if p.is_dir())


def version():
    return source_folder().name


def items(fast):
    """Groups of tests: folders.  The fast subset leaves out single tests only (slow.txt)."""
    root = source_folder() / 'conformance/interfaces'
    return sorted({p.parent.name for p in root.glob('*/*.test')})


def run_one(test, usf, log, instance):
    top = tempfile.mkdtemp(prefix='posix-')
    env = {k: v for k, v in os.environ.items() if not k.startswith('USF')}
    env['USF_INSTANCE'] = instance
    with open(log, 'ab') as out:
        p = subprocess.Popen(([usf, 'run', '--'] if usf else []) + [str(test)], stdin=subprocess.DEVNULL, stdout=out,
                             stderr=out, cwd=top, env=env, start_new_session=True)
        try:
            code = p.wait(LIMIT)
            status = STATUS.get(code, f'exit {code}' if code >= 0 else f'killed by {signal.Signals(-code).name}')
        except subprocess.TimeoutExpired:
            out.write(f'\n=== {test} stands still\n{watch.describe_session(p.pid)}'.encode())
            status = 'hang'
        watch.end_session(p.pid)
        p.wait()
    shutil.rmtree(top, ignore_errors=True)
    return status


def run(group, usf, log, only=None, skip=()):
    """({test: result}, {test: seconds}) of a folder, or of the tests named in `only`, less `skip`."""
    results, times = {}, {}
    for test in sorted((source_folder() / 'conformance/interfaces' / group).glob('*.test')):
        name = f'{group}/{test.stem}'
        if name in skip or (only is not None and name not in only):
            continue
        start = time.monotonic()
        results[name] = run_one(test, usf, log, f'conf-{os.getpid()}-{group}'[:60])
        times[name] = round(time.monotonic() - start, 2)
    return results, times
