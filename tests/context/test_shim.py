#!/usr/bin/python3
# tests/context/test_shim.py - usf shim: what it says, and what it does with libraries that are damaged.  SPDX-License-Identifier: Apache-2.0
# usage: test_shim.py USF LIBCOUNTER STUB
import os
import random
import signal
import subprocess
import sys
import tempfile
import unittest

USF, COUNTER, STUB = (os.path.abspath(a) for a in sys.argv[1:4])


class Shim(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)

    def shim(self, *args):
        env = {k: v for k, v in os.environ.items() if not k.startswith("USF_")}
        return subprocess.run([USF, "shim", *args], cwd=self.dir.name, env=env, capture_output=True, text=True, errors="backslashreplace", timeout=60)

    def fails(self, code, words, *args):
        p = self.shim(*args)
        self.assertEqual((p.returncode, p.stdout, p.stderr.count("\n")), (code, "", 1), p.stderr)
        self.assertIn(words, p.stderr)

    def write(self, name, data):
        path = os.path.join(self.dir.name, name)
        with open(path, "wb") as f:
            f.write(data)
        return path

    def test_writes(self):
        p = self.shim(COUNTER)
        self.assertEqual(p.returncode, 0, p.stderr)
        self.assertEqual(os.listdir(self.dir.name), ["libcounter.so.1"])
        self.assertIn("stub of %s, 19 functions" % COUNTER, p.stdout)
        self.assertIn("1 data symbol is not in the stub: counter_variable", p.stderr)
        with open(os.path.join(self.dir.name, "libcounter.so.1"), "rb") as a, open(STUB, "rb") as b:
            self.assertEqual(a.read(), b.read())
        self.assertEqual(self.shim(COUNTER).returncode, 0)      # again: it replaces a stub
        p = self.shim("--data", "--soname", "libother.so", COUNTER)
        self.assertEqual((p.returncode, sorted(os.listdir(self.dir.name))), (0, ["libcounter.so.1", "libother.so"]))
        self.assertIn("in contexts as well", p.stderr)
        p = self.shim("libz.so.1", "-o", "z")                   # looked for
        self.assertIn("libz.so.1, ", p.stdout)

    def test_mistakes(self):
        self.fails(125, "which library")
        self.fails(125, "one argument too many", COUNTER, "x")
        self.fails(125, "without slashes", COUNTER, "--soname", "a/b")
        self.fails(125, "--output needs a value", COUNTER, "--output=")
        self.fails(1, "cannot be opened: No such file", "libnone.so")
        self.fails(1, "not an ELF file", self.write("text", b"x" * 100))
        self.fails(1, "not an ELF file", self.write("empty", b""))
        self.fails(1, "a script for the link editor", self.write("libc.so", b"/* GNU ld script\n   Use the shared library */\nGROUP()\n"))
        self.fails(1, "not a file", self.dir.name)
        self.fails(1, "a program, not a library", USF)
        self.fails(1, "is a stub already", STUB)
        self.fails(1, "shared by all contexts", "libm.so.6")
        self.fails(1, "cannot be written", COUNTER, "-o", "/proc/x")
        taken = self.write("taken", b"important")
        self.fails(1, "is no stub", COUNTER, "-o", taken)
        with open(taken, "rb") as f:
            self.assertEqual(f.read(), b"important")

    def test_own_file(self):
        with open(COUNTER, "rb") as f:
            path = self.write("libcounter.so.1", f.read())
        self.fails(1, "is no stub", path)

    def test_damaged(self):
        with open(COUNTER, "rb") as f:
            good = f.read()
        seed = random.randrange(1 << 32)
        print("seed", seed)
        r = random.Random(seed)
        for i in range(60):
            bad = bytearray(good)
            for _ in range(r.choice((1, 4, 30))):
                bad[r.randrange(min(len(bad), 6000))] = r.randrange(256)
            if i % 4 == 0:
                del bad[r.randrange(len(bad)):]
            self.write("bad.so", bytes(bad))
            p = self.shim("bad.so", "-o", "stub%d" % i)
            self.assertIn(p.returncode, (0, 1), p.stderr)


signal.alarm(110)
unittest.main(argv=sys.argv[:1])
