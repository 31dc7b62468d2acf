# tests/conformance/pythons.py - CPython's own tests (Debian: libpython3.11-testsuite).
# SPDX-License-Identifier: Apache-2.0
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / 'apps'))
import one  # noqa: E402
import watch  # noqa: E402

PYTHON = '/usr/bin/python3'
PACKAGES = ['libpython3.11-testsuite', 'libpython3.11-stdlib']
# module: may it run in the fast subset, and how long one test may stand still (s)
MODULES = {
    'test_thread': (True, 60), 'test_queue': (True, 60), 'test_threading': (True, 60), 'test_signal': (True, 60),
    'test_subprocess': (True, 60), 'test_concurrent_futures': (False, 120), 'test_asyncio': (False, 120),
    'test_multiprocessing_fork': (True, 120), 'test_multiprocessing_spawn': (False, 120),
    'test_multiprocessing_forkserver': (False, 120), 'test_multiprocessing_main_handling': (False, 60),
}
CI = {'test_thread', 'test_queue'}
MAX_ROUNDS = 12


def missing():
    r = subprocess.run([PYTHON, '-c', 'import test.test_threading'], capture_output=True)
    return 'libpython3.11-testsuite is not installed' if r.returncode else ''


def items(fast):
    return [m for m, (quick, _) in MODULES.items() if quick or not fast]


def read_results(path, results, times):
    """Adds what the file says; the id of the test that was running, and whether all is done."""
    running, ended = '', False
    try:
        lines = path.read_text(errors='replace').splitlines()
    except FileNotFoundError:
        return running, ended
    for line in lines:
        what, _, name = line.partition(' ')
        if what == 'start':
            running = name
        elif what == 'took':
            name, _, seconds = name.rpartition(' ')
            times[name] = float(seconds)
        elif what == 'end':
            ended = True
        else:
            results[name] = what
            if name == running:
                running = ''
    return running, ended


def one_round(module, command, env, path, log, patience):
    """Run what is left of a module until it ends or stands still.  Returns how it ended."""
    top = tempfile.mkdtemp(prefix=f'conf-{module}-')
    with open(log, 'ab') as out:
        p = one.started(command, out, top, dict(env, TMPDIR=top))
        size, since, how = -1, time.monotonic(), ''
        while p.poll() is None:
            time.sleep(0.1)
            now = path.stat().st_size if path.exists() else 0
            if now != size:
                size, since = now, time.monotonic()
            elif time.monotonic() - since > patience:
                how = 'hang'
                out.write(b'\n=== stands still\n' + watch.describe_session(p.pid).encode())
                out.flush()
                p.send_signal(signal.SIGABRT)  # faulthandler prints the stacks
                try:
                    p.wait(5)
                except subprocess.TimeoutExpired:
                    pass
                break
        try:
            one.ended(p)
        finally:
            subprocess.run(['rm', '-rf', top], check=False)
    return how or ('' if p.returncode == 0 else f'died {p.returncode}')


def run(module, usf, log, only=None, skip=()):
    """({test id: result}, {test id: seconds}) of a module, or of the tests named in `only`, less `skip`.
    A test that hangs or kills the run is told, and the rest goes on; so is a run that does so after its last test."""
    results, times = {}, {}
    env = {k: v for k, v in os.environ.items() if not k.startswith('USF')}
    env.update(LC_ALL='C.UTF-8', USF_INSTANCE=one.name_instance(module))
    work = pathlib.Path(tempfile.mkdtemp(prefix='conformance-'))
    path, skip_file, only_file = work / 'results', work / 'skip', work / 'only'
    if only is not None:
        only_file.write_text('\n'.join(only))
    for _ in range(MAX_ROUNDS):
        path.unlink(missing_ok=True)
        skip_file.write_text('\n'.join([*results, *skip]))
        command = ([usf, 'run', '--'] if usf else []) + \
            [PYTHON, str(HERE / 'pyrun.py'), module, str(path), str(skip_file)] + ([str(only_file)] if only is not None else [])
        how = one_round(module, command, env, path, log, MODULES[module][1])
        before = len(results)
        running, ended = read_results(path, results, times)
        if running:
            results[running] = how or 'cut off'
        if ended or len(results) == before:
            if how or not ended:
                results[f'{module} as a whole'] = how or 'ends too early'
            break
    subprocess.run(['rm', '-rf', str(work)], check=False)
    return results, times
