#!/usr/bin/python3
# tests/soak/points.py - kill at every perturbation point.  SPDX-License-Identifier: Apache-2.0
"""points.py [--build DIR] [--only NAME,...] [options of kill.py]

For each point that the library and the tool have (their section usf_points; a build with -Dpoints=true), a program or the monitor is
killed there, at its first visit and at a later one, while another program shares the instance and checks itself.  That one must go
on with every thread and use every core, end content, and leave a sound and then no instance.  A point that nobody reaches is a failure;
one that is visited only once is told."""
import os
import re
import subprocess
import sys
import time

import kill
from patience import Patience

KINDS = ["all", "barrier", "sleep", "signal"]     # where the first does not reach a point, cores are never idle, or no thread sends signals
BOX = ["bwrap", "--bind", "/", "/", "--dev-bind", "/dev", "/dev", "--proc", "/proc", "--unshare-pid", "--die-with-parent"]
REACH = 2  # seconds for a program to reach a point
# It ends while its threads live.
LEAVER = "import os, threading\nfor i in range(3): threading.Thread(target=threading.Event().wait, daemon=True).start()\nos._exit(0)\n"


def points(build):
    names = set()
    for name in ("usf", "libusf.so"):
        text = subprocess.run(["readelf", "-W", "-p", "usf_points", os.path.join(build, name)], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, check=False).stdout
        names |= set(re.findall(r"\]\s+(\S+)", text))
    return sorted(names)


