# tests/conformance/crates.py - the tests of crossbeam, parking_lot and rayon.  SPDX-License-Identifier: Apache-2.0
"""Fetched by cargo (fetch.toml), built with Debian's rustc (workspace.toml, Cargo.lock) into the cache folder.  Each test
binary is run as a whole, by its own harness, and what it says of each test is the result."""
import json
import os
import re
import shutil
import subprocess
import time

import one
import sources

FILES = sources.HERE / 'crates'
TOP = sources.build.CACHE / 'crates'
WORK = TOP / 'work'
TOGETHER = True  # the harness runs several at once
LIMIT = 900  # s for one binary: their threads busy-wait for each other, which takes long on a busy machine
CARGO, RUSTC = '/usr/bin/cargo', '/usr/bin/rustc'
HARNESS_FAILED = 101  # the harness's exit code when a test has failed
TOO_NEW = ['rayon-core-1.11.0/tests/stack_overflow_crash.rs']  # needs std::hint::black_box of Rust 1.66
LEFT_OUT = {'compile_fail', 'loom'}
CI = {'crossbeam-utils-parker'}
FAST = {'crossbeam-deque-fifo', 'crossbeam-utils-parker', 'crossbeam-utils-wait_group', 'rayon-core-scope_join'}


def cargo(*args, folder):
    """'' and what it printed, or why it failed.  The index comes as single files: cargo 1.65 can, but not yet by default."""
    env = dict(os.environ, CARGO_HOME=str(TOP / 'home'), RUSTC=RUSTC, CARGO_TARGET_DIR=str(TOP / 'target'),
               CARGO_UNSTABLE_SPARSE_REGISTRY='true', RUSTC_BOOTSTRAP='1')
    r = subprocess.run([CARGO, *args], cwd=folder, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return ('', r.stdout) if r.returncode == 0 else ('cargo: ' + (r.stderr.strip() or 'no message').splitlines()[-1], '')


def fetch():
    """The crates into WORK; '' or why not."""
    first = TOP / 'fetch'
    first.mkdir(parents=True, exist_ok=True)
    shutil.copy(FILES / 'fetch.toml', first / 'Cargo.toml')
    (first / 'lib.rs').touch()
    why, _ = cargo('fetch', folder=first)
    if why:
        return why
    WORK.mkdir(exist_ok=True)
    shutil.copy(FILES / 'workspace.toml', WORK / 'Cargo.toml')
    shutil.copy(FILES / 'Cargo.lock', WORK / 'Cargo.lock')
    source = next((TOP / 'home/registry/src').iterdir())
    for member in re.findall(r'^    "(.*)",$', (FILES / 'workspace.toml').read_text(), re.M):
        shutil.copytree(source / member, WORK / member)
    for test in TOO_NEW:
        (WORK / test).write_text('fn main() {}\n')
    return cargo('fetch', '--locked', folder=WORK)[0]


def compile_tests():
    why, out = cargo('test', '--no-run', '--offline', '--locked', '--workspace', '--tests', '--message-format=json', folder=WORK)
    found = {}
    for message in map(json.loads, out.splitlines()):
        if message.get('executable') and message['profile']['test']:
            crate = message['package_id'].split()[0]
            name = message['target']['name']
            found[crate if name.replace('_', '-') == crate.replace('_', '-') else f'{crate}-{name}'] = message['executable']
    if not why:
        (TOP / 'binaries.json').write_text(json.dumps(found, indent=1))
    return why


def missing():
    if (TOP / 'binaries.json').exists():
        return ''
    if not os.path.exists(CARGO) or not os.path.exists(RUSTC):
        return "Debian's cargo and rustc are not installed"
    shutil.rmtree(TOP, ignore_errors=True)
    return fetch() or compile_tests()


def ready():
    return (TOP / 'binaries.json').exists()


def binaries():
    return json.loads((TOP / 'binaries.json').read_text())


def version():
    return (FILES / 'Cargo.lock').read_text() + subprocess.run([RUSTC, '--version'], capture_output=True, text=True).stdout


def items(fast):
    return sorted(n for n in binaries() if (n in FAST or not fast) and not LEFT_OUT & {n.rpartition('-')[2]})


def run(name, usf, log, only=None, skip=()):
    """({test: result}, {test: seconds}); a binary that does not end, or dies, be it after its last test, is told as a whole."""
    start, mark = time.monotonic(), log.stat().st_size if log.exists() else 0
    left_out = [t.split(' ', 1)[1] for t in skip if t.startswith(f'{name} ')]
    chosen = [t.split(' ', 1)[1] for t in only or () if not t.endswith(' as a whole')]
    binary = binaries()[name]
    command = [binary, '--test-threads=4', '--exact', *(x for t in left_out for x in ('--skip', t)), *chosen]
    how = one.run(([usf, 'run', '--'] if usf else []) + command, log, one.environment(name), LIMIT)
    text = log.read_bytes()[mark:].decode(errors='replace')
    results = {f'{name} {t}': 'passed' if r == 'ok' else r for t, r in re.findall(r'^test (\S+)(?: - should panic)? \.\.\. (ok|FAILED|ignored)', text, re.M)}
    if 'test result:' not in text or how != (HARNESS_FAILED if 'FAILED' in results.values() else 0):
        results[f'{name} as a whole'] = how if isinstance(how, str) else f'exit {how}'
    return results, {f'{name} as a whole': round(time.monotonic() - start, 2)}
