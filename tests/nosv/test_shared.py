# tests/nosv/test_shared.py - programs that share cores by their configuration, without usf run.  SPDX-License-Identifier: Apache-2.0
# usage: test_shared.py USF PROGRAM LIBRARY
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import instance

USF, PROGRAM, LIBRARY = (os.path.abspath(a) for a in sys.argv[1:4])
ALL = "main 1 task 1 child 1\n"
NONE = "main 0 task 0 child 0\n"


class Shared(instance.Programs):
    tool, kind = USF, "shared"

    def setUp(self):
        super().setUp()
        del self.env["USF_INSTANCE"]
        self.configure("user")

    def configure(self, level):
        self.env["NOSV_CONFIG_OVERRIDE"] = "shared_memory.isolation_level=%s,shared_memory.name=%s" % (level, self.instance)

    def begin(self, *arguments):
        return self.start(PROGRAM, *arguments, stderr=subprocess.PIPE)

    def end_by_line(self, p):
        out, err = p.communicate("\n", timeout=instance.HANG)
        self.assertEqual(p.returncode, 0, err)
        return err

    def test_two_processes_are_in_one_instance(self):
        both = [self.begin(), self.begin()]
        for p in both:
            self.assertEqual(p.stdout.readline(), ALL)
        # A child that has ended stays until the monitor finds it dead.
        self.soon(lambda: {q["pid"] for q in self.shown()["processes"]} == {p.pid for p in both}, "not just these two are in the instance")
        both[0].kill()
        both[0].wait()
        self.soon(lambda: self.process(both[0].pid) is None, "a killed process stays in the instance")
        self.assertEqual(self.end_by_line(both[1]), "")

    def test_all_of_its_calls_are_seen(self):
        p = subprocess.run([USF, "doctor", "--json", "--program", PROGRAM], env=self.env, capture_output=True, text=True, timeout=instance.HANG)
        sites = [f["text"] for f in json.loads(p.stdout)["findings"] if f["check"] == "sites" and "libnosv" in f["text"]]
        self.assertEqual(len(sites), 1, p.stdout)
        self.assertIn("all intercepted", sites[0])

    def test_beside_usf_run(self):
        p = self.begin()
        self.assertEqual(p.stdout.readline(), ALL)
        other = self.start(*self.run_of(), "sleep", "60")
        self.soon(lambda: self.process(other.pid), "usf run does not join the instance")
        self.assertTrue(self.process(p.pid))
        self.assertEqual(self.end_by_line(p), "")

    def test_with_a_handler(self):
        p = self.begin("handler")
        self.assertEqual(p.stdout.readline(), ALL)
        self.assertEqual(self.end_by_line(p), "")

    def test_level_process_makes_no_instance(self):
        self.configure("process")
        p = self.begin()
        self.assertEqual(p.stdout.readline(), NONE)
        self.assertFalse(os.path.exists(self.segment))
        self.assertEqual(self.end_by_line(p), "")

    def test_with_other_threads_it_runs_alone(self):
        p = self.begin("thread")
        self.assertEqual(p.stdout.readline().split()[:4], NONE.split()[:4])
        self.assertIn("before there are other threads", self.end_by_line(p))

    def test_without_the_command_it_runs_alone(self):
        shutil.copy(LIBRARY, os.path.join(self.dir, "libnosv.so.0"))
        self.env.update(LD_LIBRARY_PATH=self.dir, PATH="/usr/bin:/bin")
        if shutil.which("usf", path=self.env["PATH"]):
            self.skipTest("usf is installed")
        p = self.begin()
        self.assertEqual(p.stdout.readline(), NONE)
        self.assertIn("the command usf cannot be started", self.end_by_line(p))


if __name__ == "__main__":
    instance.main(280, taken=3)
