#!/usr/bin/python3
# tests/cli/test_run.py - usf run: finding programs, what runs unscheduled, the environment.  SPDX-License-Identifier: Apache-2.0
import json
import os
import shutil
import struct
import subprocess

from common import FILES, Case, main

SHOW_ENV = ["/usr/bin/env"]


def elf(bits=64, machine=62, kind=2, code=b""):
    """A static program without sections: a header, one loadable segment, code."""
    if bits == 64:
        base, hsize = 0x400000, 64 + 56
        head = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", kind, machine, 1, base + hsize, 64, 0, 0, 64, 56, 1, 64, 0, 0)
        ph = struct.pack("<IIQQQQQQ", 1, 5, 0, base, base, hsize + len(code), hsize + len(code), 4096)
    else:
        base, hsize = 0x8048000, 52 + 32
        head = b"\x7fELF\x01\x01\x01" + bytes(9) + struct.pack("<HHIIIIIHHHHHH", kind, machine, 1, base + hsize, 52, 0, 0, 52, 32, 1, 40, 0, 0)
        ph = struct.pack("<IIIIIIII", 1, 0, base, base, hsize + len(code), hsize + len(code), 5, 4096)
    return head + ph + code


class Finding(Case):
    def test_exit_codes(self):
        for code in (0, 1, 3, 125, 255):
            self.assertEqual(self.run_usf("run", FILES["hello"], str(code)).returncode, code)

    def test_not_found(self):
        self.one_line(self.run_usf("run", "no-such-program"), 127, "no-such-program", "not found")
        self.one_line(self.run_usf("run", "./no-such"), 127, "not found")
        self.one_line(self.run_usf("run", ""), 127, "not found")
        self.one_line(self.run_usf("run", "/etc/passwd/x"), 127, "not found")

    def test_not_executable(self):
        path = self.write("data.txt", "hi\n")
        self.one_line(self.run_usf("run", path), 126, "Permission denied")
        self.one_line(self.run_usf("run", self.dir), 126, "Permission denied")
        self.one_line(self.run_usf("run", "data.txt", add={"PATH": self.dir}), 126, "Permission denied")

    def test_path(self):
        self.write("p1/prog", "not executable\n")
        self.write("p2/prog", "#!/bin/sh\necho second\n", 0o755)
        p = self.run_usf("run", "prog", add={"PATH": "%s/p1:%s/p2:/bin" % (self.dir, self.dir)})
        self.assertEqual((p.returncode, p.stdout), (0, "second\n"), p.stderr)
        p = self.run_usf("run", "prog", add={"PATH": ":/bin"}, cwd=os.path.join(self.dir, "p2"))   # empty: here
        self.assertEqual((p.returncode, p.stdout), (0, "second\n"), p.stderr)
        p = self.run_usf("run", "sh", "-c", "exit 4", drop=["PATH"])
        self.assertEqual(p.returncode, 4)

    def test_stops_at_first_non_option(self):
        p = self.run_usf("run", "-v", "/bin/echo", "-c", "--policy", "--", "x")
        self.assertEqual(p.stdout, "-c --policy -- x\n")
        p = self.run_usf("run", "--", "/bin/echo", "-v")
        self.assertEqual(p.stdout, "-v\n")

    def test_argv0_and_arguments_unchanged(self):
        p = self.run_usf("run", "sh", "-c", "echo \"$0-$1\"", "a b", "c\nd")
        self.assertEqual(p.stdout, "a b-c\nd\n")

    def test_usage(self):
        self.one_line(self.run_usf("run"), 125, "no program given")
        self.one_line(self.run_usf("run", "--"), 125, "no program given")
        self.one_line(self.run_usf(), 125, "--help")
        self.one_line(self.run_usf("rnu"), 125, "rnu", "'run'")
        self.one_line(self.run_usf("run", "--polcy", "x", "true"), 125, "--polcy", "--policy")
        self.one_line(self.run_usf("run", "--policy", "cop", "true"), 125, "'cop'", "'coop'")
        self.one_line(self.run_usf("run", "--policy", "fifi", "true"), 125, "'fifo'")
        self.one_line(self.run_usf("run", "--policy", "./none.so", "true"), 125, "none.so")
        self.one_line(self.run_usf("run", "--policy", "./p.so", "true"), 125)
        self.one_line(self.run_usf("run", "-c", "x", "true"), 125, "'x'", "character 1")
        self.one_line(self.run_usf("run", "-c", "1000-1010", "true"), 125, "1000-1010")
        self.one_line(self.run_usf("run", "true", add={"USF_POLICY": "linx"}), 125, "USF_POLICY", "'linux'")
        self.one_line(self.run_usf("run", "-i", "", "true"), 125, "instance name")
        for cpus in "0-", "3-1", "0,,1", "99999", "0-1:0", "-1":
            self.one_line(self.run_usf("run", "-c", cpus, "true"), 125, "'%s'" % cpus, "CPU list")

    def test_words_too_many(self):
        for args in ("help", "run", "ps"), ("help", "man", "ps"), ("--version", "ps"), ("-h", "run", "ps"), ("ps", "ps"), \
                    ("policy", "list", "ps"), ("policy", "info", "coop", "ps"), ("config", "show", "ps"), \
                    ("doctor", "true", "ps"), ("clean", "ps"):
            self.one_line(self.run_usf(*args), 125, "'ps' is one argument too many")
        self.one_line(self.run_usf("help", "--polcy"), 125, "--polcy", "--help")
        self.one_line(self.run_usf("doctor", "--prog", "x"), 125, "the nearest is --program")

    def test_words_that_are_near_are_suggested_and_others_are_not(self):
        for args, near in ((("rnu", "true"), "'run'"), (("run", "--quantm", "5", "true"), "--quantum"), (("run", "--prog", "5", "true"), "--progress"),
                           (("policy", "sett", "coop"), "'set'"), (("help", "polcy"), "'policy'"), (("run", "--attach", "lte", "true"), "'late'"),
                           (("trace", "--format", "perfeto", "true"), "'perfetto'"), (("run", "-p", "copo", "true"), "'coop'")):
            self.one_line(self.run_usf(*args), 125, "the nearest is " + near)
        for args in (("frobnicate",), ("xy",), ("run", "--frobnicate", "true"), ("run", "--xy", "true"), ("policy", "frobnicate"), ("help", "zzz"),
                     ("run", "--attach", "frobnicate", "true"), ("trace", "--format", "zzz", "true"), ("run", "-p", "frobnicate", "true"),
                     ("config", "frobnicate")):
            self.assertNotIn("nearest", self.one_line(self.run_usf(*args), 125))
        p = self.run_usf("config", "show", add={"USF_FROBNICATE_ALL": "1", "USF_QUANTUN": "3"})
        self.assertIn("USF_FROBNICATE_ALL in the environment\n", p.stderr)
        self.assertIn("USF_QUANTUN in the environment; the nearest is USF_QUANTUM", p.stderr)

        self.assertEqual(self.run_usf("help", add={"USF_QUANTUM": "abc"}).returncode, 0)

    def test_policy_object_that_is_none(self):
        path = self.write("p.so", b"\x7fELF junk")
        self.one_line(self.run_usf("run", "--policy", path, "true"), 125, "p.so")
        self.one_line(self.run_usf("run", "--policy", self.lib, "true"), 125, "usf_policy")


