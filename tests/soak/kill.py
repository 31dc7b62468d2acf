#!/usr/bin/python3
# tests/soak/kill.py - kill participants of an instance; the others must not notice.  SPDX-License-Identifier: Apache-2.0
"""kill.py [--build DIR] [--kills N] [--minutes M] [--median MS] [--p99 MS] [--seed S] [--cpus LIST]
        [--policy NAME] [--linger MS] [--kinds LIST] [--monitor N] [--slow S] [--users] [--stats]

2 to 8 programs that check themselves share an instance.  Some are killed (kill -9 of one, of several, of the monitor with or without
them; other signals), stopped, frozen, replaced by exec, or get their pid reused; others take their place.  After each
such event every thread of every survivor must go on, and at the end all must finish with their checks passed, and the instance
must be sound and empty.  Prints how long it took until each surviving program, and each of their threads, had gone on.
The same is measured at moments when nothing happens, for comparison.  What took its time while the kernel ran nobody of ours on some CPU
(probe.py) is counted apart: the machine is busy with others.
It fails if fewer than N have been killed in M minutes, or the survivors took longer than MS to go on: half the times, 99 of 100."""
import argparse
import collections
import ctypes
import json
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from board import SLOTS, THREADS, Board
from patience import Patience
from probe import Probe
from hung import threads_of     # probe knows the folder

HERE = os.path.dirname(os.path.abspath(__file__))
KINDS = ["cond", "barrier", "openmp", "yield", "spin", "pipe", "fork", "sleep", "signal", "python"]
STUCK = 20  # seconds without progress of a thread: a hang, not a delay
FREEZER = "/sys/fs/cgroup/freezer"
USERS, GROUP, SETPRIV = (61001, 61002), 61100, "/usr/bin/setpriv"


class Failed(Exception):
    pass


def own_namespace():
    """Start anew in a pid namespace of our own, where pids can be chosen and nothing is left behind, with a /dev/shm of our own."""
    if os.environ.get("USF_TEST_SOAK_INSIDE"):
        subprocess.run(["mount", "-t", "tmpfs", "none", "/dev/shm"], check=True)
        return
    command = ["unshare", "--pid", "--mount", "--fork", "--kill-child", "--mount-proc"]
    if subprocess.run(command + ["mount", "-t", "tmpfs", "none", "/dev/shm"], stderr=subprocess.DEVNULL, check=False).returncode:
        return
    os.execvpe("unshare", command + [sys.executable] + sys.argv, {**os.environ, "USF_TEST_SOAK_INSIDE": "1"})


