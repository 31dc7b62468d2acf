# tests/conformance/one.py - run one program of a suite, bare or under usf.  SPDX-License-Identifier: Apache-2.0
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / 'apps'))
import watch  # noqa: E402

# A run in a shell's background would hand down that SIGINT is ignored, and tests of it would fail, bare as well.
signal.signal(signal.SIGINT, signal.default_int_handler)

live, stopping = set(), threading.Event()     # sessions that run now; the whole run is to end
instances = set()


def stop():
    """End what runs, and start nothing more."""
    stopping.set()
    for sid in list(live):
        watch.end_session(sid)


class Stopped(Exception):
    pass


def started(command, out, folder, env):
    """A program in a session of its own, which stop() ends."""
    if stopping.is_set():
        raise Stopped
    p = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd=folder, env=env, start_new_session=True)
    live.add(p.pid)
    return p


def ended(p):
    """... and whatever it has left in its session."""
    watch.end_session(p.pid)
    p.wait()
    live.discard(p.pid)
    if stopping.is_set():
        raise Stopped


def name_instance(what):
    name = f'conf-{os.getpid()}-{what}'[:47]
    instances.add(name)
    return name


def environment(instance, more=()):
    env = {k: v for k, v in os.environ.items() if not k.startswith(('USF', 'OMP_', 'KMP_', 'GOMP_'))}
    return dict(env, USF_INSTANCE=name_instance(instance), **dict(more))


def run(command, log, env, limit, folder=None):
    """How it ended: an exit code as a number, or 'killed by SIGNAL', or 'hang'.  Its folder is a fresh one unless told;
    whatever it leaves behind in its session is ended."""
    top = tempfile.mkdtemp(prefix='conf-')
    with open(log, 'ab') as out:
        out.write(f'\n=== {" ".join(map(str, command))}\n'.encode())
        out.flush()
        p = started(command, out, folder or top, dict(env, TMPDIR=top))
        try:
            code = p.wait(limit)
            status = code if code >= 0 else f'killed by {signal.Signals(-code).name}'
        except subprocess.TimeoutExpired:
            out.write(f'\n=== stands still\n{watch.describe_session(p.pid)}'.encode())
            status = 'hang'
        try:
            ended(p)
        finally:
            shutil.rmtree(top, ignore_errors=True)
    return status
