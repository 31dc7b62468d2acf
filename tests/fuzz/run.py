#!/usr/bin/python3
# tests/fuzz/run.py - fuzz with AFL++, one target after the other.  SPDX-License-Identifier: Apache-2.0
"""usage: run.py [--build DIR] [--seconds S] [TARGET...]

Builds the targets with afl-clang-fast into DIR/afl (as far as they have changed) and runs each for S seconds (60) on one core,
from the inputs that it brings and those that earlier runs found (DIR/afl/found/TARGET).  Ends with 1 if one crashed or hung:
the inputs are told, and `DIR/afl/tests/fuzz/fuzz-TARGET FILE` repeats them.  (An input that ends when it is run again alone
has only waited for a CPU.)  77 without AFL++."""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGETS = ['segment', 'toml', 'args', 'elf', 'spin', 'policy', 'workload', 'machine', 'recording', 'context']
ALONE = 60          # s that an input may take when it is run again alone
OPTIONS = 'abort_on_error=1:symbolize=0:detect_leaks=0'
ENV = {'AFL_SKIP_CPUFREQ': '1', 'AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES': '1', 'AFL_NO_AFFINITY': '1', 'AFL_NO_UI': '1',
       'AFL_AUTORESUME': '1', 'ASAN_OPTIONS': OPTIONS, 'UBSAN_OPTIONS': 'abort_on_error=1:symbolize=0'}


def build(folder, targets):
    if not (folder / 'build.ninja').exists():
        subprocess.run(['meson', 'setup', str(folder), str(ROOT), '-Dtests=true', '-Dasserts=debug'], check=True, stdout=subprocess.DEVNULL,
                       env=dict(os.environ, CC='afl-clang-fast', CXX='afl-clang-fast++', AFL_QUIET='1'))
    names = [f'tests/fuzz/fuzz-{t}' for t in targets] + ['tests/fuzz/libfuzz-seed-object.so']
    subprocess.run(['ninja', '-C', str(folder), '--quiet', *names], check=True, env=dict(os.environ, AFL_QUIET='1'))


def stats(out):
    try:
        lines = (out / 'default' / 'fuzzer_stats').read_text().splitlines()
    except FileNotFoundError:
        return {}
    return {k.strip(): v.strip() for k, _, v in (x.partition(':') for x in lines)}


def hangs(program, path):
    """Or was it that the machine had no time for it?"""
    try:
        return subprocess.run([program, path], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=ALONE,
                              env=dict(os.environ, **ENV)).returncode != 0
    except subprocess.TimeoutExpired:
        return True


def fuzz(folder, target, seconds):
    """The inputs on which it crashed or hung."""
    seeds, out = folder / 'seeds' / target, folder / 'found' / target
    program = folder / 'tests/fuzz' / f'fuzz-{target}'
    shutil.rmtree(seeds, ignore_errors=True)
    seeds.mkdir(parents=True)
    subprocess.run([program, '--seeds', seeds], check=True, env=dict(os.environ, **ENV))
    if target in ('elf', 'context'):
        shutil.copy(folder / 'tests/fuzz/libfuzz-seed-object.so', seeds / 'object')
    out.mkdir(parents=True, exist_ok=True)
    with open(folder / f'{target}.log', 'w') as log:
        r = subprocess.run(['afl-fuzz', '-V', str(seconds), '-i', seeds, '-o', out, '-m', 'none', '-t', '5000', '--', program],
                           env=dict(os.environ, **ENV), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    s = stats(out)
    bad = sorted((out / 'default/crashes').glob('id*')) + [p for p in sorted((out / 'default/hangs').glob('id*')) if hangs(program, p)]
    print(f"{target:9}{s.get('run_time', '?'):>7} s  {s.get('execs_done', '?'):>10} inputs, {s.get('corpus_count', '?'):>5} kept, "
          f"{s.get('bitmap_cvg', '?'):>7} of the code's edges, {len(bad)} crashes or hangs", flush=True)
    if r.returncode:
        print(f'         afl-fuzz ended with {r.returncode}: {folder}/{target}.log')
    for p in bad:
        print(f'         {p}')
    return bool(bad) or r.returncode != 0


def main():
    a = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    a.add_argument('--build', default='build')
    a.add_argument('--seconds', type=int, default=60)
    a.add_argument('targets', nargs='*', choices=[[], *TARGETS])
    o = a.parse_args()
    if not shutil.which('afl-fuzz') or not shutil.which('afl-clang-fast'):
        print('AFL++ is not installed (Debian: afl++)')
        return 77
    folder, targets = pathlib.Path(o.build).resolve() / 'afl', o.targets or TARGETS
    build(folder, targets)
    return 1 if any([fuzz(folder, t, o.seconds) for t in targets]) else 0


if __name__ == '__main__':
    sys.exit(main())
