# tests/nosv/test_told.py - what usf ps, --stats and usf trace tell of tasks.  SPDX-License-Identifier: Apache-2.0
# usage: test_told.py USF PROGRAM
import json
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import instance

USF, PROGRAM = (os.path.abspath(a) for a in sys.argv[1:3])
N = 700
CHAIN = 4           # tasks of which each is submitted by the one before, which waits for it
RECORDED = 250      # the events of each thread fit into its ring, so that none is lost however late the recorder looks


class Told(instance.Programs):
    tool, kind = USF, "told"

    def path(self, name):
        return os.path.join(self.dir, name)

    def read(self, name):
        with open(self.path(name)) as f:
            return f.read()

    def test_stats(self):
        self.result(*self.run_of("--stats=" + self.path("s.json")), PROGRAM, str(N))
        stats = json.loads(self.read("s.json"))
        self.assertEqual(stats["work"], 3 * N)
        self.assertLessEqual(stats["work_steals"], stats["work"])
        self.assertLessEqual(stats["work_pauses"], 2 * N)
        self.assertGreater(stats["work_wait_ns"], 0)

    def test_stats_as_text(self):
        for arguments, told in ((PROGRAM, str(N)), True), (("true",), False):
            self.result(*self.run_of("--stats=" + self.path("s.txt")), *arguments)
            text = self.read("s.txt")
            self.assertEqual("tasks executed" in text, told, text)
            self.assertEqual("a task's wait, mean, us" in text, told, text)

    def test_ps(self):
        p = self.start(*self.run_of(), PROGRAM, str(N), "wait")
        self.assertEqual(p.stdout.readline(), "done\n")

        def executed():
            process = self.process(p.pid)
            return sum(t["work"] for t in process["threads"])

        # What the workers have not told while they were busy they tell when there is nothing to do.
        self.soon(lambda: executed() == 3 * N, "ps does not tell of all tasks")
        self.assertRegex(self.usf("ps", "-i", self.instance), r"%d tasks executed after a wait of \d+\.\d us in the mean, 0 ready" % (3 * N))
        self.assertEqual(self.process(p.pid)["queued_work"], 0)
        p.stdin.write("\n")
        p.stdin.flush()
        self.assertEqual(p.wait(instance.HANG), 0)

    def test_ps_tells_what_waits(self):
        one = str(min(os.sched_getaffinity(0)))
        p = self.start("taskset", "-c", one, *self.run_of(), PROGRAM, str(N), "queue")
        self.assertEqual(p.stdout.readline(), "done\n")
        # It is told when the 256th task begins: 44 of 300 wait then, the N of priority -5, and main's, which the first has woken.
        self.assertEqual(self.process(p.pid)["queued_work"], 44 + N + 1)
        self.assertIn("%d ready, priority 0, deadline 0" % (44 + N + 1), self.usf("dump", "-i", self.instance))
        p.stdin.write("\n")
        p.stdin.flush()
        self.assertEqual(p.wait(instance.HANG), 0)

    def test_waits(self):
        begin, one = time.monotonic(), str(min(os.sched_getaffinity(0)))
        p = self.start("taskset", "-c", one, *self.run_of("--stats=" + self.path("s.json")), PROGRAM, str(N), "queue")
        self.assertEqual(p.stdout.readline(), "done\n")
        time.sleep(0.1)         # N tasks wait for that long on one CPU, but for the one which waits for the line
        p.stdin.write("\n")
        p.stdin.flush()
        self.assertEqual(p.wait(instance.HANG), 0)
        waited = json.loads(self.read("s.json"))["work_wait_ns"] / 1e9
        self.assertGreater(waited, 0.1 * (N - 64))      # one in 64 is measured
        self.assertLess(waited, (time.monotonic() - begin) * (N + 300 + 3 * 64))

    def test_trace(self):
        recording = self.path("r.usft")
        r = subprocess.run([USF, "trace", "-i", self.instance, "-o", recording, "--", PROGRAM, str(RECORDED)], env=self.env, capture_output=True,
                           text=True, timeout=instance.HANG)
        self.assertEqual(r.returncode, 0, r.stderr)
        info = json.loads(self.usf("trace", "info", recording, "--json"))
        self.assertEqual(info["events_lost"], 0)
        tasks = {t["label"]: t["executed"] for t in info["tasks"]}
        self.assertEqual(tasks, {"plain": RECORDED, "outer with a lon": RECORDED, "task": RECORDED})
        waits = {t["label"]: t["waits"] for t in info["tasks"]}
        self.assertEqual(waits, {"plain": RECORDED, "outer with a lon": RECORDED, "task": 0})     # those in line never wait
        for task in info["tasks"]:
            self.assertEqual(task["waited_ms"] > 0, task["waits"] > 0)
            self.assertLessEqual(task["longest_wait_ms"], task["waited_ms"])
        self.assertIn("outer with a lon", self.usf("trace", "info", recording))
        events = json.loads(self.usf("trace", "convert", recording, "--format", "perfetto"))["traceEvents"]
        self.assertEqual([sum(e["ph"] == kind for e in events) for kind in "BE"], [3 * RECORDED, 3 * RECORDED])
        lanes = {e["tid"] for e in events if e["ph"] == "M" and e["args"]["name"].endswith(": tasks")}
        self.assertEqual({e["tid"] for e in events if e["ph"] == "B"}, lanes)
        self.assertEqual(sum("ready us" in e.get("args", {}) for e in events if e["ph"] == "B"), 2 * RECORDED)
        self.assertEqual(self.usf("trace", "convert", recording, "--format", "text").count("begins task plain"), RECORDED)

    def test_workload(self):
        """Each execution is a task of the workload, once, and the simulator executes all of them, on fewer CPUs as well."""
        recording, workload = self.path("w.usft"), self.path("w.usfw")
        for what, tasks in ((PROGRAM, str(RECORDED)), 2 * RECORDED), ((PROGRAM, "30", "chain"), 30 * CHAIN), \
                ((PROGRAM, "30", "suspend"), 30 * 4):       # (of the first, the third kind is in line)
            r = subprocess.run([USF, "trace", "-i", self.instance, "-o", recording, "--", *what], env=self.env, capture_output=True, text=True,
                               stdin=subprocess.DEVNULL, timeout=instance.HANG)
            self.assertEqual(r.returncode, 0, r.stderr)
            info = json.loads(self.usf("trace", "info", recording, "--json"))
            self.assertEqual(info["events_lost"], 0)
            self.usf("trace", "convert", recording, "-o", workload)
            text = self.read("w.usfw")
            self.assertNotIn("submitted by no known thread", text)
            self.assertEqual(text.count("\n    thread "), info["programs"][0]["threads"] - self.workers(recording))
            for machine in "core:1", "core:2", "core:8":
                run = json.loads(self.usf("sim", "run", workload, "-m", machine, "-p", "coop", "--no-alone", "--json", "--check"))["runs"][0]
                self.assertTrue(run["ok"], run)
                self.assertEqual(run["programs"][0]["tasks"], tasks)

    def workers(self, recording):
        text = self.usf("trace", "convert", recording, "--format", "text")
        return len(set(re.findall(r" (\d+) takes task ", text)))


if __name__ == "__main__":
    instance.main(280, taken=2)
