# tests/spawn/test_late.py - children of a program under usf take part late.  SPDX-License-Identifier: Apache-2.0
import os
import re
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import instance

USF = os.environ["SPAWN_USF"]
LATE = os.path.join(os.environ["SPAWN_BIN"], "spawn-late")
LITTLE = 8000000                # ns of CPU time: it need not have joined for that
TRIES = 50


def can_stand_by():
    """Not under a filter of system calls, as containers have it, and not on old kernels."""
    with open("/proc/self/status") as f:
        filtered = any(line.startswith("Seccomp:") and line.split()[1] != "0" for line in f)
    return not filtered and tuple(map(int, re.findall(r"\d+", os.uname().release)[:2])) >= (5, 11)


class Case(instance.Programs):
    tool = USF
    kind = "late"

    def setUp(self):
        super().setUp()
        self.env["XDG_CACHE_HOME"] = self.dir
        self.env["USF_ATTACH"] = "late"
        self.result(*self.run_of(), "sh", "-c", LATE + " segment")    # the cache has what it needs

    def speak(self, command, options=()):
        """Below a shell that is the first program.  What it says to `command`, and its pid."""
        p = self.start(*self.run_of(*options), "sh", "-c", '"$0"; :', LATE)
        pid, cpu = self.says(p, "first").split()
        for c in command:
            pid, cpu = self.says(p, c + "\nnext" if c == "exec" else c).split()
        return p, int(pid), int(cpu)

    def standing_by(self, *command, options=()):
        """One that has had so little CPU time that nothing but a command can have made it join."""
        if not can_stand_by():
            self.skipTest("processes take part at their start here")
        for _ in range(TRIES):
            p, pid, cpu = self.speak(command, options)
            if cpu < LITTLE:
                return p, pid
            self.end(p)
        self.skipTest("this machine takes too long to start a program")

    def takes_part(self, pid):
        return self.process(pid) is not None


class Joins(Case):
    def test_it_stands_by(self):
        p, pid = self.standing_by()
        self.assertFalse(self.takes_part(pid))
        with open("/proc/%d/stat" % pid) as f:
            shell = int(f.read().split()[3])
        self.assertTrue(self.takes_part(shell), "the first program takes part at once")

    def test_now(self):
        _, pid, _ = self.speak((), ("--attach", "now"))
        self.assertTrue(self.takes_part(pid))

    def check(self, *commands):
        for c in commands:
            with self.subTest(c):
                p, pid = self.standing_by()
                self.assertFalse(self.takes_part(pid))
                self.says(p, c)
                self.assertTrue(self.takes_part(pid))

    def test_by_what_it_does(self):
        self.check("thread", "where", "affinity", "nice", "cpus", "stack", "share", "namespace", "asks")

    def test_by_alternate_stacks(self):
        """But for one in the executable's own data: then it joins by calls alone."""
        self.check("allocated", "early")
        for steps in (("guard",), ("alone", "guard", "fork")):
            with self.subTest(steps):
                p, pid = self.standing_by(*steps)
                self.says(p, "burn")
                self.assertFalse(self.takes_part(pid))
                self.says(p, "thread")
                self.assertTrue(self.takes_part(pid))
        _, pid = self.standing_by("guard", "fork")      # others may wait for the child in the memory that it shares
        self.assertTrue(self.takes_part(pid))

    def test_without_a_function_of_the_program(self):
        """It may join in the middle of a malloc: nothing may be called there that a preloaded library has in place of libc's."""
        script = 'LD_PRELOAD="$LD_PRELOAD:%s" "$0"; :' % os.path.abspath(os.path.join(os.environ["SPAWN_BIN"], "spawn-getpid.so"))
        for c in "thread", "burn":
            calls = {}
            for how in (), self.run_of(), self.run_of("--attach", "now"):
                p = self.start(*how, "sh", "-c", script, LATE, stderr=subprocess.PIPE)
                pid = int(self.says(p, c).split()[0])
                self.assertEqual(self.takes_part(pid) if how else False, bool(how))
                calls[" ".join(how)] = p.communicate(timeout=30)[1].count("getpid")
            self.assertEqual(len(set(calls.values())), 1, calls)

    def test_by_its_cpu_time(self):
        self.check("burn")
        for more in ((), ("fork",), ("thread", "fork")):
            with self.subTest(more):
                p, pid = self.standing_by(*more, "alone")
                self.says(p, "burn")
                self.assertFalse(self.takes_part(pid))
                self.says(p, "burn_long")
                self.assertTrue(self.takes_part(pid))

    def test_not_by_other_calls(self):
        for c in ("alarm", "block", "urgent", "sleep"):
            with self.subTest(c):
                _, pid = self.standing_by(c)
                self.assertFalse(self.takes_part(pid))

    def test_without_a_call(self):
        """The timer's signal alone: a program that computes and makes no call."""
        p = self.start(*self.run_of(), "sh", "-c", '"$@"; :', "sh", LATE, "computes_alone")
        pid = int(p.stdout.readline())
        self.addCleanup(os.kill, pid, signal.SIGKILL)       # a child of the one that `end` ends
        self.soon(lambda: self.takes_part(pid), "it does not take part")

    def test_children(self):
        """Children of a fork stand by as well, whether their parent takes part or not."""
        for first in ((), ("thread",)):
            for way in ("fork", "clone"):
                with self.subTest((first, way)):
                    p, pid = self.standing_by(*first, way)
                    self.assertFalse(self.takes_part(pid))
                    self.says(p, "thread")
                    self.assertTrue(self.takes_part(pid))
                    p, pid = self.standing_by(*first, way, way)
                    self.assertFalse(self.takes_part(pid))
                    self.says(p, "burn")
                    self.assertTrue(self.takes_part(pid))

    def test_after_exec(self):
        p, pid = self.standing_by("exec")
        self.assertFalse(self.takes_part(pid))
        self.says(p, "thread")
        self.assertTrue(self.takes_part(pid))


