# tests/spawn/test_each.py - each case of a program, bare and under usf.  SPDX-License-Identifier: Apache-2.0
# usage: test_each.py PROGRAM [unittest's arguments]
import os
import subprocess
import sys

import spawn

ROOT = {"chroot", "users"}
# Steps of others, or to be started in ways of their own (test_ways.py)
APART = {"reached", "told", "through", "quiet", "until_full", "until_cgroup_is_full", "plain", "namespace_of_openmp", "cpu_time"}
path = spawn.program(sys.argv.pop(1))


class Each(spawn.Case):
    pass


def add(name):
    def test(self):
        if name in ROOT and os.geteuid():
            self.skipTest("needs root")
        self.same(path, name)
    setattr(Each, "test_" + name, test)


for name in subprocess.run([path], capture_output=True, text=True, check=True).stdout.split():
    if name not in APART:
        add(name)

if __name__ == "__main__":
    spawn.main()
