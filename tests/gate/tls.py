#!/usr/bin/python3
# tests/gate/tls.py - objects with thread-local storage, many at once.  SPDX-License-Identifier: Apache-2.0
"""tls.py PRELOAD.so

While the dynamic linker loads objects that have thread-local storage, the loading thread's table of such storage is shorter than it
says.  What lies behind the table depends on the environment's length: a run for each of many lengths."""
import os, shutil, subprocess, sys, tempfile

PRELOAD = sys.argv[1]
MODULES = 600
VARIABLE = '__thread int v; int touch(void); int touch(void) { return ++v; }'
HOST = 'int host(void); int host(void) { return 42; }'
PROGRAM = '''#include <dlfcn.h>
int main(int argc, char **argv)
{
    void *h = dlopen(argv[1], RTLD_NOW);
    int (*host)(void) = h ? (int (*)(void))dlsym(h, "host") : 0;
    return !host || host() != 42;
}'''


def build(folder, out, source, *args):
    subprocess.run(['cc', '-o', os.path.join(folder, out), '-x', 'c', '-', '-x', 'none', *args], input=source, text=True, check=True, cwd=folder)


def main():
    if not shutil.which('cc'):
        print('no compiler')
        return 77
    with tempfile.TemporaryDirectory(prefix='usf-gate-') as folder:
        names = ['tls%d.so' % i for i in range(MODULES)]
        build(folder, names[0], VARIABLE, '-shared', '-fPIC')
        for name in names[1:]:
            shutil.copy(os.path.join(folder, names[0]), os.path.join(folder, name))
        build(folder, 'host.so', HOST, '-shared', '-fPIC', '-Wl,--no-as-needed', '-Wl,-rpath,' + folder, '-L.', *['-l:' + n for n in names])
        build(folder, 'program', PROGRAM, '-ldl')
        ends = []
        for length in range(1, 4002, 500):
            env = dict(os.environ, LD_LIBRARY_PATH='a' * length, LD_PRELOAD=PRELOAD)
            r = subprocess.run([os.path.join(folder, 'program'), os.path.join(folder, 'host.so')], env=env, timeout=60)
            ends.append(r.returncode)
        print(ends)
        return any(ends)


sys.exit(main())
