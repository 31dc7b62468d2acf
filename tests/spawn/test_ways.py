# tests/spawn/test_ways.py - programs started in odd ways: without room, through others, in other environments, beside other
# libraries.  SPDX-License-Identifier: Apache-2.0
import glob
import os
import resource
import shutil
import stat
import time
import unittest

import spawn
from spawn import USF, program

root = unittest.skipIf(os.geteuid(), "needs root")
LIBS = {name: next(iter(glob.glob("/usr/lib/x86_64-linux-gnu/" + pattern)), None) for name, pattern in {
    "jemalloc": "libjemalloc.so.2", "mimalloc": "libmimalloc.so.2", "faketime": "faketime/libfaketimeMT.so.1", "asan": "libasan.so.8",
    "tsan": "libtsan.so.2", "ubsan": "libubsan.so.1"}.items()}


class Room(spawn.Case):
    """Until there is no room for another thread or process."""

    @root
    def test_as_many_as_a_user_may(self):
        uid = str(20000 + os.getpid() % 20000)      # nobody else's processes count
        os.chmod(self.dir, 0o777)
        before = ["setpriv", "--reuid", uid, "--regid", uid, "--clear-groups"]
        tool = self.copy_for_all()
        bare = self.run_it(*before, os.path.join(self.dir, "fork"), "until_full")
        ours = self.run_it(*before, tool, "run", "--", os.path.join(self.dir, "fork"), "until_full")
        self.assertEqual((bare.code, bare.out, bare.err), (ours.code, ours.out, ours.err), "%s\n%s" % (bare, ours))
        self.assertEqual(bare.code, 0, bare)

    def copy_for_all(self):
        for f, to in ((USF, "usf"), (os.path.join(os.path.dirname(USF), "libusf.so"), "libusf.so"), (program("fork"), "fork")):
            shutil.copy2(f, os.path.join(self.dir, to))
            os.chmod(os.path.join(self.dir, to), 0o755)
        return os.path.join(self.dir, "usf")

    @root
    def test_as_many_as_a_cgroup_may(self):
        group = self.pids_group()
        with open(os.path.join(group, "pids.max"), "w") as f:
            f.write("40")

        def enter():
            with open(os.path.join(group, "cgroup.procs"), "w") as f:
                f.write("0")
        self.same(program("fork"), "until_cgroup_is_full", preexec_fn=enter)

    def pids_group(self):
        for base in ("/sys/fs/cgroup/pids", "/sys/fs/cgroup"):
            path = os.path.join(base, "usf-spawn-%d" % os.getpid())
            try:
                os.mkdir(path)
            except OSError:
                continue
            self.addCleanup(self.remove_group, path)
            if os.path.exists(os.path.join(path, "pids.max")):
                return path
        self.skipTest("no cgroup with pids can be made")

    @staticmethod
    def remove_group(path):
        for _ in range(200):
            try:
                return os.rmdir(path)
            except OSError:
                time.sleep(0.01)


class Through(spawn.Case):
    """A program in between that is no member; what comes after it is one again."""

    def through(self, path, first="-", **kw):
        bare, ours = self.same(program("exec"), "through", path, first, run=["-v"], **kw)
        self.assertIn("reached after it", bare.out)

    def test_static(self):
        self.through(program("static"))

    def test_script(self):
        path = os.path.join(self.dir, "script")
        with open(path, "w") as f:
            f.write('#!/bin/sh\nexec "$@"\n')
        os.chmod(path, 0o755)
        self.through(path)

    @root
    def test_setuid(self):
        """It becomes another user's: neither it nor what it starts is let in."""
        path = os.path.join(self.dir, "setuid")
        shutil.copy2(program("hello"), path)
        os.chmod(self.dir, 0o755)
        os.chown(path, 65534, 65534)
        os.chmod(path, 0o6755)
        self.assertTrue(os.stat(path).st_mode & stat.S_ISUID)
        self.through(path)

    def test_busybox(self):
        if not os.path.exists("/bin/busybox"):
            self.skipTest("no busybox")
        self.through("/bin/busybox", "env")

    def test_cleared_environment(self):
        self.through("/usr/bin/env", "-i")


