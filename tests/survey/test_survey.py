#!/usr/bin/python3
# tests/survey/test_survey.py - the survey itself: its lists, what it reports, what it leaves behind.  SPDX-License-Identifier: Apache-2.0
import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import survey
import table

LISTS = survey.ROOT / "scripts/packages"
# In place of usf: `run -- COMMAND` runs it as $FAKE says.
FAKE = """#!/bin/sh
while [ "$1" != -- ]; do shift; done; shift
case $FAKE in
crash) kill -SEGV $$ ;;
different) "$@"; echo more ;;
status) "$@"; exit 3 ;;
file) "$@"; echo 2 >> f ;;
*) exec "$@" ;;
esac
"""


def listed(*groups):
    return {line.split("#")[0].strip() for g in groups for line in (LISTS / f"{g}.txt").read_text().splitlines()} - {""}


class Lists(unittest.TestCase):
    def test_packages_are_listed(self):
        known, test = listed("survey", "build"), listed("test", "build") | {"python3", "tar", "gzip", "perl", "coreutils", "dash", "bash", "grep", "findutils",
                                                                              "sed"}
        for p in survey.load_programs():
            if not p.big:
                self.assertLessEqual(set(p.packages), known, p.name)
            if p.test:
                self.assertLessEqual(set(p.packages), test, p.name)

    def test_there_are_enough(self):
        self.assertGreaterEqual(sum(not p.big for p in survey.load_programs()), 120)


    def test_a_test_of_nothing_counts_as_skipped(self):
        for arguments, expected in ((True, 0, 0), 77), ((True, 0, 1), 1), ((True, 1, 0), 0), ((False, 0, 0), 0):
            self.assertEqual(survey.exit_status(*arguments), expected, arguments)


class Table(unittest.TestCase):
    @staticmethod
    def record(name, bare, ours, made):
        return {"name": name, "result": "same", "made": made, "note": ""} | {
            k: v for key in ("wall", "cpu") for k, v in ((key, [bare, ours]), (key + "_runs", [[bare], [ours]]))}

    def test_starts_explain_what_they_cost(self):
        """One start 3 ms, each of 300 more 0.2 ms."""
        results = {r["name"]: r for r in (self.record(table.ONE, .001, .004, 1), self.record(table.MANY, .3, .363, 300))}
        costs = table.start_costs(results)
        for ours, made, expected in ((.105, 1, True), (.12, 1, False), (.12, 100, True), (.20, 100, False)):
            self.assertEqual(table.is_start(self.record("p", .1, ours, made), costs), expected, (ours, made))
        self.assertIsNone(table.start_costs({}))
        self.assertFalse(table.is_start(self.record("p", .1, .2, 1), None))


class Runner(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="usf-survey-test-")))
        fake = self.dir / "usf"
        fake.write_text(FAKE)
        fake.chmod(0o755)
        args = argparse.Namespace(build=self.dir, usf=fake, options="", repeat=1, verbose=False)
        self.survey = survey.Survey(args)
        self.addCleanup(self.survey.close)

    def result(self, **entry):
        return self.survey.survey(survey.Program("x", {"name": "x", "run": "echo hello", **entry}))

    def test_same(self):
        r = self.result(check="echo $PORT $PWD")
        self.assertEqual(r["result"], "same", r)

    def test_what_differs_is_reported(self):
        for fake, result in (("crash", "crash"), ("different", "different"), ("status", "different")):
            r = self.result(env={"FAKE": fake})
            self.assertEqual(r["result"], result, r)

    def test_a_produced_file_is_compared(self):
        for check, result in (("cat f", "different"), ("", "same")):
            r = self.result(run="echo 1 > f", check=check, env={"FAKE": "file"})
            self.assertEqual(r["result"], result, r)

    def test_what_does_not_run_bare_is_no_failure(self):
        self.assertEqual(self.result(run="exit 5", needs=["sh"])["result"], "fails bare")
        self.assertEqual(self.result(expect="^bye$")["result"], "fails bare")
        self.assertEqual(self.result(needs=["no-such-command"])["result"], "skipped")
        self.assertEqual(self.result(prepare="false")["result"], "skipped")

    def test_hang_ends(self):
        r = self.result(run="sleep 1000 & sleep 1000", timeout=0.3)
        self.assertEqual(r["result"], "fails bare", r)
        self.assertIn("timeout", r["note"])

    def left(self, mark):
        return subprocess.run(["pgrep", "-f", "^sleep " + mark], capture_output=True, text=True, check=False).stdout.split()

    def test_grandchildren_are_measured_and_ended(self):
        reading, writing = os.pipe()
        mark = f"1000.{os.getpid()}1"
        busy = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"
        p = subprocess.Popen(["/bin/sh", "-c", f'exec 3>&{writing} "$@"', "x", sys.executable, str(survey.HERE / "meter.py"), "20", "", "/bin/sh", "-c",
                              f"setsid sh -c '{busy}; exec sleep {mark}' & exit 4"], pass_fds=[writing])
        os.close(writing)
        with open(reading) as f:
            said = json.loads(f.read())
        p.wait()
        self.assertEqual((said["status"], said["left"]), (4, 1), said)
        self.assertGreater(said["cpu"], 0)
        self.assertEqual(self.left(mark), [])

    def test_nothing_is_left_when_the_survey_is_killed(self):
        mark = f"1000.{os.getpid()}2"
        code = (f"import sys; sys.path.insert(0, {str(survey.HERE)!r}); import argparse, survey; s = survey.Survey(argparse.Namespace(build={str(self.dir)!r}, "
                f"usf='/bin/true', options='', repeat=1, verbose=False)); print(s.top, flush=True); "
                f"s.survey(survey.Program('x', dict(name='x', run='sleep {mark} & sleep {mark}')))")
        p = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        top = p.stdout.readline().strip()
        end = time.monotonic() + 20
        while len(self.left(mark)) < 2 and time.monotonic() < end:
            time.sleep(0.02)
        self.assertGreaterEqual(len(self.left(mark)), 2)
        p.send_signal(signal.SIGKILL)
        p.wait()
        p.stdout.close()
        end = time.monotonic() + 60
        while self.left(mark) and time.monotonic() < end:
            time.sleep(0.02)
        self.assertEqual(self.left(mark), [])
        subprocess.run(["rm", "-rf", top], check=True)


if __name__ == "__main__":
    unittest.main()
