#!/usr/bin/python3
# tests/cli/test_groups.py - how ps and dump show a process with two groups.  SPDX-License-Identifier: Apache-2.0
import json
import os
import select
import subprocess

from common import Case, main


class Groups(Case):
    def setUp(self):
        super().setUp()
        self.p = subprocess.Popen([os.environ["CLI_GROUPS"], self.instance], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.assertTrue(select.select([self.p.stdout], [], [], 30)[0], "no answer")
        self.assertEqual(self.p.stdout.readline(), "up\n")

    def tearDown(self):
        self.p.stdin.write("\n")
        self.p.stdin.close()
        self.assertEqual(self.p.wait(30), 0)
        self.p.stdout.close()
        super().tearDown()

    def test_text(self):
        for args in ((), ("--why",)):
            p = self.run_usf("ps", "-i", self.instance, *args)
            self.assertEqual((p.returncode, p.stderr), (0, ""))
            self.assertNotIn("\033", p.stdout)
            lines = p.stdout.splitlines()
            row = next(n for n, line in enumerate(lines) if line.startswith("process "))
            self.assertRegex(lines[row], r"^process %d two-groups: 2 threads, 0 waiting for a core, 0 spin loops" % self.p.pid)
            self.assertRegex(lines[row + 2], r"^ +\d+  in-first ")
            self.assertRegex(lines[row + 3], r"^  group tasks.*: 1 thread, 0 waiting for a core, weight 250, priority 2, CPUs \d+$")
            self.assertRegex(lines[row + 4], r"^ +\d+  in-second ")

    def test_json(self):
        p = self.run_usf("ps", "-i", self.instance, "--json")
        self.assertEqual((p.returncode, p.stderr), (0, ""))
        (i,) = json.loads(p.stdout)
        (process,) = i["processes"]
        first, second = process["groups"]
        self.assertEqual((process["weight"], process["priority"], first["weight"], first["name"]), (100, 0, 100, ""))
        self.assertEqual((second["weight"], second["priority"], second["threads"], second["ready"]), (250, 2, 1, 0))
        self.assertEqual(second["cpus"], str(i["cores"][0]["cpu"]))
        self.assertEqual(process["core_time_ns"], first["core_time_ns"] + second["core_time_ns"])
        self.assertEqual({t["name"]: t["group"] for t in process["threads"]}, {"in-first": 0, "in-second": 1})

    def test_dump(self):
        p = self.run_usf("dump", "-i", self.instance)
        self.assertEqual(p.returncode, 0)
        self.assertIn("== groups ==", p.stdout)
        self.assertRegex(p.stdout, r"group 0: process record 0, state 1, name ''")
        self.assertRegex(p.stdout, r"group 1: process record 0, state 1, name 'tasks")


main()
