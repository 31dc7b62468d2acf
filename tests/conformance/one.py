# tests/conformance/one.py - run one program of a suite, bare or under usf.  SPDX-License-Identifier: Apache-2.0
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / 'apps'))
import watch  # noqa: E402


def environment(instance, more=()):
    env = {k: v for k, v in os.environ.items() if not k.startswith(('USF', 'OMP_', 'KMP_', 'GOMP_'))}
    return dict(env, USF_INSTANCE=f'conf-{os.getpid()}-{instance}'[:47], **dict(more))


def run(command, log, env, limit, folder=None):
    """How it ended: an exit code as a number, or 'killed by SIGNAL', or 'hang'.  Its folder is a fresh one unless told;
    whatever it leaves behind in its session is ended."""
    top = tempfile.mkdtemp(prefix='conf-')
    with open(log, 'ab') as out:
        out.write(f'\n=== {" ".join(map(str, command))}\n'.encode())
        out.flush()
        p = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd=folder or top,
                             env=dict(env, TMPDIR=top), start_new_session=True)
        try:
            code = p.wait(limit)
            status = code if code >= 0 else f'killed by {signal.Signals(-code).name}'
        except subprocess.TimeoutExpired:
            out.write(f'\n=== stands still\n{watch.describe_session(p.pid)}'.encode())
            status = 'hang'
        watch.end_session(p.pid)
        p.wait()
    shutil.rmtree(top, ignore_errors=True)
    return status
