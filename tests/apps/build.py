# tests/apps/build.py - what the cases need built, kept in a cache folder between runs.
# SPDX-License-Identifier: Apache-2.0
"""The cache is $USF_TEST_CACHE, or tests-cache in the build folder (the folder of $USF), or in
~/.cache/usf-tests.  Built programs are kept by a hash of their source and their build command."""
import functools
import hashlib
import os
import pathlib
import subprocess
import threading

HERE = pathlib.Path(__file__).resolve().parent
SOURCES = HERE / 'programs'


def cache_folder():
    if os.environ.get('USF_TEST_CACHE'):
        return pathlib.Path(os.environ['USF_TEST_CACHE']).absolute()
    if os.environ.get('USF'):
        return pathlib.Path(os.environ['USF']).absolute().parent / 'tests-cache'
    return pathlib.Path.home() / '.cache' / 'usf-tests'


CACHE = cache_folder()
BIN = CACHE / 'bin'
lock = threading.RLock()

# name: (source, command); $S = source file, $O = what to make.
PROGRAMS = {
    'threads': ('threads.c', 'gcc -D_GNU_SOURCE -Werror=implicit -O1 -g -pthread -o $O $S'),
    'threads-static': ('threads.c', 'gcc -D_GNU_SOURCE -Werror=implicit -O1 -static -pthread -o $O $S'),
    'smallstack': ('smallstack.c', 'gcc -D_GNU_SOURCE -Werror=implicit -O2 -pthread -o $O $S'),
    'closefds': ('closefds.c', 'gcc -D_GNU_SOURCE -Werror=implicit -O2 -pthread -o $O $S'),
    'daemonise': ('daemonise.c', 'gcc -D_GNU_SOURCE -Werror=implicit -O2 -pthread -o $O $S'),
    'signals-exact': ('signals-exact.c', 'gcc -D_GNU_SOURCE -Werror=implicit -O2 -pthread -o $O $S'),
    'signals-atomic': ('signals-atomic.c', 'gcc -D_GNU_SOURCE -Werror=implicit -O2 -pthread -o $O $S'),
    'goes-on': ('goes-on.c', 'gcc -D_GNU_SOURCE -Werror=implicit -O2 -pthread -o $O $S'),
    'filters-itself': ('filters-itself.c', 'gcc -D_GNU_SOURCE -Werror=implicit -O2 -pthread -o $O $S'),
    'signals-storm': ('signals-storm.c', 'gcc -D_GNU_SOURCE -Werror=implicit -O2 -pthread -o $O $S'),
    'cxx': ('cxx.cpp', 'g++ -O2 -std=c++20 -pthread -o $O $S'),
    'omp': ('omp.c', 'gcc -D_GNU_SOURCE -Werror=implicit -O2 -fopenmp -o $O $S'),
    'omp-clang': ('omp.c', 'clang -O2 -fopenmp -o $O $S'),
    'mpi-mpich': ('mpi.c', 'mpicc.mpich -O2 -o $O $S'),
    'mpi-openmpi': ('mpi.c', 'mpicc.openmpi -O2 -o $O $S'),
    'rust': ('threads.rs', 'rustc -O -o $O $S'),
    'go': ('threads.go', 'CGO_ENABLED=0 GOCACHE=$O.cache GO111MODULE=off go build -o $O $S'),
    'java': ('Threads.java', 'mkdir -p $O && javac -d $O $S'),
    'java-stacks': ('Stacks.java', 'mkdir -p $O && javac -d $O $S'),
    'ucontexts': ('ucontexts.c', 'gcc -D_GNU_SOURCE -Werror=implicit -O2 -pthread -o $O $S'),
    'fibers': ('fibers.cpp', 'g++ -O2 -std=c++17 -pthread -o $O $S -lboost_fiber -lboost_context'),
    'golib': ('golib.c', 'gcc -Werror=implicit -O2 -pthread -o $O $S'),
    'golib.so': ('golib.go', 'CGO_ENABLED=1 GOCACHE=$O.cache GO111MODULE=off go build -buildmode=c-shared -o $O $S'),
}


def shell(command, **kw):
    return subprocess.run(['/bin/sh', '-c', command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **kw)


def program(name):
    """(True, '') when $BIN/name is there, else (False, why)."""
    source, command = PROGRAMS[name]
    path = SOURCES / source
    key = hashlib.sha256(command.encode() + path.read_bytes()).hexdigest()[:16]
    kept, link = CACHE / 'built' / f'{name}-{key}', BIN / name
    with lock:
        if not kept.exists():
            kept.parent.mkdir(parents=True, exist_ok=True)
            temporary = kept.with_name(f'{kept.name}.{os.getpid()}')
            r = shell(command, env=dict(os.environ, S=str(path), O=str(temporary)))
            if r.returncode:
                return False, (r.stdout.strip() or 'no message').splitlines()[0]
            temporary.rename(kept)
        BIN.mkdir(parents=True, exist_ok=True)
        fresh = BIN / f'{name}.{os.getpid()}'
        fresh.unlink(missing_ok=True)
        fresh.symlink_to(kept)
        fresh.rename(link)
    return True, ''


@functools.lru_cache(maxsize=None)
def has_module(python, module):
    return subprocess.run([python, '-c', f'import importlib.util as u, sys; sys.exit(not u.find_spec("{module}"))'],
                          capture_output=True).returncode == 0


WHEELS = HERE.parent.parent / '.venv' / 'bin' / 'python3'


def venv():
    """(python, '') of the working tree's venv, with PyPI's numpy and scipy, whose OpenBLAS is their own; or (None, why)."""
    return (str(WHEELS), '') if WHEELS.exists() else (None, 'no .venv here: scripts/setup test')
