#!/usr/bin/python3
# tests/cli/test_go.py - what the Go compiler itself makes.  SPDX-License-Identifier: Apache-2.0
import os
import shutil
import subprocess

from common import Case, main


class Go(Case):
    def test_real_go(self):
        go = shutil.which("go") or "/usr/local/go/bin/go"
        if not os.path.exists(go):
            self.skipTest("no Go compiler")
        src = self.write("g/main.go", "package main\nfunc main() { print(\"\") ; println() }\n")
        exe = os.path.join(self.dir, "g/g")
        env = dict(os.environ, GOCACHE=os.path.join(self.dir, "gocache"), GOFLAGS="", GO111MODULE="off", CGO_ENABLED="0", GOPATH=self.dir)
        if subprocess.run([go, "build", "-o", exe, src], env=env, capture_output=True).returncode:
            self.skipTest("go build does not work here")
        p = self.run_usf("run", exe)
        self.assertIn("Go program", p.stderr)


if __name__ == "__main__":
    main()
