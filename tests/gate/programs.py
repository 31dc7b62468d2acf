#!/usr/bin/python3
# tests/gate/programs.py - real programs give the same output with the gate preloaded.
# SPDX-License-Identifier: Apache-2.0
"""programs.py PRELOAD.so programs | cache | share | maps | gdb"""
import os, shutil, stat, subprocess, sys, tempfile

PRELOAD = sys.argv[1]
PYTHON = '/usr/bin/python3'
THREADS = '''
import threading, subprocess, queue, time, concurrent.futures as cf, os, signal, tempfile
q = queue.Queue()
def work(n):
    for i in range(50):
        q.put(n); time.sleep(0.0002)
ts = [threading.Thread(target=work, args=(i,)) for i in range(8)]
[t.start() for t in ts]; [t.join() for t in ts]
print(q.qsize())
with cf.ThreadPoolExecutor(4) as ex: print(sum(ex.map(lambda x: x * x, range(1000))))
print(subprocess.run(['sh', '-c', 'echo $((6*7)) | cat; exit 3'], capture_output=True))
p = os.fork()
if p == 0: os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(p, 0)[1]))
with cf.ProcessPoolExecutor(2) as ex: print(list(ex.map(abs, [-1, -2, 3])))
'''
PROGRAMS = [
    ['/bin/true'], ['/bin/false'],
    ['/bin/bash', '-c', 'for i in 1 2 3; do echo $i; done | sort -r | tee /dev/stderr | wc -l; (exit 5); echo $?; kill -TERM $$'],
    ['/bin/sh', '-c', 'echo $(ls / | head -2 | tr a-z A-Z) | wc -w; sleep 0.05; exec env true'],
    [PYTHON, '-c', THREADS],
    [PYTHON, '-c', 'import ssl, ctypes, sqlite3; print(sqlite3.connect(":memory:").execute("select 1").fetchall())'],
    ['perl', '-e', 'my $p = fork; exit 4 if !$p; waitpid($p, 0); print $? >> 8, "\\n"; print `echo sub`; $SIG{ALRM} = sub { die "alarm\\n" }; '
                   'eval { alarm 1; select(undef, undef, undef, 5) }; print $@'],
    ['gcc', '-x', 'c', '-O1', '-o', '/dev/null', '/dev/stdin'],
    ['git', '--version'], ['openssl', 'version'],
    ['tar', 'cf', '-', '/etc/hostname', '--mtime=@0', '--owner=0', '--group=0', '-P'],
]
STDIN = b'#include <stdio.h>\nint main(void) { return puts("x") < 0; }\n'


def run(cmd, gate=True, **env):
    e = dict(os.environ, **env)
    if gate:
        e['LD_PRELOAD'] = PRELOAD
    return subprocess.run(cmd, env=e, input=STDIN, capture_output=True, timeout=60)


def report(cmd=('/bin/true',), **env):
    """The gate's own counts at the end of the program."""
    with tempfile.NamedTemporaryFile() as f:
        r = run(cmd, GATE_TEST_REPORT=f.name, **env)
        assert r.returncode == 0, r
        last = f.read().decode().splitlines()[-1]
    return {k: int(v) for k, v in (w.split('=') for w in last.split())}


def programs():
    for cmd in PROGRAMS:
        if not shutil.which(cmd[0]):
            continue
        bare = run(cmd, gate=False)
        for env in ({}, {'GATE_TEST_HANDLERS': 'all'}, {'GATE_TEST_HANDLERS': 'none'}, {'GATE_TEST_PATCH': 'needed'}):
            r = run(cmd, **env)
            assert (r.returncode, r.stdout) == (bare.returncode, bare.stdout), (cmd, env, bare, r)
            assert sorted(r.stderr.split(b'\n')) == sorted(bare.stderr.split(b'\n')), (cmd, env, bare.stderr, r.stderr)


