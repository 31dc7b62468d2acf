#!/usr/bin/python3
# tests/rust/test_crate.py - the Rust crate's own tests, bare and under usf.  SPDX-License-Identifier: Apache-2.0
"""usage: test_crate.py USF CRATE LIBRARY-FOLDER TARGET-FOLDER TOOLS crate|doc|stress
TOOLS: the folder of cargo and rustc, or - for those of the PATH.  Needs no network: the crate has no dependencies."""
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from instance import SEED, Programs, begin

OLDEST = (1, 63)
usf, crate, library, target, tools, what = sys.argv[1:7]
del sys.argv[1:]
PROGRAM = {name: shutil.which(name, path=None if tools == "-" else tools) for name in ("cargo", "rustc", "rustdoc")}
ENV = {"NOSV_LIB_DIR": library, "CARGO_TARGET_DIR": target, "CARGO_NET_OFFLINE": "true", "RUST_BACKTRACE": "0"}


def skip(reason):
    print("skipped:", reason)
    sys.exit(77)


def look():
    """The tools that there are must work: the one of the PATH may be a launcher without a compiler."""
    if not PROGRAM["cargo"] or not PROGRAM["rustc"]:
        skip("no cargo, or no rustc")
    for name in ("cargo", "rustc"):
        p = subprocess.run([PROGRAM[name], "--version"], capture_output=True, text=True)
        version = re.search(r" (\d+)\.(\d+)", p.stdout)
        if p.returncode or not version:
            skip("%s does not work: %s" % (PROGRAM[name], p.stderr.strip()))
        if tuple(map(int, version.groups())) < OLDEST:
            skip("%s is older than %d.%d" % (PROGRAM[name], *OLDEST))
        print(p.stdout.strip())
    ENV["RUSTC"] = PROGRAM["rustc"]
    if PROGRAM["rustdoc"]:
        ENV["RUSTDOC"] = PROGRAM["rustdoc"]


class Crate(Programs):
    tool, kind = usf, "rust"

    def setUp(self):
        super().setUp()
        self.env.update(ENV, USF_RUST_SEED=str(SEED))

    def cargo(self, *args):
        p = subprocess.run([PROGRAM["cargo"], *args, "--offline", "--locked", "--manifest-path", os.path.join(crate, "Cargo.toml")], env=self.env,
                           stdin=subprocess.DEVNULL, capture_output=True, text=True)
        self.assertEqual(p.returncode, 0, p.stdout + p.stderr)
        return p.stdout

    def programs(self, *which):
        """The test programs: name and path."""
        messages = map(json.loads, filter(None, self.cargo("test", "--no-run", "--message-format=json", *which).splitlines()))
        made = {m["target"]["name"]: m["executable"] for m in messages if m["reason"] == "compiler-artifact" and m.get("executable") and m["profile"]["test"]}
        self.assertTrue(made)
        return made

    def both(self, programs):
        for name, program in programs.items():
            for how, before in (("bare", []), ("usf", self.run_of())):
                with self.subTest(program=name, how=how):
                    p = subprocess.run([*before, program], env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True)
                    self.assertEqual(p.returncode, 0, p.stdout + p.stderr)

    def test_crate(self):
        self.both(self.programs("--tests"))

    def test_doc(self):
        self.assertRegex(self.cargo("test", "--doc"), r"test result: ok\. [1-9]")

    def test_stress(self):
        self.env["USF_RUST_ROUNDS"] = "60"
        self.both(self.programs("--test", "stress", "--release"))


look()
begin(280)
unittest.main(defaultTest="Crate.test_" + what, argv=sys.argv)
