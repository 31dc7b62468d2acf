# tests/odd/odd.py - what the tests of odd machines share.  SPDX-License-Identifier: Apache-2.0
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import hung
import instance

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


class Case(instance.Instance):
    tool, kind, patience = FILES["usf"], "odd", HANG

    def start(self, *command, **kw):
        kw.setdefault("env", self.env)
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                start_new_session=True, **kw)

    def end(self, p):
        out, err = hung.output(self, p, HANG)
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
        self.soon(lambda: not os.path.lexists(self.segment), "the instance is left behind")
        self.soon(lambda: not watchers(self.instance), "its monitor or supervisor is left behind")


def watchers(name):
    """Processes `usf monitor NAME`: the monitor and its supervisor."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as f:
                words = f.read().split(b"\0")
        except OSError:         # it has just ended
            continue
        if words[1:3] == [b"monitor", name.encode()]:
            found.append(int(pid))
    return found


def can(*command):
    """Is such a command to be had, and allowed, here?"""
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=HANG).returncode == 0
    except OSError:
        return False


def main():
    instance.main(850)
