#!/usr/bin/python3
# tests/gate/programs.py - real programs give the same output with the gate preloaded.
# SPDX-License-Identifier: Apache-2.0
"""programs.py PRELOAD.so programs | cache | share | copying | maps | gdb"""
import ctypes, errno, fcntl, os, shutil, stat, struct, subprocess, sys, tempfile, time

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


def run(cmd, gate=True, before=None, **env):
    e = dict(os.environ, **env)
    if gate:
        e['LD_PRELOAD'] = PRELOAD
    return subprocess.run(cmd, env=e, input=STDIN, capture_output=True, timeout=60, preexec_fn=before)


SYS_MPROTECT, SYS_PWRITE, SYS_FSYNC, SYS_STATFS = 10, 18, 74, 137


def refuse(*calls):
    """A function that filters this process's system calls: each (number, argument's place or None, value, error) fails like that; with
    error 0 it does nothing, and says that it has worked."""
    code = b''
    for nr, place, value, error in calls:
        args = () if place is None else ((0x20, 0, 0, 16 + 8 * place), (0x15, 0, 1, value))
        for i in ((0x20, 0, 0, 0), (0x15, 0, 1 + len(args), nr), *args, (0x06, 0, 0, 0x50000 | error)):
            code += struct.pack('HBBI', *i)
    code += struct.pack('HBBI', 0x06, 0, 0, 0x7fff0000)
    libc, data = ctypes.CDLL(None), ctypes.create_string_buffer(code)
    filter = ctypes.create_string_buffer(struct.pack('HxxxxxxP', len(code) // 8, ctypes.addressof(data)))

    def install(keep=data):
        if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, filter, 0, 0):
            raise OSError('no filter')
    return install


def report(cmd=('/bin/true',), before=None, **env):
    """The gate's own counts at the end of the program."""
    with tempfile.NamedTemporaryFile() as f:
        r = run(cmd, before=before, GATE_TEST_REPORT=f.name, **env)
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


SPAWNS = '''#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
__thread volatile unsigned char storage[1024];
int main(int argc, char **argv)
{
    int status;
    for (int i = 0; i < 1024; i++) storage[i] = i % 251;
    pid_t p = vfork();
    if (!p) _exit(storage[7]);
    for (int i = 0; i < 1024; i++) if (storage[i] != i % 251) return 2;
    if (waitpid(p, &status, 0) != p || WEXITSTATUS(status) != 7) return 3;
    return posix_spawn(&p, "/bin/true", 0, 0, argv, 0) || waitpid(p, &status, 0) != p || status;
}
'''
TAIL = 17 * 8           # struct tail of share.c
LIBC = next(line.split()[-1] for line in open('/proc/self/maps') if '/libc.so.6' in line)


def libc_key():
    """What the names of libc's files in the cache begin with."""
    notes = subprocess.run(['readelf', '-n', LIBC], capture_output=True, text=True, check=True).stdout
    return '62' + next(line.split()[-1] for line in notes.splitlines() if 'Build ID' in line)


def share():
    """Code that is patched already is mapped where it is right, and only there; programs do not notice."""
    with tempfile.TemporaryDirectory() as tmp:
        d = tmp + '/cache'
        env = {'GATE_TEST_CACHE': d, 'GATE_TEST_SHARE': '1', 'GATE_TEST_PATCH': 'needed'}
        plain = report(GATE_TEST_PATCH='needed')
        copies = lambda: sorted(f'{d}/{f}' for f in os.listdir(d) if f.endswith('.code') and f.startswith(libc_key()))

        def check(shared, linker=1, **more):
            r = report(**env, **more)
            same = 'objects', 'sites', 'patched', 'unpatched'
            assert r['shared'] == shared + linker and all(r[k] == plain[k] for k in same), (plain, r, shared)
        check(0, linker=0)
        check(1)
        code, = copies()
        assert stat.S_IMODE(os.stat(code).st_mode) == 0o400
        assert code in run(['cat', '/proc/self/maps'], **env).stdout.decode()
        for cmd in PROGRAMS:
            if shutil.which(cmd[0]):
                bare, r = run(cmd, gate=False), run(cmd, **env)
                assert (r.returncode, r.stdout) == (bare.returncode, bare.stdout), (cmd, bare, r)
        # One copy serves programs whose thread storage has another layout.
        with tempfile.NamedTemporaryFile('w', suffix='.c') as f:
            f.write(SPAWNS)
            f.flush()
            subprocess.run(['gcc', '-o', tmp + '/spawns', f.name], check=True)
        r = report([tmp + '/spawns'], **env)
        assert r['shared'] == 2 and r['vforked'] == 0 and copies() == [code], (r, copies())
        good = open(code, 'rb').read()

        def spoil(content):
            os.chmod(code, 0o600)
            open(code, 'wb').write(content)
            os.chmod(code, 0o400)
        for change in (lambda b: b[:-1], lambda b: b + b'x', lambda b: b[:-TAIL] + bytes(8) + b[-TAIL + 8:],
                       lambda b: b[:-1] + bytes([b[-1] ^ 1])):
            spoil(change(good))
            check(0)
            assert open(code, 'rb').read() == good                  # made anew
            check(1)
        for mode in 0o422, 0o600:                                   # somebody may write it: not believed
            os.chmod(code, mode)
            check(0)
            check(1)                                                # made anew
        # Another file with the same build-id is another object, whatever is in it.
        os.mkdir(tmp + '/lib')
        shutil.copy(LIBC, tmp + '/lib/libc.so.6')
        check(0, LD_LIBRARY_PATH=tmp + '/lib')
        check(1, LD_LIBRARY_PATH=tmp + '/lib')
        check(1)
        assert len(copies()) == 2, copies()
        # What has not been used for long goes when another is made.
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


def copying():
    """Copies of code are made once, rightly or not at all, not again and again, and do not become more and more."""
    with tempfile.TemporaryDirectory() as tmp:
        d = tmp + '/cache'
        env = {'GATE_TEST_CACHE': d, 'GATE_TEST_SHARE': '1', 'GATE_TEST_PATCH': 'needed'}
        report(**env)
        linker = [f for f in os.listdir(d) if f.endswith('.code') and not f.startswith(libc_key())]
        files = lambda end: sorted(f'{d}/{f}' for f in os.listdir(d) if f.endswith(end) and f not in linker)
        shared = lambda before=None: report(before=before, **env)['shared'] - 1     # the linker's copy is there, and right
        for f in files('.code'):
            os.unlink(f)
        age = lambda f, seconds: os.utime(f, (time.time() - seconds,) * 2)
        hour, day = 3600, 86400

        def fake(name, seconds, content=b'x'):
            with open(f'{d}/{name}', 'wb') as f:
                f.write(content)
            age(f.name, seconds)
            return f.name
        # Not where another machine may take the file away.
        assert shared(refuse((SYS_STATFS, None, 0, 0))) == -1
        assert not files('.code') and not files('.new')
        # A jump that cannot be written: what has been written is not for others.
        torn = refuse((SYS_PWRITE, 2, 5, errno.EPERM), (SYS_MPROTECT, 2, 3, errno.EACCES))
        r = run(['/bin/true'], before=torn, **env)
        assert r.returncode == 0 and b'cannot be written' in r.stderr, r
        code, = files('.code')
        empty = lambda: os.path.getsize(code) == 0 and not files('.new')
        assert empty()
        # It failed: not to be tried again at each start.
        assert (shared(), shared()) == (0, 0) and empty()
        age(code, hour)
        assert shared(refuse((SYS_FSYNC, None, 0, errno.EIO))) == 0 and empty()
        assert time.time() - os.stat(code).st_mtime < hour / 2 and shared() == 0 and empty()
        age(code, hour)
        assert (shared(), shared()) == (0, 1) and not empty() and not files('.new')
        good = open(code, 'rb').read()

        # Another is at it; it is killed, and leaves what it has.
        os.unlink(code)
        with open(code + '.new', 'wb') as f:
            f.write(b'x' * (2 * len(good)))
            f.flush()
            fcntl.flock(f, fcntl.LOCK_EX)
            assert shared() == 0 and not files('.code') and os.path.getsize(f.name) == 2 * len(good)
            left, fresh, busy = fake('b0.0.code.new', 2 * hour), fake('b1.0.code.new', 0), fake('b2.0.code.new', 2 * hour)
            lock = open(busy)
            fcntl.flock(lock, fcntl.LOCK_EX)
        assert (shared(), shared()) == (0, 1) and open(code, 'rb').read() == good
        assert files('.new') == [fresh, busy]
        for f in fresh, busy:
            os.unlink(f)
        os.unlink(code)
        starts = [subprocess.Popen(['/bin/true'], env=dict(os.environ, LD_PRELOAD=PRELOAD, **env)) for _ in range(6)]
        assert not any([p.wait(60) for p in starts])
        assert files('.code') == [code] and not files('.new') and open(code, 'rb').read() == good and shared() == 1

        # The time of its last use is known within the hour or so.
        age(code, hour / 2)
        assert shared() == 1 and time.time() - os.stat(code).st_mtime > hour / 4
        age(code, 3 * hour)
        assert shared() == 1 and time.time() - os.stat(code).st_mtime < hour / 4
        # Not more than eight of an object, unless they are in use; none of any that nobody uses.
        key = os.path.basename(code).split('.')[0]
        others = [fake(f'{key}.{i:016x}.code', 60 * i) for i in range(8)]
        unused, kept = fake('b3.0.code', 31 * day), fake('b3.1.code', 29 * day)
        os.unlink(code)
        assert shared() == 0 and empty() and set(others) < set(files('.code'))
        assert not os.path.exists(unused) and os.path.exists(kept)
        age(others[3], 4 * hour)
        age(others[5], 3 * hour)
        os.unlink(code)
        assert (shared(), shared()) == (0, 1)
        assert files('.code') == sorted([code, kept] + others[:3] + others[4:]), files('.code')



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


def sleeps(pid):
    """In nanosleep or clock_nanosleep.  Where this may not be read, gdb may not attach either."""
    try:
        with open(f'/proc/{pid}/syscall', encoding='ascii') as f:
            return f.read().split()[0] in ('35', '230')
    except PermissionError:
        sys.exit(77)


def gdb():
    """A debugger walks through the gate, and its breakpoints and library list work."""
    if not shutil.which('gdb'):
        sys.exit(77)
    for handlers in ("all", "none"):
        e = dict(os.environ, LD_PRELOAD=PRELOAD, GATE_TEST_HANDLERS=handlers)
        p = subprocess.Popen(['/bin/sleep', '30'], env=e)
        try:
            until = time.monotonic() + 60
            while not sleeps(p.pid):
                assert time.monotonic() < until and p.poll() is None, 'it does not sleep'
                time.sleep(0.01)
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
