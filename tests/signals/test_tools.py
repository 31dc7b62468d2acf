# tests/signals/test_tools.py - debuggers, tracers and profilers see a program under usf as they see it bare.
# SPDX-License-Identifier: Apache-2.0
import functools
import os
import re
import shutil
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from instance import HANG, Instance, main

USF = os.environ["USF"]
PROGRAM = os.environ["TOOLS_PROGRAM"]
FRAMES = ["wait_in_sem", "wait_in_mutex", "wait_in_cond", "wait_in_read", "wait_in_spin", "wait_in_nap", "main"]
# Where threads float, gdb's own command must not fail, but does not show those that wait.
STACKS = ("thread apply all bt 30",)
if os.environ.get("USF_FLOAT") == "on":
    STACKS += ("source " + os.environ["SCRIPT"], "echo threads\\n", "usf bt all 30")


def needs(tool):
    return unittest.skipUnless(shutil.which(tool), "no %s here" % tool)


@functools.cache
def gdb_calls():
    """gdb 13 cannot write all registers of a processor with AMX, whatever it debugs: then it calls no function."""
    out = subprocess.run(["gdb", "-nx", "-batch", "-ex", "break main", "-ex", "run", "-ex", "print add(1)", PROGRAM], stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=HANG, check=False).stdout
    return "Couldn't write extended state" not in out


