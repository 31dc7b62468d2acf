#!/usr/bin/python3
# tests/odd/test_group.py - instances that users share.  SPDX-License-Identifier: Apache-2.0
#
# Real users, by number alone: nobody of that name need exist.  What they may not do to each other is the matter (SECURITY.md).
import ctypes
import json
import os
import shutil
import signal
import stat
import struct
import subprocess
import unittest

from odd import FILES, LOAD, Case, can, main

ANN, BOB, EVE, GROUP, OTHERS = 61001, 61002, 61003, 61100, 61101
GROUPS = {ANN: GROUP, BOB: GROUP, EVE: OTHERS}
HOG = "import signal; signal.alarm(100); print('up', flush=True)\nwhile True: pass"      # also if this test is killed


def become(uid, *more):
    return ["setpriv", "--reuid", str(uid), "--regid", str(uid), "--groups", str(GROUPS[uid]), *more]


@unittest.skipUnless(os.geteuid() == 0, "needs root, to be several users")
class Users(Case):
    def setUp(self):
        super().setUp()
        os.chmod(self.dir, 0o755)
        if not can(*become(ANN), FILES["usf"], "--version"):
            self.skipTest("no setpriv, or other users may not execute what is built here")
        self.plain = self.instance
        self.share("group:%d" % GROUP, "g%d:%s" % (GROUP, self.plain))

        for uid in GROUPS:      # which warnings were told
            self.addCleanup(self.remove, "/dev/shm/.usf-%d-said" % uid)

    def share(self, how, name):
        self.how, self.instance = how, name
        self.path = "/dev/shm/usf-" + name.replace(":", "-")
        self.addCleanup(self.remove, self.path)

    def remove(self, path):
        for p in self.mapped(path):
            os.kill(p, signal.SIGKILL)
        if os.path.lexists(path):
            os.unlink(path)

    @property
    def segment(self):
        return self.path

    @staticmethod
    def mapped(path):
        """Processes that have it mapped."""
        try:
            inode = os.lstat(path).st_ino
        except OSError:
            return []
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/maps" % pid) as f:
                    if any(len(w) > 4 and w[4] == str(inode) for w in map(str.split, f)):
                        found.append(int(pid))
            except OSError:
                pass
        return found

    def by(self, uid, *command):
        return [*become(uid), *command]

    def run_of(self, uid, *command, options=()):
        return self.by(uid, *self.usf("--share", self.how, "-i", self.plain, *options, *command))

    def asks(self, uid, *command):
        return self.run_it(*self.by(uid, FILES["usf"], *command))

    def sleeper(self, uid, *options):
        p = self.start(*self.run_of(uid, "sleep", "1000", options=options))
        self.addCleanup(self.stop, p)
        self.soon(lambda: p.pid in self.pids(uid), "it does not come up")
        return p

    def pids(self, uid):
        r = self.asks(uid, "ps", "--json", "-i", self.instance)
        return [q["pid"] for q in json.loads(r.out)[0]["processes"]] if r.code == 0 else []

    def stop(self, p):
        if p.poll() is None:
            p.kill()
        p.communicate()

    def ps(self, uid):
        r = self.asks(uid, "ps", "--json", "-i", self.instance)
        self.assertEqual(r.code, 0, r)
        return json.loads(r.out)[0]

    def monitor(self, uid):
        """The number of a monitor that lives, and whose it is."""
        self.soon(lambda: self.ps(uid)["monitor_pid"], "there is no monitor")
        pid = self.ps(uid)["monitor_pid"]
        return pid, os.stat("/proc/%d" % pid).st_uid

    def helpers(self):
        found = []
        for p in self.mapped(self.path):
            try:
                with open("/proc/%d/comm" % p) as f:
                    found += [p] if f.read() == "usf-helper\n" else []
            except OSError:
                pass
        return found

    def helper(self):
        self.soon(lambda: len(self.helpers()) == 1, "there is no helper, or more than one")
        return self.helpers()[0]

    def end_monitor(self, uid):
        """With the process that would start it anew."""
        pid, _ = self.monitor(uid)
        os.kill(pid, signal.SIGSTOP)        # or it starts another of these
        with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
            supervisors = [int(w) for w in f.read().split()]
        for p in [*supervisors, pid]:
            os.kill(p, signal.SIGKILL)
        self.soon(lambda: self.ps(uid)["monitor_pid"] != pid, "the monitor does not die")


