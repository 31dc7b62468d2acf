#!/usr/bin/python3
# tests/context/test_user.py - CPUs of contexts that the user gives from outside.  SPDX-License-Identifier: Apache-2.0
# usage: test_user.py USF PROGRAM (user.c)
import os
import subprocess
import sys
import tempfile
import unittest

USF, PROGRAM = (os.path.abspath(a) for a in sys.argv[1:3])
del sys.argv[1:3]
FIRST, LAST = (sorted(os.sched_getaffinity(0))[i] for i in (0, -1))
NONE = 1023                     # a CPU that no machine of the tests has

PYTHON = """
import os, usf
print(os.cpu_count() == len(os.sched_getaffinity(0)))
a, b = usf.Context("a"), usf.Context("b", cpus=[%d])
a.cpus = [%d]
print(a.cpus, b.cpus, a.run(os.cpu_count), a.run(lambda: sorted(os.sched_getaffinity(0))))
try:
    usf.Context("bad")
except ValueError as e:
    print(e)
"""


class User(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dir = folder.name
        self.env = {**{k: v for k, v in os.environ.items() if not k.startswith("USF_")}, "HOME": self.dir, "USF_SYSTEM_CONFIG": "/nowhere/none"}

    def run_all(self, command, add, code=0):
        p = subprocess.run(command, env={**self.env, **add}, cwd=self.dir, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
        self.assertEqual(p.returncode, code, p.stdout + p.stderr)
        return p

    def made(self, *args, **add):
        """What the program prints of each context."""
        return self.run_all([PROGRAM, *args], add).stdout.splitlines()

    def under_usf(self, options, *args, **add):
        return self.run_all([USF, "run", "--share", "process", "--monitor-linger", "0", *options, "--", PROGRAM, *args], add).stdout.splitlines()

    def write(self, name, text):
        with open(os.path.join(self.dir, name), "w", encoding="utf-8") as f:
            f.write(text)
        return name

    def test_the_user_decides(self):
        args = "a=%d" % LAST, "b c", "d=%d" % LAST, "a=%d:%d" % (LAST, LAST), "."
        given = "a=%d ;b c = %d;context 5=%d;" % (FIRST, LAST, FIRST)
        self.assertEqual(self.made(*args, USF_CONTEXTS=given),
                         ["a: %d" % FIRST, "b c: %d" % LAST, "d: %d" % LAST, "a: %d" % FIRST, "context 5: %d" % FIRST])
        self.assertEqual(self.made("a=%d" % LAST, USF_CONTEXTS=""), ["a: %d" % LAST])
        self.assertEqual(self.made("ab=%d" % LAST, "A=%d" % LAST, USF_CONTEXTS="a=%d" % FIRST), ["ab: %d" % LAST, "A: %d" % LAST])

    def test_mistakes(self):
        for given, words in [("a", "'a' is not a context's name"), ("a=", "'a='"), ("=0", "'=0'"), ("b=x", "'b=x'"), ("a=0;a=0", "'a' comes twice"), ("b=0-", "'b=0-'"),
                             ("a=0,;", "'a=0,'"), ("x" * 64 + "=0", "xxx..."), ("b=3-1", "'b=3-1'"), ("b=99999999", "'b=9"), ("a=0;" * 1000, "longer than 2047")]:
            with self.subTest(given=given[:70]):
                line, = self.made("a", USF_CONTEXTS=given)
                self.assertTrue(line.startswith("a: error: USF_CONTEXTS: "), line)
                self.assertIn(words, line)
                p = self.run_all([USF, "run", "--contexts", given, "--", "true"], {}, 125)
                self.assertTrue(p.stderr.startswith("usf: --contexts: '"), p.stderr)
                self.assertIn(words, p.stderr)

    def test_cpus_that_the_process_may_not_use(self):
        for line in self.made("a", USF_CONTEXTS="a=%d" % NONE) + self.made("a=%d" % FIRST, USF_CONTEXTS="a=%d,%d" % (FIRST, NONE)):
            self.assertRegex(line, r"^a: error: USF_CONTEXTS: a: CPUs '.*%d': this process may use .* alone$" % NONE)
        # of another context they do not matter; the program's own mistake stays one
        self.assertEqual(self.made("b=%d" % LAST, USF_CONTEXTS="a=%d" % NONE), ["b: %d" % LAST])
        self.assertRegex(self.made("a=%d" % NONE, USF_CONTEXTS="a=%d" % FIRST)[0], "^a: error: CPUs '%d'" % NONE)

    def test_under_usf_run(self):
        self.assertEqual(self.under_usf(["--contexts", "a=%d" % FIRST], "a=%d" % LAST, "b=%d" % LAST, USF_CONTEXTS="a=%d" % LAST), ["a: %d" % FIRST, "b: %d" % LAST])
        self.assertEqual(self.under_usf([], "a=%d" % LAST, USF_CONTEXTS="a=%d" % FIRST), ["a: %d" % FIRST])
        # empty: none, whatever the profile says
        self.write("p.toml", "[run]\ncontexts = \"a=%d\"\n" % FIRST)
        self.assertEqual(self.under_usf(["--profile", "p.toml"], "a=%d" % LAST), ["a: %d" % FIRST])
        self.assertEqual(self.under_usf(["--profile", "p.toml", "--contexts", ""], "a=%d" % LAST), ["a: %d" % LAST])
        self.assertEqual(self.under_usf(["--contexts", ""], "a=%d" % LAST, USF_PROFILE="p.toml"), ["a: %d" % LAST])

    def test_a_program_that_runs_unscheduled_has_it_too(self):
        p = self.run_all([USF, "run", "-i", "x" * 40, "--contexts", "a=%d" % FIRST, "--", PROGRAM, "a=%d" % LAST], {})
        self.assertEqual(p.stdout, "a: %d\n" % FIRST, p.stderr)

    def test_a_profile_without_usf_run(self):
        profile = self.write("p.toml", "[run]\npolicy = \"fl\"\ncontexts = \"a=%d; b=%d\"\n[parameters]\na = 1\n[tuning]\nvalue = 1.5\n" % (FIRST, LAST))
        self.assertEqual(self.made("a=%d" % LAST, "b", "c=%d" % LAST, USF_PROFILE=profile), ["a: %d" % FIRST, "b: %d" % LAST, "c: %d" % LAST])
        self.assertEqual(self.made("a", USF_PROFILE=profile, USF_CONTEXTS="a=%d" % LAST), ["a: %d" % LAST])
        self.assertEqual(self.made("a=%d" % LAST, USF_PROFILE=self.write("q.toml", "[env]\nA = 1\n")), ["a: %d" % LAST])
        for text, words in [("[run]\ncontexts = 3\n", "q.toml:2: contexts takes text"), ("[run]\ncontexts = \"a\"\n", "q.toml:2: contexts: 'a' is not"),
                            ("nonsense", "q.toml:1"), ("#" * 70000, "longer than 65536")]:
            line, = self.made("a", USF_PROFILE=self.write("q.toml", text))
            self.assertIn(words, line)
            self.assertTrue(line.startswith("a: error: "), line)
        self.assertIn("none.toml: No such file", self.made("a", USF_PROFILE="none.toml")[0])
        self.assertIn("not a file", self.made("a", USF_PROFILE=".")[0])

    def test_verbose_tells(self):
        p = self.run_all([PROGRAM, "a", "b=%d" % LAST], {"USF_VERBOSE": "1", "USF_CONTEXTS": "a=%d" % FIRST})
        self.assertEqual(p.stderr, "usf: context 'a': CPUs %d, given by USF_CONTEXTS\nusf: context 'b': CPUs %d, as the program says\n" % (FIRST, LAST))
        self.assertEqual(self.run_all([PROGRAM, "a"], {"USF_VERBOSE": "0"}).stderr, "")

    def test_in_python(self):
        p = self.run_all(["/usr/bin/python3", "-c", PYTHON % (LAST, LAST)], {"USF_CONTEXTS": "a=%d; bad=%d" % (FIRST, NONE)})
        first, second, third = p.stdout.splitlines()
        self.assertEqual((first, second), ("True", "[%d] [%d] 1 [%d]" % (FIRST, LAST, FIRST)))
        self.assertIn("USF_CONTEXTS: bad: CPUs '%d'" % NONE, third)


unittest.main(verbosity=1)
