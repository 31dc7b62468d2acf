# tests/loader/test_groups.py - under `usf run` a context is a group of the scheduler.  SPDX-License-Identifier: Apache-2.0
# usage: test_groups.py USF PROGRAM FOLDER
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import instance

USF, PROGRAM, FOLDER = (os.path.abspath(a) for a in sys.argv[1:4])


class Groups(instance.Programs):
    tool, kind = USF, "contexts"

    def test_groups(self):
        p = self.start(*self.run_of(), PROGRAM, FOLDER, "groups")
        self.assertEqual(p.stdout.readline(), "ready\n")
        text = self.usf("ps", "-i", self.instance)
        first = re.escape(str(min(os.sched_getaffinity(0))))
        self.assertRegex(text, r"group own: 2 threads, .*CPUs " + first + r" for itself\n")        # strict
        self.assertRegex(text, r"group may-lend: 1 thread, ")
        p.stdin.write("\n")
        p.stdin.flush()
        self.assertEqual(p.stdout.readline(), "ended\n")
        self.assertNotIn("group ", self.usf("ps", "-i", self.instance))
        p.stdin.write("\n")
        p.stdin.flush()
        self.assertEqual(p.wait(instance.HANG), 0)


if __name__ == "__main__":
    instance.main(100, taken=3)
