#!/usr/bin/python3
# tests/package/test_packages.py - the wheel and the Debian package, built from a clean checkout, used where nothing else is.
# SPDX-License-Identifier: Apache-2.0
"""test_packages.py SOURCE OUT [--full]    --full: also `pip install .`, and a root made by debootstrap."""
import glob
import os
import re
import shutil
import subprocess
import sys
import unittest
import zipfile

from installed import Installed, bare_root, can_have_a_root, instance

FULL = "--full" in sys.argv and not sys.argv.remove("--full")
OUT, SOURCE = sys.argv.pop(2), sys.argv.pop(1)
MOST = 5 << 20
USE_WHEEL = """
import os, usf
assert os.access(usf.library_path(), os.R_OK) and os.access(usf.command_path(), os.X_OK) and os.path.exists(usf.include_path() + "/usf/policy.h")
with usf.Executor(3) as executor:
    assert list(executor.options(priority=1).map(abs, range(-9, 0))) == list(range(9, 0, -1))
lib = os.path.dirname(os.path.dirname(usf.library_path()))
assert lib + "/libnosv.so.0" in open("/proc/self/maps").read()
context = usf.Context(cpus=[min(os.sched_getaffinity(0))])
assert context.run(usf.current_context) is context and os.path.exists(lib + "/usf/libusf-context-shim.so")
print(usf.__version__)
"""


def index_in_reach():
    p = subprocess.run(["/usr/bin/python3", "-m", "pip", "download", "-q", "--no-deps", "-d", os.path.join(OUT, "reach"), "meson-python"], capture_output=True,
                       check=False, timeout=120)
    return p.returncode == 0


def checkout(to):
    """The files that git knows, as they are now."""
    files = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=SOURCE, capture_output=True, check=True).stdout
    for name in files.decode().split("\0"):
        path = os.path.join(SOURCE, name)
        if name and os.path.isfile(path):
            os.makedirs(os.path.dirname(os.path.join(to, name)) or to, exist_ok=True)
            shutil.copy2(path, os.path.join(to, name))


