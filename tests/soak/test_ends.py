# tests/soak/test_ends.py - threads and programs that end unseen.  SPDX-License-Identifier: Apache-2.0
import os
import pathlib
import subprocess
import sys
import time

import kill
from patience import Patience


class Ends(kill.Soak):
    """Each test has an instance of its own, and ends with that being gone."""

    def begin(self, kind, cpus="", where=()):
        self.instance = "ends-%d-%s" % (os.getpid(), kind)
        self.args.kinds, self.args.cpus = [kind], cpus
        self.board.stop(0)
        self.start(0, where=where)
        self.until(lambda: self.board.is_up(0), "it starts")

    def until(self, what, says):
        patience = Patience(kill.STUCK)
        while not what():
            self.reap()
            if patience.is_over():
                raise kill.Failed("not within %d s: %s" % (kill.STUCK, says))
            time.sleep(0.002)

    def threads(self):
        return [int(t) for t in os.listdir("/proc/%d/task" % self.pid[0])]

    def others_go_on_without(self, kind, where=()):
        """On one CPU: they need its core."""
        self.begin(kind, str(min(os.sched_getaffinity(0))), where)
        n = len(self.board.threads(0))
        self.until(lambda: len(self.threads()) == n, "one thread has ended")     # the first one is left, too
        before = self.board.threads(0)
        self.until(lambda: all(b[0] > a[0] for a, b in list(zip(before, self.board.threads(0)))[1:]), "the others go on")
        return n

    def a_thread_that_ends_unseen_leaves_its_core(self):
        n = self.others_go_on_without("mortal")
        self.until(lambda: len(self.shown()[0]["threads"]) == n, "its record is free")
        self.finish()

    def killing(self, call):
        """What starts a program under a filter of seccomp that kills the thread which makes such a call."""
        filtered = [os.path.join(self.args.build, "tests", "odd", "odd-deny"), "=KILL", call, "--"]
        return None if subprocess.run([*filtered, "true"], check=False).returncode == 77 else filtered

    def a_thread_that_seccomp_kills_leaves_its_core(self):
        for kind, call in ("passing", "ustat"), ("provisional", "keyctl"), ("pausing", "pause"):
            where = self.killing(call)
            if not where:
                print("skipped: no filters of system calls here")
                return
            n = self.others_go_on_without(kind, where)
            if kind == "passing":       # the others' records, which have no core, are freed with their process's
                self.until(lambda: len(self.shown()[0]["threads"]) == n, "its record is free")      # noqa: B023
            self.check_sound()
            self.finish()

    def shown(self):
        return self.ps()["processes"]

    def an_unseen_exec_leaves_no_record(self):
        self.begin("fork")
        for _ in range(3):
            execs = self.board.head(0)[3]
            os.kill(self.pid[0], 12)
            self.until(lambda: self.board.head(0)[3] > execs, "the next program begins")     # noqa: B023
            self.until(lambda: [p["pid"] for p in self.shown()].count(self.pid[0]) == 1, "one record is left")
        self.finish()

    def run_at(self, threads, cpu):
        """Some kernel thread is bound to the CPU, and none that is bound elsewhere runs: threads float, so one that sleeps may go on sleeping."""
        bound = [tid for tid in threads if os.sched_getaffinity(tid) == {cpu}]
        others = [pathlib.Path(f"/proc/{self.pid[0]}/task/{tid}/stat").read_text() for tid in threads if tid not in bound]
        return bound and not any(stat.rpartition(")")[2].split()[0] == "R" for stat in others)

    def a_thread_that_was_bound_elsewhere_comes_back(self):
        cpus = sorted(os.sched_getaffinity(0))
        if len(cpus) < 2:
            return
        self.begin("yield", str(cpus[0]))
        threads = [tid for tid in self.threads() if tid != self.pid[0]]     # (that one waits for the others' end)
        for tid in threads:
            os.sched_setaffinity(tid, {cpus[1]})
        self.until(lambda: self.run_at(threads, cpus[0]), "they run on their core again")
        self.finish()


def main():
    args = kill.options(__doc__)
    args.linger = 100
    test = Ends(args)
    try:
        for name in ("a_thread_that_ends_unseen_leaves_its_core", "a_thread_that_seccomp_kills_leaves_its_core",
                     "an_unseen_exec_leaves_no_record", "a_thread_that_was_bound_elsewhere_comes_back"):
            print(name, flush=True)
            getattr(test, name)()
    except kill.Failed as e:
        print("FAILED:", e)
        test.describe()
        return 1
    finally:
        test.clean_up()
    return 0


if __name__ == "__main__":
    sys.exit(main())
