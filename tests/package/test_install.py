#!/usr/bin/python3
# tests/package/test_install.py - meson install, into a folder and as the root of a bare system.  SPDX-License-Identifier: Apache-2.0
import glob
import os
import shutil
import subprocess
import sys
import unittest

from installed import Installed, bare_root, can_have_a_root, instance

BUILD = sys.argv.pop(1)


class Install(Installed):
    def install(self, prefix):
        root = os.path.join(self.dir, "root")
        p = subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", root], capture_output=True, text=True, check=False)
        self.assertEqual(p.returncode, 0, p.stdout + p.stderr)
        return root, root + prefix

    def prefix(self):
        out = subprocess.run(["meson", "introspect", BUILD, "--buildoptions"], capture_output=True, text=True, check=True).stdout
        import json
        return next(o["value"] for o in json.loads(out) if o["name"] == "prefix")

    def test_an_installed_tree_works_wherever_it_is_moved(self):
        _, prefix = self.install(self.prefix())
        self.check_files(prefix)
        moved = os.path.join(self.dir, "moved")
        shutil.move(prefix, moved)
        self.check_use(os.path.join(moved, "bin"))
        self.assertEqual(sorted(os.listdir(os.path.join(moved, "bin"))), ["usf", "usf-sim", "usf-sim-large"])

    def test_programs_find_the_tasking_library(self):
        _, prefix = self.install(self.prefix())
        moved = os.path.join(self.dir, "elsewhere")
        shutil.move(prefix, moved)
        self.check_tasks(moved)

    def test_programs_find_the_library_for_contexts(self):
        _, prefix = self.install(self.prefix())
        moved = os.path.join(self.dir, "elsewhere")
        shutil.move(prefix, moved)
        self.check_contexts(moved, moved + "/bin")

    def test_runtimes_find_the_library_of_permits(self):
        _, prefix = self.install(self.prefix())
        self.check_permits(prefix)

    def test_the_library_is_found_in_each_folder_that_distributions_have(self):
        _, prefix = self.install(self.prefix())
        at = os.path.dirname(glob.glob(prefix + "/lib*/**/usf/libusf.so", recursive=True)[0])
        for name in "lib64/usf", "lib/usf", "lib/x86_64-linux-gnu/usf":
            to = os.path.join(prefix, name)
            os.makedirs(os.path.dirname(to), exist_ok=True)
            if at != to:
                shutil.move(at, to)
            at = to
            maps = self.run_it(os.path.join(prefix, "bin/usf"), "run", "-i", self.instance, "--", "cat", "/proc/self/maps").stdout
            self.assertIn(os.path.realpath(to) + "/libusf.so", maps)

    @unittest.skipUnless(shutil.which("bwrap") and can_have_a_root(), "no bwrap, or no namespaces")
    def test_a_bare_system(self):
        root, _ = self.install(self.prefix())
        self.inside = bare_root(root)
        self.check_use(self.prefix() + "/bin", policies=False)
        self.run_it(self.prefix() + "/bin/usf", "policy", "new", "mine")


instance.main(200)
