# tests/float/test_says.py - which programs' threads float, and why one does not.  SPDX-License-Identifier: Apache-2.0
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from instance import CPUS, HANG, Programs, main

USF, PROGRAM = os.environ["USF"], os.environ["SAYS"]
NAME = os.path.basename(PROGRAM)
WHY = "nice value or scheduling policy of its own"
SHELL = ("sh", "-c", '"$0"; exit $?', PROGRAM)


class Says(Programs):
    tool, kind = USF, "says"

    def said(self, *options, command=(PROGRAM,), config=""):
        os.makedirs(os.path.join(self.dir, "usf"), exist_ok=True)
        with open(os.path.join(self.dir, "usf", "config.toml"), "w") as f:
            f.write(config)
        self.take_another_instance()
        return self.result(*self.run_of("-c", str(CPUS[0]), *options), *command, env=dict(self.env, XDG_CONFIG_HOME=self.dir))

    def setUp(self):
        super().setUp()
        if subprocess.run([PROGRAM, "can"], env={"FLOATS": "1"}, timeout=HANG).returncode == 77:
            self.skipTest("threads do not float on this machine")

    def test_off(self):
        self.assertEqual(self.said(), "floats")
        self.assertEqual(self.said("--float", "off"), "at home")

    def test_off_for_programs(self):
        self.assertEqual(self.said("--float", f"off:other,{NAME}"), "at home")
        self.assertEqual(self.said("--float", f"off:,other,{NAME}x,{NAME[:-1]},,"), "floats")
        self.assertEqual(self.said("--float", f"off:{NAME}", command=SHELL), "at home")
        self.assertEqual(self.said("--float", "off:sh,dash,bash", command=SHELL), "floats")

    def test_in_the_configuration(self):
        self.assertEqual(self.said(config=f'float = "off:{NAME}"\n'), "at home")
        self.assertEqual(self.said(config='float = "off:other"\n'), "floats")
        self.assertEqual(self.said("--float", "on", config=f'float = "off:{NAME}"\n'), "floats")

    def test_mistakes(self):
        for text, words in (("of", "off|on"), ("off:" + "x," * 200, "longer than 255")):
            p = subprocess.run([*self.run_of("--float", text), "true"], stderr=subprocess.PIPE, text=True, timeout=HANG, env=self.env)
            self.assertEqual(p.returncode, 125, p)
            self.assertIn(words, p.stderr)

    def test_why_one_stays(self):
        """Its nice value is its own kernel thread's: `usf ps` and --stats tell."""
        stats = os.path.join(self.dir, "stats.json")
        p = self.start(*self.run_of(f"--stats={stats}"), PROGRAM, "stays")
        self.assertEqual(p.stdout.readline(), "stays\n")
        seen = self.shown()
        text = self.usf("ps", "--why", "-i", self.instance)
        p.stdin.close()
        self.assertEqual(p.wait(HANG), 0)
        with open(stats) as f:
            total = json.load(f)
        why = [t["does_not_float"] for q in seen["processes"] for t in q["threads"]]
        self.assertEqual(sorted(why, key=str), [None, WHY], seen)
        self.assertIn(f"does not float: {WHY}", text)
        self.assertEqual((total["threads_not_floating"], total["not_floating_why"]), (1, WHY))


main(100)