def cache():
    with tempfile.TemporaryDirectory() as tmp:
        d = tmp + '/a/b'
        plain = report()
        first, second = report(GATE_TEST_CACHE=d), report(GATE_TEST_CACHE=d)
        same = 'objects', 'sites', 'patched', 'unpatched'
        check = lambda r, hits: (all(r[k] == plain[k] for k in same) and (r['hits'] > 0) == hits) or sys.exit(f'{plain}\n{r}')
        check(first, False)
        check(second, True)
        assert stat.S_IMODE(os.stat(d).st_mode) == 0o700
        files = [f'{d}/{f}' for f in os.listdir(d)]
        assert files and all(stat.S_IMODE(os.stat(f).st_mode) == 0o600 and not f.endswith('.new') for f in files)
        good = {f: open(f, 'rb').read() for f in files}

        def damaged(change):
            for f, b in good.items():
                open(f, 'wb').write(change(bytearray(b)))
            check(report(GATE_TEST_CACHE=d), False)
            check(report(GATE_TEST_CACHE=d), True)      # written anew

        def flip(at):
            def change(b):
                b[at % len(b)] ^= 0x41
                return b
            return change
        for at in (0, 8, 12, 16, 24, 40, -1, 60, 100, 200):
            damaged(flip(at))
        damaged(lambda b: b[:len(b) // 2])
        damaged(lambda b: b'')
        damaged(lambda b: b[:47])
        for f in files:                                  # others may write it: not believed
            os.chmod(f, 0o666)
        check(report(GATE_TEST_CACHE=d), False)
        os.chmod(d, 0o777)
        check(report(GATE_TEST_CACHE=d), False)
        os.chmod(d, 0o700)
        os.rename(d, tmp + '/real')
        os.symlink(tmp + '/real', d)
        check(report(GATE_TEST_CACHE=d), False)          # a link is not followed
        for bad in ('relative', '/proc/nothing/here', '/dev/null/x', '/' + 'x' * 400, ''):
            check(report(GATE_TEST_CACHE=bad), False)


def share():
    """Code that is patched already is mapped where it is right, and only there; programs do not notice."""
    with tempfile.TemporaryDirectory() as tmp:
        d = tmp + '/cache'
        env = {'GATE_TEST_CACHE': d, 'GATE_TEST_SHARE': '1', 'GATE_TEST_PATCH': 'needed'}
        plain = report(GATE_TEST_PATCH='needed')
        copies = lambda: sorted(f'{d}/{f}' for f in os.listdir(d) if f.endswith('.code'))

        def check(shared, **more):
            r = report(**env, **more)
            same = 'objects', 'sites', 'patched', 'unpatched'
            assert r['shared'] == shared and all(r[k] == plain[k] for k in same), (plain, r, shared)
        check(0)
        check(1)
        code, = copies()
        assert stat.S_IMODE(os.stat(code).st_mode) == 0o600
        libc = next(line.split()[-1] for line in run(['cat', '/proc/self/maps'], gate=False).stdout.decode().splitlines()
                    if '/libc.so.6' in line)
        assert code in run(['cat', '/proc/self/maps'], **env).stdout.decode()
        for cmd in PROGRAMS:
            if shutil.which(cmd[0]):
                bare, r = run(cmd, gate=False), run(cmd, **env)
                assert (r.returncode, r.stdout) == (bare.returncode, bare.stdout), (cmd, bare, r)
        good = open(code, 'rb').read()
        for change in (lambda b: b[:-1], lambda b: b + b'x', lambda b: b'', lambda b: b[:-56] + bytes(8) + b[-48:],
                       lambda b: b[:-1] + bytes([b[-1] ^ 1])):
            open(code, 'wb').write(change(good))
            check(0)
            assert open(code, 'rb').read() == good                  # made anew
            check(1)
        os.chmod(code, 0o622)                                       # others may write it: not believed
        check(0)
        check(1)                                                    # made anew
        # Another file with the same build-id is another object, whatever is in it.
        os.mkdir(tmp + '/lib')
        shutil.copy(libc, tmp + '/lib/libc.so.6')
        check(0, LD_LIBRARY_PATH=tmp + '/lib')
        check(1, LD_LIBRARY_PATH=tmp + '/lib')
        check(1)
        assert len(copies()) == 2
        # What is older is of files that are gone.
        for c in copies():
            os.utime(c, (1, 1))
        os.unlink(code)
        check(0)
        assert copies() == [code], copies()
        check(1)
        # Breakpoints that are in the code before it could be mapped.
        if shutil.which('gdb'):
            r = subprocess.run(['gdb', '--batch', '-nx', '-ex', 'set breakpoint pending on', '-ex', 'break write',
                                *(x for k, v in env.items() for x in ('-ex', f'set environment {k} {v}')),
                                '-ex', f'set environment LD_PRELOAD {PRELOAD}', '-ex', 'run', '-ex', 'bt', '--args', '/bin/echo', 'x'],
                               capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
            assert 'not permitted' in r.stderr or 'Breakpoint 1, ' in r.stdout, (r.stdout, r.stderr)


MAPS = '''
import os
import ctypes, ssl
for line in open('/proc/self/maps'):
    if 'w' in line.split()[1] and 'x' in line.split()[1]: print('writable and executable:', line)
fds = os.listdir('/proc/self/fd')
print(len(fds))
'''


def maps():
    bare, gated = run([PYTHON, '-c', MAPS], gate=False), run([PYTHON, '-c', MAPS], GATE_TEST_HANDLERS='all')
    assert bare.stdout == gated.stdout, (bare.stdout, gated.stdout)
    counts = report([PYTHON, '-c', 'import ssl'])
    assert counts['loads'] > 0 and counts['patched'] > 400, counts
    needed = report(GATE_TEST_PATCH='needed', GATE_TEST_HANDLERS='110')
    assert 0 < needed['patched'] < 100 and needed['unneeded'] > 400, needed


def gdb():
    """A debugger walks through the gate, and its breakpoints and library list work."""
    if not shutil.which('gdb'):
        sys.exit(77)
    for handlers in ("all", "none"):
        e = dict(os.environ, LD_PRELOAD=PRELOAD, GATE_TEST_HANDLERS=handlers)
        p = subprocess.Popen(['/bin/sleep', '30'], env=e)
        try:
            subprocess.run(['sleep', '0.5'])
            r = subprocess.run(['gdb', '--batch', '-nx', '-p', str(p.pid), '-ex', 'bt', '-ex', 'info sharedlibrary'],
                               capture_output=True, text=True, timeout=60)
        finally:
            p.kill()
            p.wait()
        if 'ptrace: Operation not permitted' in r.stderr:
            sys.exit(77)
        for frame in ('usf_gate_entry', 'nanosleep', '__libc_start'):
            assert frame in r.stdout, (frame, r.stdout, r.stderr)


globals()[sys.argv[2]]()