class Unscheduled(Case):
    def check(self, path, *words, args=(), out="hello\n", code=0, **kw):
        p = self.run_usf("run", *args, path, **kw)
        lines = p.stderr.splitlines()
        self.assertEqual((p.returncode, p.stdout, len(lines)), (code, out, 1), p)
        for w in (*words, "it runs unscheduled"):
            self.assertIn(w, lines[0])
        # nothing was made for it
        self.assertFalse(os.path.exists(self.segment))

    def test_static(self):
        self.check(FILES["static"], "usf: " + FILES["static"] + " is statically linked: it")

    def test_go(self):
        self.check(FILES["gostatic"], "is statically linked (a Go program)")
        self.check(FILES["godyn"], "is a Go program")

    def test_static_through_scripts(self):
        path = self.write("s1", "#!%s\n" % FILES["static"], 0o755)
        self.check(path, "s1 is a script for %s, which is statically linked" % FILES["static"])
        path = self.write("s2", "#! %s  -x \n" % path, 0o755)
        self.check(path, "is statically linked")
        os.symlink(FILES["static"], os.path.join(self.dir, "mystatic"))
        path = self.write("s3", "#!/usr/bin/env -S A=1 mystatic 0\n", 0o755)
        self.check(path, "mystatic, which is statically linked", add={"PATH": self.dir + ":/bin:/usr/bin"})

    def test_scripts_of_dynamic_interpreters_are_scheduled(self):
        path = self.write("ok", "#!/usr/bin/env python3\nimport os\nprint(os.environ['LD_PRELOAD'])\n", 0o755)
        p = self.run_usf("run", path)
        self.assertEqual((p.stdout, p.stderr), (self.lib + "\n", ""))

    def test_script_without_interpreter(self):
        path = self.write("plain", "echo plain $1\nexit 6\n", 0o755)
        p = self.run_usf("run", path, "x")
        self.assertEqual((p.returncode, p.stdout, p.stderr), (6, "plain x\n", ""))

    def test_script_of_missing_interpreter(self):
        path = self.write("bad", "#!/no/such/interpreter\n", 0o755)
        self.one_line(self.run_usf("run", path), 127, "/no/such/interpreter")

    def test_script_loop(self):
        path = os.path.join(self.dir, "loop")
        self.write("loop", "#!%s\n" % path, 0o755)
        p = self.run_usf("run", path)
        self.assertEqual(p.returncode, 126, p.stderr)

    def test_other_machines(self):
        # exit(7) by int $0x80: works where the kernel runs 32-bit programs
        path = self.write("i386", elf(32, 3, code=b"\xb8\x01\0\0\0\xbb\x07\0\0\0\xcd\x80"), 0o755)
        p = self.run_usf("run", path)
        self.assertIn("i386 is a 32-bit program: it runs unscheduled", p.stderr)
        self.assertIn(p.returncode, (7, 126))
        path = self.write("arm", elf(64, 183), 0o755)
        p = self.run_usf("run", path)
        self.assertIn("is built for aarch64: it runs unscheduled", p.stderr)
        self.assertIn(p.returncode, (126, 255))
        path = self.write("big", b"\x7fELF\x02\x02\x01" + bytes(9) + struct.pack(">HH", 2, 22) + bytes(44), 0o755)
        p = self.run_usf("run", path)
        self.assertIn("is built for s390x", p.stderr)
        self.assertEqual(p.returncode, 126)

    def test_setuid(self):
        path = os.path.join(self.dir, "suid")
        shutil.copy(FILES["hello"], path)
        os.chmod(self.dir, 0o755)
        if os.geteuid() != 0:
            self.skipTest("needs root to give files away")
        os.chown(path, 65534, 65534)
        os.chmod(path, 0o4755)
        self.check(path, "suid is setuid")
        os.chmod(path, 0o2755)
        self.check(path, "suid is setgid")
        os.chmod(path, 0o0755)
        p = self.run_usf("run", path)
        self.assertEqual((p.stdout, p.stderr), ("hello\n", ""))

    def test_setuid_of_oneself_changes_nothing(self):
        path = os.path.join(self.dir, "suid")
        shutil.copy(FILES["hello"], path)
        os.chmod(path, 0o6755)
        self.assertEqual(self.run_usf("run", path).stderr, "")

    def test_other_libc(self):
        with open(FILES["hello"], "rb") as f:
            data = f.read()
        old = b"/lib64/ld-linux-x86-64.so.2\0"
        self.assertIn(old, data)
        path = self.write("musl", data.replace(old, b"/lib/ld-musl-x86_64.so.1\0".ljust(len(old), b"\0")), 0o755)
        p = self.run_usf("run", path)
        self.assertIn("is not linked with glibc (its loader is /lib/ld-musl-x86_64.so.1): it runs unscheduled", p.stderr)
        self.assertEqual(p.returncode, 127)

    def test_loader_as_program_is_scheduled(self):
        p = self.run_usf("run", "/lib64/ld-linux-x86-64.so.2", FILES["hello"])
        self.assertEqual((p.stdout, p.stderr), ("hello\n", ""))

    def test_execute_only(self):
        path = os.path.join(self.dir, "xonly")
        shutil.copy(FILES["hello"], path)
        os.chmod(path, 0o111)
        p = self.run_usf("run", path)
        self.assertEqual((p.returncode, p.stdout), (0, "hello\n"))

    def test_damaged_elf_never_crashes_us(self):
        import random
        with open(FILES["hello"], "rb") as f:
            good = f.read()
        for i in range(150):
            data = bytearray(good[:random.choice([16, 60, 64, 100, 700, 5000, len(good)])])
            for _ in range(random.randrange(1, 30)):
                data[random.randrange(min(len(data), 1200))] = random.randrange(256)
            path = self.write("damaged", bytes(data), 0o644)
            p = self.run_usf("doctor", "--program", path)        # not executable: found and refused
            self.assertGreaterEqual(p.returncode, 0)
            os.chmod(path, 0o755)
            p = subprocess.run([self.usf, "doctor", "--json", "--program", path], env=self.env, capture_output=True, timeout=60)
            self.assertIn(p.returncode, (0, 1, 2), bytes(data[:64]))
            json.loads(p.stdout)

    def test_cpus_hold_without_a_scheduler(self):
        cpu = min(os.sched_getaffinity(0))
        os.unlink(self.lib)
        p = self.run_usf("run", "-c", str(cpu), "sh", "-c", "grep Cpus_allowed_list /proc/self/status")
        self.assertEqual(p.stdout.split()[-1], str(cpu))
        self.assertEqual(len(p.stderr.splitlines()), 1)

    def test_missing_library(self):
        os.unlink(self.lib)
        self.check(FILES["hello"], "libusf.so is not there", self.bin)
        self.write("bin/libusf.so", "junk")
        self.check(FILES["hello"], "libusf.so is damaged")

    def test_library_whose_path_cannot_be_preloaded(self):
        os.mkdir(os.path.join(self.dir, "a b"))
        for f in (self.usf, self.lib):
            shutil.copy2(f, os.path.join(self.dir, "a b"))
        p = subprocess.run([os.path.join(self.dir, "a b", "usf"), "run", FILES["hello"]], env=self.env, capture_output=True, text=True)
        self.assertIn("blank", p.stderr)
        self.assertEqual((p.returncode, p.stdout), (0, "hello\n"))

    def test_installed_layout(self):
        os.makedirs(os.path.join(self.dir, "lib/usf"))
        os.rename(self.lib, os.path.join(self.dir, "lib/usf/libusf.so"))
        p = self.run_usf("run", "sh", "-c", "echo $LD_PRELOAD")
        self.assertEqual((p.stdout, p.stderr), (os.path.join(self.dir, "lib/usf/libusf.so") + "\n", ""))

    def test_damaged_instance(self):
        for data, mode in ((b"x" * 100000, 0o600), (b"", 0o600), (b"x" * 100000, 0o666)):
            with open(self.segment, "wb") as f:
                f.write(data)
            os.chmod(self.segment, mode)
            p = self.run_usf("run", FILES["hello"], "5")
            self.assertEqual((p.returncode, p.stdout, len(p.stderr.splitlines())), (5, "hello\n", 1), p.stderr)
            self.assertIn("it runs unscheduled", p.stderr)
            self.assertIn("run 'usf clean -i %s --force'" % self.instance, p.stderr)
            self.one_line(self.run_usf("clean", "-i", self.instance), 1, "clean -i %s --force" % self.instance)
            self.assertEqual(self.run_usf("clean", "-i", self.instance, "--force").returncode, 0)
            self.assertFalse(os.path.exists(self.segment))

    def test_instance_of_another_version(self):
        keep = subprocess.Popen([self.usf, "run", "true"], env=dict(self.env, USF_MONITOR_LINGER="1000"))
        self.assertEqual(keep.wait(), 0)
        shutil.copy2(self.segment, self.segment + ".other")
        with open(self.segment + ".other", "r+b") as f:
            f.seek(8)
            f.write(b"\x63")                    # the ABI
        os.rename(self.segment + ".other", self.segment)
        for args in ("run", FILES["hello"]), ("ps", "-i", self.instance), ("clean", "-i", self.instance):
            p = self.run_usf(*args)
            self.assertEqual(len(p.stderr.splitlines()), 1, p.stderr)
            self.assertRegex(p.stderr, r"another version of usf \(ABI 99 layout [0-9a-f]+ build ([0-9a-f]{12}), this is ABI 2 "
                                       r"layout [0-9a-f]+ build \1\); .* run 'usf clean -i %s --force'" % self.instance)
        self.assertEqual(self.run_usf("clean", "-i", self.instance, "--force").returncode, 0)

    def test_limits(self):
        """Whatever there is too little of: the program runs, and one line tells."""
        for limit, words in (("-f 100", "ulimit -f"), ("-v 12000", "out of memory"), ("-n 4", "Too many open files")):
            p = subprocess.run(
                ["bash", "-c", "ulimit %s; exec %s run %s 6" % (limit, self.usf, FILES["hello"])], env=self.env,
                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
            self.assertEqual((p.returncode, p.stdout, len(p.stderr.splitlines())), (6, "hello\n", 1), (limit, p))
            self.assertIn(words, p.stderr)
            self.assertIn("it runs unscheduled", p.stderr)
            self.assertFalse(os.path.exists(self.segment), limit)

    def in_private_shm(self, script, mount="mount -t tmpfs -o size=64k none /dev/shm"):
        p = subprocess.run(["unshare", "-rm", "sh", "-c", "%s || exit 77; %s" % (mount, script)], env=self.env,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
        if p.returncode == 77 or "unshare" in p.stderr:
            self.skipTest("no private mounts here")
        return p

    def test_shm_full_read_only_missing(self):
        run = "%s run %s 4" % (self.usf, FILES["hello"])
        for mount in ("mount -t tmpfs -o size=16k none /dev/shm && { head -c 16384 /dev/zero > /dev/shm/fill; true; }",
                      "mount -t tmpfs -o ro none /dev/shm", "mount -t tmpfs none /dev && true"):
            p = self.in_private_shm(run, mount)
            self.assertEqual((p.returncode, p.stdout, len(p.stderr.splitlines())), (4, "hello\n", 1), (mount, p.stderr))
            self.assertIn("it runs unscheduled", p.stderr)

    def test_mask_without_a_core_of_the_instance(self):
        cpus = sorted(os.sched_getaffinity(0))
        if len(cpus) < 2:
            self.skipTest("needs two CPUs")
        keep = subprocess.Popen([self.usf, "run", "-c", str(cpus[0]), "sleep", "0"], env=dict(self.env, USF_MONITOR_LINGER="20000"))
        self.assertEqual(keep.wait(), 0)
        p = self.run_usf("run", "-c", str(cpus[1]), FILES["hello"])
        self.assertEqual((p.returncode, p.stdout), (0, "hello\n"))
        self.assertEqual(len(p.stderr.splitlines()), 1, p.stderr)
        self.assertIn("has the CPUs %d" % cpus[0], p.stderr)
        self.assertIn("it runs unscheduled", p.stderr)


class Environment(Case):
    def environment(self, *args, **kw):
        p = self.run_usf("run", *args, *SHOW_ENV, **kw)
        self.assertEqual(p.returncode, 0, p.stderr)
        return dict(line.split("=", 1) for line in p.stdout.splitlines()), p.stderr

    def test_preload(self):
        e, _ = self.environment()
        self.assertEqual(e["LD_PRELOAD"], self.lib)
        e, _ = self.environment(add={"LD_PRELOAD": "/other/libusf.so:" + FILES["dummy"]})
        self.assertEqual(e["LD_PRELOAD"], self.lib + ":" + FILES["dummy"])
        e, _ = self.environment(add={"LD_PRELOAD": "/a/xlibusf.so " + self.lib})
        self.assertEqual(e["LD_PRELOAD"], self.lib + ":/a/xlibusf.so")

    def test_exports(self):
        e, _ = self.environment("--quantum", "7", "-c", "0", "-v")
        self.assertEqual((e["USF_QUANTUM"], e["USF_CPUS"], e["USF_VERBOSE"], e["USF_INSTANCE"]), ("7", "0", "1", self.instance))
        self.assertEqual(e["USF_CACHE_DIR"], self.home + "/.cache/usf")
        for absent in ("USF_POLL", "USF_STATS", "USF_KEEP_ENV", "USF_RUN", "USF_SLICE"):
            self.assertNotIn(absent, e)
        self.user_config("poll = 5\n")
        e, _ = self.environment()
        self.assertEqual(e["USF_POLL"], "5")

    WAIT = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "0", "KMP_BLOCKTIME": "1", "OMP_PROC_BIND": "false",
            "OPENBLAS_THREAD_TIMEOUT": "20", "KMP_DYNAMIC_MODE": "thread_limit", "OMPI_MCA_mpi_yield_when_idle": "1"}

    def test_wait_policies(self):
        e, err = self.environment()
        self.assertEqual({k: e.get(k) for k in self.WAIT}, self.WAIT)
        self.assertEqual(err, "")
        _, err = self.environment("-v")
        for k, v in self.WAIT.items():
            self.assertIn("usf: %s=%s\n" % (k, v), err)
        for how in (["--keep-env"], ["--keep-env=on"]):
            e, _ = self.environment(*how)
            self.assertFalse(set(self.WAIT) & set(e))
        e, _ = self.environment("--keep-env=off", add={"USF_KEEP_ENV": "on"})
        self.assertTrue(set(self.WAIT) <= set(e))

    def test_wait_policies_of_the_user_stay(self):
        for k in self.WAIT:
            e, _ = self.environment(add={k: "mine"})
            self.assertEqual(e[k], "mine")
        e, _ = self.environment(add={"OMP_WAIT_POLICY": "active"})
        self.assertFalse({"GOMP_SPINCOUNT", "KMP_BLOCKTIME"} & set(e))
        e, _ = self.environment(add={"KMP_AFFINITY": "compact"})
        self.assertNotIn("OMP_PROC_BIND", e)
        e, _ = self.environment(add={"GOMP_CPU_AFFINITY": "0"})
        self.assertNotIn("OMP_PROC_BIND", e)

    def test_nested(self):
        inner = [self.usf, "run", "--quantum", "9", "-i", self.instance + "n", "env"]
        e, err = self.environment("--quantum", "5", "--poll", "3", *inner)
        self.run_usf("clean", "-i", self.instance + "n", "--force")
        self.assertEqual((e["USF_QUANTUM"], e["USF_POLL"], e["USF_INSTANCE"]), ("9", "3", self.instance + "n"))
        self.assertEqual(e["LD_PRELOAD"], self.lib)
        self.assertEqual(err, "")

    def test_options_of_an_existing_instance(self):
        self.assertEqual(self.run_usf("run", "--quantum", "5", "true", add={"USF_MONITOR_LINGER": "20000"}).returncode, 0)
        p = self.run_usf("run", "--quantum", "6", "true")
        self.one_line(p, 0, "exists already", "quantum 5 ms", "--quantum 6 is ignored")
        p = self.run_usf("run", "--policy", "fifo", "true")
        self.one_line(p, 0, "policy coop", "--policy fifo is ignored")
        p = self.run_usf("run", "true", add={"USF_QUANTUM": "6"})      # said to the curious only
        self.assertEqual((p.returncode, p.stderr), (0, ""))
        p = self.run_usf("run", "-c", "0", "true")
        self.assertEqual((p.returncode, p.stderr), (0, ""))

    def test_files_and_streams_stay_open(self):
        r, w = os.pipe()
        p = subprocess.run([self.usf, "run", "sh", "-c", "echo x >&%d; ls /proc/self/fd" % w], env=self.env, pass_fds=[w],
                           capture_output=True, text=True, timeout=60)
        os.close(w)
        self.assertEqual(os.read(r, 10), b"x\n")
        os.close(r)
        # ls's own directory handle is one more: nothing of ours is left open
        self.assertLessEqual(set(p.stdout.split()), {"0", "1", "2", str(w), "3", "4", "5"} if w > 5 else {"0", "1", "2", "3", "4", "5"})

    def test_small_stack(self):
        # With 16 KiB the dynamic linker itself runs out of it one time in five, whatever it preloads.
        p = subprocess.run(["sh", "-c", 'ulimit -s 20; exec "$0" run cat /proc/self/limits', self.usf], env=self.env, cwd=self.dir,
                           capture_output=True, text=True, timeout=60)
        self.assertEqual(p.returncode, 0, p.stderr)
        self.assertRegex(p.stdout, r"Max stack size +20480 +20480")

    def test_asan_programs_are_pleased(self):
        src = self.write("a.c", "int main(void) { return 3; }\n")
        exe = os.path.join(self.dir, "asan")
        cc = shutil.which("gcc")
        if not cc or subprocess.run([cc, "-fsanitize=address", src, "-o", exe], capture_output=True).returncode:
            self.skipTest("no AddressSanitizer")
        p = self.run_usf("run", exe)
        self.assertEqual((p.returncode, p.stderr), (3, ""))


if __name__ == "__main__":
    main()