class Tools(Instance):
    tool, kind = USF, "tools"

    def setUp(self):
        super().setUp()
        self.env = dict(os.environ, USF_INSTANCE=self.instance, HOME=self.dir, LC_ALL="C.UTF-8", DEBUGINFOD_URLS="")
        self.program = None

    def tearDown(self):
        if self.program:
            self.program.stdin.close()
            self.program.stdout.close()
            if self.program.poll() is None:
                self.program.kill()
            self.program.wait(HANG)

    def start(self, *args, options=(), steps=20):
        """The program, with a thread in each wait; some time for its loops to be found."""
        self.program = subprocess.Popen([USF, "run", *options, "--", PROGRAM, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=self.env)
        self.pid = int(self.program.stdout.readline())
        self.steps(steps)

    def steps(self, n):
        """It still does what it is asked for."""
        for _ in range(n):
            self.program.stdin.write(b"x")
            self.program.stdin.flush()
            self.assertEqual(self.program.stdout.read(1), b".")

    def look(self, *args):
        nothing, never = os.pipe()
        try:
            return subprocess.run(args, stdin=nothing, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                                  timeout=HANG, cwd=self.dir, env=self.env).stdout
        finally:
            os.close(nothing)
            os.close(never)

    def gdb(self, *commands, args=(), before=()):
        path = os.path.join(self.dir, "commands")
        with open(path, "w") as f:
            f.write("\n".join(("set pagination off", "set width 0", *commands)) + "\n")
        return self.look(*before, "gdb", "-nx", "-batch", "-x", path, *args)

    def calls(self, out):
        """Of a test that has passed otherwise."""
        if not gdb_calls():
            self.skipTest("gdb calls no function on this processor, bare neither")
        self.assertIn("$1 = 1", out)

    def frames(self, out):
        """Of the last of STACKS.  gdb knows nothing of a spin loop's stub, in which a thread may be: then its callers are not to be had."""
        out = out.rpartition("\nthreads\n")[2]
        in_stub = re.search(r"#0 +0x[0-9a-f]+ in \?\? \(\)", out)
        for name in FRAMES:
            if name == "wait_in_spin" and in_stub:
                continue
            self.assertRegex(out, r"\bin %s \(|#\d+ +%s \(" % (name, name), out)

    @needs("gdb")
    def test_attach(self):
        """Backtraces through the gate and out of busy-waits; calls; steps over and into gated calls; and all goes on."""
        self.start()
        self.program.stdin.write(b"xxx")
        self.program.stdin.flush()
        call = ("print add(1000) > 999",) if gdb_calls() else ()
        out = self.gdb(*STACKS, *call, "break step", "print calls", args=("-p", str(self.pid)))
        self.frames(out)
        self.assertIn("$1 = ", out)
        self.assertEqual(self.program.stdout.read(3), b"...")
        self.steps(20)
        self.calls(out)

    @needs("gdb")
    def test_made_to_give_way(self):
        """The frames of threads that wait in the handler of usf's own signal: one core for two that compute."""
        self.start("work", options=("--cpus", str(min(os.sched_getaffinity(0)))), steps=3)
        # gdb stops one thread after the other: meanwhile the core would go to the thread that is not stopped yet.
        os.kill(self.pid, signal.SIGSTOP)
        out = self.gdb(*STACKS, args=("-p", str(self.pid))).rpartition("\nthreads\n")[2]
        os.kill(self.pid, signal.SIGCONT)
        self.assertIn("<signal handler called>", out)
        self.assertEqual(len(re.findall(r"#\d+ .*\bwork \(\)", out)), 2, out)
        self.assertEqual(len(re.findall(r"#\d+ .*\bthread \(", out)), 2, out)
        self.steps(3)

    @needs("gdb")
    def test_breakpoints(self):
        """And steps, which follow the kernel thread: without --float off, the steps over a wait may not come back (docs/threads.md)."""
        self.program = subprocess.Popen(["sh", "-c", "sleep 0.3; while :; do printf x; sleep 0.05; done | '%s' run --float off -- '%s'" % (USF, PROGRAM)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=self.env, start_new_session=True)
        pid = int(self.program.stdout.readline())
        try:
            out = self.gdb("break step", "continue", "next", "next", "next", "print calls > 0", "finish", "delete", "break nanosleep",
                           "continue", "bt", "finish", "delete", "break step", "continue", "delete", "stepi 3000", "bt", "kill",
                           args=("-p", str(pid)))
            self.assertRegex(out, r"Breakpoint 1(\.\d+)?, step ")
            self.assertRegex(out, r"Breakpoint 2, .*nanosleep")
            self.assertRegex(out, r"#1 .* step \(\)[^\n]*\n#2 .* main \(")
            self.assertIn("$1 = 1", out)
            self.assertGreaterEqual(len(re.findall(r"\bmain \(", out)), 3, out)
            self.assertIn("killed", out)
        finally:
            os.killpg(self.program.pid, signal.SIGKILL)

    @needs("gdb")
    def test_from_the_start(self):
        call = ("print add(1)",) if gdb_calls() else ()
        out = self.gdb("break wait_in_spin", "run", "bt", "delete", "set scheduler-locking on", *call, "set scheduler-locking off",
                       "kill", args=("--args", PROGRAM), before=(USF, "run", "--"))
        self.assertRegex(out, r"#0 +wait_in_spin \(\)[^\n]*\n#1 .*thread \(")
        self.assertIn("killed", out)
        self.calls(out)

    @needs("gcore")
    def test_core(self):
        self.start()
        self.look("gcore", "-o", "core", str(self.pid))
        self.frames(self.gdb(*STACKS, args=(PROGRAM, "core.%d" % self.pid)))
        self.steps(20)

    @needs("strace")
    def test_strace(self):
        self.start()
        for _ in range(3):
            p = subprocess.Popen(["strace", "-f", "-o", os.path.join(self.dir, "trace"), "-p", str(self.pid)], stderr=subprocess.PIPE, env=self.env)
            while b"attached" not in p.stderr.readline():
                self.assertIsNone(p.poll())
            self.steps(20)
            p.send_signal(signal.SIGINT)
            p.communicate(timeout=HANG)
            self.steps(20)
        with open(os.path.join(self.dir, "trace")) as f:
            self.assertGreaterEqual(f.read().count("nanosleep("), 20)

    @needs("perf")
    def test_perf(self):
        """Of threads that compute: perf does not know the callers of a spin loop's stub."""
        self.start("work", steps=3)
        out = self.look("perf", "record", "-q", "--call-graph", "dwarf", "-F", "100", "-o", "data", "-p", str(self.pid), "sleep", "0.5")
        if not os.path.exists(os.path.join(self.dir, "data")):
            self.skipTest("perf may not record here: " + out.strip()[-200:])
        out = self.look("perf", "report", "-i", "data", "--stdio", "--no-children", "-G")
        if not re.search(r"^ +\d+\.\d+%", out, re.M):
            self.skipTest("perf has seen nothing")
        self.assertRegex(out, r"\bthread\b[^%]*\bwork\b")
        self.steps(3)

    @needs("valgrind")
    def test_valgrind(self):
        """It runs the program by itself; usf keeps out of the way, and says so."""
        for args in ([USF, "run", "--", "valgrind", "-q"], ["valgrind", "-q", "--trace-children=yes", USF, "run", "--"]):
            with self.subTest(args=args):
                p = subprocess.run([*args, "/bin/echo", "hello"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, timeout=HANG, env=self.env)
                self.assertEqual((p.returncode, p.stdout), (0, "hello\n"), p.stderr)
                said = [line for line in p.stderr.splitlines() if not line.startswith("--")]     # its own, of calls new to it
                self.assertEqual(said, ["usf: Valgrind executes this program: it runs unscheduled"])


if __name__ == "__main__":
    main(400, verbosity=2)