class Together(Users):
    def shares(self, first, second):
        # in /dev/shm: a page fault that waits for a disk gives the core away
        file, cpu = "/dev/shm/shared-%d" % os.getpid(), min(os.sched_getaffinity(0))
        self.addCleanup(lambda: os.path.exists(file) and os.unlink(file))
        with open(file, "wb") as f:
            f.truncate(4096)
        os.chmod(file, 0o666)
        # so long a guarantee: no thread is interrupted in the middle
        options = ["--stats", "-c", str(cpu), "--progress", "60000"]
        p = [self.start(*self.run_of(uid, FILES["inside"], file, str(i), "300", options=options)) for i, uid in enumerate((first, second))]
        for r in [self.end(x) for x in p]:
            self.scheduled(r)
        with open(file, "rb") as f:
            self.assertEqual(struct.unpack("ii", f.read(8)), (0, 1), "threads that ran, and that ran at once")
        self.gone_soon()

    def test_cores(self):
        """One core: one thread at a time, whose ever; and neither is left out."""
        self.shares(ANN, BOB)
        self.shares(BOB, ANN)

    def test_public(self):
        self.share("public", "public:" + self.plain)
        self.shares(ANN, EVE)

    def test_programs(self):
        p = self.sleeper(ANN)
        st = os.stat(self.path)
        self.assertEqual((st.st_uid, st.st_gid, st.st_mode & 0o7777), (ANN, GROUP, 0o660))
        r = [self.end(x) for x in [self.start(*self.run_of(u, LOAD, options=["--stats"])) for u in (BOB, ANN, BOB)]]
        for x in r:
            self.scheduled(x, 3)
        self.stop(p)
        self.gone_soon()

    def test_threads_that_compute(self):
        """Nobody can signal another user's threads: where the user has no helper either, they are passed over."""
        keeps = self.sleeper(ANN)
        for hogs, waits, helpers in ((ANN, BOB, 1), (BOB, ANN, 1), (BOB, ANN, 0)):
            p = self.start(*self.run_of(hogs, FILES["hog"], "spin-alone"))
            self.addCleanup(self.stop, p)
            self.assertEqual(p.stdout.readline(), "started\n")
            if not helpers:
                os.kill(self.helper(), signal.SIGKILL)
            self.scheduled(self.run_it(*self.run_of(waits, LOAD, options=["--stats"])), 3)
            self.stop(p)
        self.stop(keeps)

    def hog(self, uid):
        """A thread that reaches no scheduling point."""
        p = self.start(*self.run_of(uid, "/usr/bin/python3", "-c", HOG))
        self.addCleanup(self.stop, p)
        self.assertEqual(p.stdout.readline(), "up\n")
        return p

    def test_places(self):
        """Nobody else may bind Bob's thread: his helper has it bind itself, and free itself."""
        cpus = len(os.sched_getaffinity(0))
        if cpus < 2:
            self.skipTest("needs two CPUs")
        keeps, bob = self.sleeper(ANN), self.hog(BOB)
        others = [self.hog(ANN) for _ in range(cpus)]
        self.soon(lambda: len(os.sched_getaffinity(bob.pid)) == 1, "it is not bound although others wait")
        for p in others:
            self.stop(p)
        self.soon(lambda: len(os.sched_getaffinity(bob.pid)) == cpus, "it is still bound")
        self.stop(bob)
        self.stop(keeps)

    def test_a_hung_monitor_of_another(self):
        """It cannot be ended: a program that misses it, when it joins or later, goes on without the instance."""
        ann = self.sleeper(ANN)
        p = self.start(*self.run_of(BOB, FILES["hog"], "spin-alone"))
        self.addCleanup(self.stop, p)
        self.assertEqual(p.stdout.readline(), "started\n")
        monitor, owner = self.monitor(BOB)
        self.assertEqual(owner, ANN)
        os.kill(self.helper(), signal.SIGKILL)
        os.kill(monitor, signal.SIGSTOP)
        self.addCleanup(os.kill, monitor, signal.SIGCONT)
        r = self.run_it(*self.run_of(BOB, LOAD))
        self.assertEqual(r.code, 0, r)
        self.assertRegex(r.err, "no other can be started|cannot be kept running")
        self.stop(p)
        self.stop(ann)

    @staticmethod
    def sleeps(pid):
        """On a futex, without a timeout."""
        with open("/proc/%d/syscall" % pid) as f:
            words = f.read().split()
        return words[0] == "202" and int(words[4], 16) == 0

    def test_agents(self):
        """Bob's ends with his programs; it takes over where there is no monitor any more."""
        ann, bob = self.sleeper(ANN), self.sleeper(BOB)
        helper = self.helper()
        self.assertEqual(os.stat("/proc/%d" % helper).st_uid, BOB)
        self.soon(lambda: self.sleeps(helper), "it wakes though there is nothing to do")
        self.end_monitor(BOB)
        self.assertEqual(self.monitor(BOB), (helper, BOB))
        self.scheduled(self.run_it(*self.run_of(ANN, LOAD, options=["--stats"])), 3)
        self.soon(lambda: self.helpers() and os.stat("/proc/%d" % self.helpers()[0]).st_uid == ANN, "Ann has no helper now")
        self.stop(ann)
        self.soon(lambda: not self.helpers(), "the helper stays")
        self.stop(bob)

    def test_inner_runs(self):
        """What a run starts is in its instance, and so is another run in it."""
        r = self.run_it(*self.run_of(BOB, "sh", "-c", "echo $USF_INSTANCE; %s run sh -c 'echo $USF_INSTANCE'" % FILES["usf"]))
        self.assertEqual((r.out.split(), r.err), ([self.instance] * 2, ""))


