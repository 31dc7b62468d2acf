#!/usr/bin/python3
# tests/cli/test_real.py - the tool with the library itself.  SPDX-License-Identifier: Apache-2.0
import json
import os
import shutil
import signal
import subprocess
import time
import unittest

from common import FILES, Case, main

PYTHON = "/usr/bin/python3"
THREADS = """
import threading, time, sys
def work():
    for i in range(100): time.sleep(0.0002)
ts = [threading.Thread(target=work) for _ in range(6)]
[t.start() for t in ts]; [t.join() for t in ts]
print("done")
"""
WAIT = """
import threading, sys
ts = [threading.Thread(target=threading.Event().wait, daemon=True, name="w") for _ in range(3)]
[t.start() for t in ts]
print("up", flush=True)
sys.stdin.readline()
"""

BUSY = """
import threading, sys, time
stop = False
def work():
    while not stop: time.sleep(0.001)
ts = [threading.Thread(target=work) for _ in range(4)]
[t.start() for t in ts]
print("up", flush=True)
sys.stdin.readline()
stop = True
[t.join() for t in ts]
"""

# Becomes another user, with or without other threads, and runs a child as that user.
OTHER_USER = """
import os, subprocess, sys, threading, time
stop = threading.Event()
ts = [threading.Thread(target=lambda: [time.sleep(0.001) for _ in range(2000) if not stop.is_set()]) for _ in range(int(sys.argv[1]))]
[t.start() for t in ts]
os.setgid(65534)
os.setuid(65534)
us = [threading.Thread(target=time.sleep, args=(0.01,)) for _ in range(3)]
[t.start() for t in us]; [t.join() for t in us]
subprocess.run(["/bin/true"], check=True)
pid = os.fork()
if not pid: os._exit(0)
os.waitpid(pid, 0)
stop.set()
[t.join() for t in ts]
print("done", "rw-s" in "".join(l for l in open("/proc/self/maps") if "usf-" in l))
"""
# Keeps the one core until the hog waits for it, then gives it up to an exec that fails.
FAILED_EXEC = """
import os, sys, time
print("up", flush=True)
def spin(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end: pass
spin(1.5)
before = time.process_time()
try: os.execv(sys.argv[1], ["x"])
except OSError: pass
print(time.process_time() - before)
"""
HOG = """
import time
end = time.process_time() + 1
while time.process_time() < end: pass
"""


