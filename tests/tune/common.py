# tests/tune/common.py - what the tests of the tuner share.  SPDX-License-Identifier: Apache-2.0
import glob
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "../..")
sys.path[:0] = [os.path.join(HERE, ".."), os.environ["TUNE_PACKAGE"]]
# optuna is a wheel of scripts/packages/test-pip.txt; the interpreter is the one that .venv was made with
sys.path += glob.glob(os.path.join(ROOT, ".venv/lib/python3*/site-packages"))
import instance  # noqa: E402

from usf import tune  # noqa: E402

USF = os.environ["USF"]


class Case(instance.Instance):
    """A folder of the test's own, in which `usf tune` runs."""

    tool, kind = USF, "tune"

    def path(self, name):
        return os.path.join(self.dir, name)

    def write(self, name, text, mode=0o644):
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(self.path(name), mode)
        return self.path(name)

    def lines(self, name):
        try:
            with open(self.path(name), encoding="utf-8") as f:
                return f.read().splitlines()
        except FileNotFoundError:
            return []

    def usf(self, *args, add=None):
        return subprocess.run([USF, *args], env={**self.env, **(add or {})}, cwd=self.dir, capture_output=True, text=True, timeout=instance.HANG,
                              stdin=subprocess.DEVNULL)

    def good(self, *args, add=None):
        p = self.usf(*args, add=add)
        self.assertEqual((p.returncode, p.stderr), (0, ""), p.stdout)
        return p.stdout

    def bad(self, code, words, *args, add=None):
        """It ends with this code and one message that has these words."""
        p = self.usf(*args, add=add)
        self.assertEqual(p.returncode, code, p.stdout + p.stderr)
        self.assertTrue(p.stderr.startswith("usf: "), p.stderr)
        self.assertNotIn("Traceback", p.stderr)
        for word in [words] if isinstance(words, str) else words:
            self.assertIn(word, p.stderr)

    def json(self, *args):
        return json.loads(self.good("tune", "--json", *args))


__all__ = ["Case", "HERE", "ROOT", "USF", "instance", "tune"]