class Tools(Users):
    def test_members(self):
        p = self.sleeper(ANN)
        for uid in (ANN, BOB):
            self.assertEqual([q["pid"] for q in self.ps(uid)["processes"]], [p.pid])
            r = self.asks(uid, "ps")
            self.assertIn("instance %s:" % self.instance, r.out)
            r = self.asks(uid, "dump", "-i", self.instance)
            self.assertIn("== consistency ==\nsound", r.out)
            r = self.asks(uid, "doctor", "--json")
            mine = [f for f in json.loads(r.out)["findings"] if f["check"] == self.instance]
            self.assertEqual([f["result"] for f in mine], ["ok"], mine)
        self.assertIn("==== instance", self.asks(ANN, "dump", str(p.pid)).out)
        r = self.asks(BOB, "clean", "-i", self.instance)
        self.assertIn("in use by 1 process", r.err)
        r = self.asks(BOB, "clean", "-i", self.instance, "--force")
        self.assertIn("user %d has made it" % ANN, r.err)
        self.assertTrue(os.path.exists(self.path))
        r = self.asks(BOB, "clean", "--all", "--force")
        self.assertTrue(os.path.exists(self.path))
        r = self.asks(ANN, "clean", "-i", self.instance, "--force")
        self.assertFalse(os.path.exists(self.path), r)

    def test_strangers(self):
        p = self.sleeper(ANN)
        for command, words in (("ps", "for the members of group %d, and user %d is none" % (GROUP, EVE)),
                               ("clean", "and user %d is none" % EVE), ("clean --force", "left alone")):
            r = self.asks(EVE, *command.split(), "-i", self.instance)
            self.assertEqual((r.code, r.out), (1, ""), r)
            self.assertIn(words, r.err)
        self.assertNotIn(self.plain, self.asks(EVE, "ps").out)
        self.assertEqual(self.asks(EVE, "dump", "-i", self.instance).code, 1)
        self.assertIsNone(p.poll())

    def test_root(self):
        """It sees, and removes what nobody uses; it takes no part."""
        p = self.sleeper(ANN)
        r = self.run_it(FILES["usf"], "ps", "-i", self.instance)
        self.assertIn("1 process", r.out)
        clean = [FILES["usf"], "clean", "-i", self.instance]
        self.assertIn("root takes no part", self.run_it(*clean).err)
        self.assertIn("in use", self.run_it(*clean, "--force").err)
        for q in [p.pid, self.monitor(ANN)[0]]:
            os.kill(q, signal.SIGSTOP)      # or it would be gone by itself
        self.end_monitor(ANN)
        self.stop(p)
        self.soon(lambda: not self.mapped(self.path), "somebody still uses it")
        if os.path.exists(self.path):
            self.assertIn("removed", self.run_it(*clean, "--force").out)


