# tests/instance.py - what tests share that run programs in instances of their own.  SPDX-License-Identifier: Apache-2.0
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SEED = int(os.environ.get("SEED", random.randrange(1 << 30)))
HANG = 60                       # seconds: it has hung
CPUS = sorted(os.sched_getaffinity(0))[:2]


def segment_of(instance):
    return "/dev/shm/usf-%d-%s" % (os.geteuid(), instance)


class Instance(unittest.TestCase):
    """An instance, a folder and an environment of the test's own, which end with it."""

    tool = kind = ""            # the usf under test; what the instance is for
    patience = HANG

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="usf-%s-" % self.kind)
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.env = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": self.dir, "LANG": "C.UTF-8", "USF_SYSTEM_CONFIG": "/nowhere/none",
                    "USF_MONITOR_LINGER": "0"}
        self.take_another_instance()

    def take_another_instance(self):
        self.instance = self.env["USF_INSTANCE"] = "test-%s-%d-%d" % (self.kind, os.getpid(), random.randrange(1 << 30))
        self.addCleanup(self.clean, self.instance)

    def clean(self, instance):
        subprocess.run([self.tool, "clean", "-i", instance, "--force"], env={"PATH": "/usr/bin:/bin"}, capture_output=True, timeout=HANG)
        if os.path.lexists(segment_of(instance)):
            os.unlink(segment_of(instance))

    @property
    def segment(self):
        return segment_of(self.instance)

    def soon(self, what, text):
        end = time.monotonic() + self.patience
        while not what():
            self.assertLess(time.monotonic(), end, text)
            time.sleep(0.02)


class Programs(Instance):
    """Programs that are spoken to, in the environment that the test has; they end with it."""

    def setUp(self):
        super().setUp()
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "USF_", "KMP_", "GOMP_"))}
        self.env["USF_INSTANCE"] = self.instance

    def run_of(self, *options):
        """What a command begins with that runs in the instance, on two CPUs."""
        return [self.tool, "run", "-i", self.instance, "-c", ",".join(map(str, CPUS)), *options, "--"]

    def start(self, *command, **more):
        p = subprocess.Popen(command, text=True, **{"env": self.env, "stdin": subprocess.PIPE, "stdout": subprocess.PIPE, **more})
        self.addCleanup(self.end, p)
        return p

    @staticmethod
    def end(p):
        p.kill()
        p.wait()
        for pipe in (p.stdin, p.stdout, p.stderr):
            if pipe:
                pipe.close()

    def says(self, p, *words):
        """Its answer to a line of such words."""
        p.stdin.write(" ".join(map(str, words)) + "\n")
        p.stdin.flush()
        line = p.stdout.readline()
        if not line:
            self.fail("%s: the program has ended: %s" % (words, p.communicate()[1]))
        return line.strip()

    def result(self, *command, **more):
        """What a command prints that has nothing to complain of."""
        r = subprocess.run(command, capture_output=True, text=True, timeout=HANG, **{"env": self.env, **more})
        self.assertEqual((r.returncode, r.stderr), (0, ""), (command, r.stdout))
        return r.stdout.rstrip("\n")

    def usf(self, *args):
        return self.result(self.tool, *args)

    def shown(self):
        """What `usf ps` tells of the instance."""
        i, = json.loads(self.usf("ps", "-i", self.instance, "--json"))
        return i

    def process(self, pid):
        """The same of a process; None: it takes no part."""
        return next((q for q in self.shown()["processes"] if q["pid"] == pid), None)


def out_of_time(*_):
    """As an error, so that what was started is ended, and what was made removed."""
    signal.alarm(20)
    raise TimeoutError("the time is over")


def begin(seconds):
    """Self-kill timer and seed; call first in main."""
    signal.signal(signal.SIGALRM, out_of_time)
    signal.signal(signal.SIGTERM, out_of_time)
    signal.alarm(seconds)
    print("seed", SEED, file=sys.stderr)
    random.seed(SEED)


def main(seconds, taken=0, verbosity=1):
    """taken: so many of the arguments are the test's own, the others unittest's."""
    begin(seconds)
    r = unittest.main(argv=sys.argv[:1] + sys.argv[1 + taken:], exit=False, verbosity=verbosity).result
    for test, why in r.skipped:
        print("skipped: %s: %s" % (test.id(), why))
    if r.testsRun and len(r.skipped) == r.testsRun:
        sys.exit(77)
    sys.exit(0 if r.wasSuccessful() else 1)
