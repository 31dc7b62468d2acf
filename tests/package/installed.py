# tests/package/installed.py - what an installed usf has to do, wherever it lies.  SPDX-License-Identifier: Apache-2.0
import glob
import json
import os
import shutil
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
TASKS = """
#include <nosv.h>
#include <stdio.h>
static void hello(nosv_task_t task) { puts(*(char **)nosv_get_task_metadata(task)); }
static void done(nosv_task_t task) { nosv_destroy(task, NOSV_DESTROY_NONE); }
int main(void)
{
    nosv_task_type_t type;
    nosv_task_t task;
    if (nosv_init() || nosv_type_init(&type, hello, NULL, done, "hello", NULL, NULL, NOSV_TYPE_INIT_NONE)) return 1;
    if (nosv_create(&task, type, sizeof(char *), NOSV_CREATE_NONE)) return 2;
    *(char **)nosv_get_task_metadata(task) = "hello";
    if (nosv_submit(task, NOSV_SUBMIT_NONE) || nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE)) return 3;
    return nosv_shutdown();
}
"""
TASKS_CXX = """
#include <nosv.hpp>
#include <cstdio>
int main()
{
    nosv::runtime runtime;
    std::puts(nosv::spawn([] { return "hello"; }).get());
}
"""
PAGES = ("usf", "usf-run", "usf-ps", "usf-policy", "usf-config", "usf-sim", "usf-trace", "usf-tune", "usf-doctor", "usf-dump", "usf-shim", "usf-clean")
# The library counts in the context and in the program apart, by its stub.
CONTEXTS_LIBRARY = "int next(void);\nint next(void) { static int count; return ++count; }\n"
CONTEXTS = """
#include <usf/vlc.hpp>
#include <cstdio>
extern "C" int next(void);
int main()
{
    VLC::Context a(1, gettid());
    VLC::Loader loader(&a, "libcount.so", true);
    next();
    usf::Context b;
    std::printf("%d %d\\n", next(), b.call(next));
}
"""
FILES = ("include/usf/usf.h", "include/usf/context.h", "include/usf/context.hpp", "include/usf/vlc.hpp", "include/usf/policy.h", "include/usf/policy.rs", "include/nosv.h", "include/nosv/compat.h",
         "include/nosv.hpp", "include/nosv/base.hpp", "include/nosv/detail.hpp", "include/nosv/task.hpp", "include/nosv/coroutine.hpp", "share/bash-completion/completions/usf", "share/zsh/site-functions/_usf",
         "share/fish/vendor_completions.d/usf.fish", "share/usf/usf-gdb.py", "share/usf/machines/2x56.machine", "share/usf/workloads/example-teams.usfw")


