#!/usr/bin/python3
# tests/apps/run.py - run what others wrote, bare and under usf, and compare.
# SPDX-License-Identifier: Apache-2.0
"""Each case of cases/*.py is a shell script.  It runs twice, in a fresh folder each time: bare, and
under usf.  Exit status, stdout and stderr must be the same, after taking out what differs from one
run to the next anyway (process ids, times, addresses).

  USF=build/usf tests/apps/run.py [--fast] [-j N] [-k PATTERN] [--list]

Without USF the second run is bare too: that proves the cases, not usf.
A case that a machine cannot run (a program or module is missing) is skipped and says why."""
import argparse
import concurrent.futures
import difflib
import importlib.util
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import build  # noqa: E402
import watch  # noqa: E402
sys.path.insert(0, str(HERE.parent))
import sweep  # noqa: E402

PYTHON = '/usr/bin/python3'
CASES = {}


class Case:
    """script: run by bash with $UNDER ('' or 'usf run --'), $PY, $P (programs), $BIN (built ones).
    whole: the whole script runs under usf; else only the commands that $UNDER precedes.
    needs: commands; modules: of $PY; builds: names in build.py; venv: $PY is the wheels' one.
    note: under usf, stderr has one line of usf's own (the program cannot be scheduled).
    stderr: False leaves stderr out of the comparison.  strip: (pattern, replacement) pairs."""

    def __init__(self, name, script, *, fast=True, whole=True, needs=(), modules=(), builds=(), venv=False,
                 timeout=60, copies=1, note=False, stderr=True, strip=(), env=None):
        self.name, self.script, self.fast, self.whole = name, script, fast, whole
        self.needs, self.modules, self.builds, self.venv = needs, modules, builds, venv
        self.timeout, self.copies, self.note, self.stderr, self.strip = timeout, copies, note, stderr, strip
        self.env = env or {}


def case(name, script, **kw):
    if name in CASES:
        raise ValueError(f'two cases named {name}')
    CASES[name] = Case(name, script, **kw)


class Missing(Exception):
    pass


def prepare(c):
    """What the case needs; raises Missing."""
    for command in c.needs:
        if not shutil.which(command) and not os.path.exists(command):
            raise Missing(f'{command} is not installed')
    python = PYTHON
    if c.venv:
        python, why = build.venv()
        if not python:
            raise Missing(why)
    for module in c.modules:
        if not build.has_module(python, module):
            raise Missing(f'{python} has no module {module}')
    for name in c.builds:
        ok, why = build.program(name)
        if not ok:
            raise Missing(f'{name} cannot be built: {why}')
    return python


class Outcome:
    def __init__(self, status, out, err, seconds, hang=''):
        self.status, self.out, self.err, self.seconds, self.hang = status, out, err, seconds, hang


def environment(c, usf, python, folder, instance):
    env = {k: v for k, v in os.environ.items() if not k.startswith('USF')}
    env.update(PY=python, P=str(HERE / 'programs'), BIN=str(build.BIN), UNDER=f'{usf} run --' if usf else '',
               HOME=str(folder), TMPDIR=str(folder), LC_ALL='C.UTF-8', PYTHONDONTWRITEBYTECODE='1',
               GIT_CONFIG_NOSYSTEM='1', USF_INSTANCE=instance)
    env.update(c.env)
    return env


def run_once(c, usf, python, timeout):
    """One run of all copies at once; the outcomes, one per copy."""
    top = pathlib.Path(tempfile.mkdtemp(prefix=f'apps-{c.name}-'))
    instance = f'apps-{os.getpid()}-{c.name}'[:60]
    running = []
    start, began = time.monotonic(), time.time()
    try:
        for i in range(c.copies):
            folder = top / str(i)
            folder.mkdir()
            argv = ['/bin/bash', '-c', c.script, c.name]
            if usf and c.whole:
                argv = [usf, 'run', '--'] + argv
            out, err = open(top / f'out{i}', 'wb'), open(top / f'err{i}', 'wb')
            p = subprocess.Popen(argv, cwd=folder, env=environment(c, usf, python, folder, instance),
                                 stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True)
            running.append(p)
        outcomes = []
        for i, p in enumerate(running):
            hang = ''
            try:
                status = p.wait(max(0.1, start + timeout - time.monotonic()))
            except subprocess.TimeoutExpired:
                hang = watch.describe_session(p.pid)
                status = 'timeout'
            watch.end_session(p.pid)
            p.wait()
            clean = lambda f: normalise(c, (top / f).read_bytes().decode(errors='replace'), str(top / str(i)))
            outcomes.append(Outcome(status, clean(f'out{i}'), clean(f'err{i}'), time.monotonic() - start, hang))
        return outcomes
    finally:
        for p in running:
            watch.end_session(p.pid)
        if usf:
            watch.remove_instance(usf, instance)
        sweep.sweep(since=began)        # programs of the case that were killed
        shutil.rmtree(top, ignore_errors=True)