class Soak:
    def __init__(self, args):
        self.args = args
        self.rng = random.Random(args.seed)
        self.dir = tempfile.mkdtemp(prefix="usf-soak-")
        self.board = Board(os.path.join(self.dir, "board"))
        self.errors = open(os.path.join(self.dir, "stderr"), "wb")
        self.instance = "soak-%d-%d" % (args.seed, os.getpid())
        self.usf = os.path.join(args.build, "usf")
        self.load = os.path.join(args.build, "tests", "soak", "load")
        self.pid = [0] * SLOTS
        self.kind = [""] * SLOTS
        self.dead = {}  # pid: status, of those that have been reaped
        self.wanted = 4
        self.monitor = 0
        self.counts = collections.Counter()
        self.kills = 0
        self.times = collections.defaultdict(list)  # what happened: (ns until each program, ns until each thread)
        if args.users:      # who share the instance, and the directory
            self.instance = "g%d:%s" % (GROUP, self.instance)
            os.chmod(self.dir, 0o777)
            os.chmod(self.board.path, 0o666)
        self.frozen = self.make_freezer()
        self.probe = Probe()
        self.can_reuse = os.getpid() == 1 and os.access("/proc/sys/kernel/ns_last_pid", os.W_OK)

    # ---- programs ---------------------------------------------------------------------------------

    def make_freezer(self):
        path = os.path.join(FREEZER, self.instance.replace(":", "-"))
        try:
            os.mkdir(path)
            return path
        except OSError:
            return None

    def tool(self, *args):
        return subprocess.run([self.usf, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=60, check=False)

    def start(self, slot, plans=None, where=()):
        """plans: of perturbation points, in the environment; where: what starts it, a container"""
        self.board.clear(slot)
        kind = self.kind[slot] = self.rng.choice(self.args.kinds)
        threads = THREADS if kind == "all" else self.rng.randint(2, 4)
        options = ["-i", self.instance, "--cache-dir", os.path.join(self.dir, "cache"),
                   "--policy", self.args.policy, "--monitor-linger", str(self.args.linger)]
        if self.args.cpus:
            options += ["-c", self.args.cpus]
        program = [sys.executable, os.path.join(HERE, "load.py")] if kind == "python" else [self.load]
        if self.args.stats:     # then the run stays, as the program's parent, and is what is killed
            options.append("--stats=" + os.path.join(self.dir, "stats"))
        argv = [*where, self.usf, "run", *options, "--", *program, kind, str(slot), str(threads), self.board.path]
        if self.args.users:
            argv = [SETPRIV, "--reuid", str(self.rng.choice(USERS)), "--regid", str(GROUP), "--clear-groups", *argv]
        null = os.open("/dev/null", os.O_RDWR)
        env = {**{k: v for k, v in os.environ.items() if not k.startswith("USF_")}, **(plans or {})}
        self.pid[slot] = os.posix_spawnp(argv[0], argv, env, file_actions=[
            (os.POSIX_SPAWN_DUP2, null, 0), (os.POSIX_SPAWN_DUP2, null, 1), (os.POSIX_SPAWN_DUP2, self.errors.fileno(), 2)])
        os.close(null)
        self.dead.pop(self.pid[slot], None)     # an orphan's, whose pid this one has now

    def reap(self):
        """Also orphans, if we are their init."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            self.dead[pid] = status

    def wait_dead(self, pid):
        patience = Patience(STUCK, self.probe)
        while pid not in self.dead:
            self.reap()
            if patience.is_over():
                raise Failed("process %d does not die" % pid)
            time.sleep(0.0005)
        return self.dead.pop(pid)

    def alive(self):
        return [i for i in range(SLOTS) if self.pid[i]]

    def fill(self):
        """As many as are wanted; that changes now and then."""
        if self.rng.random() < 0.1:
            self.wanted = self.rng.randint(2, SLOTS)
        for slot in range(SLOTS):
            if len(self.alive()) < self.wanted and not self.pid[slot]:
                self.start(slot)

    def forget(self, slot, signals=(signal.SIGKILL,)):
        status = self.wait_dead(self.pid[slot])
        pid, self.pid[slot] = self.pid[slot], 0
        if not os.WIFSIGNALED(status) or os.WTERMSIG(status) not in signals:
            raise Failed("%s %d ended with status %x instead of being killed" % (self.kind[slot], pid, status))
        self.look_at(slot)

    def look_at(self, slot):
        bad = self.board.head(slot)[2]
        if bad:
            raise Failed("%s in slot %d: its check in line %d failed" % (self.kind[slot], slot, bad))

    # ---- what happens to them -----------------------------------------------------------------------

    def survivors(self, victims):
        """Those that are at work now and to be so after."""
        return [i for i in self.alive() if i not in victims and self.board.is_up(i)]

    def watch(self, what, slots, since):
        """Until each thread has gone on."""
        patience = Patience(STUCK, self.probe)
        early = Patience(self.args.slow, self.probe)
        while True:
            seen = [self.board.went_on(i) for i in slots]
            if all(all(s) for s in seen):
                break
            if early and early.is_over():
                print("slow after %s: %s" % (what, [(self.kind[i], self.pid[i], s) for i, s in zip(slots, seen)]))
                print("CPUs that have not run us, s:", {c: round(s, 2) for c, s in self.probe.late().items()})
                print("\n".join(threads_of(int(p) for p in os.listdir("/proc") if p.isdigit())))
                print(self.tool("dump", "-i", self.instance).stdout, flush=True)
                early = None
            self.reap()
            for i in slots:
                if self.pid[i] in self.dead:
                    raise Failed("%s %d has ended with status %x after: %s" % (self.kind[i], self.pid[i],
                                                                              self.dead[self.pid[i]], what))
            if patience.is_over():
                stuck = ["%s %d (%s)" % (self.kind[i], self.pid[i], s) for i, s in zip(slots, seen) if not all(s)]
                raise Failed("no progress after %s: %s" % (what, ", ".join(stuck)))
            time.sleep(0.001)
        if slots:
            self.times["while others had a CPU" if patience.disturbed else what].append((max(min(s) for s in seen) - since, max(max(s) for s in seen) - since))
        for i in slots:
            self.look_at(i)

    def now(self):
        """The epoch begins: what is done after this was done after what has just happened."""
        since = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        self.board.next_epoch()
        return since

    def some(self, n):
        return self.rng.sample(self.alive(), min(n, len(self.alive())))

    def ps(self):
        """What `usf ps` shows of the instance; nothing while there is none."""
        try:
            return json.loads(self.tool("ps", "-i", self.instance, "--json").stdout)[0]
        except (ValueError, IndexError):
            return {"processes": [], "monitor_pid": None}

    def find_monitor(self):
        """The monitor, and sometimes also the process that waits for its death."""
        try:
            monitor = self.ps()["monitor_pid"]
            if monitor and self.rng.random() < 0.3:
                with open("/proc/%d/task/%d/children" % (monitor, monitor), encoding="ascii") as f:
                    return [monitor] + [int(supervisor) for supervisor in f.read().split()]
            return [monitor] if monitor else []
        except OSError:
            return []

    @staticmethod
    def send(pid, how, may_be_gone):
        """A monitor may have ended by itself.  Sent?"""
        try:
            os.kill(pid, how)
        except ProcessLookupError:
            if not may_be_gone:
                raise
            return False
        return True

    def kill(self, victims, monitors=(), how=signal.SIGKILL):
        others = self.survivors(victims)
        pids = [self.pid[i] for i in victims] + list(monitors)
        self.rng.shuffle(pids)
        sent = sum(self.send(pid, how, may_be_gone=pid in monitors) for pid in pids)
        if not sent:
            self.nothing()
            return
        since = self.now()
        self.kills += sent
        who = ["one"] if len(victims) == 1 else ["several"] if victims else []
        who += ["monitor and supervisor"] if len(monitors) > 1 else ["monitor"] if monitors else []
        what = "%s %s" % (signal.Signals(how).name, ", ".join(who))
        self.counts[what] += sent
        self.watch(what, others, since)
        for i in victims:
            self.forget(i, (how,))

    def kill_one(self):
        self.kill(self.some(1))

    def kill_several(self):
        self.kill(self.some(self.rng.randint(2, max(2, len(self.alive()) - 1))))

    def kill_monitor(self):
        self.kill([], self.find_monitor())

    def kill_with_monitor(self):
        self.kill(self.some(self.rng.randint(1, 2)), self.find_monitor())

    def die_otherwise(self):
        self.kill(self.some(1), how=self.rng.choice([signal.SIGABRT, signal.SIGSEGV, signal.SIGTERM]))

    def stop(self):
        victims = self.some(self.rng.randint(1, 2))
        others = self.survivors(victims)
        for i in victims:
            os.kill(self.pid[i], signal.SIGSTOP)
        self.counts["SIGSTOP"] += len(victims)
        self.watch("SIGSTOP", others, self.now())
        time.sleep(self.rng.random() * 0.1)
        if self.rng.random() < 0.3:
            self.kill(victims)      # stopped ones can be killed, too
            return
        for i in victims:
            os.kill(self.pid[i], signal.SIGCONT)
        self.watch("SIGCONT", self.survivors([]), self.now())

    def freeze(self):
        victims = self.some(1)
        others = self.survivors(victims)
        with open(os.path.join(self.frozen, "cgroup.procs"), "w", encoding="ascii") as f:
            f.write(str(self.pid[victims[0]]))
        self.set_frozen("FROZEN")
        self.counts["frozen"] += 1
        self.watch("freezing", others, self.now())
        self.set_frozen("THAWED")
        self.watch("thawing", self.survivors([]), self.now())
        with open(os.path.join(FREEZER, "cgroup.procs"), "w", encoding="ascii") as f:
            f.write(str(self.pid[victims[0]]))

    def set_frozen(self, state):
        with open(os.path.join(self.frozen, "freezer.state"), "w", encoding="ascii") as f:
            f.write(state)

    def start_anew(self):
        """exec: seen by the library, or not."""
        victims = [i for i in self.some(1) if self.kind[i] != "python" and self.board.is_up(i)]
        others = self.survivors(victims)
        how = self.rng.choice([signal.SIGUSR1, signal.SIGUSR2])
        for i in victims:
            execs = self.board.head(i)[3]
            os.kill(self.pid[i], how)
            patience = Patience(STUCK, self.probe)
            while self.board.head(i)[3] == execs:
                self.reap()
                if self.pid[i] in self.dead or patience.is_over():
                    raise Failed("%s %d does not come back from exec" % (self.kind[i], self.pid[i]))
                time.sleep(0.001)
            self.counts["exec"] += 1
        self.watch("exec" if how == signal.SIGUSR1 else "exec unseen", others, self.now())

    def reuse_pid(self):
        victim = self.some(1)[0]
        pid = self.pid[victim]
        self.kill([victim])
        with open("/proc/sys/kernel/ns_last_pid", "w", encoding="ascii") as f:
            f.write(str(pid - 1))
        self.start(victim)
        self.counts["pid reused"] += self.pid[victim] == pid

    def nothing(self):
        self.watch("nothing", self.survivors([]), self.now())

    # ---- is all well? --------------------------------------------------------------------------------

    def complaints(self):
        p = self.tool("doctor", "--json")
        try:
            findings = json.loads(p.stdout)["findings"]
        except ValueError as e:
            raise Failed("usf doctor ended with %d: %s" % (p.returncode, p.stdout + p.stderr)) from e
        return [f["text"] for f in findings if f["check"] == self.instance and f["result"] not in ("ok", "note")]

    def check_sound(self):
        """A monitor that has just been killed may not be back yet."""
        patience = Patience(STUCK, self.probe)
        while self.complaints():
            if patience.is_over():
                raise Failed("usf doctor: %s" % self.complaints())
            time.sleep(0.05)

    def check_nothing_leaked(self):
        """Once the dead are taken off, only those that live are shown.  (Children of a load may be between.)"""
        patience = Patience(STUCK, self.probe)
        while True:
            procs = self.ps()["processes"]
            if all(p["alive"] for p in procs) and len({p["pid"] for p in procs}) == len(procs):
                break
            if patience.is_over():
                raise Failed("records of the dead stay: %s" % [(p["pid"], p["name"], p["alive"]) for p in procs])
            time.sleep(0.02)

    def finish(self):
        """All that live end by themselves, content, and the instance is gone."""
        self.board.stop()
        for i in self.alive():
            pid = self.pid[i]
            status = self.wait_dead(pid)
            self.pid[i] = 0
            if status:
                raise Failed("%s %d ended with status %x" % (self.kind[i], pid, status))
            self.look_at(i)
        path = "/dev/shm/usf-" + (self.instance.replace(":", "-") if self.args.users else "%d-%s" % (os.geteuid(), self.instance))
        patience = Patience(STUCK, self.probe)
        while os.path.exists(path):
            self.reap()
            if patience.is_over():
                raise Failed("the instance outlives all its programs")
            time.sleep(0.05)

    def describe(self):
        for args in (("ps", "-i", self.instance, "--why"), ("dump", "-i", self.instance), ("doctor",)):
            print(self.tool(*args).stdout)
        print("epoch", self.board.epoch, self.board.m[:16].hex(), "at", time.clock_gettime_ns(time.CLOCK_MONOTONIC))
        for i in self.alive():
            print("slot", i, self.kind[i], self.pid[i], self.board.head(i), self.board.threads(i))

    # ---- all ------------------------------------------------------------------------------------------

    def run(self):
        events = [(self.kill_one, 30), (self.kill_several, 50), (self.kill_monitor, 5 * self.args.monitor),
                  (self.kill_with_monitor, 10 * self.args.monitor),
                  (self.die_otherwise, 8), (self.stop, 6), (self.start_anew, 8), (self.nothing, 10)]
        if self.frozen:
            events.append((self.freeze, 4))
        if self.can_reuse:
            events.append((self.reuse_pid, 6))
        end = time.monotonic() + 60 * self.args.minutes
        n = 0
        while (self.args.kills is None or self.kills < self.args.kills) and time.monotonic() < end:
            self.fill()
            time.sleep(self.rng.choice([0, 0.02, 0.05]) * self.rng.random())
            self.rng.choices([e for e, _ in events], [w for _, w in events])[0]()
            n += 1
            if n % 50 == 0:
                self.fill()     # or nobody may be left to miss a monitor
                self.check_sound()
                self.check_nothing_leaked()
                print("%d events, %d kills" % (n, self.kills), file=sys.stderr, flush=True)
        self.check_sound()
        self.check_nothing_leaked()
        self.finish()

    def all_kills(self):
        return [t for w, ts in self.times.items() if w.startswith("SIG") and "STOP" not in w and "CONT" not in w for t in ts]

    def shortfalls(self):
        """What the run was to reach, and has not."""
        a = self.args
        if a.kills is not None and self.kills < a.kills:
            yield "only %d of %d killed in %g minutes" % (self.kills, a.kills, a.minutes)
        each = [program / 1e6 for program, _ in self.all_kills()]
        for i, (what, may_be) in enumerate((("median", a.median), ("p99", a.p99))):
            if may_be is None:
                continue
            is_ = spread(each)[i] if each else math.inf
            if is_ > may_be:
                yield "%s of the time until each program goes on: %.1f ms, more than %g" % (what, is_, may_be)

    def report(self):
        print("%d killed; %s" % (self.kills, ", ".join("%s %d" % c for c in sorted(self.counts.items()))))
        print("%-28s %6s   %s" % ("ms until", "", "each program        each thread"))
        print("%-28s %6s %s" % ("", "times", "  median    p99    max" * 2))
        for what, t in sorted({**self.times, "all kills": self.all_kills()}.items()):
            if t:
                print("%-28s %6d %s" % (what, len(t), "".join("%8.1f %6.1f %6.1f" % spread([x[k] / 1e6 for x in t]) for k in (0, 1))))

        print("the kernel ran nobody of ours on some CPU for %.1f s, %.1f s at most" % (self.probe.stood, self.probe.longest))

    def clean_up(self):
        self.probe.end()
        if self.frozen:
            self.set_frozen("THAWED")
        for i in self.alive():
            self.reap()
            if self.pid[i] not in self.dead:
                os.kill(self.pid[i], signal.SIGKILL)
                self.wait_dead(self.pid[i])
            self.pid[i] = 0
        patience = Patience(2)
        while self.frozen and not patience.is_over():
            try:
                os.rmdir(self.frozen)
                break
            except OSError:
                time.sleep(0.05)
        self.tool("clean", "-i", self.instance, "--force")
        shutil.rmtree(self.dir, ignore_errors=True)


def spread(v):
    v = sorted(v)
    return v[len(v) // 2], v[min(len(v) - 1, len(v) * 99 // 100)], v[-1]


def options(doc):
    p = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default="build")
    p.add_argument("--kills", type=int, metavar="N")
    p.add_argument("--minutes", type=float, default=120)
    p.add_argument("--median", type=float, metavar="MS")
    p.add_argument("--p99", type=float, metavar="MS")
    p.add_argument("--seed", type=int, default=random.randrange(1 << 20))
    p.add_argument("--cpus", default="")
    p.add_argument("--policy", default="coop")
    p.add_argument("--monitor", type=int, default=1, help="how much more often than usual the monitor is killed")
    p.add_argument("--users", action="store_true", help="two users share the instance")
    p.add_argument("--stats", action="store_true", help="runs stay as the programs' parents, and are killed")
    p.add_argument("--slow", type=float, default=1, help="seconds after which a program that has not gone on is shown")
    p.add_argument("--linger", type=int, default=3000)
    p.add_argument("--kinds", type=lambda s: s.split(","), default=KINDS)
    args = p.parse_args()
    args.build = os.path.abspath(args.build)
    own_namespace()
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER: whom the loads leave is ours to wait for
    print("seed", args.seed, flush=True)
    return args


def main():
    soak = Soak(options(__doc__))
    try:
        soak.run()
    except Failed as e:
        print("FAILED:", e, "at", time.clock_gettime_ns(time.CLOCK_MONOTONIC))
        soak.describe()
        return 1
    finally:
        soak.report()
        soak.clean_up()
    failures = list(soak.shortfalls())
    for text in failures:
        print("FAILED:", text)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
