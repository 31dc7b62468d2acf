# tests/conformance/llvmomp.py - the tests of LLVM's OpenMP runtime.  SPDX-License-Identifier: Apache-2.0
"""Their RUN lines are shell commands with a few substitutions (lit.cfg of that suite), made here; what is run of them under
usf is the test's program alone.  The library is Debian's libomp5."""
import re
import shutil
import subprocess
import time

import one
import sources

VERSION = '14'
PACKAGE = f'llvm-toolchain-{VERSION}'
TOP = sources.build.CACHE / PACKAGE
UNPACK = "tar xJf *.orig.tar.xz --wildcards '*/openmp/runtime/test/*' '*/openmp/runtime/src/kmp_platform.h'"
TOOLS = f'/usr/lib/llvm-{VERSION}'
LIMIT = 300  # s; some yield millions of times, which takes long on a busy machine
FEATURES = {'clang', f'clang-{VERSION}', 'linux', 'affinity', 'multicpu', 'ompt'}
CI = {'critical'}
FAST = {'barrier', 'critical', 'lock', 'flush'}
# Compiles once: the same command gives the same program, wherever the run's own folder is.
PRELUDE = r'''set -o pipefail
keep() {
    local a before= out= key
    for a in "$@"; do [ "$before" != -o ] || out=$a; before=$a; done
    case "$*" in *tool.so*) "$@"; return;; esac
    key=$KEPT/$(printf '%s\n' "$@" | sed "s|$PWD|.|g" | sha256sum | cut -c1-24)
    [ -e "$key" ] || { "$@" && cp "$out" "$key.$$" && mv "$key.$$" "$key"; } || return
    cp "$key" "$out"
}
'''


def missing():
    for tool in ('clang', 'FileCheck', 'not'):
        if not shutil.which(f'{TOOLS}/bin/{tool}'):
            return f'{tool} {VERSION} is not installed (clang, llvm-{VERSION}-tools)'
    return sources.part_of(PACKAGE, TOP, UNPACK)


def ready():
    return sources.has_part(TOP, UNPACK)


def version():
    return subprocess.run(['dpkg-query', '-W', f'libomp5-{VERSION}', f'clang-{VERSION}'], capture_output=True, text=True).stdout


def suite():
    return next(TOP.glob('llvm-*/openmp/runtime/test'))


def tests(group):
    return sorted(p for p in (suite() / group).rglob('*') if p.suffix in ('.c', '.cpp') and 'RUN:' in p.read_text(errors='replace'))


def items(fast):
    return sorted(p.name for p in suite().iterdir() if p.is_dir() and tests(p.name) and (p.name in FAST or not fast))


def wanted(text):
    """Are the features that it needs here, and those that it cannot do with not?"""
    lists = {k: {w for x in re.findall(rf'{k}:(.*)', text) for w in re.findall(r'[\w.-]+', x)} for k in ('REQUIRES', 'UNSUPPORTED')}
    return lists['REQUIRES'] <= FEATURES and not lists['UNSUPPORTED'] & FEATURES


def script(path, usf):
    """The RUN lines as one command of bash."""
    lines, command = re.findall(r'RUN:\s*(.*?)\s*$', path.read_text(errors='replace'), re.M), ''
    for line in lines:
        command += line[:-1] if line.endswith('\\') else line + '\n'
    top = suite()
    flags = f'-fopenmp -w -I {top} -I {top}/ompt'
    runner = f'{usf} run -- ' if usf else ''
    substitutions = [
        ('%libomp-compile-and-run', '%libomp-compile && %libomp-run'), ('%libomp-c99-compile-and-run', '%libomp-c99-compile && %libomp-run'),
        ('%libomp-cxx-compile-and-run', '%libomp-cxx-compile && %libomp-run'),
        ('%libomp-cxx-compile-c', '%clangXX %flags -std=c++14 -x c++ %s -o %t -lm'),
        ('%libomp-cxx-compile', '%clangXX %flags -std=c++14 %s -o %t -lm'), ('%libomp-c99-compile', '%clang %flags -std=c99 %s -o %t -lm'),
        ('%libomp-compile', '%clang %flags %s -o %t -lm'), ('%preload-tool', 'env LD_PRELOAD=%T/tool.so'), ('%libomp-run', runner + '%t'),
        ('%clangXX', f'keep {TOOLS}/bin/clang++'), ('%clang', f'keep {TOOLS}/bin/clang'), ('%openmp_flags', ''),
        ('%flags-use-compiler-omp-h', flags), ('%flags', flags), ('%python', '/usr/bin/python3'), ('%not', f'{TOOLS}/bin/not'),
        ('FileCheck', f'{TOOLS}/bin/FileCheck'), ('%sort-threads', 'sort -n -s'), ('%no-as-needed-flag', '-Wl,--no-as-needed'),
        ('%s', str(path)), ('%S', str(path.parent)), ('%T', '$PWD'), ('%t', '$PWD/test.tmp')]
    for name, text in substitutions:
        command = command.replace(name, text)
    return PRELUDE + ' && '.join(f'{{ {x}\n}}' for x in command.strip().split('\n'))


def run(group, usf, log, only=None, skip=()):
    """({test: result}, {test: seconds})."""
    results, times = {}, {}
    kept = TOP / 'kept'
    kept.mkdir(exist_ok=True)
    for path in tests(group):
        name = str(path.relative_to(suite()))
        if name in skip or (only is not None and name not in only) or not wanted(path.read_text(errors='replace')):
            continue
        start = time.monotonic()
        how = one.run(['/bin/bash', '-c', script(path, usf)], log, one.environment(f'llvm-{group}', {'KEPT': str(kept)}), LIMIT)
        results[name] = 'passed' if how == 0 else f'exit {how}' if isinstance(how, int) else how
        times[name] = round(time.monotonic() - start, 2)
    return results, times