class Points(kill.Soak):
    def plan(self, point, count):
        return "seed=%d,kill=%s:%d,log=%s" % (self.args.seed, point, count, os.path.join(self.dir, "log"))

    def reached(self, point):
        try:
            with open(os.path.join(self.dir, "log"), encoding="ascii") as f:
                return "killed at %s\n" % point in f.read()
        except FileNotFoundError:
            return False

    def new_instance(self, point):
        self.instance = "points-%d-%d" % (os.getpid(), self.counts["instances"])
        self.counts["instances"] += 1
        self.board.stop(0)
        if os.path.exists(os.path.join(self.dir, "log")):
            os.unlink(os.path.join(self.dir, "log"))

    def wait_for(self, what, seconds):
        patience = Patience(seconds, self.probe)
        while not what():
            self.reap()
            if patience.is_over():
                return False
            time.sleep(0.002)
        return True

    def start_survivor(self, point, plans=None):
        self.start(0, plans)
        if not self.wait_for(lambda: self.board.is_up(0), kill.STUCK):
            raise kill.Failed("%s: the survivor does not start" % point)

    def survivor_goes_on(self, point):
        since = self.now()
        self.board.forget_cpus(0)
        self.watch(point, [0], since)
        cpus = sum(1 << c for c in os.sched_getaffinity(0))
        if not self.wait_for(lambda: self.board.cpus(0) & cpus == cpus, kill.STUCK):
            raise kill.Failed("%s: only CPUs %x are used" % (point, self.board.cpus(0)))
        self.look_at(0)

    def end(self):
        """The victim's other process, if it was a child that was killed, may have noticed."""
        if self.pid[1]:
            self.reap()
            if self.pid[1] not in self.dead:
                os.kill(self.pid[1], 9)
            self.wait_dead(self.pid[1])
            self.pid[1] = 0
        self.check_sound()
        self.check_nothing_leaked()
        self.finish()

    def program_dies(self, point, count, kind):
        """False: it did not get there."""
        self.new_instance(point)
        self.args.kinds = [kind]
        self.start_survivor(point)
        self.start(1, {"USF_POINTS": self.plan(point, count)})
        reached = self.wait_for(lambda: self.reached(point), REACH)
        self.kills += reached
        self.survivor_goes_on(point)
        self.end()
        return reached

    def monitor_dies(self, point, count):
        self.new_instance(point)
        self.start_survivor(point, {"USF_TEST_MONITOR_POINTS": self.plan(point, count)})
        for at in ("sched.locked:300", "sched.put_on:20", "sched.enqueued:20"):
            self.start(1, {"USF_POINTS": "kill=%s" % at})       # something to put right
            self.wait_for(lambda: self.pid[1] in self.dead, REACH)
            self.forget(1)
        reached = self.reached(point)
        self.survivor_goes_on(point)
        self.end()
        self.kills += reached
        return reached

    def container_dies(self, point, count):
        """... and a monitor of those that clear away what it has left."""
        self.new_instance(point)
        self.args.kinds = KINDS[:1]
        self.start_survivor(point, {"USF_TEST_MONITOR_POINTS": self.plan(point, count)})
        self.start(1, where=BOX)
        self.wait_for(lambda: self.board.is_up(1), REACH)
        os.kill(self.pid[1], 9)
        self.forget(1)
        reached = self.wait_for(lambda: self.reached(point), REACH)
        self.survivor_goes_on(point)
        self.end()
        self.kills += reached
        return reached

    def last_dies(self, point, count):
        """While the instance ends, or begins: the next program gets one all the same."""
        self.new_instance(point)
        self.start(0, {"USF_POINTS": self.plan(point, count), "USF_TEST_MONITOR_POINTS": self.plan(point, count)})
        if self.wait_for(lambda: self.pid[0] in self.dead, 0.5):
            self.forget(0)
        else:
            self.finish()
        reached = self.reached(point)
        self.kills += reached
        self.board.stop(0)
        self.start(0)
        if not self.wait_for(lambda: self.board.is_up(0), kill.STUCK):
            raise kill.Failed("%s: no instance after it" % point)
        self.survivor_goes_on(point)
        self.end()
        return reached

    def leaver_dies(self, point, count):
        """A program with threads, in the middle of taking them off.  (-Dasserts=expensive notices what it leaves behind.)"""
        self.new_instance(point)
        self.args.kinds = KINDS[:1]
        self.start_survivor(point)
        env = {k: v for k, v in os.environ.items() if not k.startswith("USF_")}
        subprocess.run([self.usf, "run", "-i", self.instance, "--", sys.executable, "-c", LEAVER], stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=self.errors, env={**env, "USF_POINTS": self.plan(point, count)}, check=False,
                       timeout=kill.STUCK)
        reached = self.reached(point)
        self.kills += reached
        self.survivor_goes_on(point)
        self.end()
        return reached

    def first_and_later(self, point):
        """At which visits somebody was killed."""
        kind = next((k for k in KINDS if self.program_dies(point, 1, k)), None)
        if kind:
            later = next((n for n in (self.rng.randint(3, 300), 2) if self.program_dies(point, n, kind)), None)
            if not later and self.leaver_dies(point, 2):
                later = 2
            return [1, later] if later else [1]
        self.args.kinds = KINDS[:1]
        for dies in (self.monitor_dies, self.last_dies, self.container_dies):
            if dies(point, 1):
                return [1, 2] if dies(point, 2) else [1]
        return []

    def each(self, names):
        missed, once = [], []
        for point in names:
            began = time.monotonic()
            visits = self.first_and_later(point)
            if not visits:
                missed.append(point)
            if len(visits) == 1:
                once.append(point)
            print("%-24s %s, %.1f s" % (point, "killed at visit %s" % " and ".join(map(str, visits)) if visits else "not reached",
                                        time.monotonic() - began), flush=True)
        if once:
            print("killed at the first visit only, there was no other: %s" % ", ".join(once))
        if missed:
            raise kill.Failed("not reached by any load: %s" % ", ".join(missed))


def main():
    only = None
    if "--only" in sys.argv:
        at = sys.argv.index("--only")
        only = sys.argv[at + 1].split(",")
        del sys.argv[at:at + 2]
        os.environ["USF_TEST_ONLY"] = ",".join(only)
    args = kill.options(__doc__)
    only = os.environ.get("USF_TEST_ONLY", "").split(",") if os.environ.get("USF_TEST_ONLY") else None
    names = only or points(args.build)
    if not names:
        print("built without perturbation points (-Dpoints=true)")
        return 77
    args.linger = 100
    test = Points(args)
    try:
        test.each(names)
    except kill.Failed as e:
        print("FAILED:", e)
        test.describe()
        return 1
    finally:
        print("%d killed at %d points" % (test.kills, len(names)))
        test.clean_up()
    return 0


if __name__ == "__main__":
    sys.exit(main())