class Refused(Users):
    def runs(self, *command, words):
        self.unscheduled(self.run_it(*command), *words)

    def test_strangers(self):
        self.sleeper(ANN)
        self.runs(*self.run_of(EVE, LOAD), words=["group %d" % GROUP, "user %d is none" % EVE])
        self.runs(*self.by(EVE, FILES["usf"], "run", "-i", self.instance, LOAD), words=["user %d is none" % EVE])

    def test_preloaded_alone(self):
        """Without the tool: what the library itself looks at."""
        self.sleeper(ANN)
        env = {**self.env, "LD_PRELOAD": os.path.join(os.path.dirname(FILES["usf"]), "libusf.so"), "USF_INSTANCE": self.instance}
        for before, word in ((become(EVE), "is none"), ([], "root")):
            r = self.run_it(*before, "sh", "-c", "exec %s" % LOAD, env=env)
            self.assertEqual((r.code, r.out), (0, "done\n"), r)
            self.assertIn(word, r.err)

    def test_root(self):
        for how in (self.how, "group:0", "public"):
            self.runs(*self.usf("--share", how, "-i", self.plain, LOAD), words=["root takes no part"])
        self.assertFalse(os.path.exists(self.path))

    def test_capabilities(self):
        able = become(ANN, "--inh-caps", "+sys_nice", "--ambient-caps", "+sys_nice")
        if not can(*able, "true"):
            self.skipTest("no ambient capabilities here")
        self.runs(*able, *self.usf("--share", self.how, "-i", self.plain, LOAD), words=["capabilities"])

    def test_other_levels(self):
        """The same name is another instance for each user, group, and all."""
        self.sleeper(ANN)
        for how in ("user", "public", "group:%d" % ANN):
            r = self.run_it(*self.by(ANN, *self.usf("--share", how, "-i", self.plain, "sh", "-c", "echo $USF_INSTANCE")))
            self.assertNotEqual(r.out.strip(), self.instance)
            self.assertEqual(r.err, "")
        self.assertEqual(len(self.ps(ANN)["processes"]), 1)

    def test_hidden_processes(self):
        mount = "mount -t proc -o hidepid=2 proc /proc"
        if not can("unshare", "-m", "sh", "-ec", mount + "; %s test ! -e /proc/1/stat" % " ".join(become(ANN))):
            self.skipTest("no hidepid here")
        command = " ".join(self.run_of(ANN, LOAD))
        self.runs("unshare", "-m", "sh", "-ec", mount + "; exec " + command, words=["hidepid"])

    def test_planted_files(self):
        self.sleeper(BOB)       # of another name, for a file that would be in order
        real = self.path
        self.plain += "x"
        self.share(self.how, "g%d:%s" % (GROUP, self.plain))
        def mine(owner, group, mode):
            shutil.copyfile(real, self.path)
            os.chown(self.path, owner, group)
            os.chmod(self.path, mode)
        secret = os.path.join(self.dir, "secret")
        open(secret, "w").close()
        for plant, words in (
                (lambda: mine(EVE, OTHERS, 0o666), ["belongs to group %d" % OTHERS, "user %d" % EVE]),
                (lambda: mine(EVE, OTHERS, 0o660), ["user %d" % EVE]),
                (lambda: mine(BOB, GROUP, 0o666), ["mode 0666 instead of 0660"]),
                (lambda: mine(BOB, GROUP, 0o640), ["user %d" % BOB]),
                (lambda: mine(BOB, GROUP, 0o660), ["damaged", "it says it is"]),
                (lambda: os.symlink(secret, self.path), ["symbolic link"]),
                (lambda: (os.mkfifo(self.path), os.chmod(self.path, 0o666)), ["not a regular file"]),
                (lambda: os.mkdir(self.path), ["not a regular file"])):
            plant()
            self.runs(*self.run_of(ANN, LOAD), words=words)
            self.assertEqual(self.asks(ANN, "ps", "-i", self.instance).code, 1)
            self.assertEqual(self.asks(ANN, "ps").code, 0, "anybody can make it fail")
            if stat.S_ISDIR(os.lstat(self.path).st_mode):
                os.rmdir(self.path)
            else:
                os.unlink(self.path)
        self.assertEqual(os.path.getsize(secret), 0)