def normalise(c, text, folder):
    text = text.replace(folder, 'FOLDER').replace('/proc/self/', '/proc/SELF/')
    for pattern, to in list(c.strip) + [(r'0x[0-9a-f]{6,}', 'ADDRESS')]:
        text = re.sub(pattern, to, text)
    return text


def usf_lines(err):
    lines = err.splitlines(keepends=True)
    own = [x for x in lines if x.startswith('usf')]
    return ''.join(x for x in lines if not x.startswith('usf')), own


def difference(c, bare, ours, with_usf):
    """'' or what differs between two outcomes."""
    if ours.status == 'timeout':
        return 'does not end\n' + ours.hang + tail(ours)
    parts = []
    if bare.status != ours.status:
        parts.append(f'exit status {bare.status} bare, {ours.status} now\n')
    err, own = usf_lines(ours.err) if with_usf else (ours.err, [])
    if with_usf and own and not c.note:
        parts.append('usf says what it should not: ' + ''.join(own[:3]))
    if with_usf and c.note and len(own) != 1:
        parts.append(f'usf should say one line, and says {len(own)}\n')
    for what, a, b in (('stdout', bare.out, ours.out), ('stderr', bare.err, err)):
        if a != b and (what == 'stdout' or c.stderr):
            d = list(difflib.unified_diff(a.splitlines(), b.splitlines(), 'bare', 'now', lineterm='', n=1))
            parts.append(what + ' differs:\n' + '\n'.join(x[:300] for x in d[:30]) + '\n')
    if parts and not c.stderr:
        parts.append(tail(ours))
    return ''.join(parts)


def tail(outcome):
    return ''.join(f'--- {n}, end\n{t[-1500:]}\n' for n, t in (('stdout', outcome.out), ('stderr', outcome.err)) if t)


def run_case(c, usf, show=False):
    """('passed'|'failed'|'skipped', text, seconds bare, seconds under usf)"""
    try:
        python = prepare(c)
    except Missing as e:
        return 'skipped', str(e), 0, 0
    bare = run_once(c, '', python, c.timeout * 2)[0]
    if bare.status == 'timeout':
        return 'failed', 'does not end even bare\n' + bare.hang + tail(bare), bare.seconds, 0
    if bare.status == 77:
        return 'skipped', bare.out.strip() or bare.err.strip(), bare.seconds, 0
    ours = run_once(c, usf, python, c.timeout * 2 + 10 * bare.seconds)
    seconds = max(o.seconds for o in ours)
    text = ''
    for i, o in enumerate(ours):
        d = difference(c, bare, o, bool(usf))
        if d:
            text += (f'copy {i}: ' if c.copies > 1 else '') + d
            break
    if text:
        return 'failed', text, bare.seconds, seconds
    shown = f'\nexit status {bare.status}\n{bare.out}{bare.err}' if show else ''
    return 'passed', shown, bare.seconds, seconds


def load_cases():
    for path in sorted((HERE / 'cases').glob('*.py')):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        module.case = case
        spec.loader.exec_module(module)


def main():
    a = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    a.add_argument('--fast', action='store_true', help='leave out the slow cases')
    a.add_argument('-j', type=int, default=2, metavar='N', help='cases at once (2)')
    a.add_argument('-k', default='', metavar='PATTERN', help='only cases whose name matches')
    a.add_argument('--list', action='store_true', help='names only')
    a.add_argument('--show', action='store_true', help='print what each case prints')
    a.add_argument('--repeat', type=int, default=1, metavar='N', help='run each case N times')
    o = a.parse_args()
    load_cases()
    usf = os.environ.get('USF', '')
    if usf:
        usf = os.path.abspath(usf)
        if not os.access(usf, os.X_OK):
            sys.exit(f'USF={usf}: no such program')
    chosen = [c for c in CASES.values() if re.search(o.k, c.name) and (c.fast or not o.fast)]
    if o.list:
        print('\n'.join(c.name + ('' if c.fast else ' (slow)') for c in chosen))
        return 0
    count = {'passed': 0, 'failed': 0, 'skipped': 0}
    with concurrent.futures.ThreadPoolExecutor(o.j) as pool:
        jobs = {pool.submit(run_case, c, usf, o.show): c for c in chosen for _ in range(o.repeat)}
        for done in concurrent.futures.as_completed(jobs):
            result, text, bare, ours = done.result()
            count[result] += 1
            print(f'{result:8}{jobs[done].name:32}{bare:6.1f} s {ours:6.1f} s', '' if result == 'failed' else text)
            if result == 'failed':
                print('    ' + text.rstrip().replace('\n', '\n    '))
            sys.stdout.flush()
    print(f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
    return 1 if count['failed'] else 0


if __name__ == '__main__':
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    sys.exit(main())
