#!/usr/bin/python3
# tests/tune/test_journal.py - searches that are ended, go on, or meet.  SPDX-License-Identifier: Apache-2.0
import json
import os
import signal
import subprocess

from common import USF, Case, instance, tune


class Library(Case):
    def search(self, calls, resume=False, space=None, **more):
        def objective(c):
            calls.append(c["n"])
            if len(calls) == more.get("stop"):
                raise KeyboardInterrupt
            return abs(c["n"] - 30) + 1
        return tune.search(space or tune.Space({"n": range(60)}), objective, journal=self.path("j"), resume=resume)

    def test_resume_measures_nothing_twice(self):
        whole = []
        expected = self.search(whole)
        os.unlink(self.path("j"))
        first, second = [], []
        with self.assertRaises(KeyboardInterrupt):
            self.search(first, stop=10)
        result = self.search(second, resume=True)
        self.assertEqual(first[:9] + second, whole)
        self.assertEqual((result.best, result.runs), (expected.best, expected.runs))
        third = []
        self.assertEqual(self.search(third, resume=True).best, expected.best)
        self.assertEqual(third, [])

    def test_a_line_that_was_begun_does_not_count(self):
        calls = []
        self.search(calls)
        with open(self.path("j"), "rb+") as f:
            data = f.read()
            f.truncate(len(data) - 7)
        again = []
        self.search(again, resume=True)
        self.assertEqual(again, calls[-1:])
        self.assertTrue(all(json.loads(line) for line in self.lines("j")))

    def test_what_is_refused(self):
        self.search([])
        for words, resume, space in ("there already: go on with --resume", False, None), ("of another search, whose space was", True, tune.Space({"n": range(61)})):
            with self.assertRaisesRegex(tune.TuneError, words):
                self.search([], resume=resume, space=space)
        for text, words in ("{}\n", "another version"), ("no\n", "line 1 is not"), (self.lines("j")[0] + "\n{\"candidate\": 1}\n", "line 2 is not"):
            self.write("j", text)
            with self.assertRaisesRegex(tune.TuneError, words):
                self.search([], resume=True)
        with self.assertRaisesRegex(tune.TuneError, "Is a directory|No such"):
            tune.search(tune.Space({"n": [1]}), lambda c: 1, journal=self.path("no/j"))

    def test_objectives_that_raise_leave_the_journal_closed(self):
        with self.assertRaises(tune.TuneError):
            tune.search(tune.Space({"n": [1, 2]}), lambda c: 1 / 0, journal=self.path("j"))
        with self.assertRaises(tune.TuneError):
            tune.search(tune.Space({"n": [1, 2]}), lambda c: 1 / 0, journal=self.path("j"), resume=True)


class Programs(Case):
    def start(self, *args):
        p = subprocess.Popen([USF, "tune", *args], env=self.env, cwd=self.dir, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True)
        self.addCleanup(self.end, p)
        return p

    @staticmethod
    def end(p):
        p.kill()
        p.communicate()

    def test_resume_after_kill_9(self):
        self.write("prog", "#!/bin/sh\necho $1 >>log\nexec sleep 0.03\n", 0o755)
        p = self.start("--vary", "n=1:6", "--search", "grid", "--hopeless", "off", "--bare", "-o", "best.toml", "--", "./prog", "{n}")
        self.soon(lambda: len(self.lines("log")) >= 5, "the tuner runs nothing")
        p.send_signal(signal.SIGKILL)
        p.communicate()
        self.assertFalse(os.path.exists(self.path("best.toml")))
        known = len(self.lines("best.toml.journal")) - 1
        self.assertGreaterEqual(known, 4)
        self.good("tune", "--resume", "-o", "best.toml")
        self.assertEqual(len(self.lines("best.toml.journal")), 1 + 18)
        self.assertIn(len(self.lines("log")), (18, 19))         # the run that was under way is made again
        self.assertIn("runs = 18", self.lines("best.toml"))

    def test_two_tuners(self):
        self.write("prog", "#!/bin/sh\n: >started\nwhile [ ! -e go ]; do sleep 0.02; done\n", 0o755)
        words = "--vary", "n=1:2", "--bare", "--hopeless", "off"
        p = self.start(*words, "--", "./prog", "{n}")
        self.soon(lambda: os.path.exists(self.path("started")), "the tuner runs nothing")
        self.bad(125, "another tuner is using it", "tune", "--resume", *words, "--", "./prog", "{n}")
        self.write("go", "")
        out, err = p.communicate(timeout=instance.HANG)
        self.assertEqual((p.returncode, err), (0, ""), out)

    def interrupt(self, signum):
        self.write("prog", "#!/bin/sh\nsleep 1000 &\necho $! >child\necho $$ >pid.new\nmv pid.new pid\nwait\n", 0o755)
        p = self.start("--vary", "n=1:2", "--bare", "--", "./prog", "{n}")
        self.soon(lambda: os.path.exists(self.path("pid")), "the tuner runs nothing")
        pids = [int(self.lines(name)[0]) for name in ("pid", "child")]
        p.send_signal(signum)
        out, err = p.communicate(timeout=instance.HANG)
        self.assertEqual((p.returncode, out), (128 + signum, ""), err)
        self.assertIn("go on with: usf tune --resume -o usf-tune.toml", err)
        self.assertNotIn("Traceback", err)
        self.soon(lambda: not any(running(pid) for pid in pids), "the program's processes are left")
        self.assertEqual(len(self.lines("usf-tune.toml.journal")), 1)

    def test_ctrl_c(self):
        self.interrupt(signal.SIGINT)

    def test_sigterm(self):
        self.interrupt(signal.SIGTERM)

    def test_resume_of_nothing(self):
        self.bad(125, "there is no journal", "tune", "--resume")
        self.write("usf-tune.toml.journal", "")
        self.bad(125, "nothing to vary", "tune", "--resume")


def running(pid):
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8") as f:
            return f.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


instance.main(150)