class Mistakes(Users):
    def test_words(self):
        for options, word in (
                (["--share", "group:no-such-group"], "there is no group"),
                (["--share", "group:"], "none of"),
                (["--share", "public", "-i", self.instance], "exclude"),
                (["--share", "user", "-i", self.instance], "exclude"),
                (["--share", "group:4294967295", "-i", "x"], "there is no group"),
                (["--share", "public", "-i", "n" * 47], "longer than"),
                (["--share", self.how, "--policy", "/nowhere/x.so"], "policy"),
                (["-i", "g01:x"], "not an instance name"), (["-i", "gx:x"], "not an instance name"),
                (["-i", "public:"], "not an instance name"), (["-i", "a:b"], "not an instance name")):
            r = self.run_it(*self.by(ANN, FILES["usf"], "run", *options, "true"))
            self.assertEqual(r.code, 125, (options, str(r)))
            self.assertIn(word, r.err)

    def test_where_from(self):
        """The user's own choice counts, wherever it is made; the system's does not."""
        show = ["sh", "-c", "echo $USF_INSTANCE"]
        public = "public:" + self.plain
        self.share(self.how, public)
        self.env["USF_INSTANCE"] = self.plain
        r = self.run_it(*self.by(ANN, *self.usf(*show)), env={**self.env, "USF_SHARE": "public"})
        self.assertEqual((r.out, r.err), (public + "\n", ""))
        os.makedirs(os.path.join(self.dir, "usf"))
        for name, var, expected in (("usf/config.toml", "XDG_CONFIG_HOME", public), ("system.toml", "USF_SYSTEM_CONFIG", self.plain)):
            path = os.path.join(self.dir, name)
            with open(path, "w") as f:
                f.write('share = "public"\n')
            r = self.run_it(*self.by(ANN, *self.usf(*show)), env={**self.env, var: path if var == "USF_SYSTEM_CONFIG" else self.dir})
            self.assertEqual(r.out, expected + "\n")
            self.assertIn("passed over" if expected == self.plain else "", r.err)
        inner = [FILES["usf"], "run", *show]
        for options, expected in (([], public), (["--share", "user"], self.plain), (["--share", "group"], "g%d:%s" % (ANN, self.plain))):
            r = self.run_it(*self.by(ANN, *self.usf(*options, *inner)), env={**self.env, "XDG_CONFIG_HOME": self.dir})
            self.assertEqual((r.out, r.err), (expected + "\n", ""))


class Killed(Users):
    def test_members(self):
        ann, bob = self.sleeper(ANN), self.sleeper(BOB)
        self.assertEqual(self.monitor(BOB)[1], ANN)
        os.kill(bob.pid, signal.SIGKILL)
        self.soon(lambda: len(self.ps(ANN)["processes"]) == 1, "the dead stay")
        os.kill(ann.pid, signal.SIGKILL)
        self.stop(bob), self.stop(ann)
        self.gone_soon()

    def test_monitors(self):
        """Either user's is replaced, by either."""
        ann, bob = self.sleeper(ANN), self.sleeper(BOB)
        for uid in (BOB, ANN, BOB):
            self.end_monitor(uid)
            self.scheduled(self.run_it(*self.run_of(uid, LOAD, options=["--stats"])), 3)
            pid, owner = self.monitor(uid)
            self.assertEqual(owner, uid)
            self.assertEqual(os.readlink("/proc/%d/exe" % pid), FILES["usf"])
        ann.kill()
        self.soon(lambda: len(self.ps(ANN)["processes"]) == 1, "the dead stay")

    def test_end_by_another(self):
        """What Ann has made Bob's monitor ends; Bob uses it again, Ann makes it anew."""
        ann, bob = self.sleeper(ANN), self.sleeper(BOB)
        self.end_monitor(BOB)
        self.scheduled(self.run_it(*self.run_of(BOB, LOAD, options=["--stats"])), 3)
        self.assertEqual(self.monitor(BOB)[1], BOB)
        inode = os.stat(self.path).st_ino
        self.stop(ann), self.stop(bob)
        for uid, same in ((BOB, True), (BOB, True), (ANN, False)):
            self.soon(lambda: not self.mapped(self.path), "the monitor does not end")
            self.assertEqual((os.stat(self.path).st_ino, os.stat(self.path).st_uid), (inode, ANN))
            r = self.asks(BOB, "clean", "-i", self.instance)
            self.assertIn("will be used again", r.err)
            p = self.sleeper(uid)
            self.assertEqual(os.stat(self.path).st_ino == inode, same)
            self.assertEqual(self.monitor(uid)[1], uid)
            self.stop(p)
        self.gone_soon()