class Real(Case):
    def setUp(self):
        super().setUp()
        shutil.copy2(FILES["lib"], self.lib)

    def background(self, *args, code=WAIT):
        p = subprocess.Popen([self.usf, "run", *args, PYTHON, "-c", code], env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             text=True)
        self.assertEqual(p.stdout.readline(), "up\n")
        return p

    def end(self, p):
        p.communicate("\n", timeout=30)
        self.assertEqual(p.returncode, 0)

    def ps(self):
        i, = json.loads(self.run_usf("ps", "--json", "-i", self.instance).stdout)
        return i

    def test_ends_as_the_program(self):
        for extra in ([], ["--stats=/dev/null"]):
            self.assertEqual(self.run_usf("run", *extra, FILES["hello"], "42").returncode, 42)
            p = self.run_usf("run", *extra, "sh", "-c", "kill -TERM $$")
            self.assertEqual((p.returncode, p.stderr), (-signal.SIGTERM, ""))

    def test_statistics_count(self):
        out = os.path.join(self.dir, "s.json")
        p = self.run_usf("run", "--stats=" + out, PYTHON, "-c", THREADS)
        self.assertEqual((p.returncode, p.stdout, p.stderr), (0, "done\n", ""))
        with open(out) as f:
            s = json.load(f)
        self.assertGreaterEqual(s["processes"], 1)
        self.assertGreater(s["switches"] + s["polls"], 0)
        self.assertGreater(s["busy_ns"], 0)
        self.assertLessEqual(s["busy_share"], 1.05)

    def test_statistics_of_children_and_of_the_killed(self):
        out = os.path.join(self.dir, "s.json")
        p = self.run_usf("run", "--stats=" + out, "sh", "-c", "%s -c 'print(1)'; %s -c 'import os; os.kill(os.getpid(), 9)'; true" %
                         (PYTHON, PYTHON))
        self.assertEqual(p.returncode, 0, p.stderr)
        with open(out) as f:
            s = json.load(f)
        self.assertGreaterEqual(s["processes"], 3)
        self.assertEqual(s["processes_still_running"], 0)

    def test_ps_shows_threads(self):
        p = self.background()
        for _ in range(100):
            i = self.ps()
            mine = [x for x in i["processes"] if x["pid"] == p.pid]
            if mine and len(mine[0]["threads"]) == 4 and all(t["state"] != "running" for t in mine[0]["threads"]):
                break
            time.sleep(0.05)
        self.assertEqual(len(mine), 1, i)
        self.assertEqual(len(mine[0]["threads"]), 4, mine)
        self.assertTrue(mine[0]["alive"])
        self.assertEqual(sorted(t["state"] for t in mine[0]["threads"])[:3], ["blocked"] * 3)
        for t in mine[0]["threads"]:
            self.assertRegex(t["waits_for"] or "futex", "^futex" if t["state"] == "blocked" else "^(futex|read|write)")
        self.assertIsNotNone(i["monitor_pid"])
        text = self.run_usf("ps", "-i", self.instance).stdout
        self.assertIn("process %d" % p.pid, text)
        self.end(p)

    def wait_for(self, what, seconds=20):
        for _ in range(seconds * 20):
            found = what()
            if found:
                return found
            time.sleep(0.05)
        self.fail("it did not come")

    def kill_monitor(self):
        old = self.wait_for(lambda: self.ps()["monitor_pid"])
        os.kill(old, signal.SIGKILL)
        self.wait_for(lambda: self.ps()["monitor_pid"] != old)     # it takes a moment to die

    def test_a_killed_monitor_comes_back(self):
        """While the program runs: nobody joins, and nobody ends."""
        p = self.background(code=BUSY)
        self.kill_monitor()
        self.wait_for(lambda: self.ps()["monitor_pid"])
        self.end(p)

    def test_a_policy_that_the_monitor_cannot_load_is_replaced(self):
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
        policy = os.path.join(self.dir, "priority.so")
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-mgeneral-regs-only", "-I" + os.path.join(source, "include"), "-o", policy,
                        os.path.join(source, "examples/policy/priority.c")], check=True)
        p = self.background("--policy", policy, code=BUSY)
        self.assertEqual(self.ps()["policy"], "priority")
        os.unlink(policy)
        self.kill_monitor()
        i = self.wait_for(lambda: self.ps()["policy"] == "coop" and self.ps())
        self.assertIn(policy, json.dumps(i))
        self.wait_for(lambda: self.ps()["monitor_pid"])
        self.end(p)

    def test_a_policy_that_is_set_says_for_whom_and_for_how_long(self):
        p = self.background()
        set_it = ("policy", "set", "-i", self.instance)
        q = self.run_usf("run", "-v", "true")
        self.assertNotIn("policy set", q.stderr)
        q = self.run_usf(*set_it, "fifo")
        self.assertEqual((q.returncode, q.stderr), (0, ""))
        for words in "instance '%s': policy fifo instead of coop" % self.instance, "the 1 program in it", "until the instance ends":
            self.assertIn(words, " ".join(q.stdout.split()))
        q = self.run_usf("run", "-v", "true")
        self.assertIn("instance '%s': its policy is fifo since a 'usf policy set'; it was coop before" % self.instance, q.stderr)
        self.assertEqual(self.run_usf("run", "true").stderr, "")
        self.assertIn("as before", self.run_usf(*set_it, "fifo").stdout)
        q = json.loads(self.run_usf(*set_it, "fair", "--json").stdout)
        self.assertEqual((q["policy"], q["before"], q["programs"]), ("fair", "fifo", 1))
        self.end(p)

    def test_clean_refuses_what_is_used(self):
        p = self.background()
        self.one_line(self.run_usf("clean"), 1, "in use by 1 process", "--force")
        q = self.run_usf("clean", "--force")
        self.assertEqual((q.returncode, q.stderr), (0, ""))
        self.end(p)

    def test_clean_after_everybody_was_killed(self):
        p = self.background()
        monitor = self.ps()["monitor_pid"]
        os.kill(monitor, signal.SIGSTOP)       # it must not reap while we kill
        with open("/proc/%d/task/%d/children" % (monitor, monitor), encoding="ascii") as f:
            for supervisor in f.read().split():     # nor may another take its place
                os.kill(int(supervisor), signal.SIGKILL)
        p.kill()
        p.wait()
        p.stdin.close()
        p.stdout.close()
        os.kill(monitor, signal.SIGKILL)
        for _ in range(200):
            if not os.path.exists("/proc/%d" % monitor):
                break
            time.sleep(0.02)
        d = json.loads(self.run_usf("doctor", "--json").stdout)
        mine = [f for f in d["findings"] if f["check"] == self.instance]
        if not mine:
            return                              # already gone
        self.assertIn("wrong", [f["result"] for f in mine])
        q = self.run_usf("clean")
        self.assertEqual((q.returncode, q.stderr), (0, ""))
        self.assertFalse(os.path.exists(self.segment))

    def test_nested(self):
        p = self.run_usf("run", self.usf, "run", self.usf, "run", "--quantum=20", FILES["hello"], "3")
        self.assertEqual((p.returncode, p.stdout, p.stderr), (3, "hello\n", ""))
        other = self.instance + "n"
        p = self.run_usf("run", "--stats=/dev/null", self.usf, "run", "-i", other, "--stats=/dev/null", "sh", "-c", "exit 5")
        self.assertEqual((p.returncode, p.stderr), (5, ""))
        self.run_usf("clean", "-i", other, "--force")

    def test_nested_keeps_all_cpus(self):
        """Threads are bound to one core each; a `usf run` inside must not take that for its CPUs."""
        other = self.instance + "n"
        p = self.run_usf("run", self.usf, "run", "-i", other, self.usf, "ps", "-i", other, "--json")
        i, = json.loads(p.stdout)
        self.assertEqual({c["cpu"] for c in i["cores"]}, set(sorted(os.sched_getaffinity(0))[:len(i["cores"])]))
        if not os.path.exists("/sys/fs/cgroup/cpu.max"):
            self.assertEqual(len(i["cores"]), len(os.sched_getaffinity(0)))
        self.run_usf("clean", "-i", other, "--force")

    def test_cpus_limit_a_process(self):
        cpus = sorted(os.sched_getaffinity(0))
        keep = self.background()
        p = self.run_usf("run", "-c", str(cpus[0]), PYTHON, "-c", "import os; print(sorted(os.sched_getaffinity(0)))")
        self.assertEqual((p.stdout, p.stderr), ("[%d]\n" % cpus[0], ""))
        self.end(keep)

    def ends_by_itself(self, uid=os.geteuid()):
        path = "/dev/shm/usf-%d-%s" % (uid, self.instance)
        for _ in range(200):
            if not os.path.exists(path):
                return
            time.sleep(0.05)
        self.fail(path + " is still there")

    def test_instances_end_by_themselves(self):
        self.run_usf("run", "true")
        self.ends_by_itself()

    def test_nothing_is_kept_where_files_must_be_small(self):
        cache = os.path.join(self.dir, "cache")
        p = self.run_usf("run", "--cache-dir", cache, "bash", "-c", "ulimit -f 0; ls /; echo $?")
        self.assertEqual((p.returncode, p.stdout.split()[-1], p.stderr), (0, "0", ""))

    def for_all_to_read(self):
        for path, mode in ((self.dir, 0o755), (self.lib, 0o755)):
            os.chmod(path, mode)

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_children_of_another_user_run_unscheduled(self):
        self.for_all_to_read()
        code = "import subprocess; subprocess.run(['/bin/true'], user=65534, cwd='/', check=True)"
        p = self.run_usf("run", PYTHON, "-c", code)
        self.assertEqual((p.returncode, p.stdout, p.stderr), (0, "", ""))
        self.assertFalse(os.path.exists("/dev/shm/usf-65534-" + self.instance))
        p = self.run_usf("run", "-v", PYTHON, "-c", code)
        self.assertIn("started by user 0 and run as user 65534: it runs unscheduled", p.stderr)
        self.ends_by_itself()

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_who_becomes_another_user_runs_on_unscheduled(self):
        self.for_all_to_read()
        for threads, mapped in ("0", "False"), ("3", "True"):
            p = self.run_usf("run", PYTHON, "-c", OTHER_USER, threads)
            self.assertEqual((p.returncode, p.stdout, p.stderr), (0, "done %s\n" % mapped, ""))
            self.assertFalse(os.path.exists("/dev/shm/usf-65534-" + self.instance))
        self.ends_by_itself()

    def test_an_instance_that_a_program_makes_anew_ends_by_itself(self):
        code = "import os, glob, sys, time\n" \
               "os.unlink('/dev/shm/usf-%d-%s' % (os.geteuid(), sys.argv[1]))\n" \
               "os.execv('/bin/sh', ['sh', '-c', 'ls /dev/shm'])"
        p = self.run_usf("run", PYTHON, "-c", code, self.instance)
        self.assertEqual(p.returncode, 0)
        self.assertIn("usf-%d-%s" % (os.geteuid(), self.instance), p.stdout.split())
        self.ends_by_itself()

    def test_a_failed_exec_waits_for_its_core_asleep(self):
        script = self.write("bad", "#!/no/such/interpreter\n", 0o755)
        cpu = str(min(os.sched_getaffinity(0)))
        p = self.background("-c", cpu, "--progress=60000", "--policy=coop", code=FAILED_EXEC.replace("sys.argv[1]", repr(script)))
        q = self.run_usf("run", "-c", cpu, PYTHON, "-c", HOG)
        self.assertEqual((q.returncode, q.stderr), (0, ""))
        self.assertLess(float(p.communicate(timeout=30)[0]), 0.1)


if __name__ == "__main__":
    main()
