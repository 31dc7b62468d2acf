# tests/cli/common.py - what the tests of the tool share.  SPDX-License-Identifier: Apache-2.0
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import instance
from instance import HANG, segment_of       # noqa: F401

FILES = {k: os.environ.get("CLI_" + k.upper(), "") for k in ("usf", "lib", "dummy", "harness", "static", "godyn", "gostatic", "hello")}


def places():
    """Where some fields of a segment's header lie."""
    return json.loads(subprocess.run([FILES["harness"], "places"], capture_output=True, timeout=20).stdout)


def number(segment, at, size):
    return int.from_bytes(segment[at:at + size], "little")


class Case(instance.Instance):
    """A copy of the tool with a dummy library beside it, and a home of its own."""

    tool, kind = FILES["usf"], "cli"

    def setUp(self):
        super().setUp()
        self.bin = os.path.join(self.dir, "bin")
        os.mkdir(self.bin)
        self.usf = os.path.join(self.bin, "usf")
        self.lib = os.path.join(self.bin, "libusf.so")
        shutil.copy2(FILES["usf"], self.usf)
        shutil.copy2(FILES["dummy"], self.lib)
        self.home = os.path.join(self.dir, "home")
        os.makedirs(os.path.join(self.home, ".config", "usf"))
        self.env.update({k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")}, PATH="/usr/bin:/bin", HOME=self.home,
                        USF_SYSTEM_CONFIG=os.path.join(self.dir, "system.toml"))

    def run_usf(self, *args, env=None, add=None, drop=(), **kw):
        e = dict(self.env if env is None else env)
        e.update(add or {})
        for k in drop:
            e.pop(k, None)
        kw.setdefault("text", True)
        kw.setdefault("cwd", self.dir)
        return subprocess.run([self.usf, *args], env=e, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=HANG,
                              stdin=subprocess.DEVNULL, **kw)

    def one_line(self, p, code, *words):
        """It ended with this code and one line on stderr that has these words."""
        self.assertEqual(p.returncode, code, p.stderr)
        lines = p.stderr.splitlines()
        self.assertEqual(len(lines), 1, p.stderr)
        self.assertTrue(lines[0].startswith("usf: "), lines[0])
        for w in words:
            self.assertIn(w, lines[0])
        return lines[0]

    def write(self, name, text, mode=0o644):
        path = os.path.join(self.dir, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(text if isinstance(text, bytes) else text.encode())
        os.chmod(path, mode)
        return path

    def user_config(self, text):
        return self.write("home/.config/usf/config.toml", text)

    def system_config(self, text):
        return self.write("system.toml", text)

    def options(self, *args, **kw):
        p = self.run_usf("config", "show", "--json", *args, **kw)
        self.assertEqual(p.returncode, 0, p.stderr)
        return {o["name"]: o for o in json.loads(p.stdout)}, p.stderr


def main():
    instance.main(int(os.environ.get("CLI_ALARM", "240")))