class Start(spawn.Case):
    """Limits and descriptors from before the start."""

    def limited(self, what, value):
        def limit():
            resource.setrlimit(what, (value, value))
        return self.same(program("limits"), "plain", preexec_fn=limit)

    def test_limits(self):
        for what, value in ((resource.RLIMIT_AS, 2 << 30), (resource.RLIMIT_STACK, 256 << 10), (resource.RLIMIT_STACK, resource.RLIM_INFINITY),
                            (resource.RLIMIT_CORE, 0), (resource.RLIMIT_MEMLOCK, 0), (resource.RLIMIT_SIGPENDING, 0), (resource.RLIMIT_FSIZE, 0),
                            (resource.RLIMIT_NOFILE, 8), (resource.RLIMIT_RTPRIO, 0), (resource.RLIMIT_DATA, 64 << 20)):
            with self.subTest(what=what, value=value):
                self.limited(what, value)

    def test_cpu_time_is_the_programs(self):
        """The monitor outlives the limit of the program that started it."""
        self.limited(resource.RLIMIT_CPU, 5)

    def test_cpu_time_runs_out(self):
        """Bare the same, but each costs two seconds."""
        r = self.run_it(USF, "run", "--", program("limits"), "cpu_time")
        self.assertRegex(r.out, r"\Ahandled: exit 0\nnot handled: signal 24(, core)?\n\Z", r)

    def test_without_descriptors(self):
        for closed in ("0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"):
            with self.subTest(closed=closed):
                self.same("/bin/sh", "-c", "exec %s plain %s" % (program("limits"), closed))
                bare = self.run_it("/bin/sh", "-c", "exec %s list_of_descriptors %s" % (program("limits"), closed))
                ours = self.run_it("/bin/sh", "-c", "exec %s run -- %s list_of_descriptors %s" % (USF, program("limits"), closed))
                self.assertEqual(bare.out, ours.out, ours)

    def test_orphan_outlives_the_run(self):
        """`usf run` ends with its program; what that left behind goes on, and the instance with it."""
        bare, ours = self.same(program("vfork"), "ends_at_once")
        self.assertEqual(bare.code, 4)
        self.assertIn("works 1", ours.out)

    def test_openmp_in_a_namespace(self):
        bare, ours = self.same(program("load"), "namespace_of_openmp", program("openmp.so"))
        self.assertEqual(bare.out, "49500\n")


class Beside(spawn.Case):
    """Other libraries that are preloaded, before and after ours, and programs built with a sanitizer."""

    CASES = (("fork", "from_threads"), ("vfork", "system_and_popen"), ("load", "storm"))
    library = os.path.join(os.path.dirname(USF), "libusf.so")

    def beside(self, name, cases=CASES, **add):
        lib = LIBS[name]
        if not lib:
            self.skipTest("no " + name)
        self.env.update(add)
        for prog, case in cases:
            with self.subTest(case=case):
                path, preload = program(prog), {**self.env, "LD_PRELOAD": lib}
                bare = self.run_it(path, case, env=preload)
                after = self.run_it(USF, "run", "--", path, case, env=preload)
                before = self.run_it(USF, "run", "--", "env", "LD_PRELOAD=%s:%s" % (lib, self.library), path, case)
                for ours in before, after:
                    self.assertEqual((bare.code, bare.out), (ours.code, ours.out), ours)
                self.assertEqual(bare.code, 0, bare)

    def test_jemalloc(self):
        self.beside("jemalloc")

    def test_mimalloc(self):
        self.beside("mimalloc")

    def test_faketime(self):
        self.beside("faketime", FAKETIME="-1d")

    # Their children run with them, too, and fork in a threaded program is no case for them.
    def test_asan(self):
        self.beside("asan", (("limits", "plain"), ("exec", "many_in_a_row")), ASAN_OPTIONS="detect_leaks=0:verify_asan_link_order=0")

    def test_tsan(self):
        self.beside("tsan", (("limits", "plain"),))

    def test_ubsan(self):
        self.beside("ubsan")

    def test_built_with_sanitizers(self):
        built = [p for p in sorted(glob.glob(program("built-*"))) if os.path.isfile(p)]
        if not built:
            self.skipTest("no sanitizers")
        for path in built:
            with self.subTest(path=path):
                self.same(path, "system_and_popen")


if __name__ == "__main__":
    spawn.main()