class NeverJoins(Case):
    def ends(self, p):
        self.end(p)
        self.soon(lambda: not os.path.exists(self.segment), "something is left of the instance")

    def setUp(self):
        super().setUp()
        self.env["USF_MONITOR_LINGER"] = "0"

    def test_its_end_leaves_nothing(self):
        for c in ("die", "leave"):
            with self.subTest(c):
                p, pid = self.standing_by()
                p.stdin.write(c + "\n")
                p.stdin.close()
                p.wait(30)
                self.ends(p)

    def test_killed_as_a_parent(self):
        """The children of a fork have the segment, and no record."""
        p, pid = self.standing_by("thread", "fork")
        os.kill(pid, signal.SIGKILL)
        p.wait(30)
        self.ends(p)

    def test_one_that_traces(self):
        p, pid = self.standing_by("trace")
        self.says(p, "thread")
        self.says(p, "burn")
        self.assertFalse(self.takes_part(pid))

    @unittest.skipIf(os.geteuid(), "needs root")
    def test_one_that_becomes_another_users(self):
        for before in ((), ("thread", "fork")):
            with self.subTest(before):
                p, pid = self.standing_by(*before, "setuid")
                self.says(p, "thread")
                self.says(p, "burn")
                self.assertFalse(self.takes_part(pid))


class Unseen(Case):
    """What it prints bare it prints under usf, in a process that stands by and joins in the middle of it."""

    def check(self, name):
        bare = self.result(LATE, name)
        for _ in range(5):
            self.assertEqual(self.result(*self.run_of(), "sh", "-c", '"$0" %s; :' % name, LATE), bare)
        return bare

    def test_interrupted_calls(self):
        self.assertEqual(self.check("eintr"), "interrupted: 0")

    def test_blocked_signal(self):
        self.check("blocked")

    def test_pending_signal_at_exec(self):
        self.check("handed_on")

    def test_long_transfers(self):
        self.assertEqual(self.check("transfers"), "read %d" % (3 << 20))

    def test_own_handler(self):
        self.assertEqual(self.check("urgent"), "u")

    def test_own_timers(self):
        self.check("own_timers")

    def test_timer_ids(self):
        self.check("timer_ids")

    def test_filter(self):
        self.assertEqual(self.check("filtered"), "runs")

    def test_no_descriptors(self):
        self.assertEqual(self.check("no_files"), "0")

    def test_in_the_middle_of_calls(self):
        self.assertEqual(self.check("calls"), "")

    def test_handlers_on_other_stacks(self):
        for name in "elsewhere_asks", "elsewhere_computes", "onstack_asks":
            self.assertEqual(self.check(name), "read -1 4", name)
        coroutine = os.path.join(os.environ["SPAWN_BIN"], "spawn-coroutine")
        bare = self.result(coroutine)
        self.assertEqual(self.result(*self.run_of(), "sh", "-c", '"$0"; :', coroutine), bare)

    def test_stacks(self):
        self.assertEqual(self.check("large_handler"), "ok")
        self.assertEqual(self.check("alternate_stack"), "2 0")

    def test_overflows_of_the_stack(self):
        for name in "plain", "computes", "asks", "leaves", "nested":
            self.assertEqual(self.check("overflow_" + name).count("over"), 4, name)
        for name in "guarded_page", "guarded_wait":
            self.assertIn("its own 0 65536", self.check(name), name)
        self.assertEqual(self.check("untouched"), "0 written")

    def test_own_thread_pointer(self):
        self.assertEqual(self.check("own_tls"), "0 written")

    def test_setuid_of_threads(self):
        self.assertEqual(self.check("setuid_below"), "0")

    def test_strict_filter(self):
        self.assertEqual(self.check("strict"), "done")
        self.assertEqual(self.result(*self.run_of(), LATE, "strict"), "done")

    def test_fork_of_a_first_program_with_threads(self):
        self.assertEqual(self.result(*self.run_of(), LATE, "setuid_below"), "0")

    def test_memory(self):
        self.check("segment")


if __name__ == "__main__":
    instance.main(280)
