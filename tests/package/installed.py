# tests/package/installed.py - what an installed usf has to do, wherever it lies.  SPDX-License-Identifier: Apache-2.0
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import instance

THREADS = """
import threading
done = []
ts = [threading.Thread(target=lambda: done.append(sum(range(20000)))) for _ in range(8)]
[t.start() for t in ts]; [t.join() for t in ts]
print(len(done), "usf-" in open("/proc/self/maps").read())
"""
PAGES = ("usf", "usf-run", "usf-ps", "usf-policy", "usf-config", "usf-sim", "usf-trace", "usf-doctor", "usf-dump", "usf-clean")
FILES = ("include/usf/usf.h", "include/usf/policy.h", "include/usf/policy.rs", "share/bash-completion/completions/usf", "share/zsh/site-functions/_usf",
         "share/fish/vendor_completions.d/usf.fish", "share/usf/machines/2x56.machine", "share/usf/workloads/example-teams.usfw")


class Installed(instance.Instance):
    """The methods take a prefix, and `inside`: the words before a command that runs where it is installed."""

    kind = "package"
    inside = []

    @property
    def tool(self):
        return os.environ["USF"]        # which clears up behind us

    def run_it(self, *args, code=0, **kw):
        p = subprocess.run([*self.inside, *args], env=self.env, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL,
                           cwd=kw.pop("cwd", self.dir), **kw)
        self.assertEqual(p.returncode, code, "%s\n%s%s" % (args, p.stdout, p.stderr))
        return p

    def check_files(self, prefix, zipped=False):
        for name in FILES + tuple("share/man/man1/%s.1%s" % (page, ".gz" if zipped else "") for page in PAGES):
            self.assertTrue(os.path.getsize(os.path.join(prefix, name)), name)

    def check_use(self, bindir, python="/usr/bin/python3", policies=True):
        usf = os.path.join(bindir, "usf")
        p = self.run_it(usf, "run", "--", "true")
        self.assertEqual((p.stdout, p.stderr), ("", ""))
        p = self.run_it(usf, "run", "--stats", "--", python, "-c", THREADS)
        self.assertEqual(p.stdout, "8 True\n")
        self.assertIn("switches", p.stderr)
        for command in [[usf, "doctor", "--json"]]:
            p = subprocess.run([*self.inside, *command], env=self.env, capture_output=True, text=True, timeout=120, cwd=self.dir)
            self.assertIn(p.returncode, (0, 1), p.stderr)     # 1: an instance of somebody else is damaged
            json.loads(p.stdout)
        self.assertIn("coop", self.run_it(usf, "policy", "list").stdout)
        self.assertIn("2x56", self.run_it(usf, "sim", "machines").stdout)
        self.assertIn("example-teams", self.run_it(usf, "sim", "workloads").stdout)
        self.run_it(usf, "sim", "run", "example-tasks", "-m", "2-core-vm", "--json")
        if policies:
            self.run_it(usf, "policy", "new", "mine")
            self.run_it("make", "-s", "-C", "mine")
            self.run_it(usf, "run", "-p", "./mine/mine.so", "--share", "process", "--", python, "-c", THREADS)


def bare_root(root, debs=()):
    """A folder that has glibc, sh, true, python3 and the unpacked packages, and nothing else of the system."""
    programs = ["/bin/sh", "/bin/true", os.path.realpath("/usr/bin/python3")]
    libraries = set()
    for program in programs:
        for word in subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout.split():
            if word.startswith("/"):
                libraries.add(word)
    for deb in debs:
        subprocess.run(["dpkg-deb", "-x", deb, root], check=True)
    for name in ("usr/bin", "usr/lib/x86_64-linux-gnu", "usr/lib64", "tmp", "proc", "dev", "etc", os.path.relpath(PYTHON_LIBRARY, "/")):
        os.makedirs(os.path.join(root, name), exist_ok=True)
    for link, to in (("bin", "usr/bin"), ("lib", "usr/lib"), ("lib64", "usr/lib64")):
        os.symlink(to, os.path.join(root, link))
    for path in programs + sorted(libraries):
        place = path if path.startswith("/usr") else "/usr" + path
        target = os.path.join(root, place.lstrip("/"))
        os.makedirs(os.path.dirname(target), exist_ok=True)
        subprocess.run(["cp", "-L", path, target], check=True)
    os.symlink(os.path.basename(programs[-1]), os.path.join(root, "usr/bin/python3"))
    return ["bwrap", "--bind", root, "/", "--ro-bind", PYTHON_LIBRARY, PYTHON_LIBRARY, "--proc", "/proc", "--dev", "/dev", "--die-with-parent", "--unshare-pid",
            "--chdir", "/tmp"]


PYTHON_LIBRARY = subprocess.run(["/usr/bin/python3", "-c", "import os; print(os.path.dirname(os.__file__))"], capture_output=True, text=True,
                                check=True).stdout.strip()


def can_have_a_root():
    p = subprocess.run(["bwrap", "--ro-bind", "/", "/", "--proc", "/proc", "--unshare-pid", "true"], capture_output=True, check=False)
    return p.returncode == 0