# A client connects, and asks for a permit.
PERMITS = """
import ctypes
class Request(ctypes.Structure):
    _fields_ = [("min", ctypes.c_int32), ("max", ctypes.c_int32), ("constraints", ctypes.c_void_p), ("size", ctypes.c_uint32),
                ("priority", ctypes.c_int32), ("flags", ctypes.c_uint32), ("reserved", ctypes.c_char * 4)]
tbb, omp = ctypes.CDLL("libtcm.so.1"), ctypes.CDLL("libtcm.so")
address = lambda library: ctypes.cast(library.tcmConnect, ctypes.c_void_p).value
client, permit = ctypes.c_uint64(), ctypes.c_void_p()
assert tbb.tcmConnect(None, ctypes.byref(client)) == 0
tbb.tcmRequestPermit.argtypes = [ctypes.c_uint64, Request] + [ctypes.c_void_p] * 3
print(address(tbb) == address(omp), tbb.tcmRequestPermit(client, Request(1, 1), None, ctypes.byref(permit), None))
"""


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
        for name in FILES + tuple("share/man/man1/%s.1%s" % (page, ".gz" if zipped else "") for page in PAGES) + (
                "share/man/man3/nosv_submit.3" + (".gz" if zipped else ""),):
            self.assertTrue(os.path.getsize(os.path.join(prefix, name)), name)

    def check_tasks(self, prefix):
        """Programs find the tasking library by pkg-config and by CMake, wherever it lies, and its pages."""
        source = os.path.join(self.dir, "tasks.c")
        with open(source, "w", encoding="ascii") as f:
            f.write(TASKS)
        modules = list({os.path.realpath(path) for path in glob.glob(prefix + "/lib*/**/pkgconfig/nos-v.pc", recursive=True)})     # lib64 may be a link
        self.assertEqual(len(modules), 1)
        lib = os.path.dirname(os.path.dirname(modules[0]))
        self.env.update(PKG_CONFIG_PATH=os.path.dirname(modules[0]), LD_LIBRARY_PATH=lib, CMAKE_PREFIX_PATH=prefix)
        programs = []
        if shutil.which("pkg-config"):
            self.assertEqual(self.run_it("pkg-config", "--modversion", "nos-v").stdout, "4.1.0\n")
            self.run_it("pkg-config", "--atleast-version=4.1.0", "nos-v")
            flags = self.run_it("pkg-config", "--cflags", "--libs", "nos-v").stdout.split()
            self.run_it("gcc", "-o", "tasks", source, *flags)
            programs.append("tasks")
            if shutil.which("g++"):
                with open(source + "pp", "w", encoding="ascii") as f:
                    f.write(TASKS_CXX)
                self.run_it("g++", "-std=c++17", "-o", "tasks-cxx", source + "pp", *flags)
                programs.append("tasks-cxx")
            dynamic = self.run_it("objdump", "-p", os.path.join(self.dir, "tasks")).stdout
            self.assertRegex(dynamic, r"NEEDED +libnosv\.so\.0\n")
        if shutil.which("cmake"):
            for package in ("nosv", "nos-v"):
                folder = os.path.join(self.dir, "cmake-" + package)
                os.makedirs(folder)
                with open(os.path.join(folder, "CMakeLists.txt"), "w", encoding="ascii") as f:
                    f.write("cmake_minimum_required(VERSION 3.16)\nproject(tasks C)\nfind_package(%s 4.1 REQUIRED)\n"
                            "add_executable(tasks %s)\ntarget_link_libraries(tasks nosv::nosv)\n" % (package, source))
                self.run_it("cmake", "-S", folder, "-B", folder + "/build")
                self.run_it("cmake", "--build", folder + "/build")
                programs.append(folder + "/build/tasks")
        for program in programs:
            self.assertEqual(self.run_it(os.path.join(self.dir, program)).stdout, "hello\n")
        if shutil.which("man"):
            page = self.run_it("man", "-M", prefix + "/share/man", "nosv_get_task_type_label").stdout
            self.assertIn("types of tasks", page)

    def check_contexts(self, prefix, bindir):
        """Programs find the library for contexts by pkg-config, and `usf shim` finds it for its stubs."""
        modules = list({os.path.realpath(path) for path in glob.glob(prefix + "/lib*/**/pkgconfig/usf-context.pc", recursive=True)})
        self.assertEqual(len(modules), 1)
        if not shutil.which("pkg-config") or not shutil.which("g++"):
            return
        lib, stubs = os.path.dirname(os.path.dirname(modules[0])), os.path.join(self.dir, "stubs")
        env = {**self.env, "PKG_CONFIG_PATH": os.path.dirname(modules[0])}
        env.pop("LD_LIBRARY_PATH", None)
        os.makedirs(stubs)
        for name, text in ("count.c", CONTEXTS_LIBRARY), ("contexts.cpp", CONTEXTS):
            with open(os.path.join(self.dir, name), "w", encoding="ascii") as f:
                f.write(text)
        def run(*args):
            p = subprocess.run([*self.inside, *args], env=env, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL, cwd=self.dir)
            self.assertEqual(p.returncode, 0, p.stdout + p.stderr)
            return p.stdout
        run("gcc", "-shared", "-fPIC", "-o", "libcount.so", "count.c")
        run(os.path.join(bindir, "usf"), "shim", "libcount.so", "-o", "stubs/libcount.so")
        flags = run("pkg-config", "--cflags", "--libs", "usf-context").split()
        run("g++", "-std=c++17", "-o", "contexts", "contexts.cpp", "stubs/libcount.so", *flags, "-Wl,-rpath,%s:%s" % (stubs, lib))
        self.assertEqual(run(os.path.join(self.dir, "contexts")), "2 1\n")

    def check_permits(self, prefix):
        """oneTBB and Intel OpenMP find the library of permits by one name each, and it is the same one."""
        folder, = {os.path.dirname(os.path.realpath(path)) for path in glob.glob(prefix + "/lib*/**/libtcm.so.1", recursive=True)}
        env = {**self.env, "LD_LIBRARY_PATH": folder, "TCM_ENABLE": "1"}
        p = subprocess.run(["/usr/bin/python3", "-c", PERMITS], env=env, capture_output=True, text=True, timeout=120)
        self.assertEqual((p.stdout, p.stderr), ("True 0\n", ""))
        os.unlink("/dev/shm/.usf-%d-%s.tcm" % (os.geteuid(), self.instance))

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
        # without the working directory, nor a variable, in the module search path
        self.run_it(usf, "tune", "--vary", "N=1,2", "--vary", "policy=coop,fifo", "--repeats", "1", "--quiet", "-o", "tuned.toml", "--plot", "tuned.html", "--",
                    "sh", "-c", "test ! $PYTHONPATH")
        self.run_it(usf, "run", "--profile", "tuned.toml", "--", "true")
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
