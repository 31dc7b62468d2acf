#!/usr/bin/python3
# tests/odd/test_placement.py - which CPUs threads may run on, and do.  SPDX-License-Identifier: Apache-2.0
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from instance import CPUS, Programs, main

USF, PLACEMENT = os.environ["ODD_USF"], os.environ["ODD_PLACEMENT"]
FIXED = os.environ["ODD_PLACEMENT_FIXED"]
WINDOW, LOOKS = 0.3, 30
JAIN = 0.95
PINNED_LOOKS = 64
USERS = 61001, 61002


def threads_of(pid):
    return sorted(int(t) for t in os.listdir("/proc/%d/task" % pid))


def runs(pid):
    """Those that run, and the first one at most: it waits for standard input, and ended ones are kept or on their way out."""
    try:
        return [t for t in threads_of(pid) if is_running(pid, t)]
    except OSError:
        return []


def read(pid, tid, name):
    with open("/proc/%d/task/%d/%s" % (pid, tid, name)) as f:
        return f.read()


def mask_of(pid, tid):
    return re.search(r"^Cpus_allowed_list:\s*(\S+)", read(pid, tid, "status"), re.M).group(1)


def stat_of(pid, tid):
    return read(pid, tid, "stat").rsplit(")", 1)[1].split()


def is_running(pid, tid):
    return stat_of(pid, tid)[0] == "R"


def cpu_of(pid, tid):
    return int(stat_of(pid, tid)[36])


def time_of(pid):
    with open("/proc/%d/stat" % pid) as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def jain(x):
    return sum(x) ** 2 / (len(x) * sum(v * v for v in x)) if any(x) else 0


class Placement(Programs):
    tool, kind = USF, "placement"

    def setUp(self):
        super().setUp()
        if len(CPUS) < 2:
            self.skipTest("needs two CPUs")
        self.bare = ",".join(map(str, CPUS)) if CPUS[1] != CPUS[0] + 1 else "%d-%d" % tuple(CPUS)

    def computing(self, threads, *command, program=PLACEMENT, **more):
        p = self.start(*command, program, **more)
        self.assertEqual(self.says(p, "threads", threads), "ok")
        return p

    def scheduled(self, threads):
        """In an instance of its own."""
        self.take_another_instance()
        return self.computing(threads, *self.run_of())

    def masks(self, p):
        try:
            return [mask_of(p.pid, t) for t in runs(p.pid)]
        except OSError:
            return []           # it has just ended

    def are_free(self, p):
        return set(self.masks(p)) == {self.bare}

    def are_bound(self, p):
        masks = self.masks(p)
        return bool(masks) and set(masks) <= {str(c) for c in CPUS}

    def apart(self, programs):
        """In one window of time, programs of one thread were on CPUs of their own at most looks."""
        good = 0
        for _ in range(LOOKS):
            time.sleep(WINDOW / LOOKS)
            good += len({cpu_of(p.pid, threads_of(p.pid)[1]) for p in programs}) == len(programs)
        return good >= LOOKS * 3 / 4

    # ---- nobody waits: the kernel places the threads ----

    def test_masks_are_the_bare_ones(self):
        p = self.scheduled(len(CPUS))
        self.soon(lambda: self.are_free(p), "threads that nobody waits for are bound")

    def test_two_instances(self):
        programs = [self.scheduled(1), self.scheduled(1)]
        self.soon(lambda: self.apart(programs), "two instances run on one CPU")

    def test_two_private_instances(self):
        env = {**self.env, "USF_SHARE": "process"}
        del env["USF_INSTANCE"]
        cpus = ["-c", ",".join(map(str, CPUS))]
        programs = [self.start(USF, "run", *cpus, "--", PLACEMENT, env=env) for _ in range(2)]
        for p in programs:
            self.assertEqual(self.says(p, "threads", 1), "ok")
        self.soon(lambda: self.apart(programs), "two instances run on one CPU")

    def test_beside_another_program(self):
        """A program that is bound has one CPU: the instance's thread has the other."""
        bare = self.computing(1, "taskset", "-c", str(CPUS[0]))
        p = self.scheduled(1)
        self.soon(lambda: self.apart([bare, p]), "an instance stays on the CPU that another program is bound to")

    def test_beside_a_program_that_may_move(self):
        programs = [self.computing(1), self.scheduled(1)]
        self.soon(lambda: self.apart(programs), "an instance and a plain program run on one CPU")

    def as_user(self, uid, threads):
        """In the user's own instance."""
        env = {**self.env, "HOME": "/"}
        user = ["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups"]
        if os.geteuid() or subprocess.run([*user, USF, "--version"], capture_output=True).returncode:
            self.skipTest("needs root, to be several users, and setpriv; or other users may not execute what is built here")
        self.addCleanup(subprocess.run, [*user, USF, "clean", "-i", self.instance, "--force"], env=env, capture_output=True)
        return self.computing(threads, *user, *self.run_of(), env=env)

    def test_two_users(self):
        programs = [self.as_user(uid, 1) for uid in USERS]
        self.soon(lambda: self.apart(programs), "the programs of two users run on one CPU")

    def fair(self, programs):
        before = [time_of(p.pid) for p in programs]
        time.sleep(1)
        return jain([time_of(p.pid) - b for p, b in zip(programs, before)]) >= JAIN

    def test_shares_of_users(self):
        """Two users, each with twice as many threads as there are CPUs."""
        programs = [self.as_user(uid, 2 * len(CPUS)) for uid in USERS]
        self.soon(lambda: self.fair(programs), "two users do not get equal shares")

    # ---- tasks wait: each core's thread is bound ----

    def test_bound_while_tasks_wait(self):
        p = self.scheduled(2 * len(CPUS))
        self.soon(lambda: self.are_bound(p), "threads are not bound although others wait")

    def test_free_again(self):
        """The thread that is left reaches no scheduling point."""
        p = self.scheduled(2 * len(CPUS))
        for left in 1, 2 * len(CPUS), len(CPUS):
            self.assertEqual(self.says(p, "threads", left), "ok")
            if left <= len(CPUS):
                self.soon(lambda: self.are_free(p), "%d threads are still bound" % left)
            else:
                self.soon(lambda: self.are_bound(p), "threads are not bound although others wait")

    def test_shares(self):
        """Two instances, each with twice as many threads as there are CPUs."""
        programs = [self.scheduled(2 * len(CPUS)) for _ in range(2)]
        self.soon(lambda: self.fair(programs), "two instances do not get equal shares")

    # ---- ends in between ----

    def test_killed(self):
        """The programs that made tasks wait are killed, the monitor with them: nobody stays bound."""
        p = self.computing(1, *self.run_of())
        for round in range(6):
            other = self.computing(2 * len(CPUS), *self.run_of())
            self.soon(lambda: self.are_bound(p), "a thread is not bound although others wait")
            if round % 2:
                os.kill(self.shown()["monitor_pid"], signal.SIGKILL)
            other.kill()
            self.soon(lambda: self.are_free(p), "a thread stays bound after a death")

    # ---- masks that programs set ----

    def test_pinned(self):
        """The program asks where it runs: a thread that it binds to one CPU is there, whatever waits."""
        for program, options in (PLACEMENT, []), (PLACEMENT, ["--affinity", "strict"]), (FIXED, []):
            for threads in 0, 2 * len(CPUS):
                self.take_another_instance()
                p = self.computing(threads, *self.run_of(*options), program=program)
                for cpu in CPUS:
                    self.assertEqual(self.says(p, "pinned", cpu, PINNED_LOOKS), str(PINNED_LOOKS), (program, options, threads))


if __name__ == "__main__":
    main(600)
