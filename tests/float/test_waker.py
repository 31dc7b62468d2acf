#!/usr/bin/python3
# tests/float/test_waker.py - a program is killed after it has given its core away.  SPDX-License-Identifier: Apache-2.0
"""usage: test_waker.py USF PAIR waker|lease

Two programs have one core.  waker: the one that is killed has given it to a floating thread of the other, and has not woken that yet;
no further task waits.  lease: it gives it to another of its own threads, without the scheduler lock.  Each time the other program is
to go on: the monitor sees to that."""
import mmap
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time

CASES = {       # what goes on, what is killed, at which points, and those of them that are sure to be reached
    "waker": ([], [], ["sched.put_on", "sched.unlock", "sched.unlocked", "sched.pinning", "sched.wake"], {"sched.unlocked", "sched.pinning"}),
    "lease": (["sleeps"], ["--yield"], ["lease.make", "lease.named", "lease.ready", "lease.put_on", "lease.yielded", "lease.ended"],
              {"lease.make", "lease.named", "lease.ready", "lease.put_on", "lease.yielded"}),
}
PATIENCE = 20       # seconds; the monitor looks each 10 ms


def count(counter):
    return struct.unpack("Q", counter[:8])[0]


def goes_on(counter):
    was, until = count(counter), time.monotonic() + PATIENCE
    while count(counter) < was + 100:
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def kill_at(usf, program, instance, point, visit, log):
    """True: it was killed there."""
    env = dict(os.environ, USF_POINTS=f"kill={point}:{visit},log={log}")
    yields = subprocess.Popen([usf, "run", "--attach", "now", "--instance", instance, "--", *program], env=env)
    try:
        yields.wait(10)
    except subprocess.TimeoutExpired:
        yields.kill()
        yields.wait()
    return os.path.exists(log) and os.path.getsize(log) > 0


def main():
    usf, pair, case = sys.argv[1:]
    stays, dies, points, sure = CASES[case]
    instance, reached = f"waker-{os.getpid()}", set()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "count")
        with open(path, "wb") as f:
            f.write(bytes(4096))
        with open(path, "r+b") as f:
            counter = mmap.mmap(f.fileno(), 4096)
        runs = subprocess.Popen([usf, "run", "--instance", instance, "--cpus", str(min(os.sched_getaffinity(0))), "--", pair, path, *stays],
                                start_new_session=True)
        try:
            if not goes_on(counter):
                sys.exit("the program does not begin")
            for point in points:
                for visit in (40, 41, 60):
                    log = os.path.join(folder, f"{point}-{visit}")
                    if kill_at(usf, [pair, *dies], instance, point, visit, log):
                        reached.add(point)
                    if runs.poll() is not None:
                        sys.exit(f"{point}, visit {visit}: the other program has ended ({runs.returncode})")
                    if not goes_on(counter):
                        sys.exit(f"{point}, visit {visit}: the other program's threads do not go on")
        finally:
            os.killpg(runs.pid, signal.SIGKILL)
            runs.wait()
            subprocess.run([usf, "clean", "-i", instance], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    if sure - reached:
        sys.exit(f"killed at {', '.join(sorted(reached)) or 'none'} of {', '.join(points)} only")
    print("killed at", ", ".join(sorted(reached)))


main()
