#!/usr/bin/python3
# tests/cli/test_doctor.py - doctor --program: why a program is not scheduled, what helps, exit codes.  SPDX-License-Identifier: Apache-2.0
import json
import os
import shutil
import struct
import subprocess

from common import FILES, Case, main

LOADER = b"/lib64/ld-linux-x86-64.so.2"


def elf_hash(name):
    h = 0
    for c in name:
        h = (h << 4) + c
        g = h & 0xf0000000
        h = (h ^ g >> 24) & ~g & 0xffffffff
    return h


class Doctor(Case):
    def setUp(self):
        super().setUp()
        shutil.copy2(FILES["lib"], self.lib)

    def about(self, program, code, *words, env=None):
        """The findings on it, after it ended with this code; words: of all the texts."""
        p = self.run_usf("doctor", "--json", "--program", program, add=env)
        self.assertEqual(p.returncode, code, p.stdout + p.stderr)
        d = json.loads(p.stdout)
        self.assertEqual(d["scheduled"], code == 0, d)
        found = [f for f in d["findings"] if f["section"] == "program"]
        text = " | ".join(f["text"] for f in found)
        for w in words:
            self.assertIn(w, text)
        if code:
            self.assertTrue(any(f["check"] == "advice" for f in found), found)
        same = self.run_usf("doctor", program, add=env)     # as a plain argument, for people
        self.assertEqual(same.returncode, code)
        return found

    def changed(self, name, change, mode=0o755):
        with open(FILES["hello"], "rb") as f:
            data = bytearray(f.read())
        change(data)
        return self.write(name, bytes(data), mode)

    def test_scheduled(self):
        self.about(FILES["hello"], 0, "is scheduled")
        self.about("sh", 0, "is scheduled")
        self.about(self.write("plain", "echo hi\n", 0o755), 0, "/bin/sh runs it")
        self.assertNotIn("scheduled", json.loads(self.run_usf("doctor", "--json").stdout))

    def test_static_and_go(self):
        self.about(FILES["static"], 2, "is statically linked", "link it dynamically")
        self.about(FILES["gostatic"], 2, "a Go program", "GOMAXPROCS")
        self.about(FILES["godyn"], 2, "a Go program", "GOMAXPROCS")

    def test_script_of_such(self):
        s = self.write("script", "#!%s\n" % FILES["static"], 0o755)
        self.about(s, 2, "is a script for " + FILES["static"], "statically linked", "link it dynamically")
        shutil.copy2(FILES["static"], os.path.join(self.dir, "inner"))
        s = self.write("script2", "#!/usr/bin/env inner\n", 0o755)
        self.about(s, 2, "statically linked", env={"PATH": self.dir + ":/usr/bin:/bin"})

    def test_other_machines(self):
        def bits(data):
            data[4] = 1
        def arm(data):
            data[18:20] = struct.pack("<H", 183)
        self.about(self.changed("bits", bits), 2, "32-bit", "64-bit build")
        self.about(self.changed("arm", arm), 2, "built for aarch64", "build for x86-64")

    def test_other_libc(self):
        loader = "/tmp/ld-musl-%d" % os.getpid()
        def musl(data):
            at = data.find(LOADER + b"\0")
            self.assertGreater(at, 0)
            data[at:at + len(LOADER)] = loader.encode().ljust(len(LOADER), b"\0")
        program = self.changed("musl", musl)
        self.about(program, 1, "needs the loader " + loader, "does not start")
        shutil.copy2("/bin/true", loader)
        try:
            self.about(program, 2, "is not linked with glibc", "use a build of the program for glibc")
        finally:
            os.unlink(loader)

    def test_needs_a_newer_glibc(self):
        def newer(data):
            old, new = b"GLIBC_2.34", b"GLIBC_2.99"
            if data.find(old) < 0:
                self.skipTest("the compiler's glibc is another")
            at = data.find(struct.pack("<I", elf_hash(old)))
            data[at:at + 4] = struct.pack("<I", elf_hash(new))
            at = data.find(old + b"\0")
            data[at:at + len(new)] = new
        program = self.changed("newer", newer)
        self.about(program, 1, "needs GLIBC_2.99", "built for a newer system")
        self.assertNotEqual(subprocess.run([program], capture_output=True, timeout=20).returncode, 0)

    def test_library_that_is_missing(self):
        def other(data):
            at = data.find(b"libc.so.6\0")
            data[at:at + 9] = b"libq.so.6"
        self.about(self.changed("missing", other), 1, "libq.so.6: not found", "LD_LIBRARY_PATH")

    def test_cannot_be_executed(self):
        self.about(self.write("nox", "x", 0o644), 1, "cannot be executed", "chmod +x")
        self.about(self.dir, 1, "is a directory")
        self.about(os.path.join(self.dir, "no", "such"), 1, "not found", self.dir + "/no: No such file")
        self.about("no-such-program", 1, "not found", "no directory of PATH")
        self.write("here", "x", 0o755)
        self.about("here", 1, "there is a ./here")
        os.symlink("/nowhere", os.path.join(self.dir, "link"))
        self.about(os.path.join(self.dir, "link"), 1, "symbolic link to something that is not there")
        self.about(self.write("crlf", "#!/bin/sh\r\necho\r\n", 0o755), 1, "dos2unix")
        self.about(self.write("nointerp", "#!/no/such\n", 0o755), 1, "/no/such is not there")

    def test_noexec(self):
        point = os.path.join(self.dir, "mnt")
        os.mkdir(point)
        script = "mount -t tmpfs -o noexec x %s && cp %s %s/p && exec %s doctor --program %s/p" % (point, FILES["hello"], point, self.usf, point)
        p = subprocess.run(["unshare", "-Urm", "sh", "-c", script], env=self.env, capture_output=True, text=True, timeout=60)
        if "unshare" in p.stderr or "mount" in p.stderr:
            self.skipTest("no mount namespaces here")
        self.assertEqual(p.returncode, 1, p.stdout + p.stderr)
        self.assertIn("mounted noexec", p.stdout)

    def test_setuid(self):
        if os.geteuid():
            self.skipTest("only root can make a program of another user's")
        p = self.changed("setuid", lambda data: None)
        os.chown(p, 1, 1)
        os.chmod(p, 0o4755)
        self.about(p, 2, "is setuid", "preloads nothing")
        os.chmod(p, 0o2755)
        self.about(p, 2, "is setgid", "preloads nothing")

    def test_doctor_runs_none_of_the_program(self):
        mark = os.path.join(self.dir, "mark")
        self.about(self.write("runs", "#!/bin/sh\ntouch %s\n" % mark, 0o755), 0)
        self.assertFalse(os.path.exists(mark))


if __name__ == "__main__":
    main()
