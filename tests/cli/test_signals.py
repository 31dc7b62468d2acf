#!/usr/bin/python3
# tests/cli/test_signals.py - usf run --stats ends and stops exactly as its program.  SPDX-License-Identifier: Apache-2.0
import json
import os
import pty
import resource
import select
import signal
import subprocess
import time

from common import FILES, Case, main

PYTHON = "/usr/bin/python3"

# Tells the signals that it gets, one line each; ends by SIGTERM's second, or when told.
TELLER = r"""
import os, signal, sys, time
def tell(s, f):
    os.write(1, b"got %d\n" % s)
for s in (1, 2, 3, 10, 12, 14, 15, 28, 40):
    signal.signal(s, tell)
os.write(1, b"ready %d %d\n" % (os.getpid(), os.getpgrp()))
while True:
    line = sys.stdin.readline()
    if not line: break
    os.write(1, b"echo " + line.encode())
"""


signal.signal(signal.SIGHUP, signal.SIG_DFL)     # nohup would hand down that it is ignored


class Stats(Case):
    def start(self, *cmd, **kw):
        kw.setdefault("start_new_session", True)
        return subprocess.Popen([self.usf, "run", "--stats", *cmd], env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, cwd=self.dir, bufsize=0, **kw)

    def line(self, p):
        r, _, _ = select.select([p.stdout], [], [], 20)
        self.assertTrue(r, "no answer")
        return p.stdout.readline().decode().strip()

    def end(self, p):
        p.stdin.close()
        self.assertEqual(p.wait(20), 0)
        p.stdout.close()
        p.stderr.close()

    def test_exit_codes(self):
        for code in (0, 1, 7, 255):
            p = self.run_usf("run", "--stats", FILES["hello"], str(code))
            self.assertEqual((p.returncode, p.stdout), (code, "hello\n"))
            self.assertIn("usf: %s: " % FILES["hello"], p.stderr)
            self.assertRegex(p.stderr, r"(?m)^usf:   switches +\d+$")

    def test_program_that_cannot_be_executed(self):
        path = self.write("bad", "#!/no/such\n", 0o755)
        p = self.run_usf("run", "--stats", path)
        self.assertEqual(p.returncode, 127)

    def test_deaths_by_signal(self):
        for s in (signal.SIGTERM, signal.SIGKILL, signal.SIGINT, signal.SIGHUP, signal.SIGSEGV, signal.SIGABRT, signal.SIGPIPE,
                  signal.SIGUSR1, signal.SIGRTMIN + 3):
            p = self.run_usf("run", "--stats", "sh", "-c", "kill -%d $$" % s)
            self.assertEqual(p.returncode, -s, s)
            self.assertIn("switches", p.stderr)

    def test_no_core_of_ours(self):
        def unlimited():
            hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
            resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
        p = self.start("sh", "-c", "ulimit -c 0; kill -SEGV $$", preexec_fn=unlimited)
        p.communicate(timeout=30)
        self.assertEqual(p.returncode, -signal.SIGSEGV)
        self.assertFalse([f for f in os.listdir(self.dir) if f.startswith("core")])

    def test_signals_to_us_are_handed_on_once(self):
        p = self.start(PYTHON, "-c", TELLER)
        self.assertTrue(self.line(p).startswith("ready"))
        for s in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGTERM,
                  signal.SIGWINCH, 40):
            os.kill(p.pid, s)
            self.assertEqual(self.line(p), "got %d" % s)
        p.stdin.write(b"x\n")
        self.assertEqual(self.line(p), "echo x")    # and nothing came twice
        self.end(p)

    def test_same_process_group(self):
        p = self.start(PYTHON, "-c", TELLER)
        _, pid, group = self.line(p).split()
        self.assertEqual(int(group), p.pid)
        self.assertNotEqual(int(pid), p.pid)
        self.end(p)

    def test_kill_9_of_us_takes_the_program_along(self):
        p = self.start(PYTHON, "-c", TELLER)
        child = int(self.line(p).split()[1])
        p.kill()
        p.wait(20)
        for _ in range(200):
            try:
                os.kill(child, 0)
                with open("/proc/%d/stat" % child) as f:
                    if f.read().rsplit(")", 1)[1].split()[0] == "Z":
                        break
            except (ProcessLookupError, FileNotFoundError):
                break
            time.sleep(0.02)
        else:
            self.fail("the program lives on")
        for f in (p.stdin, p.stdout, p.stderr):
            f.close()

    def test_what_the_program_inherits(self):
        """Signal mask, ignored signals and the alarm are those of a plain exec."""
        show = "grep -E 'Sig(Blk|Ign|Cgt)' /proc/self/status"
        def prepare():
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2, signal.SIGCHLD, 45})
        out = []
        for args in (["run", "--stats"], ["run"]):
            p = subprocess.run([self.usf, *args, "sh", "-c", "exec " + show], env=self.env, capture_output=True, text=True, timeout=30,
                               preexec_fn=prepare)
            self.assertEqual(p.returncode, 0, p.stderr)
            out.append(p.stdout)
        self.assertEqual(out[0], out[1])
        p = self.start(PYTHON, "-c", "import signal, time; print(signal.getitimer(0)[0] > 5); time.sleep(0)",
                       preexec_fn=lambda: signal.setitimer(signal.ITIMER_REAL, 100))
        self.assertEqual(p.communicate(timeout=30)[0], b"True\n")

    def test_stopping_and_going_on(self):
        cpus = os.sched_getaffinity(0)          # on one CPU each signal finds the others at their slowest
        os.sched_setaffinity(0, {min(cpus)})
        self.addCleanup(os.sched_setaffinity, 0, cpus)
        p = self.start(PYTHON, "-c", TELLER)
        child = int(self.line(p).split()[1])
        for _ in range(1000):
            os.kill(child, signal.SIGSTOP)
            pid, status = os.waitpid(p.pid, os.WUNTRACED)
            self.assertTrue(os.WIFSTOPPED(status))
            self.assertEqual(os.WSTOPSIG(status), signal.SIGSTOP)
            os.kill(p.pid, signal.SIGCONT)
            p.stdin.write(b"again\n")
            self.assertEqual(self.line(p), "echo again")
        self.end(p)

    def test_report_to_file(self):
        out = os.path.join(self.dir, "stats.txt")
        p = self.run_usf("run", "--stats=" + out, FILES["hello"])
        self.assertEqual((p.returncode, p.stderr), (0, ""))
        with open(out) as f:
            self.assertIn("switches", f.read())
        out = os.path.join(self.dir, "stats.json")
        self.run_usf("run", "--stats", FILES["hello"], add={"USF_STATS": out})      # the bare flag wins
        self.assertFalse(os.path.exists(out))
        p = self.run_usf("run", "true", add={"USF_STATS": out})
        self.assertEqual((p.returncode, p.stderr), (0, ""))
        with open(out) as f:
            s = json.load(f)
        self.assertEqual((s["program"], s["instance"]), ("true", self.instance))
        self.assertGreaterEqual(s["seconds"], 0)
        p = self.run_usf("run", "--stats=/no/dir/file", "sh", "-c", "exit 9")
        self.one_line(p, 9, "cannot be written", "/no/dir/file")

    def test_table_full_and_reused(self):
        ps = [self.start("sleep", "30") for _ in range(64)]
        try:
            deadline = time.time() + 30
            while time.time() < deadline:       # all rows are taken once their programs run
                if all(self.children(p.pid) for p in ps):
                    break
                time.sleep(0.05)
            p = self.run_usf("run", "--stats", FILES["hello"], "3")
            self.one_line(p, 3, "no statistics")
            ps[10].kill()                       # without giving its row back
            ps[10].wait()
            p = self.run_usf("run", "--stats", FILES["hello"], "3")
            self.assertIn("switches", p.stderr)
        finally:
            for p in ps:
                p.kill()
                p.wait()
                for f in (p.stdin, p.stdout, p.stderr):
                    f.close()

    @staticmethod
    def children(pid):
        try:
            with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
                return f.read().split()
        except OSError:
            return []

    def test_unscheduled_has_no_statistics(self):
        p = self.run_usf("run", "--stats", FILES["static"])
        self.one_line(p, 0, "it runs unscheduled")

    def test_children_ignored_by_the_parent(self):
        p = subprocess.run([self.usf, "run", "--stats", FILES["hello"], "5"], env=self.env, capture_output=True, timeout=30,
                           preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        self.assertEqual(p.returncode, 5)


class Terminal(Case):
    """A shell's view: the run is a foreground job of a terminal."""

    def job(self, *cmd):
        pid, master = pty.fork()
        if pid == 0:
            # the shell: it waits for its job and tells what happens, on a pipe of its own
            os.close(self.tell_r)
            signal.signal(signal.SIGTTOU, signal.SIG_IGN)
            job = os.fork()
            if job == 0:
                os.setpgid(0, 0)
                os.tcsetpgrp(0, os.getpid())
                signal.signal(signal.SIGTTOU, signal.SIG_DFL)
                os.execve(self.usf, [self.usf, "run", "--stats=/dev/null", *cmd], self.env)
            while True:
                _, status = os.waitpid(job, os.WUNTRACED)
                os.write(self.tell_w, b"%d\n" % status)
                if not os.WIFSTOPPED(status):
                    os._exit(0)
                time.sleep(0.1)
                os.killpg(job, signal.SIGCONT)
        return pid, master

    def setUp(self):
        super().setUp()
        self.tell_r, self.tell_w = os.pipe()

    def tearDown(self):
        os.close(self.tell_r)
        os.close(self.tell_w)
        super().tearDown()

    def until(self, fd, what, seen=b""):
        deadline = time.time() + 20
        while what not in seen:
            r, _, _ = select.select([fd], [], [], max(0, deadline - time.time()))
            self.assertTrue(r, b"waited for %r, saw %r" % (what, seen))
            seen += os.read(fd, 4096)
        return seen

    def status(self):
        line = self.until(self.tell_r, b"\n")
        return int(line.split(b"\n")[0])

    def finish(self, pid, master):
        os.waitpid(pid, 0)
        os.close(master)

    def test_ctrl_c_kills(self):
        # one process, so that the signal cannot fall between a shell and the command that it is about to become
        pid, master = self.job("bash", "-c", "echo up; read line")
        self.until(master, b"up")
        os.write(master, b"\x03")
        s = self.status()
        self.assertTrue(os.WIFSIGNALED(s) and os.WTERMSIG(s) == signal.SIGINT, s)
        self.finish(pid, master)

    def test_ctrl_c_reaches_a_handler_once(self):
        pid, master = self.job(PYTHON, "-c", TELLER)
        self.until(master, b"ready")
        os.write(master, b"\x03")
        self.until(master, b"got 2")
        os.write(master, b"hello\n")
        seen = self.until(master, b"echo hello")
        self.assertNotIn(b"got", seen)
        os.write(master, b"\x04")
        self.assertEqual(self.status(), 0)
        self.finish(pid, master)

    def test_ctrl_z_stops_and_fg_goes_on(self):
        pid, master = self.job(PYTHON, "-c", TELLER)
        self.until(master, b"ready")
        for i in range(3):
            os.write(master, b"\x1a")
            s = self.status()
            self.assertTrue(os.WIFSTOPPED(s) and os.WSTOPSIG(s) == signal.SIGTSTP, s)
            os.write(master, b"line%d\n" % i)
            self.until(master, b"echo line%d" % i)
        os.write(master, b"\x04")
        self.assertEqual(self.status(), 0)
        self.finish(pid, master)

    def test_the_program_owns_the_terminal(self):
        pid, master = self.job(PYTHON, "-c", "import os; print('fg', os.tcgetpgrp(0) == os.getpgrp()); input()")
        self.until(master, b"fg True")
        os.write(master, b"\n")
        self.assertEqual(self.status(), 0)
        self.finish(pid, master)


if __name__ == "__main__":
    main()
