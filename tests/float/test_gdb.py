# tests/float/test_gdb.py - gdb shows threads that float (packaging/gdb/usf-gdb.py).  SPDX-License-Identifier: Apache-2.0
import os
import re
import shutil
import subprocess
import sys
import unittest

if not shutil.which("gdb"):
    print("no gdb here")
    sys.exit(77)
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from instance import CPUS, HANG, Programs, main

USF, PROGRAM, SCRIPT = (os.environ[name] for name in ("USF", "NESTED", "SCRIPT"))
THREADS = 8
SUM = sum((i + 1) * 11 + i for i in range(THREADS))
INTERRUPTED = """python
def show(*what):
    shows(*what)
    raise KeyboardInterrupt
shows, usf_saved.show = usf_saved.show, show
try:
    gdb.execute("usf bt all")
except KeyboardInterrupt:
    print("interrupted")
usf_saved.show = shows"""
ALIKE = "[gdb.execute('thread apply all -q info registers ' + name, to_string=True) for name in ('general', 'float', 'vector')]"


class Gdb(Programs):
    tool, kind = USF, "gdb"

    def setUp(self):
        super().setUp()
        self.env.update(HOME=self.dir, LC_ALL="C.UTF-8", DEBUGINFOD_URLS="")

    def begin(self, tool=USF):
        self.program = self.start(tool, *self.run_of("--float", "on")[1:], PROGRAM)
        self.pid = int(self.program.stdout.readline())

    def gdb(self, *commands, args=(), before=(), said=""):
        words = [word for c in ("set pagination off", "set width 0", *commands) for word in ("-ex", c)]
        p = subprocess.run([*before, "gdb", "-nx", "-batch", "-x", SCRIPT, *words, *args], input=said, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, errors="replace", timeout=HANG, cwd=self.dir, env=self.env)
        return p.stdout

    def attach(self, *commands):
        """All eight wait, after a while."""
        while True:
            out = self.gdb("usf threads", *commands, args=("-p", str(self.pid)))
            waiting = out.count("waits, floating")
            if waiting >= THREADS:
                return out
            self.assertRegex(out, r"Num +Id", out)

    def check(self, out, main=r"\ball_wait \(.*\n#\d+ .*\bmain \(", others=0):
        """The stack of each thread, by the thread's id: of main, of the eight that wait, and of the others."""
        stacks = {int(id): text for id, text in re.findall(r'^\nThread (\d+) "[^"]*": [^\n]*\n((?:#.*\n)+)', out, re.M)}
        self.assertEqual(len(stacks), THREADS + 1 + others, out)
        for i in range(THREADS):
            own = [s for s in stacks.values() if re.search(r"\binner_%d \(" % i, s)]
            self.assertEqual(len(own), 1, out)
            self.assertRegex(own[0], r"#\d+ .*\bwait_in_%s \(.*\n#\d+ .*\binner_%d \(n=(?:n@entry=)?%d\).*\n#\d+ .*\bouter_%d \(n=(?:n@entry=)?%d\).*\n#\d+ .*\bthread \("
                             % ("futex" if i % 2 else "cond", i, i + 1, i, i))
        self.assertRegex(stacks[self.pid], main)
        return stacks

    def check_table(self, out):
        rows = re.findall(r"^(\d+) +(\d+) +(\S+) +(waits, floating|on its own kernel thread|executed by kernel thread \d+) +(\S.*)", out, re.M)
        self.assertEqual(len(rows), THREADS + 1, out)
        self.assertEqual({name for _, _, name, _, _ in rows}, {os.path.basename(PROGRAM)[:15]}, out)
        return {int(id) for _, id, _, _, _ in rows}

    def finish(self):
        out, _ = self.program.communicate("x", timeout=HANG)
        self.assertEqual((self.program.returncode, out), (0, "sum %d\n" % SUM))

    def test_attach(self):
        self.begin()
        out = self.attach("usf bt all")
        stacks = self.check(out)
        self.assertEqual(self.check_table(out), set(stacks))
        self.assertEqual(self.check_table(out), {int(t) for t in os.listdir("/proc/%d/task" % self.pid)})
        self.finish()

    def test_nothing_changes(self):
        """Neither a kernel thread's registers nor what is selected, also when a command fails or is interrupted."""
        self.begin()
        out = self.attach("python before = " + ALIKE, "thread 3", "usf bt all", "usf threads", "usf bt all -nonsense", "usf bt 1", "usf bt",
                          "usf bt %d 2" % self.pid, INTERRUPTED, "bt", "source " + SCRIPT, "thread", "thread apply all bt", "python print('the same:', before == %s)" % ALIKE)
        self.assertIn("the same: True", out)
        self.assertRegex(out, r"\[Current thread is 3 \(")
        self.assertIn('No symbol "nonsense"', out)
        self.assertRegex(out, r"(?s)interrupted\n#0 (?!.*\n#\d+ [^\n]*inner_\d )")
        self.assertIn("the program has no thread 1:", out)
        self.finish()

    def test_core(self):
        """A core file, and the variables of a thread that waits in it."""
        self.begin()
        out = self.attach("generate-core-file core")
        self.finish()
        core = (PROGRAM, "core")
        stacks = self.check(self.gdb("usf bt all", args=core))
        out = self.gdb("thread apply all bt", *(c for id, s in stacks.items() for i in re.findall(r"inner_(\d) \(", s) for c in (
            "usf thread %d" % id, "frame function inner_" + i, "print kept", "usf threads", "print n", "up", "print n + 100")), args=core)
        numbers = {int(n) for n in re.findall(r"^\$\d+ = (\d+)", out, re.M)}
        self.assertEqual(numbers, {v for i in range(THREADS) for v in ((i + 1) * 11, i + 1, i + 100)}, out)

    def test_from_the_start(self):
        """Of a process that gdb has started, also in the middle of a switch between main and a ninth thread.  What is selected is so until the
        program goes on."""
        select = "python gdb.execute('usf thread ' + [l.split()[1] for l in gdb.execute('usf threads', to_string=True).splitlines() if 'waits,' in l][0])"
        out = self.gdb("break all_wait", "run", "usf threads", "usf bt all", select, "echo selected\\n", "bt", "delete", "break ninth",
                       "continue", "delete", "break *(long)&usf_arch_takes_stack", "continue", "echo switch\\n", "usf bt all", select, "delete", "continue",
                       args=("--args", PROGRAM), before=self.run_of("--float", "on", "-c", str(CPUS[0])), said="x")
        self.pid = int(re.search(r"^(\d+)$", out, re.M).group(1))
        before, selected, switch = re.fullmatch(r"(.*)^selected\n(.*)^switch\n(.*)", out, re.M | re.S).groups()
        self.check(before)
        self.assertRegex(selected, r"^#0 .*\n(#.*\n)+#\d+ .*\bouter_\d \(")
        self.check(switch, r"\bmain \(", others=1)
        self.assertIn("sum %d\n" % SUM, out)
        self.assertIn("exited normally", out)

    @unittest.skipUnless(shutil.which("strip"), "no strip here")
    def test_stripped(self):
        """libusf.so without any symbols but those that it exports."""
        for path in USF, os.path.join(os.path.dirname(USF), "libusf.so"):
            shutil.copy(path, self.dir)
            subprocess.run(["strip", os.path.join(self.dir, os.path.basename(path))], check=True)
        self.begin(os.path.join(self.dir, "usf"))
        with open("/proc/%d/maps" % self.pid) as f:
            self.assertIn(self.dir + "/libusf.so", f.read())
        self.check(self.attach("usf bt all"))
        self.finish()

    def test_without(self):
        """Where no thread floats, and where there is no usf."""
        self.program = self.start(USF, *self.run_of("--float", "off")[1:], PROGRAM)
        out = self.gdb("usf threads", args=("-p", self.program.stdout.readline().strip()))
        self.assertIn("threads do not float here", out)
        self.finish()
        self.program = self.start(PROGRAM)
        out = self.gdb("usf threads", "usf bt", args=("-p", self.program.stdout.readline().strip()))
        self.assertEqual(out.count("this is not a process under usf"), 2, out)
        self.finish()
        self.assertIn("there is no process", self.gdb("usf threads"))


if __name__ == "__main__":
    main(400, verbosity=2)
