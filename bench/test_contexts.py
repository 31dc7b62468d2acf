#!/usr/bin/python3
# bench/test_contexts.py - contexts.py computes what it says, from what examples print.  SPDX-License-Identifier: Apache-2.0
"""test_contexts.py BUILD

The examples and `usf run` are shell scripts; the tuner is the one of the build folder.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(sys.argv.pop(1))

# Says 8 s, with threads 6, in contexts 4, or 2 where a has two CPUs.
EXAMPLE = """#!/bin/sh
mode=$2 a=0 b=1 t=8
while [ $# -gt 0 ]; do case $1 in a=*) a=${1#a=};; b=*) b=${1#b=};; esac; shift; done
[ $a = all ] && a=0,1
case $mode in threads) t=6;; contexts) case $a in *,*) t=2;; *) t=4;; esac;; esac
echo 2 CPUs, scale 1.
echo "$mode $t.0 s   a 1  b ${B:-2}"
echo "CPUs: a $a b $b"
"""
USF = """#!/bin/sh
while [ "$1" != -- ]; do shift; done
shift
%s exec "$@"
"""
MAKEFILE = "libsolvers.so fftw fortran:\n"


class Contexts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="usf-bench-contexts-")
        self.addCleanup(folder.cleanup)
        self.dir = pathlib.Path(folder.name)
        (self.dir / "Makefile").write_text(MAKEFILE)
        (self.dir / "python").symlink_to(os.path.join(BUILD, "python"))
        self.program("usf", USF % "")
        self.program("fftw", EXAMPLE)
        self.program("fortran", EXAMPLE)

    def program(self, name, text):
        (self.dir / name).write_text(text)
        (self.dir / name).chmod(0o755)

    def bench(self, *names, reps=2):
        p = subprocess.run([os.path.join(HERE, "contexts.py"), *names, "--reps", str(reps), "--tune-reps", "1", "--build", str(self.dir), "--folder", str(self.dir),
                            "--out", str(self.dir)], capture_output=True, text=True, timeout=100, stdin=subprocess.DEVNULL)
        return p.returncode, p.stdout, p.stderr

    def rows(self):
        return json.loads((self.dir / "contexts.json").read_text())["rows"]

    @unittest.skipIf(len(os.sched_getaffinity(0)) != 2, "needs two CPUs, which the script has")
    def test_medians_and_ratios(self):
        code, out, err = self.bench("fftw", "fortran")
        self.assertEqual((code, err), (0, ""))
        first, second = self.rows()
        self.assertEqual(first["median"], {"sequential": 8, "threads": 6, "threads, usf run": 6, "even": 4, "tuned": 4, "tuned, usf run": 4,
                                           "overlapping, usf run": 2})
        self.assertEqual([len(v) for v in first["seconds"].values()], [2] * 7)
        self.assertEqual((first["base"], first["ratio"]["even"], first["ratio"]["overlapping, usf run"]), (6, 1.5, 3))
        self.assertEqual((second["base"], second["ratio"]["even"]), (8, 2))
        self.assertNotIn("threads", second["median"])
        self.assertIn("| fftw | 8.000 (0.75) | 6.000 (1.00) | 6.000 (1.00) | 4.000 (1.50) |", out)
        self.assertIn("| fortran | 8.000 (1.00) | - | - | 4.000 (2.00) |", out)

    def test_other_results_under_usf_are_an_error(self):
        self.program("usf", USF % "B=3")
        code, _, err = self.bench("fftw")
        self.assertEqual(code, 1)
        self.assertIn("other results than before", err)

    def test_an_example_that_fails_is_an_error(self):
        self.program("fftw", "#!/bin/sh\necho it broke >&2; exit 3\n")
        code, _, err = self.bench("fftw")
        self.assertEqual(code, 1)
        self.assertIn("it broke", err)

    def test_names(self):
        code, _, err = self.bench("no")
        self.assertEqual(code, 2)
        self.assertIn("no such example", err)


if __name__ == "__main__":
    unittest.main()