class Hostile(Users):
    """Bob writes into the segment what he likes."""
    def setUp(self):
        super().setUp()
        os.chmod(self.dir, 0o777)
        self.marks, self.object = os.path.join(self.dir, "marks"), os.path.join(self.dir, "marks.so")
        shutil.copy(FILES["marks"], self.marks)
        shutil.copy(FILES["marks_so"], self.object)     # root's, which anybody's programs may load in other instances
        os.chmod(self.object, 0o755)
        os.chmod(self.marks, 0o755)
        os.chown(self.marks, BOB, GROUP)
        self.assertTrue(self.has_run(lambda: subprocess.run([self.marks], check=True)), "what leaves no mark shows nothing")
        self.assertTrue(self.has_run(lambda: ctypes.CDLL(self.object)), "what leaves no mark shows nothing")

    def has_run(self, what=None):
        if what:
            what()
        ran = [p + ".ran" for p in (self.marks, self.object) if os.path.exists(p + ".ran")]
        for p in ran:
            os.unlink(p)
        return bool(ran)

    def write(self, find, after, text):
        """Behind what is found in the header."""
        with open(self.path, "r+b") as f:
            at = f.read(16384).index(find) + after
            f.seek(at)
            f.write(text.encode() + b"\0")

    def test_policy(self):
        self.sleeper(ANN)
        self.write(b"coop\0", 64, self.object)       # past the name of the one before
        self.unscheduled(self.run_it(*self.run_of(ANN, LOAD)), "built-in policies only")
        self.end_monitor(ANN)
        self.run_it(*self.run_of(ANN, LOAD))
        self.assertFalse(self.has_run(), "another user's policy was loaded")

    def test_policy_of_ones_own(self):
        r = self.run_it(*self.run_of(ANN, LOAD, options=["--policy", FILES["policy"]]))
        self.assertEqual(r.code, 125)
        self.assertIn("built-in policies only", r.err)

    def test_tool(self):
        ann = self.sleeper(ANN)
        st = os.stat(self.path)
        self.write(struct.pack("QQ", st.st_dev, st.st_ino), 24, self.marks)
        r = self.asks(ANN, "dump", "-i", self.instance)
        self.assertIn("made by tool %s\n" % self.marks, r.out)
        for _ in range(2):
            self.end_monitor(ANN)
            self.scheduled(self.run_it(*self.run_of(ANN, LOAD, options=["--stats"])), 3)
        self.assertFalse(self.has_run(), "another user's file was run")

    def test_tool_of_a_program_that_runs(self):
        """Not started by a run that could have put it right."""
        p = self.start(*self.run_of(ANN, "sh", "-c", "echo up; for i in $(seq 5000); do sleep 0.02; done"))
        self.addCleanup(self.stop, p)
        p.stdout.readline()
        st = os.stat(self.path)
        self.write(struct.pack("QQ", st.st_dev, st.st_ino), 24, self.marks)
        self.end_monitor(ANN)
        pid, owner = self.monitor(ANN)
        self.assertEqual((owner, os.readlink("/proc/%d/exe" % pid)), (ANN, FILES["usf"]))
        self.assertFalse(self.has_run(), "another user's file was run")


if __name__ == "__main__":
    main()