class Packages(Installed):
    @classmethod
    def setUpClass(cls):
        os.makedirs(OUT, exist_ok=True)
        cls.reach = index_in_reach()
        cls.source = os.path.join(OUT, "checkout")
        shutil.rmtree(cls.source, ignore_errors=True)
        checkout(cls.source)
        what = ["deb"] + (["wheel"] if cls.reach else [])
        p = subprocess.run([os.path.join(cls.source, "scripts/package"), OUT, *what], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        if p.returncode:
            raise AssertionError(p.stdout + p.stderr)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.source, ignore_errors=True)

    def venv(self):
        path = os.path.join(self.dir, "venv")
        subprocess.run(["/usr/bin/python3", "-m", "venv", path], check=True)
        return path

    def need_index(self):
        if not self.reach:
            self.skipTest("no package index in reach, which meson-python comes from")

    def check_venv(self, venv):
        self.check_files(venv)
        self.check_tasks(venv)
        self.check_permits(venv)
        self.check_contexts(venv, venv + "/bin")
        self.check_use(venv + "/bin", venv + "/bin/python3")
        self.assertRegex(self.run_it(venv + "/bin/python3", "-c", USE_WHEEL).stdout, r"^\d+\.\d+\.\d+\n$")
        self.run_it(venv + "/bin/pip", "uninstall", "-q", "-y", "usf")
        self.assertEqual(glob.glob(venv + "/bin/usf*") + glob.glob(venv + "/lib/usf"), [])

    def test_wheel(self):
        self.need_index()
        wheel, = glob.glob(OUT + "/usf-*.whl")
        self.assertRegex(os.path.basename(wheel), r"^usf-[0-9.]+-py3-none-manylinux_2_[0-9]+_x86_64\.whl$")
        self.assertLess(os.path.getsize(wheel), MOST)
        with zipfile.ZipFile(wheel) as z:
            meta = z.read(next(n for n in z.namelist() if n.endswith("/METADATA"))).decode()
            modules = {n.rpartition("/purelib/usf/")[2] for n in z.namelist() if "/purelib/usf/" in n}
        package = os.path.join(SOURCE, "python/usf")
        sources = {os.path.relpath(path, package) for path in glob.glob(package + "/**/*.py", recursive=True)}
        self.assertEqual(modules, {"__init__.py", "py.typed"} | sources)
        self.assertEqual([line for line in re.findall(r"^Requires-Dist: .*", meta, re.M) if "extra ==" not in line], [])
        self.assertIn("\nRequires-Python: >=3.9\n", meta)
        venv = self.venv()
        self.run_it(venv + "/bin/pip", "install", "-q", "--no-index", wheel)
        self.check_venv(venv)

    def test_wheel_beside_the_interpreter(self):
        """In a prefix that is not the interpreter's, as with pip install --user: the record knows where the parts are."""
        self.need_index()
        wheel, = glob.glob(OUT + "/usf-*.whl")
        python, prefix = self.venv() + "/bin/python3", os.path.join(self.dir, "prefix")
        self.run_it(python, "-m", "pip", "install", "-q", "--no-index", "--prefix", prefix, wheel)
        self.env["PYTHONPATH"], = glob.glob(prefix + "/lib/python3*/site-packages")
        self.assertRegex(self.run_it(python, "-c", USE_WHEEL).stdout, r"^\d+\.\d+\.\d+\n$")

    @unittest.skipUnless(FULL, "with FULL=1 only")
    def test_pip_install_of_a_checkout(self):
        self.need_index()
        venv = self.venv()
        p = subprocess.run([venv + "/bin/pip", "install", "-q", "."], cwd=self.source, capture_output=True, text=True, check=False)
        self.assertEqual(p.returncode, 0, p.stdout + p.stderr)
        self.check_venv(venv)

    def deb(self):
        deb, = glob.glob(OUT + "/usf_*_amd64.deb")
        return deb

    def test_deb(self):
        self.assertLess(os.path.getsize(self.deb()), MOST)
        depends = subprocess.run(["dpkg-deb", "-f", self.deb(), "Depends"], capture_output=True, text=True, check=True).stdout
        self.assertRegex(depends, r"^libc6 \(>= 2\.[0-9]+\)\n$")
        names = subprocess.run(["dpkg-deb", "-c", self.deb()], capture_output=True, text=True, check=True).stdout
        for line in names.splitlines():
            self.assertRegex(line, r"^[-dl]\S+ root/root ", line)
            self.assertNotRegex(line, r"^-.{7}w", line)
        for name in ("./usr/share/doc/usf/copyright", "./usr/lib/x86_64-linux-gnu/usf/libusf.so",
                     "./usr/share/gdb/auto-load/usr/lib/x86_64-linux-gnu/usf/libusf.so-gdb.py"):
            self.assertIn(name, names)
        root = os.path.join(self.dir, "root")
        subprocess.run(["dpkg-deb", "-x", self.deb(), root], check=True)
        self.check_files(root + "/usr", zipped=True)
        self.check_tasks(root + "/usr")
        self.check_permits(root + "/usr")
        self.check_contexts(root + "/usr", root + "/usr/bin")
        self.check_links(root + "/usr/share/doc/usf")

    def check_links(self, folder):
        """Of the pages within the package."""
        pages = glob.glob(folder + "/*.md") + glob.glob(folder + "/docs/*.md")
        self.assertIn(folder + "/docs/README.md", pages)
        for page in pages:
            with open(page, encoding="utf-8") as f:
                for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", f.read()):
                    self.assertTrue(os.path.exists(os.path.join(os.path.dirname(page), link)), "%s: %s" % (page, link))

    @unittest.skipUnless(shutil.which("bwrap") and can_have_a_root(), "no bwrap, or no namespaces")
    def test_deb_in_a_bare_system(self):
        self.inside = bare_root(os.path.join(self.dir, "root"), [self.deb()])
        self.check_use("/usr/bin", policies=False)
        self.run_it("/usr/bin/usf", "policy", "new", "mine")

    @unittest.skipUnless(FULL and os.geteuid() == 0 and shutil.which("debootstrap") and shutil.which("bwrap"), "with FULL=1, root and debootstrap only")
    def test_deb_in_a_new_debian(self):
        root = os.path.join(self.dir, "debian")
        mirror = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"], capture_output=True, text=True,
                                check=True).stdout.split()[0]
        p = subprocess.run(["debootstrap", "--variant=minbase", "--include=python3", "bookworm", root, mirror], capture_output=True, text=True,
                           check=False)
        if p.returncode:
            self.skipTest("debootstrap: " + (p.stdout + p.stderr).strip().splitlines()[-1])
        shutil.copy(self.deb(), root + "/tmp/usf.deb")
        self.run_it("chroot", root, "dpkg", "-i", "/tmp/usf.deb")
        self.inside = ["bwrap", "--bind", root, "/", "--proc", "/proc", "--dev", "/dev", "--unshare-pid", "--die-with-parent", "--chdir", "/tmp"]
        self.check_use("/usr/bin", policies=False)
        self.run_it("dpkg", "--verify", "usf")


instance.main(3000 if FULL else 1500)
