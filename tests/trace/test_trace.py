# tests/trace/test_trace.py - usf trace with real programs, and what becomes of it in the simulator.  SPDX-License-Identifier: Apache-2.0
import fcntl
import json
import os
import random
import re
import resource
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from instance import SEED, Instance, main

USF, SIM, PROGRAM = map(os.path.abspath, sys.argv[1:4])
LEGAL = {("new", "ready"), ("new", "running"), ("ready", "running"), ("running", "ready"), ("running", "blocked"), ("running", "in the kernel"),
         ("blocked", "ready"), ("in the kernel", "ready"), ("in the kernel", "blocked"), ("in the kernel", "by the kernel"),
         ("by the kernel", "ready"), ("by the kernel", "blocked")}


class Trace(Instance):
    tool, kind = USF, "trace"

    def setUp(self):
        super().setUp()
        self.rings = "/dev/shm/.usf-%d-%s.trace" % (os.geteuid(), self.instance)

    def tearDown(self):
        self.assertFalse(os.path.exists(self.rings), "the rings were left behind")

    def records(self):
        self.soon(lambda: os.path.exists(self.rings), "nobody records")

    def usf(self, *args, code=0, **kw):
        p = subprocess.run([USF, *args], env=self.env, cwd=self.dir, capture_output=True, text=True, timeout=90, stdin=subprocess.DEVNULL, **kw)
        self.assertEqual(p.returncode, code, p.stderr + p.stdout)
        return p

    def record(self, *what, code=0, options=()):
        self.usf("trace", "-o", "r.usft", *options, "--", PROGRAM, *what, code=code)
        return self.usf("trace", "info", "r.usft").stdout

    def workload(self):
        self.usf("trace", "convert", "r.usft", "-o", "w.usfw")
        with open(os.path.join(self.dir, "w.usfw")) as f:
            return f.read()

    def events(self):
        out = self.usf("trace", "convert", "--format", "text", "r.usft").stdout
        return [(float(m[1]), int(m[2]), m[3]) for m in re.finditer(r"^ *([0-9.]+) .{16} +(\d+) (.*)$", out, re.M)]

    def simulate(self, policy="coop", machine="core:2 switch=0us block=0us wake=0us wake-latency=0us idle-wake=0us pin=0us migrate=0us create=0us "
                 "sched=0us lock=0us sync=0us signal=0us yield=0us cold-same=0us cold-core=0us cold-llc=0us cold-node=0us"):
        p = subprocess.run([SIM, "run", "./w.usfw", "-m", machine, "-p", policy, "--no-alone", "--json", "--check"], cwd=self.dir, capture_output=True,
                           text=True, timeout=90)
        self.assertEqual(p.returncode, 0, p.stderr + p.stdout)
        run = json.loads(p.stdout)["runs"][0]
        self.assertTrue(run["ok"])
        return run

    def sums(self, info):
        """By program: threads, running, ready, blocked, calls (ms), switches, wakes."""
        rows = re.findall(r"^(\S+) +(\d+) +(\d+) +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+) +(\d+) +(\d+) +(\d+) +(\d+)$", info, re.M)
        return [{"name": r[0], "threads": int(r[2]), "running": float(r[3]), "ready": float(r[4]), "blocked": float(r[5]), "calls": float(r[6]),
                 "switches": int(r[7]), "wakes": int(r[8])} for r in rows]

    def dependences(self, text):
        """Of each program's semaphores: who posts and who waits, and how often."""
        all_of = {}
        program = thread = None
        times = [1]
        for line in text.splitlines():
            w = line.split("#")[0].split()
            if not w or w[0] in ("workload", "start", "semaphore"):
                continue
            if w[0] == "program":
                program = w[1]
            elif w[0] == "thread":
                thread = w[1]
            elif w[0] == "repeat":
                times.append(times[-1] * int(w[1]))
            elif w[0] == "end" and len(times) > 1:
                times.pop()
            elif w[0] in ("post", "wait"):
                who = all_of.setdefault((program, w[1]), {"post": {}, "wait": {}})[w[0]]
                who[thread] = who.get(thread, 0) + times[-1]
        return all_of

    def check_dependences(self, text):
        for name, d in self.dependences(text).items():
            self.assertEqual((len(d["post"]), len(d["wait"])), (1, 1), name)
            self.assertEqual(list(d["post"].values()), list(d["wait"].values()), name)
            self.assertNotEqual(list(d["post"]), list(d["wait"]), name)

    def check_replay(self, info):
        """The simulation ends, and computes for as long as the recording shows."""
        self.assertIn("events lost: 0\n", info)
        running = sum(s["running"] for s in self.sums(info)) * 1e6
        for policy in "coop", "fifo", "eevdf":
            run = self.simulate(policy)
            work = sum(p["work_ns"] for p in run["programs"])
            self.assertLess(abs(work - running), 1000 + running / 1000, policy)
        return run

    def check_states(self):
        """Each thread's states follow upon each other, as the scheduler may change them."""
        state, last = {}, 0
        for at, tid, what in self.events():
            self.assertGreaterEqual(at, last)
            last = at
            m = re.match(r"(new|ready|running|blocked|in the kernel|by the kernel|gone) -> (ready|running|blocked|in the kernel|by the kernel|gone)", what)
            if not m:
                continue
            if m[2] != "gone":
                self.assertIn((m[1], m[2]), LEGAL)
            if tid in state:
                self.assertEqual(state[tid], m[1], "%f %d %s" % (at, tid, what))
            state[tid] = m[2]
            if m[2] == "gone":
                del state[tid]
        self.assertEqual(state, {})

    # ---- what is recorded ----
    def test_pingpong(self):
        info = self.record("pingpong", "20")
        s = self.sums(info)
        self.assertEqual([p["threads"] for p in s], [4])
        self.assertGreaterEqual(s[0]["running"], 3 * 20 * 0.2)
        self.check_states()
        text = self.workload()
        self.assertEqual(len(re.findall(r"^    thread ", text, re.M)), 4)
        self.assertEqual(len(re.findall(r"spawn ", text)), 3)
        self.check_dependences(text)
        # turns are waited for, unless they came meanwhile
        self.assertGreaterEqual(sum(sum(d["wait"].values()) for d in self.dependences(text).values()), 10)
        self.check_replay(info)

    def test_order_is_kept(self):
        """Three that hand a turn round compute one at a time, on however many cores."""
        info = self.record("pingpong", "30")
        self.workload()
        run = self.simulate(machine="core:16 switch=0us block=0us wake=0us wake-latency=0us idle-wake=0us")
        self.assertGreaterEqual(run["makespan_ns"], 3 * 30 * 200000 * 0.99)
        self.assertIn("events lost: 0\n", info)

    def test_barrier(self):
        info = self.record("barrier", "10")
        self.assertEqual(self.sums(info)[0]["threads"], 5)
        self.check_states()
        self.check_dependences(self.workload())
        self.check_replay(info)
        # (100 + 200 + 300 + 400) us ten times: on enough cores the slowest of each round counts
        run = self.simulate(machine="core:8")
        self.assertGreaterEqual(run["makespan_ns"], 10 * 400000 * 0.99)

    def test_sleeps_and_io(self):
        info = self.record("sleeps")
        text = self.workload()
        sleeps = [int(n) for n in re.findall(r"sleep (\d+)ns", text)]
        io = [int(n) for n in re.findall(r" io (\d+)ns", text)]
        self.assertTrue(any(20000000 <= n for n in sleeps), text)
        self.assertTrue(any(15000000 <= n for n in io), text)
        self.check_replay(info)

    def test_children(self):
        for how in "fork", "vfork":
            info = self.record(how)
            self.assertEqual(sorted(p["threads"] for p in self.sums(info)), [1, 2])
            self.check_states()
            text = self.workload()
            self.assertEqual(len(re.findall(r"^start ", text, re.M)), 2)
            self.assertEqual(len(re.findall(r"^start .* at \d+ns$", text, re.M)), 1)
            self.check_replay(info)

    def test_perfetto(self):
        self.record("barrier", "3")
        self.usf("trace", "convert", "r.usft", "-o", "t.json")
        with open(os.path.join(self.dir, "t.json")) as f:
            events = json.load(f)["traceEvents"]
        lanes = {}
        for e in events:
            self.assertIn(e["ph"], "MXsf")
            if e["ph"] == "X":
                self.assertGreaterEqual(e["dur"], 0)
                lanes.setdefault((e["pid"], e["tid"]), []).append((e["ts"], e["ts"] + e["dur"]))
        for spans in lanes.values():
            spans.sort()
            for a, b in zip(spans, spans[1:]):
                self.assertLessEqual(a[1], b[0] + 0.0011)
        self.assertEqual(sum(e["ph"] == "s" for e in events), sum(e["ph"] == "f" for e in events))
        self.assertGreater(sum(e["ph"] == "s" for e in events), 5)

    # ---- the command ----
    def test_status(self):
        self.record("exit", "42", code=42)
        p = subprocess.run([USF, "trace", "-o", "k.usft", PROGRAM, "kill"], env=self.env, cwd=self.dir, timeout=60)
        self.assertEqual(p.returncode, -signal.SIGTERM)
        self.usf("trace", "info", "k.usft")
        self.usf("trace", "-o", "n.usft", "/nonexistent/program", code=127)

    def test_interrupted_program(self):
        """Ctrl-C goes to the program as well: what there is is written."""
        p = subprocess.Popen([USF, "trace", "-o", "c.usft", "--", PROGRAM, "long", "30"], env=self.env, cwd=self.dir, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, start_new_session=True)
        self.goes_on(p)
        os.killpg(p.pid, signal.SIGINT)
        self.assertEqual(p.wait(30), -signal.SIGINT)
        info = self.usf("trace", "info", "c.usft").stdout
        self.assertGreater(self.sums(info)[0]["switches"], 10)
        self.assertNotIn("cut off", info)

    def test_weight(self):
        self.record("barrier", "2", options=("--weight", "300", "--priority", "-7"))
        self.assertRegex(self.workload(), r"program \S+ weight 300 priority -7 ")
        self.simulate()

    def test_killed_with_its_program(self):
        p = subprocess.Popen([USF, "trace", "-o", "c.usft", "--", PROGRAM, "long", "30"], env=self.env, cwd=self.dir, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE)
        self.goes_on(p)
        p.kill()
        p.wait()
        self.soon(lambda: not os.path.exists(self.rings), "nobody takes the rings away")      # the instance's end does, or the monitor
        self.assertIn("cut off", self.usf("trace", "info", "c.usft").stdout)

    def test_killed_programs(self):
        """Programs die in the middle of anything while they are recorded: no state is missing, and the workload ends."""
        rnd = random.Random(SEED)
        t = subprocess.Popen([USF, "trace", "-o", "r.usft", "--", "sh", "-c", "echo begun; read x"], env=self.env, cwd=self.dir, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE)
        self.assertEqual(t.stdout.readline(), b"begun\n")
        for _ in range(5):
            p = self.start_long()
            time.sleep(rnd.random() * 0.1)
            p.kill()
            p.wait()
        t.communicate(b"x\n", timeout=60)
        self.assertEqual(t.returncode, 0)
        self.assertIn("events lost: 0\n", self.usf("trace", "info", "r.usft").stdout)
        self.check_states()
        text = self.workload()
        self.check_dependences(text)
        self.assertGreaterEqual(len(re.findall(r"^start ", text, re.M)), 5)
        self.simulate()

    def test_locks(self):
        self.assertRegex(self.record("pingpong", "20"), r"most waited for, of futexes\n +\d+ waits +[\d.]+ ms 0x[0-9a-f]+ of \S+")

    def test_formats_at_once(self):
        self.usf("trace", "-o", "x.usfw", PROGRAM, "barrier", "2")
        with open(os.path.join(self.dir, "x.usfw")) as f:
            self.assertIn("workload ", f.read())
        self.usf("trace", "--format", "text", "-o", "x", PROGRAM, "barrier", "2")
        with open(os.path.join(self.dir, "x")) as f:
            self.assertIn("-> running", f.read())
        self.usf("trace", "--format", "workload", PROGRAM, "barrier", "2")
        self.assertIn("trace.usfw", self.files())
        self.assertEqual(sorted(os.listdir(self.dir)), sorted(n for n in os.listdir(self.dir) if not n.endswith(".usft")))

    def test_mistakes(self):
        self.usf("trace", "--format", "jsn", PROGRAM, code=125)
        self.usf("trace", "-o", "/nonexistent/x", PROGRAM, code=125)
        self.usf("trace", "--duration", "-1", code=125)
        self.usf("trace", "--duration", "1", PROGRAM, code=125)
        self.usf("trace", "--duration", "1", "info", PROGRAM, code=125)
        self.usf("trace", "convert", code=125)
        self.usf("trace", "convert", PROGRAM, code=125)
        p = self.usf("trace", "info", PROGRAM, code=1)
        self.assertIn("no recording", p.stderr)
        p = self.usf("trace", "info", "none", code=1)
        self.assertIn("No such file", p.stderr)
        p = self.usf("trace", "--duration", "0.1", "-o", "a.usft", code=1)
        self.assertIn(self.instance, p.stderr)
        p = self.usf("trace", "--policy", "linux", "-o", "a.usft", PROGRAM, "exit", "7", code=7)
        self.assertIn("nothing is recorded", p.stderr)
        self.assertEqual([], self.files())

    def test_damaged_files(self):
        self.record("barrier", "4")
        with open(os.path.join(self.dir, "r.usft"), "rb") as f:
            whole = f.read()
        rnd = random.Random(SEED)
        for i in range(30):
            bad = bytearray(whole)
            if i % 2:
                bad = bad[:rnd.randrange(len(bad))]
            else:
                for _ in range(20):
                    bad[rnd.randrange(len(bad))] = rnd.randrange(256)
            with open(os.path.join(self.dir, "bad.usft"), "wb") as f:
                f.write(bad)
            for args in ("info", "bad.usft"), ("convert", "--format", "workload", "bad.usft"), ("convert", "--format", "perfetto", "bad.usft"), ("convert", "--format", "text", "bad.usft"):
                p = subprocess.run([USF, "trace", *args], env=self.env, cwd=self.dir, capture_output=True, timeout=60)
                self.assertIn(p.returncode, (0, 1), p.stderr)
            if i % 2:
                self.assertIn(b"cut off", p.stderr + subprocess.run([USF, "trace", "info", "bad.usft"], env=self.env, cwd=self.dir, capture_output=True).stdout
                              if len(bad) >= 16 else b"cut off")

    def test_disk_full(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        p = self.usf("trace", "--format", "recording", "-o", "/dev/full", PROGRAM, "exit", "5", code=5)
        self.assertIn("could not be written", p.stderr)

    # ---- an instance that runs ----
    def goes_on(self, p):
        """It has begun a round, and ended it, since."""
        fd = p.stdout.fileno()
        self.addCleanup(p.stdout.close)
        while select.select([fd], [], [], 0)[0]:
            if not os.read(fd, 4096):
                return
        for _ in range(2):
            os.read(fd, 2)

    def start_long(self, seconds="40", what="long"):
        """One that is at it."""
        p = subprocess.Popen([USF, "run", PROGRAM, what, seconds], env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.addCleanup(p.wait)
        self.addCleanup(p.kill)
        self.goes_on(p)
        return p

    def maps_rings(self, p, name=".trace"):
        with open("/proc/%d/maps" % p.pid) as f:
            return name in f.read()

    def is_recorded(self, p):
        """It writes into rings that are there, and has done so for a while."""
        self.wait_for(lambda: self.maps_rings(p, ".trace\n"))
        self.goes_on(p)

    def attach(self, p, name, *options):
        t = self.recorder("-o", name, *options)
        self.is_recorded(p)
        t.send_signal(signal.SIGINT)
        self.assertEqual(t.wait(30), 0)

    def test_attach(self):
        p = self.start_long()
        self.attach(p, "r.usft")
        info = self.usf("trace", "info", "r.usft").stdout
        self.assertGreater(self.sums(info)[0]["switches"], 10)
        self.assertNotIn("could not be recorded", info)
        self.workload()
        self.simulate()
        self.attach(p, "r.usft")        # again, with another number
        self.assertGreater(self.switches("r.usft"), 10)
        self.usf("trace", "--duration", "0.2", "-o", "r.usft")
        self.assertGreaterEqual(float(re.search(r", ([\d.]+) s\n", self.usf("trace", "info", "r.usft").stdout)[1]), 0.2)
        self.assertIsNone(p.poll())

    def recorder(self, *args, env=None, **kw):
        """One that has begun."""
        instance = (env or self.env)["USF_INSTANCE"]
        t = subprocess.Popen([USF, "trace", *args], env=env or self.env, cwd=self.dir, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **kw)
        self.addCleanup(t.stderr.close)
        self.addCleanup(t.wait)
        self.addCleanup(t.kill)
        self.wait_for(lambda: os.path.exists("/dev/shm/.usf-%d-%s.trace" % (os.geteuid(), instance)))
        self.wait_for(lambda: len(os.listdir("/proc/%d/task" % t.pid)) > 1)     # the thread that empties the rings comes last
        return t

    def files(self):
        return [n for n in os.listdir(self.dir) if n != ".cache"]

    def wait_for(self, what):
        end = time.monotonic() + 20
        while not what():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)

    def switches(self, name):
        info = self.usf("trace", "info", name).stdout
        self.assertNotIn("cut off", info)
        return sum(s["switches"] for s in self.sums(info))

    def test_refused_leaves_files(self):
        """Who may not record changes no file: an old recording, one that is being written, in the same instance or another."""
        with open(os.path.join(self.dir, "old.usft"), "w") as f:
            f.write("old")
        self.usf("trace", "--policy", "linux", "-i", self.instance + "-1", "-o", "old.usft", PROGRAM, "exit", "7", code=7)
        with open(os.path.join(self.dir, "old.usft")) as f:
            self.assertEqual(f.read(), "old")
        long = self.start_long()
        t = self.recorder()
        self.is_recorded(long)
        self.assertIn("being recorded already", self.usf("trace", "--duration", "1", code=1).stderr)
        self.assertIn("being recorded already", self.usf("trace", "--duration", "1", "-o", "old.usft", code=1).stderr)
        with open(os.path.join(self.dir, "old.usft")) as f:
            self.assertEqual(f.read(), "old")
        other = dict(self.env, USF_INSTANCE=self.instance + "-2")
        p = subprocess.run([USF, "trace", "-o", "trace.usft", PROGRAM, "exit", "9"], env=other, cwd=self.dir, capture_output=True, text=True, timeout=60)
        self.assertEqual(p.returncode, 9, p.stderr)
        self.assertIn("being written by another", p.stderr)
        self.assertFalse(os.path.exists("/dev/shm/.usf-%d-%s-2.trace" % (os.geteuid(), self.instance)))
        p = self.usf("trace", "convert", "--format", "text", "trace.usft", "-o", "./trace.usft", code=1)
        self.assertIn("being written by another", p.stderr)
        t.send_signal(signal.SIGINT)
        self.assertEqual(t.wait(30), 0)
        self.assertGreater(self.switches("trace.usft"), 10)
        self.attach(long, "old.usft")       # what is whole may be written over
        self.assertGreater(self.switches("old.usft"), 10)
        self.assertEqual(["old.usft", "trace.usft"], sorted(self.files()))

    def test_output_elsewhere(self):
        p = self.start_long()
        os.symlink("there", os.path.join(self.dir, "link"))
        self.attach(p, "link", "--format", "recording")
        self.assertGreater(self.switches("there"), 1)
        self.usf("trace", "--duration", "0.1", "--format", "recording", "-o", "/dev/null")
        self.assertTrue(os.path.exists("/dev/null"))
        self.usf("trace", "--duration", "0.1", "-o", self.dir, code=125)

    def looks(self):
        return int(re.search(r", looks (\d+)", self.usf("dump", "-i", self.instance).stdout)[1])

    def monitor_looks_for_recorder(self):
        """It does so in its next look when a second is over; one look may count several times."""
        time.sleep(1)           # no event: an open that finds no file is not seen from outside
        before = self.looks()
        self.wait_for(lambda: self.looks() >= before + 10)

    def test_unseen_rings(self):
        """Who does not see the rings (another container's monitor) leaves the recording alone; what is left of a number harms nobody."""
        p = self.start_long()
        t = self.recorder("-o", "r.usft")
        self.is_recorded(p)
        os.rename(self.rings, self.rings + ".away")
        self.monitor_looks_for_recorder()
        os.rename(self.rings + ".away", self.rings)
        self.usf("run", PROGRAM, "barrier", "3")
        t.send_signal(signal.SIGINT)
        self.assertEqual(t.wait(30), 0)
        self.assertEqual(len(self.sums(self.usf("trace", "info", "r.usft").stdout)), 2)
        t = self.recorder("-o", "s.usft")
        os.unlink(self.rings)
        t.kill()
        t.wait()
        self.attach(p, "t.usft")
        self.assertGreater(self.switches("t.usft"), 10)

    def test_taken_over(self):
        """A recorder that sees other files replaces the number: the first says so."""
        p = self.start_long()
        t = self.recorder("-o", "r.usft")
        self.is_recorded(p)
        os.rename(self.rings, self.rings + ".away")
        self.attach(p, "s.usft")
        self.assertEqual(t.wait(30), 1)
        os.unlink(self.rings + ".away")
        self.assertIn("ends early", t.stderr.read())
        self.assertGreater(self.switches("s.usft"), 10)
        self.switches("r.usft")

    def test_ignored_signals(self):
        """nohup usf trace: goes on."""
        p = self.start_long()
        t = self.recorder("-o", "r.usft", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        t.send_signal(signal.SIGHUP)
        self.is_recorded(p)
        self.assertIsNone(t.poll())
        t.send_signal(signal.SIGTERM)
        self.assertEqual(t.wait(30), 0)
        self.assertGreater(self.switches("r.usft"), 10)

    def test_converting_ends(self):
        """A second Ctrl-C ends what is made of the recording, and leaves no file of ours."""
        p = self.start_long()
        fifo = os.path.join(self.dir, "f.json")
        os.mkfifo(fifo)
        r = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        room = fcntl.fcntl(r, fcntl.F_SETPIPE_SZ, 4096)
        t = self.recorder("-o", "f.json")
        self.is_recorded(p)
        t.send_signal(signal.SIGINT)
        self.wait_for(lambda: struct.unpack("i", fcntl.ioctl(r, termios.FIONREAD, b"....")) == (room,))      # nobody reads
        self.assertIsNone(t.poll())
        self.assertEqual(2, len(self.files()))
        t.send_signal(signal.SIGINT)
        self.assertEqual(t.wait(30), -signal.SIGINT)
        os.close(r)
        self.assertEqual(["f.json"], self.files())

    def test_file_limit(self):
        self.start_long()
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        self.assertIn("ulimit", self.usf("trace", "--duration", "0.1", "-o", "r.usft", code=1, preexec_fn=limit).stderr)

    def test_locked_memory(self):
        """mlockall(MCL_FUTURE): neither the recording's file nor what takes its place is filled with pages."""
        p = self.start_long(what="locked")
        if p.poll() is not None:
            self.skipTest("memory cannot be locked")
        for _ in range(2):
            self.attach(p, "r.usft")
            self.assertGreater(self.switches("r.usft"), 10)
            self.wait_for(lambda: not self.maps_rings(p))
            self.goes_on(p)         # the thread that has unmapped them does
            with open("/proc/%d/status" % p.pid) as f:
                text = f.read()
            self.assertLess(int(re.search(r"VmRSS:\s+(\d+)", text)[1]), 200 << 10)

    def test_swept(self):
        """Rings of which nothing else is left, of a user who has no instances."""
        if os.geteuid():
            self.skipTest("needs root")
        user = 60000 + os.getpid() % 5000
        rings = "/dev/shm/.usf-%d-%s.trace" % (user, self.instance)
        strange = "/dev/shm/.usf-%d-a:b.trace" % user
        for path in rings, strange:
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            os.chown(path, user, user)
            self.addCleanup(lambda path=path: os.path.exists(path) and os.unlink(path))
        with open(rings) as f:
            fcntl.flock(f, fcntl.LOCK_EX)
            clean = lambda: subprocess.run([USF, "clean", "--all"], env=self.env, capture_output=True, timeout=30, user=user, group=user, extra_groups=[])
            if clean().returncode:
                self.skipTest("another user cannot execute it")
            self.assertTrue(os.path.exists(rings))
        clean()
        self.assertFalse(os.path.exists(rings))
        self.assertTrue(os.path.exists(strange))

    def test_strangers(self):
        """A process that becomes another user for good keeps nothing of the recording."""
        if os.geteuid():
            self.skipTest("needs root")
        p = self.start_long(what="stranger")
        t = self.recorder("-o", "r.usft")
        self.is_recorded(p)
        p.send_signal(signal.SIGUSR1)
        self.wait_for(lambda: not self.maps_rings(p))
        self.assertIsNone(t.poll())
        t.send_signal(signal.SIGINT)
        self.assertEqual(t.wait(30), 0)

    def test_visitors(self):
        """One that is another user for the moment is recorded; if it was when the recording began, from its return on."""
        if os.geteuid():
            self.skipTest("needs root")
        p = self.start_long(what="visitor")
        visits = lambda: os.stat("/proc/%d" % p.pid).st_uid == 65534
        t = self.recorder("-o", "r.usft")
        self.is_recorded(p)
        p.send_signal(signal.SIGUSR1)
        self.wait_for(visits)
        self.is_recorded(p)
        t.send_signal(signal.SIGINT)
        self.assertEqual(t.wait(30), 0)
        self.assertGreater(self.switches("r.usft"), 10)
        self.wait_for(lambda: not self.maps_rings(p))
        t = self.recorder("-o", "s.usft")
        self.goes_on(p)
        self.assertFalse(self.maps_rings(p))
        p.send_signal(signal.SIGUSR2)
        self.is_recorded(p)
        t.send_signal(signal.SIGINT)
        self.assertEqual(t.wait(30), 0)
        self.assertGreater(self.switches("s.usft"), 10)

    def in_small_shm(self, size, *args):
        """In a /dev/shm of its own."""
        return subprocess.run(["unshare", "-rm", "sh", "-c", "mount -t tmpfs -o size=%s none /dev/shm || exit 77; exec \"$@\"" % size, "sh", USF, *args],
                              env=self.env, cwd=self.dir, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)

    def test_full_shm(self):
        """Without room for the rings nothing is recorded, and with room for few of them not what has none; the program is none the worse."""
        p = self.in_small_shm("4m", "trace", "-o", "r.usft", "--", PROGRAM, "exit", "7")
        if p.returncode == 77 or "unshare" in p.stderr:
            self.skipTest("no private mounts here")
        self.assertEqual(p.returncode, 7, p)
        self.assertRegex(p.stderr, "cannot be made as .*: No space left on device: nothing is recorded")
        self.assertEqual([], self.files())
        p = self.in_small_shm("24m", "trace", "-o", "r.usft", "--", PROGRAM, "crowd", "200")
        self.assertEqual(p.returncode, 0, p)
        self.assertRegex(p.stderr, r"\d+ events are lost")

    def test_interrupt(self):
        p = self.start_long()
        t = self.recorder("-o", "i.usft")
        self.assertIn("being recorded already", self.usf("trace", "--duration", "1", "-o", "j.usft", code=1).stderr)
        self.is_recorded(p)
        t.send_signal(signal.SIGINT)
        self.assertEqual(t.wait(30), 0)
        self.assertGreater(self.sums(self.usf("trace", "info", "i.usft").stdout)[0]["switches"], 10)

    def test_killed_recorder(self):
        p = self.start_long()
        t = self.recorder("-o", "i.usft")
        self.is_recorded(p)
        t.kill()
        t.wait()
        self.soon(lambda: not os.path.exists(self.rings), "the monitor does not notice")
        self.assertIsNone(p.poll())
        self.attach(p, "r.usft")
        self.assertGreater(self.switches("r.usft"), 10)
        self.assertIn("cut off", self.usf("trace", "info", "i.usft").stdout)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)        # programs that are started in the background ignore it
    main(230, taken=3)
