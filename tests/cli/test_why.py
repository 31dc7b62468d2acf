#!/usr/bin/python3
# tests/cli/test_why.py - ps --why and dump, of threads that wait in known ways.  SPDX-License-Identifier: Apache-2.0
import json
import os
import select
import shutil
import subprocess
import time
import unittest

from common import FILES, Case, main

WAITS = os.environ["CLI_WAITS"]


class Waiting(Case):
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
        self.running.append(p)
        self.assertTrue(select.select([p.stdout], [], [], 30)[0], "no answer")
        self.assertEqual(p.stdout.readline(), "up\n")
        return p

    def end(self, p):
        p.stdin.write("\n")
        p.stdin.flush()
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
    def of(threads, name):
        return threads[name]["why"] or {}

    def test_each_wait_is_named(self):
        p = self.start()
        t = self.why(lambda t: self.of(t, "on-accept").get("call") == "accept" and "on-heap" in t)
        w = self.of(t, "on-mutex")
        self.assertEqual((w["kind"], w["symbol"], w["offset"], w["place"]), ("futex", "the_lock", 0, "object"))
        self.assertEqual(os.path.realpath(w["object"]), os.path.realpath(WAITS))
        self.assertEqual((w["value"], w["holder"]), (2, p.pid))
        self.assertIn("a mutex that thread %d (%s) holds" % (p.pid, t[os.path.basename(WAITS)[:15]]["name"]), w["text"])
        w = self.of(t, "on-cond")
        self.assertEqual((w["kind"], w["symbol"]), ("futex", "the_cond"))
        self.assertTrue(96 <= w["offset"] < 144, w)     # the third of three
        self.assertNotIn("holder", w)
        w = self.of(t, "on-heap")
        self.assertEqual((w["kind"], w["place"], w["object"], w["holder"]), ("futex", "heap", "[heap]", p.pid))
        w = self.of(t, "on-read")
        self.assertEqual((w["kind"], w["call"]), ("call", "read"))
        self.assertEqual(w["target"], os.readlink("/proc/%d/fd/%d" % (p.pid, w["fd"])))
        self.assertTrue(w["target"].startswith("pipe:["), w)
        w = self.of(t, "on-accept")
        self.assertEqual(w["call"], "accept")
        self.assertRegex(w["target"], r"^TCP 127\.0\.0\.1:\d+, listening$")
        w = self.of(t, "on-poll")
        self.assertEqual(w["call"], "poll")
        if w.get("kernel_state") and os.access("/proc/%d/syscall" % p.pid, os.R_OK):
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
                self.assertRegex(line, r" \d+ m?s  futex 0x[0-9a-f]+ \(the_lock\+0x0 in .*\) = 2; looks like a mutex")
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
        self.assertNotIn("since_ms", w)     # nobody takes the time when a core is lent
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
        self.running.append(p)
        self.assertEqual(p.stdout.readline(), "up\n")
        self.assertEqual(self.of(self.why(), "on-mutex")["symbol"], "the_lock")
        shutil.copy2(WAITS, copy + ".new")
        os.rename(copy + ".new", copy)
        w = self.of(self.why(), "on-mutex")
        self.assertIsNone(w["symbol"])
        self.assertIn("(deleted)", w["object"])
        self.end(p)


if __name__ == "__main__":
    main()
