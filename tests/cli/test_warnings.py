#!/usr/bin/python3
# tests/cli/test_warnings.py - a warning is told once in a run, however many processes have it.  SPDX-License-Identifier: Apache-2.0
import os
import shutil
import subprocess

from common import FILES, Case, main, segment_of

SAID = "/dev/shm/.usf-%d-said" % os.geteuid()


class Warnings(Case):
    def setUp(self):
        super().setUp()
        shutil.copy2(FILES["lib"], self.lib)

    def make(self, n, command, add=None, options=()):
        """What `make -j` of n targets writes to standard error, without make's own words."""
        rules = "".join("t%d:\n\t@%s\n" % (i, command) for i in range(n))
        path = self.write("Makefile", "all: %s\n%s" % (" ".join("t%d" % i for i in range(n)), rules))
        p = self.run_usf("run", *options, "make", "-s", "-j4", "-f", path, add=add)
        self.assertEqual(p.returncode, 0, p.stderr)
        return p.stderr.splitlines(), p.stdout

    def test_bad_environment(self):
        lines, out = self.make(300, "USF_QUANTUM=junk %s" % FILES["hello"])
        self.assertEqual(out, "hello\n" * 300)
        self.assertEqual(len(lines), 1, lines[:5])
        self.assertIn("USF_QUANTUM", lines[0])
        lines, _ = self.make(3, "USF_QUANTUM=junk %s" % FILES["hello"])
        self.assertEqual(len(lines), 1, "the next run has forgotten")

    def test_different_ones_are_all_told(self):
        lines, _ = self.make(40, "USF_QUANTUM=junk USF_LEND=trash %s" % FILES["hello"])
        self.assertEqual(len(lines), 2, lines)
        self.assertEqual(len(set(lines)), 2)

    def test_cache_directory(self):
        path = os.path.join(self.dir, "open")
        os.mkdir(path)
        os.chmod(path, 0o755)
        for options, add in (("--cache-dir", path), None), ((), {"USF_CACHE_DIR": path}):
            p = self.run_usf("run", *options, "--", self.usf, "run", FILES["hello"], add=add)
            self.assertEqual((p.returncode, p.stdout), (0, "hello\n"))
            self.one_line(p, 0, path, "chmod 700")
        os.chmod(path, 0o700)
        self.assertEqual(self.run_usf("run", "--cache-dir", path, FILES["hello"]).stderr, "")
        self.assertEqual(self.run_usf("run", "--cache-dir", path + "/new", FILES["hello"]).stderr, "")

    def test_instance_that_cannot_be_opened(self):
        other = self.instance + "-junk"
        path = segment_of(other)
        with open(path, "wb") as f:
            f.write(b"junk" * 5000)
        os.chmod(path, 0o600)
        try:
            lines, _ = self.make(300, "USF_INSTANCE=%s %s" % (other, FILES["hello"]), add={"USF_ATTACH": "now"})
            self.assertEqual(len(lines), 1, lines[:5])
            self.assertRegex(lines[0], r"is damaged.*: it runs unscheduled")
        finally:
            os.unlink(path)

    def test_instance_without_a_cpu_for_it(self):
        cpus = sorted(os.sched_getaffinity(0))
        if len(cpus) < 2:
            self.skipTest("one CPU")
        p = self.run_usf("run", "-c", str(cpus[0]), "true", add={"USF_MONITOR_LINGER": "60000"})
        self.assertEqual(p.returncode, 0)
        # whatever the programs are called: the same is the matter with them
        names = [self.write("prog%d" % i, open(FILES["hello"], "rb").read(), 0o755) for i in range(4)]
        script = "; ".join("taskset -c %d %s" % (cpus[1], n) for n in names * 25)
        p = self.run_usf("run", "sh", "-c", script, add={"USF_ATTACH": "now"})
        self.assertEqual(p.returncode, 0)
        lines = p.stderr.splitlines()
        self.assertEqual(len(lines), 1, lines[:5])
        self.assertIn("none of the CPUs", lines[0])

    def test_fork_without_exec(self):
        code = ("import os, sys\n"
                "for i in range(60):\n"
                "    pid = os.fork()\n"
                "    if pid == 0:\n"
                "        os.environ['USF_LEND'] = 'junk'\n"
                "        os.execv(%r, ['hello', '0'])\n"
                "    os.waitpid(pid, 0)\n" % FILES["hello"])
        p = self.run_usf("run", "/usr/bin/python3", "-c", code)
        self.assertEqual(len(p.stderr.splitlines()), 1, p.stderr[:500])

    def test_record_that_is_not_ours(self):
        """A file that others may write, or that is none, is not believed: better twice than never."""
        inside = "mount -t tmpfs x /dev/shm || exit 99; %s; for i in 1 2 3; do %s run sh -c 'USF_LEND=junk %s; USF_LEND=junk %s'; done"
        for prepare, times in (("true", 1), ("ln -s /dev/null /dev/shm/.usf-0-said", 2), ("mkdir /dev/shm/.usf-0-said", 2),
                               ("touch /dev/shm/.usf-0-said; chmod 666 /dev/shm/.usf-0-said", 2)):
            p = subprocess.run(["unshare", "-Urm", "sh", "-c", inside % (prepare, self.usf, FILES["hello"], FILES["hello"])],
                               env=self.env, capture_output=True, text=True, timeout=60)
            if p.returncode == 99 or "unshare" in p.stderr:
                self.skipTest("no mount namespaces here")
            self.assertEqual(p.stderr.count("USF_LEND"), 3 * times, (prepare, p.stderr))

    def test_the_record_does_not_grow(self):
        for i in range(30):
            self.run_usf("run", "env", "USF_QUANTUM=junk%d" % i, FILES["hello"])
        st = os.stat(SAID)
        self.assertLessEqual(st.st_size, 4096)
        self.assertEqual(st.st_mode & 0o777, 0o600)

    def test_file_size_limit(self):
        """To note a warning must not end the program."""
        p = self.run_usf("run", "sh", "-c", "ulimit -f 0; USF_LEND=junk %s 7" % FILES["hello"])
        self.assertEqual((p.returncode, p.stdout), (7, "hello\n"), p.stderr)
        self.assertIn("USF_LEND", p.stderr)

    def test_tree_is_no_unknown_variable(self):
        p = self.run_usf("run", "sh", "-c", "echo $USF_TREE; exec %s config show" % self.usf)
        self.assertEqual(p.stderr, "")
        self.assertRegex(p.stdout, r"^\d+\.[0-9a-f]+\n")


if __name__ == "__main__":
    main()
