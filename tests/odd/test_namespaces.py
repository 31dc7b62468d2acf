#!/usr/bin/python3
# tests/odd/test_namespaces.py - containers with pid namespaces of their own that share an instance.  SPDX-License-Identifier: Apache-2.0
import json
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import time

from odd import FILES, HANG, LOAD, Case, Result, can, main

from game import GAME, Game

STALL = os.environ.get("ODD_STALL", "")
BOX = ["bwrap", "--ro-bind", "/", "/", "--dev-bind", "/dev", "/dev", "--proc", "/proc", "--unshare-pid", "--die-with-parent"]
SLEEPER = "import signal; signal.alarm(100); print('up', flush=True)\nwhile True: signal.pause()"
HOG = "import signal; signal.alarm(100); print('up', flush=True)\nwhile True: pass"


def python(program):
    return ["/usr/bin/python3", "-c", program]


def children(pid):
    out = []
    try:
        for t in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{t}/children", encoding="ascii") as f:
                out += [int(c) for c in f.read().split()]
    except OSError:
        pass
    return out


def namespace(pid):
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return None


def comm(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8") as f:
            return f.read().strip()
    except OSError:
        return None


def kill(*pids, sig=signal.SIGKILL):
    for pid in pids:
        try:
            os.kill(pid, sig)
        except ProcessLookupError:
            pass


class Namespaces(Game, Case):
    def setUp(self):
        if not can(*BOX, "true"):
            self.skipTest("no bubblewrap here")
        super().setUp()
        self.env["USF_MONITOR_LINGER"] = "200"

    def first_of(self, p):
        """The first process of the container, whose end ends all others there: the one below us that is in another namespace."""
        end = time.monotonic() + HANG
        while time.monotonic() < end:
            below = children(p.pid)
            for c in below:
                if namespace(c) != namespace(os.getpid()) and namespace(c):
                    return c
                below += children(c)
            time.sleep(0.01)
        self.fail("the container has no process")

    def all_of(self, p):
        ns = namespace(self.first_of(p))
        return [int(d) for d in os.listdir("/proc") if d.isdigit() and namespace(d) == ns]

    def watchmen_of(self, p):
        """The container's monitor and its supervisor."""
        return [pid for pid in self.all_of(p) if comm(pid) in ("usf-monitor", "usf-supervisor")]

    def asks(self, p):
        """A tool of the container waits in a futex for its answer."""
        for pid in self.all_of(p):
            try:
                with open(f"/proc/{pid}/cmdline", encoding="utf-8") as words, open(f"/proc/{pid}/syscall", encoding="ascii") as call:
                    if words.read().split("\0")[1:3] == ["policy", "weight"] and call.read().startswith("202 "):
                        return True
            except OSError:     # it has just ended
                pass
        return False

    def here(self):
        """Ours."""
        out = subprocess.run([FILES["usf"], "ps", "-i", self.instance, "--json"], env=self.env, capture_output=True, text=True, check=True).stdout
        return json.loads(out)[0]

    def watchmen_here(self):
        pid = self.here()["monitor_pid"]
        return [pid, *children(pid)]

    def up(self, *command, where=tuple(BOX), stdin=subprocess.DEVNULL):
        """Scheduled, and has said so."""
        p = subprocess.Popen([*where, *command], env=self.env, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.finish, p)
        line = p.stdout.readline()
        self.assertEqual(line, "up\n", line or p.stderr.read())
        return p

    def run_up(self, program, **kw):
        return self.up(*self.usf(*python(program)), **kw)

    def finish(self, p):
        if p.poll() is None:
            for pid in children(p.pid):
                kill(pid)
            p.kill()
        p.communicate()

    def end_box(self, p):
        kill(self.first_of(p))
        p.wait(HANG)

    def processes(self):
        return self.here()["processes"]

    def elsewhere(self):
        return [p for p in self.processes() if not p["here"]]

    def ends_well(self, game, warning=""):
        out, err = game.communicate(timeout=HANG)
        self.assertEqual(out, "end\n", err)
        self.assertRegex(err, "^%s$" % warning)


class Together(Namespaces):
    def test_scheduled_by_one_another(self):
        first = self.run_up(SLEEPER)
        for where in ([], BOX):
            self.scheduled(self.run_it(*where, *self.usf("--stats", LOAD)), 3)
        self.assertEqual([p["name"] for p in self.elsewhere()], ["python3"])
        self.finish(first)

    def test_one_core_for_both(self):
        """While both compute, each has the core now and then, and it has one name at a time."""
        self.env["USF_CPUS"] = "0"
        for where in ([], BOX):
            self.run_up(HOG, where=where)
        seen = set()

        def both():
            me = self.here()
            running = [p["here"] for p in me["processes"] for t in p["threads"] if t["state"] == "running"]
            self.assertLessEqual(len(running), 1, me)
            seen.update(running)
            return len(seen) == 2
        self.soon(both, "one of them never runs")

    def test_many_one_after_another(self):
        """More than there is room for at a time."""
        self.run_up(SLEEPER, where=[])
        for _ in range(18):
            r = self.run_it(*BOX, *self.usf("--stats", "/usr/bin/true"))
            self.assertEqual((r.code, r.warnings, r.processes), (0, [], 1), r)

    def test_too_many_at_once(self):
        boxes = [self.up(*self.usf("sh", "-c", "echo up; exec sleep 100")) for _ in range(16)]
        r = self.run_it(*BOX, *self.usf(LOAD))
        self.unscheduled(r, "16 containers share it already")
        self.end_box(boxes[7])
        self.soon(lambda: not self.run_it(*BOX, *self.usf("true")).warnings, "its place is not given to another")

    def test_cleaned_by_who_has_no_place(self):
        """Neither sees the other's processes."""
        self.run_up(SLEEPER, where=[])
        r = self.run_it(*BOX, FILES["usf"], "clean", "-i", self.instance, "--force")
        self.assertEqual(r.code, 1, r)
        self.assertIn("is in use, by another container", r.err)
        self.assertTrue(os.path.exists(self.segment))

    def test_users_that_share_stay_in_one(self):
        self.env["USF_INSTANCE"] = ""
        user = [] if os.geteuid() else ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
        self.env["HOME"] = "/"
        command = [*user, *self.usf("--share", "public", "-i", self.instance)]
        self.up(*command, "sh", "-c", "echo up; exec sleep 100", where=[])
        r = self.run_it(*BOX, *command, LOAD)
        self.unscheduled(r, "users share within one only")
        subprocess.run([*user, FILES["usf"], "clean", "-i", "public:" + self.instance, "--force"], env=self.env, capture_output=True)

    def test_with_the_proc_of_others(self):
        """Numbers there are of the outer namespace: nobody is taken for dead, or alive, by them."""
        bare = tuple(w for w in BOX if w not in ("--proc", "/proc"))
        here, box = self.run_up(GAME, where=[], stdin=subprocess.PIPE), self.run_up(GAME, where=bare, stdin=subprocess.PIPE)
        hog = self.run_up(HOG, where=bare)
        self.goes_on(here)
        self.goes_on(box)
        self.assertEqual(len(self.elsewhere()), 2)
        self.end_box(hog)
        self.soon(lambda: len(self.elsewhere()) == 1, "its process is still in")
        self.ends_well(box)
        self.ends_well(here)
        self.gone_soon()

    def test_another_users_that_is_left_behind(self):
        """It cannot be removed, and says who can."""
        if os.geteuid():
            self.skipTest("takes two users")
        self.env.update(USF_INSTANCE="", HOME="/")

        def run_as(uid, *command):
            return ["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups", *self.usf("--share", "public", "-i", self.instance, *command)]
        box = self.up(*run_as(65534, "sh", "-c", "echo up; exec sleep 100"))
        self.end_box(box)
        r = self.run_it(*run_as(65533, LOAD))
        self.unscheduled(r, "left behind by a container", "user 65534 has made it")
        self.scheduled(self.run_it(*run_as(65534, "--stats", LOAD)), 3)

    def test_made_anew_by_others(self):
        """Programs below a `usf run` enter what another container has made in the meantime, too."""
        box = self.up(*self.usf("sh", "-c", "echo up; read x; exec " + shlex.join(python(SLEEPER))), stdin=subprocess.PIPE)
        os.unlink(self.segment)
        self.run_up(SLEEPER, where=[])
        self.assertEqual(self.elsewhere(), [])
        box.stdin.write("\n")
        box.stdin.flush()
        self.soon(lambda: [p["name"] for p in self.elsewhere()] == ["python3"], "it does not come in")

    def test_policy_that_one_has_not(self):
        """It does not take part, and takes the policy from nobody."""
        policy = self.env["USF_POLICY"] = shutil.copy(FILES["policy"], self.dir)
        self.run_up(SLEEPER, where=[])
        del self.env["USF_POLICY"]
        r = self.run_it(*BOX, "--tmpfs", self.dir, *self.usf(LOAD))
        self.unscheduled(r, policy)
        self.assertIsNone(self.here()["policy_replaced_because"])

    def test_another_policy_of_that_name(self):
        """The same, however much it looks like it."""
        policy = self.env["USF_POLICY"] = shutil.copy(FILES["policy"], self.dir)
        self.run_up(SLEEPER, where=[])
        self.scheduled(self.run_it(*BOX, *self.usf("--stats", LOAD)), 3)
        other = os.path.join(self.dir, "other.so")
        with open(policy, "rb") as f, open(other, "wb") as g:
            g.write(f.read() + b"\n")
        del self.env["USF_POLICY"]
        r = self.run_it(*BOX, "--bind", other, policy, *self.usf(LOAD))
        self.unscheduled(r, policy, "another object of this name")
        shutil.move(other, policy)                  # built anew
        r = self.run_it(*self.usf(LOAD))
        self.unscheduled(r, policy, "another object of this name")
        self.assertIsNone(self.here()["policy_replaced_because"])

    def set_policy(self, policy, where=()):
        return self.run_it(*where, FILES["usf"], "policy", "set", policy, "-i", self.instance)

    def in_force(self):
        me = self.here()
        self.assertIsNone(me["policy_replaced_because"])
        return me["policy"]

    def policy_of_each(self):
        """The path, the container's file there, how to start that."""
        ours, theirs = (os.path.join(self.dir, d) for d in ("ours", "theirs"))
        for d in (ours, theirs):
            os.mkdir(d)
            shutil.copy(FILES["policy"], os.path.join(d, "policy.so"))
        self.env["USF_POLICY"] = os.path.join(ours, "policy.so")
        return self.env["USF_POLICY"], os.path.join(theirs, "policy.so"), (*BOX, "--bind", theirs, ours)

    def test_set_to_what_an_onlooker_has_not(self):
        """A container in which nobody takes part decides nothing, though it has a monitor that looks after it."""
        policy, theirs, where = self.policy_of_each()
        game = self.run_up(GAME, where=[], stdin=subprocess.PIPE)
        name = self.in_force()
        self.assertEqual(self.set_policy("coop").code, 0)
        tool = shlex.quote(FILES["usf"])
        script = "%s run true && echo up && read x; %s policy set coop >/dev/null && echo again && sleep 100" % (tool, tool)
        box = self.up("sh", "-c", script, where=where, stdin=subprocess.PIPE)
        os.unlink(theirs)
        watchmen = self.watchmen_of(box)
        self.assertTrue(watchmen)
        kill(*watchmen)
        self.soon(lambda: not self.watchmen_of(box), "they live")
        box.stdin.write("\n")
        box.stdin.flush()
        self.assertEqual(box.stdout.readline(), "again\n")     # what asks for something starts one
        self.assertTrue(self.watchmen_of(box))
        self.assertEqual(self.elsewhere(), [])
        for _ in range(10):
            r = self.set_policy(policy)
            self.assertEqual((r.code, self.in_force()), (0, name), r)
            r = self.set_policy("coop")
            self.assertEqual((r.code, self.in_force()), (0, "coop"), r)
        self.goes_on(game)
        self.ends_well(game)

    def test_set_to_what_a_member_has_no_more(self):
        """Its programs have loaded it, its monitor is another one by now and cannot: refused, and told why."""
        policy, theirs, where = self.policy_of_each()
        game = self.run_up(GAME, where=[], stdin=subprocess.PIPE)
        box = self.run_up(GAME, where=where, stdin=subprocess.PIPE)
        self.assertEqual(len(self.elsewhere()), 1)
        name = self.in_force()
        self.assertEqual(self.set_policy("coop").code, 0)
        self.assertEqual(self.set_policy(policy).code, 0)
        self.assertEqual(self.set_policy("coop").code, 0)
        os.unlink(theirs)
        kill(*self.watchmen_of(box))
        self.goes_on(box)
        self.soon(lambda: "usf-monitor" in [comm(p) for p in self.watchmen_of(box)], "no monitor comes back")

        def is_refused():
            r = self.set_policy(policy)
            if r.code == 0:             # the new one has not looked yet
                self.set_policy("coop")
                return False
            self.assertRegex(r.err, r"the container with pid namespace \d+, whose programs take part, has not got the policy's object")
            return True
        self.soon(is_refused, "it is not refused")
        for _ in range(8):
            self.assertTrue(is_refused())
            self.assertEqual(self.in_force(), "coop")
        self.goes_on(box)
        self.goes_on(game)
        self.ends_well(box)
        self.soon(lambda: not self.elsewhere(), "its processes are still in")
        r = self.set_policy(policy)
        self.assertEqual((r.code, self.in_force()), (0, name), r)
        self.ends_well(game)

    def test_asked_by_a_container_that_ends(self):
        """Nobody else answers for it, and nobody waits for it for ever."""
        self.run_up(SLEEPER, where=[])
        script = "exec 3<&0; %s & read x <&3; exec %s policy weight $! 300" % (shlex.join(self.usf(*python(SLEEPER))), shlex.quote(FILES["usf"]))
        box = self.up("sh", "-c", script, where=BOX, stdin=subprocess.PIPE)
        kill(*self.watchmen_of(box), sig=signal.SIGSTOP)
        box.stdin.write("\n")
        box.stdin.flush()
        self.soon(lambda: self.asks(box), "it does not ask")
        self.end_box(box)
        r = self.set_policy("fifo")
        self.assertEqual((r.code, self.in_force()), (0, "fifo"), r)
        self.soon(lambda: not self.elsewhere(), "its processes are still in")

    def test_what_the_tools_say(self):
        self.run_up(SLEEPER)
        self.run_up(SLEEPER, where=[])
        for where in ([], [*BOX, *self.usf("-i", self.instance)]):
            tool = [*where, FILES["usf"]]
            r = self.run_it(*tool, "ps", "-i", self.instance, "--why")
            self.assertEqual(r.code, 0, r)
            self.assertIn("(in another container)", r.out)
            self.assertRegex(r.out, r"monitor \d+\n")
            self.assertNotIn("(dead)", r.out)
            r = self.run_it(*tool, "doctor")
            self.assertRegex(r.out, re.escape(self.instance) + r".*\d process(es)? of other containers, which cannot be checked from here", r)
            r = self.run_it(*tool, "dump", "-i", self.instance)
            self.assertRegex(r.out, r"pid namespace 0 \(inode \d+\): process \d+")
            self.assertRegex(r.out, r"pid namespace 1 \(inode \d+\): process \d+")
            self.assertRegex(r.out, r"task \d+: thread \d+ of another pid namespace")
            self.assertRegex(r.out, r"task \d+: thread \d+ \(")
            r = self.run_it(*tool, "clean", "-i", self.instance)
            self.assertEqual(r.code, 1, r)
            self.assertRegex(r.err, r"is in use by \d process")


class Ends(Namespaces):
    def test_of_each(self):
        """The last one out removes the file, whoever has made it."""
        for first, then in ((BOX, []), ([], BOX)):
            self.take_another_instance()
            p = self.up(*self.usf("sh", "-c", "echo up; read x; exit 0"), where=first, stdin=subprocess.PIPE)
            q = self.up(*self.usf("sh", "-c", "echo up; read x; exit 0"), where=then, stdin=subprocess.PIPE)
            p.communicate("\n", timeout=HANG)
            if then:
                self.end_box(q)             # its monitor is dead, too: the next run finds what it has left
                self.scheduled(self.run_it(*self.usf("--stats", LOAD)), 3)
                self.gone_soon()
                continue
            self.soon(lambda: not self.elsewhere(), "its processes are still in")
            q.communicate("\n", timeout=HANG)
            self.gone_soon()

    def test_of_a_container(self):
        """In the middle of what it does, again and again; the others go on, and soon nothing is left of it."""
        game = self.run_up(GAME, where=[], stdin=subprocess.PIPE)
        for _ in range(6):
            box = self.up(*self.usf("sh", "-c", "echo up; while :; do %s; done >/dev/null" % shlex.quote(LOAD)))
            time.sleep(random.uniform(0, 0.3))
            self.end_box(box)
            self.goes_on(game)
            self.soon(lambda: not self.elsewhere(), "its processes are still in")
        self.ends_well(game)
        self.gone_soon()

    def test_of_monitors(self):
        """Of one, or of each; with their supervisors."""
        game = self.run_up(GAME, where=[], stdin=subprocess.PIPE)
        box = self.run_up(GAME, stdin=subprocess.PIPE)
        for which in (lambda: self.watchmen_of(box), self.watchmen_here, lambda: self.watchmen_of(box) + self.watchmen_here()):
            victims = which()
            self.assertGreaterEqual(len(victims), 2)
            kill(*victims)
            for g in (game, box):
                self.goes_on(g)
            self.soon(lambda: self.here()["monitor_pid"] and self.watchmen_of(box), "no monitor comes back")
        for g in (game, box):
            self.ends_well(g)

    def test_left_behind_by_both(self):
        boxes = [self.run_up(SLEEPER), self.run_up(HOG)]
        for b in boxes:
            self.end_box(b)
        self.assertTrue(os.path.exists(self.segment))
        self.scheduled(self.run_it(*self.usf("--stats", LOAD)), 3)
        self.gone_soon()


class Bound(Namespaces):
    """The container has a /dev/shm of its own, with one file of ours: the instance's, which cannot be removed there."""

    def setUp(self):
        super().setUp()
        self.box = ("bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--bind", self.segment, self.segment, "--proc", "/proc",
                    "--unshare-pid", "--die-with-parent")

    def test_shared(self):
        game = self.run_up(GAME, where=[], stdin=subprocess.PIPE)
        box = self.run_up(GAME, where=self.box, stdin=subprocess.PIPE)
        self.assertEqual([p["name"] for p in self.elsewhere()], ["python3"])
        self.scheduled(self.run_it(*self.box, *self.usf("--stats", LOAD)), 3)
        for g in (game, box, game):
            self.goes_on(g)
        self.ends_well(box)
        self.soon(lambda: not self.elsewhere(), "its process is still in")
        self.goes_on(game)
        self.ends_well(game)
        self.gone_soon()

    def test_used_again_there(self):
        """When the container's program is the last, the file has to stay, and is the next one's; outside it is removed, as ever."""
        here = self.run_up(SLEEPER, where=[])
        first, then = self.usf("sh", "-c", "echo in; read x"), self.usf("--stats", LOAD)
        script = "echo up; read x; %s; sleep 1; %s" % (shlex.join(first), shlex.join(then))
        box = self.up("sh", "-c", script, where=self.box, stdin=subprocess.PIPE)
        box.stdin.write("\n")
        box.stdin.flush()
        self.assertEqual(box.stdout.readline(), "in\n")
        kill(*self.watchmen_here())
        self.finish(here)
        out, err = box.communicate("\n", timeout=HANG)
        self.scheduled(Result(box.returncode, out, err), 3)
        self.assertTrue(os.path.exists(self.segment))
        self.scheduled(self.run_it(*self.usf("--stats", LOAD)), 3)
        self.gone_soon()

    def test_left_behind_by_all(self):
        here, box = self.run_up(SLEEPER, where=[]), self.run_up(SLEEPER, where=self.box)
        kill(here.pid, *self.watchmen_here())
        here.wait(HANG)
        self.end_box(box)
        self.scheduled(self.run_it(*self.box, *self.usf("--stats", LOAD)), 3)
        self.assertTrue(os.path.exists(self.segment))
        self.scheduled(self.run_it(*self.usf("--stats", LOAD)), 3)
        self.gone_soon()


class Lock(Namespaces):
    """A container's process dies, or stops, with the scheduler's lock."""

    def holder(self):
        fifo = os.path.join(self.dir, "up-%d" % random.randrange(1 << 30))
        os.mkfifo(fifo)
        script = "exec 3<&0; %s >%s & read up <%s; %s %s hold <&3 & wait" % (shlex.join(self.usf(*python(SLEEPER))), fifo, fifo,
                                                                            shlex.quote(STALL), self.instance)
        box = subprocess.Popen([*BOX, "sh", "-c", script], env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(self.finish, box)
        self.assertEqual(box.stdout.readline(), "holds\n")
        return box, next(p for p in self.all_of(box) if comm(p) == "stall")

    def test_ends_with_all(self):
        game = self.run_up(GAME, where=[], stdin=subprocess.PIPE)
        box, _ = self.holder()
        self.end_box(box)
        self.goes_on(game)
        self.ends_well(game)

    def test_dies(self):
        game = self.run_up(GAME, where=[], stdin=subprocess.PIPE)
        _, pid = self.holder()
        kill(pid)
        self.goes_on(game)
        self.ends_well(game)

    def without_monitor(self, fate):
        game = self.run_up(GAME, where=[], stdin=subprocess.PIPE)
        box, pid = self.holder()
        fate(box, pid)
        self.goes_on(game)
        self.ends_well(game, r"usf: 'stall' \(process \d+ of another container\) is stopped while .* runs unscheduled from now on\n")
        self.end_box(box)
        later = self.run_up(GAME, where=[], stdin=subprocess.PIPE)
        self.goes_on(later)
        self.ends_well(later)

    def test_stops_while_others_come(self):
        """Programs that begin to wait for the lock are no sign that it lives."""
        self.run_up(SLEEPER, where=[])              # for a monitor here
        box, _ = self.holder()
        self.freeze(box)
        waiting = []
        while not any(p.poll() is not None for p in waiting):
            self.assertLess(len(waiting), 200, "they wait for as long as others come")
            waiting.append(self.start(*self.usf("true")))
            time.sleep(0.1)
        for p in waiting:
            self.assertEqual(self.end(p).code, 0)
        self.end_box(box)

    def is_seized(self):
        """Has a monitor taken the liveness lock of a pid namespace that has ended?  It gives that back after half a second, if it must."""
        inode = ":%d " % os.stat(self.segment).st_ino
        with open("/proc/locks", encoding="ascii") as f:
            return any("OFDLCK" in line and " WRITE " in line and inode in line for line in f)

    def test_newcomers_while_it_stands_still(self):
        """Where all have died, and the monitor of others waits for the lock to clear up."""
        here = self.run_up(SLEEPER, where=[])
        self.run_up(SLEEPER)
        box, _ = self.holder()
        self.freeze(box)
        kill(*self.watchmen_here(), here.pid, *children(here.pid))
        self.soon(self.is_seized, "no monitor clears up")
        r = self.run_it(*self.usf("true"))
        self.assertEqual(r.code, 0, r)
        self.assertNotIn("belongs to another container", r.err)
        self.end_box(box)

    def test_dies_with_its_monitor(self):
        """And nobody there notices, as all that is left sleeps: the others leave the instance."""
        self.without_monitor(self.end_frozen)

    def freeze(self, box):
        kill(*[p for p in self.all_of(box) if p != self.first_of(box)], sig=signal.SIGSTOP)

    def end_frozen(self, box, pid):
        """At once: a supervisor that outlives its monitor for a moment takes its place, with another supervisor."""
        watchmen = self.watchmen_of(box)
        self.freeze(box)
        kill(*watchmen, pid)

    def test_stops_with_its_monitor(self):
        self.without_monitor(lambda box, _: self.freeze(box))


if __name__ == "__main__":
    main()
