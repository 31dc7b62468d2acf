# tests/conformance/gomp.py - the C tests of GCC's libgomp.  SPDX-License-Identifier: Apache-2.0
"""What DejaGnu makes of the dg- comments is done here as far as running programs needs it.  Tests that need an
offload device are left out; texts and dumps of the compiler are not looked at."""
import os
import re
import subprocess
import time

import one
import sources

PACKAGE = 'gcc-12'
TOP = sources.build.CACHE / PACKAGE
BIN = TOP / 'bin'
FOLDERS = ('libgomp.c', 'libgomp.c-c++-common')
PARTS = "'*/libgomp/libgomp_g.h' '*/include/gomp-constants.h' " + ' '.join(f"'*/libgomp/testsuite/{f}/*'" for f in FOLDERS)
UNPACK = f"tar xOf *.orig.tar.* --wildcards '*/gcc-*-dfsg.tar.xz' | tar xJ --wildcards {PARTS}"
LIMIT = 120  # s
THREADS = max(4, os.cpu_count())  # more than cores, on purpose
# Selectors of targets that hold here; all others do not.
HOLDS = {'c', '*-*-*', 'sse2_runtime', 'avx_runtime', 'tls_runtime', 'tls', 'size32plus', 'sync_int_long', 'fpic', 'shared',
         'lto', '__float128', '*-*-linux*', 'x86_64-*-*', 'large_long_double', 'lp64', 'vect_simd_clones'}
CI = {'critical', 'lock', 'barrier', 'single'}
FAST = {'barrier', 'critical', 'lock', 'ordered', 'sections', 'single'}
DG = re.compile(r'\{ *dg-([a-z-]+) *(.*?)\s*\}\s*(?:\*/|$)', re.M)


def missing():
    return sources.part_of(PACKAGE, TOP, UNPACK)


def ready():
    return sources.has_part(TOP, UNPACK)


def version():
    return subprocess.run(['dpkg-query', '-W', 'gcc-12', 'libgomp1'], capture_output=True, text=True).stdout + str(THREADS)


def suite():
    return next(TOP.glob('gcc-*/libgomp/testsuite'))


def group_of(path):
    return re.match('[a-z]*', path.stem).group() or 'other'


def tests():
    return [p for f in FOLDERS for p in sorted((suite() / f).glob('*.c'))]


def items(fast):
    return sorted({group_of(p) for p in tests() if not fast or group_of(p) in FAST})


def words(text):
    """The words of a Tcl list: quoted ones, those in braces (as they are), bare ones."""
    return [next(x for x in m if x) for m in re.findall(r'"([^"]+)"|\{((?:[^{}]|\{[^{}]*\})*)\}|([^\s{}"]+)', text) if any(m)]


def selected(condition):
    """Does a target selector hold?  Without one, yes.  Alternatives only: no `!` and `&&` but of targets not here."""
    names = re.sub(r'^\s*target\b', '', condition).replace('{', ' ').replace('}', ' ').split()
    return not names or any(n in HOLDS for n in names)


class Directives:
    """What a test's comments ask for."""

    def __init__(self, path):
        self.run, self.fails, self.env = True, False, {}
        flags, more, self.sources = ['-O2'], [], [path]
        for name, rest in DG.findall(path.read_text(errors='replace')):
            w = words(rest)
            holds = selected(w[-1]) if len(w) > 1 and w[-1].lstrip().startswith('target') else True
            if name == 'do':
                self.run &= w[0] == 'run' and holds
            elif name in ('skip-if', 'require-effective-target'):
                self.run &= name != 'skip-if' and w[0] in HOLDS
            elif name == 'options' and holds:
                flags = w[0].split()
            elif name == 'additional-options' and holds:
                more += w[0].split()
            elif name == 'set-target-env-var':
                self.env[w[0]] = w[1]
            elif name == 'additional-sources':
                self.sources += [path.parent / s for s in w[0].split()]
            elif name == 'shouldfail':
                self.fails = True
        self.flags = [*flags, *more]


def built(path, d, log):
    """The program, built once; None if it cannot be."""
    program = BIN / f'{path.parent.name}-{path.stem}'
    if not program.exists():
        BIN.mkdir(exist_ok=True)
        temporary = program.with_name(f'{program.name}.{os.getpid()}')
        root = suite().parent.parent
        r = subprocess.run(['gcc', '-w', '-fopenmp', *d.flags, '-I', str(root / 'libgomp'), '-I', str(root / 'include'),
                            *map(str, d.sources), '-o', str(temporary), '-lm'], cwd=BIN, capture_output=True, text=True)
        if r.returncode:
            log.write_text((log.read_text() if log.exists() else '') + r.stderr)
            return None
        temporary.rename(program)
    return program


def run(group, usf, log, only=None, skip=()):
    """({test: result}, {test: seconds})."""
    results, times = {}, {}
    for path in tests():
        name = f'{path.parent.name}/{path.stem}'
        if group_of(path) != group or name in skip or (only is not None and name not in only):
            continue
        d = Directives(path)
        program = built(path, d, log) if d.run else None
        if not program:
            continue
        start = time.monotonic()
        env = one.environment(group, {'OMP_NUM_THREADS': str(THREADS), **d.env})
        how = one.run(([usf, 'run', '--'] if usf else []) + [str(program)], log, env, LIMIT)
        good = isinstance(how, int) and (how != 0) == d.fails
        results[name] = 'passed' if good else f'exit {how}' if isinstance(how, int) else how
        times[name] = round(time.monotonic() - start, 2)
    return results, times
