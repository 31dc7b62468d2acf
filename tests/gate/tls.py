#!/usr/bin/python3
# tests/gate/tls.py - objects with thread-local storage, many at once.  SPDX-License-Identifier: Apache-2.0
"""tls.py PRELOAD.so USF

While the dynamic linker loads objects that have thread-local storage, threads' tables of such storage are shorter than they say.

What lies behind the table of the first thread depends on the environment's length: a run for each of many lengths.  Other threads end in
the middle of a dlopen, which a resolver of its holds up; what lies behind their tables is no address."""
import os, shutil, subprocess, sys, tempfile

PRELOAD, USF = sys.argv[1:]
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

RESOLVER = '''
static long call(long nr, long a, long b, long c)
{
    long r;
    __asm__ volatile("syscall" : "=a"(r) : "a"(nr), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return r;
}
static int real(void) { return 42; }
static int (*resolve(void))(void)
{
    static int calls;
    char c = 0;
    if (!calls++) {
        call(1, 100, (long)&c, 1);
        call(0, 101, (long)&c, 1);
    }
    return real;
}
int host(void) __attribute__((ifunc("resolve")));
extern int (*reference)(void);
int (*reference)(void) = host;'''
ENDS = '''#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
enum { THREADS = 8, BLOCKS = 20, SIZE = 2000 };
static int go[2], begun[2], over[2];
static void *waits(void *arg)
{
    char c;
    if (read(go[0], &c, 1) != 1) abort();
    return arg;
}
static void *ends(void *arg)
{
    char c;
    if (read(begun[0], &c, 1) != 1) abort();
    for (int i = 0; i < THREADS; i++)
        if (write(go[1], "x", 1) != 1) abort();
    for (int i = 0; i < THREADS; i++) pthread_join(((pthread_t *)arg)[i], NULL);
    if (write(over[1], "x", 1) != 1) abort();
    return NULL;
}
static void fill(void)
{
    for (int i = 0; i < BLOCKS; i++) {
        char *volatile p = malloc(SIZE);
        memset(p, 0x41, SIZE);
    }
}
int main(int argc, char **argv)
{
    pthread_t t, w[THREADS];
    alarm(30);
    if (pipe(go) || pipe(begun) || pipe(over) || dup2(begun[1], 100) < 0 || dup2(over[0], 101) < 0) return 2;
    for (int i = 0; i < THREADS; i++) {
        fill();
        pthread_create(&w[i], NULL, waits, NULL);
        fill();
    }
    pthread_create(&t, NULL, ends, w);
    void *h = dlopen(argv[1], RTLD_NOW);
    int (*host)(void) = h ? (int (*)(void))dlsym(h, "host") : 0;
    pthread_join(t, NULL);
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
        needs = ['-shared', '-fPIC', '-Wl,--no-as-needed', '-Wl,-rpath,' + folder, '-L.', *['-l:' + n for n in names]]
        build(folder, 'host.so', HOST, *needs)
        build(folder, 'slow.so', RESOLVER, *needs)
        build(folder, 'program', PROGRAM, '-ldl')
        build(folder, 'ends', ENDS, '-pthread', '-ldl')
        ends = []
        for length in range(1, 4002, 500):
            env = dict(os.environ, LD_LIBRARY_PATH='a' * length, LD_PRELOAD=PRELOAD)
            r = subprocess.run([os.path.join(folder, 'program'), os.path.join(folder, 'host.so')], env=env, timeout=60)
            ends.append(r.returncode)
        for launcher in [], [USF, 'run', '--share', 'process', '--']:
            r = subprocess.run([*launcher, os.path.join(folder, 'ends'), os.path.join(folder, 'slow.so')], timeout=60)
            ends.append(r.returncode)
        print(ends)
        return any(ends)


sys.exit(main())
