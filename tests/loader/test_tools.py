#!/usr/bin/python3
# tests/loader/test_tools.py - a sanitizer, a debugger and a profiler see a context's libraries as they see others.  SPDX-License-Identifier: Apache-2.0
# usage: test_tools.py FOLDER ASAN-PROGRAM LOOKED-AT-PROGRAM LOADER-PROGRAM
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

FOLDER, ASAN, LOOKED_AT, LOADER = (os.path.abspath(a) for a in sys.argv[1:5])


def run(*command, **options):
    """In a session of its own: a debugger would stop if it had a terminal in the background."""
    options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "errors": "replace", **options}
    return subprocess.run(command, timeout=100, start_new_session=True, check=False, **options)


class Sanitizer(unittest.TestCase):
    def test_good(self):
        p = run(ASAN, FOLDER, "good")
        self.assertEqual((p.returncode, p.stdout), (0, ""))

    def test_mistakes(self):
        """In a context's library, each is reported with its place."""
        for name, message, function in (("heap", "heap-buffer-overflow", "watched_read"), ("global", "global-buffer-overflow", "watched_table"),
                                        ("freed", "heap-use-after-free", "watched_read")):
            with self.subTest(name):
                p = run(ASAN, FOLDER, name)
                self.assertNotEqual(p.returncode, 0)
                self.assertIn(message, p.stdout)
                self.assertRegex(p.stdout, r"#0 0x[0-9a-f]+ in %s [^\n]*watched\.c:\d+" % function)


class Debugger(unittest.TestCase):
    def gdb(self, *commands):
        return run("gdb", "-batch", "-nx", "-ex", "set debuginfod enabled off", *(part for c in commands for part in ("-ex", c)), "--args", LOOKED_AT, FOLDER, "5")

    def test_breakpoint(self):
        """A function's name is enough, before its library is loaded."""
        if not shutil.which("gdb") or "exited normally" not in run("gdb", "-batch", "-nx", "-ex", "run", "/bin/true").stdout:
            self.skipTest("gdb is missing, or may not trace here")
        text = self.gdb("set breakpoint pending on", "break dep_spin", "run", "bt", "info symbol $pc", "info sharedlibrary", "delete", "continue").stdout
        self.assertRegex(text, r"#0 +dep_spin \(n=5\) at [^\n]*dep\.c:\d+\n#1 [^\n]* main \(")
        symbol = next(line for line in text.splitlines() if line.startswith("dep_spin") and " of " in line)
        self.assertTrue(os.path.samefile(symbol.split(" of ")[1], os.path.join(FOLDER, "libdep.so")), symbol)
        self.assertRegex(text, r"Yes +/[^\n]*/libusf-context-shim\.so\n")
        self.assertIn("exited normally", text)


class Profiler(unittest.TestCase):
    def test_samples(self):
        with tempfile.TemporaryDirectory() as place:
            record = ["perf", "record", "-q", "-e", "cpu-clock", "-o", os.path.join(place, "data")]
            if not shutil.which("perf") or run(*record, "true").returncode:
                self.skipTest("perf is missing, or may not record here (the mappings that it reads: case shares_text of loader)")
            p = run(*record, LOOKED_AT, FOLDER, "300000000")
            self.assertEqual(p.returncode, 0, p.stdout)
            text = run("perf", "report", "-i", os.path.join(place, "data"), "--stdio", "--sort", "dso,symbol", stderr=subprocess.DEVNULL).stdout
            rows = [line.split() for line in text.splitlines() if "dep_spin" in line]
            self.assertEqual([row[1] for row in rows], ["libdep.so"], text)
            self.assertGreater(float(rows[0][0].rstrip("%")), 50, text)


class Mounts(unittest.TestCase):
    def test_noexec(self):
        """Copies are not files of /dev/shm or /tmp."""
        mounts = "for at in /dev/shm /tmp; do mount -t tmpfs -o noexec x $at; done"
        unshare = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-U", "-r", "-m"]
        if run(*unshare, "sh", "-ec", mounts).returncode:
            self.skipTest("no mount namespaces here")
        if any(path.startswith("/tmp/") for path in (FOLDER, LOADER)):
            mounts = "mount -t tmpfs -o noexec x /dev/shm"
        p = run(*unshare, "sh", "-ec", mounts + '; exec "$0" "$@"', LOADER, FOLDER, "separate")
        self.assertEqual((p.returncode, p.stdout), (0, ""))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
