# tests/odd/odd.py - what the tests of odd machines share.  SPDX-License-Identifier: Apache-2.0
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SEED = int(os.environ.get("SEED", random.randrange(1 << 30)))
HANG = 100                      # seconds: it has hung
FILES = {k: os.environ.get("ODD_" + k.upper(), "")
         for k in ("usf", "deny", "load", "hog", "inside", "marks", "marks_so", "policy", "realtime")}
LOAD, HOG = FILES["load"], FILES["hog"]


class Result:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    @property
    def processes(self):
        """Processes that were scheduled, by --stats; None without."""
        m = re.search(r"in instance \S+ (\d+) process", self.err) or re.search(r"in instance [^,]+, (\d+) process", self.err)
        return int(m.group(1)) if m else None

    @property
    def warnings(self):
        """What usf had to say that is no statistics."""
        return [l for l in self.err.splitlines() if l.startswith("usf: ") and not re.match(r"usf:   |usf: .* in instance ", l)]

    def __str__(self):
        return "exit %s\n%s\n%s" % (self.code, self.out, self.err)


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="usf-odd-")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.env = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": self.dir, "LANG": "C.UTF-8", "USF_SYSTEM_CONFIG": "/nowhere/none", "USF_MONITOR_LINGER": "0"}

        self.take_another_instance()

    def take_another_instance(self):
        self.instance = self.env["USF_INSTANCE"] = "test-odd-%d-%d" % (os.getpid(), random.randrange(1 << 30))
        self.addCleanup(self.clean, self.instance)

    def clean(self, instance):
        subprocess.run([FILES["usf"], "clean", "-i", instance, "--force"], env=self.env, capture_output=True, timeout=HANG)
        path = "/dev/shm/usf-%d-%s" % (os.geteuid(), instance)
        if os.path.lexists(path):
            os.unlink(path)

    @property
    def segment(self):
        return "/dev/shm/usf-%d-%s" % (os.geteuid(), self.instance)

    def start(self, *command, **kw):
        kw.setdefault("env", self.env)
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                start_new_session=True, **kw)

    def end(self, p):
        try:
            out, err = p.communicate(timeout=HANG)
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            out, err = p.communicate()
            self.fail("%s hangs\n%s\n%s" % (p.args, out, err))
        return Result(p.returncode, out, err)

    def run_it(self, *command, **kw):
        return self.end(self.start(*command, **kw))

    def usf(self, *args):
        return [FILES["usf"], "run", *args]

    def scheduled(self, r, at_least=1):
        self.assertEqual((r.code, r.out), (0, "done\n"), r)
        self.assertEqual(r.warnings, [], r)
        self.assertIsNotNone(r.processes, r)
        self.assertGreaterEqual(r.processes, at_least, r)

    def unscheduled(self, r, *words):
        """It ran, and one line said why not under usf."""
        self.assertEqual((r.code, r.out), (0, "done\n"), r)
        self.assertEqual(len(r.warnings), 1, r)
        self.assertIn("it runs unscheduled", r.warnings[0])
        for w in words:
            self.assertIn(w, r.warnings[0])

    def gone_soon(self):
        end = time.monotonic() + HANG
        while os.path.lexists(self.segment) and time.monotonic() < end:
            time.sleep(0.02)
        self.assertFalse(os.path.lexists(self.segment), "the instance is left behind")


def can(*command):
    """Is such a command to be had, and allowed, here?"""
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=HANG).returncode == 0
    except OSError:
        return False


def out_of_time(*_):
    """As an error, so that what was started is ended, and what was made removed."""
    signal.alarm(20)
    raise TimeoutError("the time is over")


def main():
    signal.signal(signal.SIGALRM, out_of_time)
    signal.signal(signal.SIGTERM, out_of_time)
    signal.alarm(850)
    print("seed", SEED, file=sys.stderr)
    random.seed(SEED)
    r = unittest.main(exit=False, verbosity=1).result
    for test, why in r.skipped:
        print("skipped: %s: %s" % (test.id(), why))
    if r.testsRun and len(r.skipped) == r.testsRun:
        sys.exit(77)
    sys.exit(0 if r.wasSuccessful() else 1)
