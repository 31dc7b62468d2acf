#!/usr/bin/python3
# tests/odd/test_places.py - containers, and what they have in place of /dev/shm and /proc.  SPDX-License-Identifier: Apache-2.0
import os
import shlex
import subprocess
import time

from odd import FILES, LOAD, Case, can, main, watchers

UNSHARE = ["unshare"] if os.geteuid() == 0 else ["unshare", "-U", "-r"]


def quoted(command):
    return " ".join(shlex.quote(c) for c in command)


class Container(Case):
    def unshare(self, *options):
        command = [*UNSHARE, *options]
        if not can(*command, "true"):
            self.skipTest("no namespaces here: %s" % " ".join(command))
        return command

    def in_mounts(self, setup, *command):
        """The command where `setup` has changed the mounts."""
        unshare = self.unshare("-m")
        if not can(*unshare, "sh", "-ec", setup):
            self.skipTest("not allowed here: %s" % setup)
        return self.run_it(*unshare, "sh", "-ec", setup + "; exec " + quoted(command or self.usf("--stats", LOAD)))


class Namespaces(Container):
    def alone(self, *container):
        r = self.run_it(*container, *self.usf("--stats", LOAD))
        self.scheduled(r, 3)

    def test_each_kind(self):
        for option in (["-m"], ["-i"], ["-u"], ["-n"], ["-C"], ["-p", "-f"], ["-p", "-f", "-m", "--mount-proc"]):
            with self.subTest(option=option):
                self.take_another_instance()
                self.alone(*self.unshare(*option))

    def test_user_without_a_name(self):
        """Not mapped: nobody's user id inside."""
        if not can("unshare", "-U", "true"):
            self.skipTest("no user namespaces here")
        r = self.run_it("unshare", "-U", *self.usf("--stats", LOAD))
        self.scheduled(r, 3)
        subprocess.run(["unshare", "-U", FILES["usf"], "clean", "-i", self.instance, "--force"], env=self.env, capture_output=True)

    def bwrap(self, *options):
        command = ["bwrap", "--ro-bind", "/", "/", "--proc", "/proc", *options]
        if not can(*command, "true"):
            self.skipTest("no bubblewrap here")
        return command

    def test_bubblewrap(self):
        self.alone(*self.bwrap("--unshare-all", "--dev", "/dev"))
        self.alone(*self.bwrap("--dev-bind", "/dev", "/dev"))

    def test_programs_that_make_a_container(self):
        """Where pids mean the same, they stay in the instance; else they run, and one word says how."""
        self.scheduled(self.run_it(*self.usf("--stats", *self.unshare("-m", "-i"), LOAD)), 4)
        r = self.run_it(*self.usf("--stats", *self.unshare("-p", "-f"), LOAD))
        self.unscheduled(r, "namespace")


class TwoContainers(Container):
    """Of one user, with one /dev/shm."""

    def first(self, *container):
        p = self.start(*container, *self.usf("sh", "-c", "echo up; exec sleep 1000"))
        self.assertEqual(p.stdout.readline(), "up\n")
        return p

    def stop(self, p):
        subprocess.run(["pkill", "-KILL", "-s", str(p.pid)], capture_output=True)    # its session: what it started, too
        p.kill()
        p.communicate()

    def test_one_instance(self):
        box = self.unshare("-m", "-i")
        p = self.first(*box)
        try:
            self.scheduled(self.run_it(*box, *self.usf("--stats", LOAD)), 3)
            r = self.run_it(*box, FILES["usf"], "ps", "-i", self.instance)
            self.assertIn("sleep", r.out)
        finally:
            self.stop(p)

    def refused(self, one, two, word):
        p = self.first(*one)
        try:
            r = self.run_it(*two, *self.usf(LOAD))
            self.unscheduled(r, "belongs to another container", "choose another --instance", word)
        finally:
            self.stop(p)
            self.soon(lambda: not watchers(self.instance), "its monitor is left behind")

    def test_other_pids(self):
        """Also where /proc shows the pids of another (more: test_namespaces.py)."""
        box = self.unshare("-p", "-f", "--kill-child")
        p = self.first()
        try:
            self.scheduled(self.run_it(*box, *self.usf("--stats", LOAD)), 3)
        finally:
            self.stop(p)

    def test_other_clock(self):
        self.refused([], self.unshare("-T", "--monotonic", "1000", "-f"), "one time namespace")

    def test_left_behind(self):
        """The end of a container ends its monitor, too: the instance does not stand in others' way."""
        lingers = self.usf("--monitor-linger", "30000", "--stats", LOAD)    # else it may end before its container does
        self.scheduled(self.run_it(*self.unshare("-p", "-f", "--mount-proc"), *lingers), 3)
        self.assertTrue(os.path.exists(self.segment))
        self.scheduled(self.run_it(*self.usf("--stats", LOAD)), 3)


class Mounts(Container):
    def test_small_shm(self):
        self.scheduled(self.in_mounts("mount -t tmpfs -o noexec,nosuid,nodev,size=64m x /dev/shm"), 3)

    def test_hardly_any_room(self):
        r = self.in_mounts("mount -t tmpfs -o size=300k x /dev/shm")
        self.assertEqual((r.code, r.out), (0, "done\n"), r)
        self.assertLessEqual(len(r.warnings), 1, r)

    def test_full_shm(self):
        self.unscheduled(self.in_mounts("mount -t tmpfs -o size=1m x /dev/shm; fallocate -l 1M /dev/shm/x"), "no space is left")

    def test_read_only_shm(self):
        self.unscheduled(self.in_mounts("mount -t tmpfs -o ro x /dev/shm"), "read-only")

    def test_no_shm(self):
        devices = "for i in null zero; do : > /dev/$i; done"
        self.unscheduled(self.in_mounts("mount -t tmpfs x /dev; " + devices), "the directory does not exist")

    def test_no_proc(self):
        self.unscheduled(self.in_mounts("mount -t tmpfs x /proc"), "/proc")
        # found by the loader: the library has to do without
        self.scheduled(self.run_it(*self.usf("--stats", *self.unshare("-m"), "sh", "-c", "mount -t tmpfs x /proc; " + LOAD)), 3)

    def test_hidden_pids(self):
        user = "setpriv --reuid 65534 --clear-groups" if os.geteuid() == 0 else ""
        self.env["HOME"] = "/"
        setup = "mount -t proc -o hidepid=2 p /proc"
        r = self.in_mounts(setup, *shlex.split(user), *self.usf("--stats", LOAD))
        self.scheduled(r, 3)
        path = self.segment.replace("-%d-" % os.geteuid(), "-65534-")
        end = time.monotonic() + 20
        while os.path.exists(path) and time.monotonic() < end:
            time.sleep(0.05)
        self.assertFalse(os.path.exists(path))


class Limits(Case):
    def test_no_new_privileges(self):
        self.scheduled(self.run_it("setpriv", "--no-new-privs", *self.usf("--stats", LOAD)), 3)

    def test_no_gain_of_execution(self):
        """PR_SET_MDWE: code is written through /proc/self/mem; without that it stays as it is."""
        r = self.run_it(FILES["deny"], "mdwe", "--", *self.usf("--stats", LOAD))
        if r.code == 77:
            self.skipTest("no PR_SET_MDWE here")
        self.scheduled(r, 3)
        r = self.run_it(FILES["deny"], "mdwe", "=EPERM", "pwrite64", "--", *self.usf(LOAD))
        self.assertEqual((r.code, r.out), (0, "done\n"), r)
        self.assertIn("its code cannot be written", r.err)


if __name__ == "__main__":
    main()
