#!/usr/bin/python3
# tests/cli/test_why.py - ps --why and dump, of threads that wait in known ways.  SPDX-License-Identifier: Apache-2.0
import json
import os
import random
import re
import select
import shutil
import subprocess
import time

from common import FILES, Case, main, number, places

WAITS = os.environ["CLI_WAITS"]
SLEEPERS = 1 << 31      # in the lock's word: others wait for it
RECORDS = 4000          # bytes of the first tasks' records
WAIT_IN = {"on-mutex": "futex", "on-cond": "futex", "on-heap": "futex", "on-join": "futex", "on-read": "read", "on-accept": "accept",
           "on-poll": "poll", "on-select": "select pselect6", "on-epoll": "epoll_wait", "on-sleep": "clock_nanosleep"}


class Base(Case):
    def setUp(self):
        super().setUp()
        shutil.copy2(FILES["lib"], self.lib)
        self.running = []

    def tearDown(self):
        for p in self.running:
            if p.poll() is None:
                p.kill()
            p.wait(20)
            p.stdin.close()
            p.stdout.close()
        super().tearDown()

    def start(self, *args, options=()):
        p = subprocess.Popen([self.usf, "run", *options, WAITS, *args], env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.comes_up(p)
        if args:
            self.tell(p)
        return p

    def comes_up(self, p):
        """All its threads wait; they may only seem not to where the tool may not look into it."""
        self.running.append(p)
        self.assertTrue(select.select([p.stdout], [], [], 30)[0], "no answer")
        self.assertEqual(p.stdout.readline(), "up\n")
        t = self.why(self.all_wait)
        self.assertTrue(self.all_wait(t) or not self.may_trace(p), t)

    def all_wait(self, threads):
        why = {name: self.of(threads, name) if name in threads else {} for name in WAIT_IN}
        return all((w.get("call") or w.get("kind")) in WAIT_IN[name].split() for name, w in why.items())

    @staticmethod
    def tell(p):
        p.stdin.write("\n")
        p.stdin.flush()

    def end(self, p):
        self.tell(p)
        self.assertEqual(p.wait(30), 0)

    def why(self, done=lambda threads: True):
        """The reasons by thread's name, as soon as they are what is wanted."""
        until = time.time() + 10
        while True:
            p = self.run_usf("ps", "--why", "--json", "-i", self.instance)
            self.assertEqual((p.returncode, p.stderr), (0, ""))
            i, = json.loads(p.stdout)
            threads = {t["name"]: t for x in i["processes"] for t in x["threads"]}
            if done(threads) or time.time() > until:
                return threads
            time.sleep(0.1)

    @staticmethod
    def may_trace(p):
        """May the tool, which is not the program's parent, look into it?  (Yama's ptrace_scope.)"""
        return subprocess.run(["cat", "/proc/%d/syscall" % p.pid], capture_output=True, timeout=20).returncode == 0

    @staticmethod
    def of(threads, name):
        return threads[name]["why"] or {}


class Waiting(Base):
    def test_each_wait_is_named(self):
        p = self.start()
        t = self.why(lambda t: self.of(t, "on-accept").get("call") == "accept" and "on-heap" in t)
        w = self.of(t, "on-mutex")
        self.assertEqual((w["kind"], w["symbol"], w["offset"], w["place"]), ("futex", "the_lock", 0, "object"))
        self.assertEqual(os.path.realpath(w["object"]), os.path.realpath(WAITS))
        if self.may_trace(p):
            self.assertEqual((w["value"], w["holder"]), (2, p.pid))
            self.assertIn("a mutex that thread %d (%s) holds" % (p.pid, t[os.path.basename(WAITS)[:15]]["name"]), w["text"])
        w = self.of(t, "on-cond")
        self.assertEqual((w["kind"], w["symbol"]), ("futex", "the_cond"))
        self.assertTrue(96 <= w["offset"] < 144, w)     # the third of three
        self.assertNotIn("holder", w)
        w = self.of(t, "on-heap")
        self.assertEqual((w["kind"], w["place"], w["object"]), ("futex", "heap", "[heap]"))
        w = self.of(t, "on-read")
        self.assertEqual((w["kind"], w["call"]), ("call", "read"))
        self.assertEqual(w["target"], os.readlink("/proc/%d/fd/%d" % (p.pid, w["fd"])))
        self.assertTrue(w["target"].startswith("pipe:["), w)
        w = self.of(t, "on-accept")
        self.assertEqual(w["call"], "accept")
        self.assertRegex(w["target"], r"^TCP 127\.0\.0\.1:\d+, listening$")
        for name, calls in (("on-poll", ("poll",)), ("on-select", ("select", "pselect6"))):
            w = self.of(t, name)
            self.assertIn(w["call"], calls)
            if self.may_trace(p):
                self.assertIn("fd %d (pipe:[" % self.of(t, "on-read")["fd"], w["text"])
        w = self.of(t, "on-epoll")
        self.assertEqual(w["call"], "epoll_wait")
        self.assertIn("watches fd %d (pipe:[" % self.of(t, "on-read")["fd"], w["text"])
        self.assertEqual(self.of(t, "on-sleep")["call"], "clock_nanosleep")
        self.assertEqual(self.of(t, "on-join")["kind"], "futex")
        # the text has the same
        out = self.run_usf("ps", "-w", "-i", self.instance).stdout
        for line in out.splitlines():
            if "on-mutex" in line:
                self.assertRegex(line, r" \d+ m?s  futex 0x[0-9a-f]+ \(the_lock\+0x0 in .*\)")
                break
        else:
            self.fail(out)
        self.end(p)

    def test_since_when(self):
        p = self.start()
        a = self.of(self.why(), "on-mutex")["since_ms"]
        time.sleep(1.5)
        t = self.why()
        b = self.of(t, "on-mutex")["since_ms"]
        self.assertTrue(1400 <= b - a < 15000, (a, b))
        w = self.of(t, "on-read")
        self.assertNotIn("since_ms", w)     # a provisional release has no time stamp
        self.assertGreaterEqual(w["at_most_ms"], 1400)
        self.end(p)

    def test_those_that_wait_for_a_core(self):
        cpu = str(min(os.sched_getaffinity(0)))
        self.start("3", options=("-c", cpu, "--progress", "10000"))
        def ready(threads):
            return [t for t in threads.values() if (t["why"] or {}).get("kind") == "core"]
        t = self.why(ready)
        r = ready(t)
        self.assertTrue(r, t)
        for x in r:
            self.assertEqual(x["state"], "ready")
            self.assertIn("since_ms", x["why"])
        known = [x["why"] for x in r if "core" in x["why"]]
        for w in known:
            self.assertEqual(w["core"], 0)
            self.assertRegex(w["text"], r"^a core \(.*\); ran last on core 0 \(CPU %s\), where \d+ waits? and " % cpu)

    def test_policy_linux(self):
        """Nobody has a core, and nobody but the kernel knows who waits."""
        p = self.start(options=("--policy", "linux"))
        if not self.may_trace(p):
            self.skipTest("the kernel does not tell")
        t = self.why()
        self.assertEqual(self.of(t, "on-mutex")["symbol"], "the_lock")
        self.assertEqual(self.of(t, "on-mutex")["holder"], p.pid)
        self.assertEqual(self.of(t, "on-accept")["call"], "accept")
        self.assertNotIn("core", self.of(t, "on-accept")["text"])
        self.end(p)

    def test_stopped(self):
        p = self.start()
        os.kill(p.pid, 19)
        try:
            t = self.why(lambda t: any("stopped" in (x["why"] or {}).get("text", "") for x in t.values()))
            self.assertTrue(any("stopped" in (x["why"] or {}).get("text", "") for x in t.values()), t)
        finally:
            os.kill(p.pid, 18)
        self.end(p)

    def test_replaced_program_has_no_symbols(self):
        """The file that has the name now is not the one that runs."""
        copy = os.path.join(self.dir, "copy")
        shutil.copy2(WAITS, copy)
        p = subprocess.Popen([self.usf, "run", copy], env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.comes_up(p)
        self.assertEqual(self.of(self.why(), "on-mutex")["symbol"], "the_lock")
        shutil.copy2(WAITS, copy + ".new")
        os.rename(copy + ".new", copy)
        shutil.copy2(WAITS, copy + " (deleted)")    # which is what the kernel calls it now
        w = self.of(self.why(), "on-mutex")
        self.assertIsNone(w["symbol"])
        self.assertIn("(deleted)", w["object"])
        self.end(p)


class Symbols(Case):
    """The names in files: right for sound ones, and no crash for any."""

    def ask(self, *questions):
        p = subprocess.run([FILES["harness"], "symbol"], input="".join("%s %x\n" % q for q in questions), capture_output=True, text=True, timeout=60)
        self.assertEqual((p.returncode, p.stderr), (0, ""))
        return p.stdout.splitlines()

    def test_as_nm_has_them(self):
        if not shutil.which("nm"):
            self.skipTest("no nm")
        names = []
        for line in subprocess.run(["nm", "-S", "--defined-only", WAITS], capture_output=True, text=True).stdout.splitlines():
            words = line.split()
            if len(words) == 4 and words[2] in "tTdDbBrR" and int(words[1], 16) > 0:
                names.append((int(words[0], 16), int(words[1], 16), words[3]))
        self.assertGreater(len(names), 10)
        for (at, size, name), answer in zip(names, self.ask(*[(WAITS, at + size - 1) for at, size, _ in names])):
            self.assertEqual(answer, "%s %x" % (name, size - 1))
        self.assertEqual(self.ask((WAITS, 0), (WAITS, 2**63), ("/etc/passwd", 5)), ["-", "-", "-"])

    def test_damaged_files(self):
        with open(WAITS, "rb") as f:
            good = f.read()
        start = int.from_bytes(good[40:48], "little")       # section headers
        for i in range(200):
            bad = bytearray(good)
            for _ in range(random.choice([1, 3, 20])):
                at = random.choice([random.randrange(64), start + random.randrange(len(good) - start), random.randrange(len(good))])
                bad[at] = random.choice([0, 1, 0x7f, 0xff, random.randrange(256)])
            path = self.write("bad", bytes(bad[:random.choice([len(bad)] * 3 + [random.randrange(len(bad))])]))
            self.ask(*[(path, random.randrange(0x5000)) for _ in range(10)])


class Dump(Base):
    def setUp(self):
        super().setUp()
        self.places = places()

    def dump(self, *args, code=0):
        p = self.run_usf("dump", *args)
        self.assertEqual(p.returncode, code, p.stderr)
        if code == 0:
            self.assertEqual(p.stderr, "")
        return p.stdout if code == 0 else p.stderr

    def poke(self, field, data, add=0):
        with open(self.segment, "r+b") as f:
            f.seek(self.places[field] + add)
            f.write(data)

    @staticmethod
    def all_stopped(p):
        """Has the kernel stopped every thread?  Its signal reaches one after the other."""
        for tid in os.listdir("/proc/%d/task" % p.pid):
            with open("/proc/%d/task/%s/stat" % (p.pid, tid)) as f:
                if f.read().rpartition(")")[2].split()[0] != "T":
                    return False
        return True

    @staticmethod
    def sleeps(pid):
        """Does every thread of it?"""
        for tid in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/stat" % (pid, tid)) as f:
                if f.read().rpartition(")")[2].split()[0] != "S":
                    return False
        return True

    def lock_is_held(self, monitor):
        """By task 0.  The monitor may hold the lock at this moment: then it releases it, and sleeps, and the word is to be written again."""
        one = (1).to_bytes(4, "little")
        self.poke("lock", one)
        self.soon(lambda: self.sleeps(monitor), "the monitor does not sleep")
        with open(self.segment, "rb") as f:
            f.seek(self.places["lock"])
            return number(f.read(4), 0, 4) & ~SLEEPERS == 1

    def sections(self, out):
        for s in ("header", "configuration", "scheduler", "consistency", "scheduler lock", "monitor", "cores", "processes", "tasks"):
            self.assertIn("== %s ==" % s, out)

    def test_of_a_process_and_by_name(self):
        p = self.start()
        for out in (self.dump(str(p.pid)), self.dump("-i", self.instance)):
            self.sections(out)
            self.assertIn("name " + self.instance, out)
            self.assertIn("== consistency ==\nsound\n", out)
            self.assertRegex(out, r"word 0x[0-9a-f]+: held by ")
            self.assertRegex(out, r"monitor ==\npid namespace 0 \(inode \d+\): process \d+ \(start \d+\), alive")
            self.assertRegex(out, r"task \d+: thread \d+ \(on-mutex\), process record 0, state 4 \(blocked\)")
            self.assertIn("waits for: futex ", out)
            self.assertIn("(the_lock+0x0 in ", out)
            self.assertRegex(out, r"kernel: S, CPU \d+, in ")
            self.assertRegex(out, r"process record 0: process %d \(" % p.pid)
            tasks = re.findall(r"^task \d+: thread ", out, re.M)
            self.assertGreater(len(tasks), 1)
            self.assertIn("  tasks in use %d, " % len(tasks), out)
            cores = out[out.index("== cores =="):out.index("== processes ==")]
            self.assertIn("  policy's data", cores)     # coop's, of which cores share a cache: its init was called
        self.end(p)

    def test_of_a_wedged_one(self):
        """Every thread is stopped, the lock is held: nothing is waited for, and the owner is named."""
        p = self.start()
        t = self.why(lambda t: "on-mutex" in t)
        os.kill(p.pid, 19)
        try:
            self.soon(lambda: self.all_stopped(p), "not all of its threads stop")   # one that runs may release the lock
            monitor = json.loads(self.run_usf("ps", "--json", "-i", self.instance).stdout)[0]["monitor_pid"]
            self.soon(lambda: self.lock_is_held(monitor), "the lock does not stay held")
            began = time.time()
            out = self.dump(str(p.pid))
            self.assertLess(time.time() - began, 10)
            self.assertRegex(out, r"word 0x[0-9a-f]+: held by task 0, thread %d \(.*\) of process %d" % (p.pid, p.pid))
            self.assertIn("; it is stopped", out)
            self.assertIn(str(t["on-mutex"]["tid"]), out)
        finally:
            p.kill()

    def test_of_one_without_a_name(self):
        """Retired and unlinked: found through the process that still has it."""
        p = self.start()
        if not self.may_trace(p):
            self.skipTest("its memory may not be read here")
        self.poke("state", (2).to_bytes(4, "little"))
        os.unlink(self.segment)
        out = self.dump(str(p.pid))
        self.sections(out)
        self.assertIn("memory of process %d" % p.pid, out)
        self.assertIn("state 2 (retired)", out)
        self.assertIn("the_lock+0x0", out)
        self.assertIn("there is no instance", self.dump("-i", self.instance, code=1))
        p.kill()

    def test_of_damaged_ones(self):
        p = self.start()
        p.kill()
        p.wait(20)
        self.env["USF_MONITOR_LINGER"] = "30000"
        p = self.start()
        with open(self.segment, "rb") as f:
            good = f.read(1 << 20)
            size = os.fstat(f.fileno()).st_size
        self.end(p)
        self.run_usf("clean", "-i", self.instance, "--force")
        def lay(data):
            with open(self.segment, "wb") as f:
                f.write(data)
            os.chmod(self.segment, 0o600)
        cases = {"magic": b"\0" * 8, "nr_cores": b"\xff" * 4, "task_hwm": b"\xff" * 8, "off_tasks": b"\xff" * 8, "state": b"\x77" * 4,
                 "policy": b"\x1b[31m" + b"x" * 27, "policy_why": b"x" * 128}
        for field, data in cases.items():
            bad = bytearray(good)
            bad[self.places[field]:self.places[field] + len(data)] = data
            lay(bytes(bad))
            os.truncate(self.segment, size)
            out = self.dump("-i", self.instance)
            self.sections(out)
            self.assertNotIn("\033", out)
            self.assertRegex(out, r"core 0: CPU \d+")
            if field != "policy_why":
                self.assertIn("damaged: ", out, field)
        bad = bytearray(good)
        bad[self.places["layout_hash"]] ^= 1
        lay(bytes(bad))
        self.assertIn("another version", self.dump("-i", self.instance))
        for n in (0, 1, 100, 5000, number(good, self.places["header_size"], 4), 100000):
            lay(good[:n])
            self.assertIn("truncated", self.dump("-i", self.instance))
        os.unlink(self.segment)
        os.symlink("/etc/passwd", self.segment)
        self.assertNotIn("root:", self.run_usf("dump", "-i", self.instance).stdout)

    def test_of_random_ones(self):
        p = self.start()
        with open(self.segment, "rb") as f:
            good = f.read(16 << 20)
            size = os.fstat(f.fileno()).st_size
        self.end(p)
        self.run_usf("clean", "-i", self.instance, "--force")
        header, tasks = number(good, self.places["header_size"], 4), number(good, self.places["off_tasks"], 8)
        self.assertLess(tasks, len(good) - RECORDS)
        for _ in range(30):
            data = bytearray(good)
            for _ in range(random.choice([1, 8, 3000])):
                at = random.choice([random.randrange(2500), random.randrange(header), random.randrange(len(data)), tasks + random.randrange(RECORDS)])
                data[at] = random.choice([0, 1, 0x7f, 0xff, random.randrange(256)])
            with open(self.segment, "wb") as f:
                f.write(data)
            os.truncate(self.segment, size)
            os.chmod(self.segment, 0o600)
            p = subprocess.run([self.usf, "dump", "-i", self.instance], env=self.env, capture_output=True, timeout=60)
            self.assertEqual((p.returncode, p.stderr), (0, b""))
            self.assertNotIn(b"\033", p.stdout)
            p.stdout.decode()       # fit for a report
            p = subprocess.run([self.usf, "ps", "--why", "--json", "-i", self.instance], env=self.env, capture_output=True, timeout=60)
            self.assertIn(p.returncode, (0, 1), p.stderr)
            json.loads(p.stdout)

    def test_mistakes(self):
        self.one_line(self.run_usf("dump", "1x"), 125, "not the number")
        self.one_line(self.run_usf("dump", "-i", self.instance, "5"), 125, "exclude")
        self.one_line(self.run_usf("dump", "5", "6"), 125, "too many")
        self.one_line(self.run_usf("dump", str(os.getpid())), 1, "takes part in no instance")
        self.one_line(self.run_usf("dump", "2147483647"), 1, "there is no process")
        self.one_line(self.run_usf("dump", "-i", self.instance), 1, "there is no instance")
        self.assertEqual(self.run_usf("dump").returncode, 0)


if __name__ == "__main__":
    main()
