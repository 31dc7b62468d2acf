#!/usr/bin/python3
# tests/soak/everything.py - everything at once, for as long as you like.  SPDX-License-Identifier: Apache-2.0
"""everything.py [--build DIR] [--minutes M] [--seed S] [--jobs N] [--only NAME,...] [--bare]

In one instance run, at about four threads per core and more: loads that check themselves (load.c, load.py) from the beginning to
the end, and beside them jobs that come and go, each a real program with a result: OpenMP, BLAS, MPI, servers, numpy, pipelines,
swarms of short processes.  What must hold: every job ends well; no thread of a load stands still for over a second; nothing
grows (memory, descriptors, tasks, the segment); at the end the instance is sound and empty.
Time in which the kernel ran nobody of ours on some CPU (probe.py) is not counted; of what stands still beyond that it is told which threads
ran and which waited for a CPU meanwhile.  A stall is told apart if others had the CPUs: then the machine is not quiet, and the run
proves nothing; and if a child that the thread waits for slept in the kernel, uninterruptibly, before it came to take part: on a
lock of the kernel's memory management, say, which the scanner of a virtual machine's memory holds.
Jobs whose program has not been built (make workloads) or installed are left out, and named.

To compare how long jobs take beside the loads: --jobs 1 --only redis,pipeline, and the same with
--bare, which runs all of it without usf, and looks at nothing but how the jobs end."""
import argparse
import collections
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from board import Board
from probe import Probe, accounts, children_of, ran_and_died
from hung import threads_of     # probe knows the folder

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
LOADS = ["cond", "barrier", "openmp", "yield", "spin", "pipe", "fork", "python"]
LOOK_S, SAMPLE_S = 0.05, 5.0
LATE_S = 0.1  # a look may be so late because the machine is busy
SUSPECT_S, STALL_S = 0.3, 1.0
JOB_LIMIT_S = 120
EMPTY_S = 10
GROWTH = {"private KiB": 1024, "descriptors": 2, "threads": 2}  # of a load or the monitor: more than this is growth


def job_list(build):
    bench, lib = os.path.join(build, "bench"), "/usr/lib/x86_64-linux-gnu"
    work = os.path.join(ROOT, "bench", "workloads")
    served = ["/usr/bin/python3", os.path.join(work, "served.py"), "--clients", "4", "--kind"]
    nested = [os.path.join(bench, "nested-pthread"), "--op", "dgemm", "--n", "512", "--tile", "128", "--outer", "4", "--inner", "4",
              "--seconds", "2", "--blas"]
    return {
        "libgomp": [os.path.join(bench, "forkjoin-gomp"), "--threads", "8", "--us", "100", "--seconds", "2"],
        "libomp": [os.path.join(bench, "forkjoin-libomp"), "--threads", "8", "--us", "100", "--seconds", "2"],
        "sort": [os.path.join(bench, "omp_sort-gomp"), "--n", "200000", "--rounds", "200"],
        "BLIS": [*nested, f"{lib}/blis-pthread/libblis.so.4"],
        "OpenBLAS": [*nested, f"{lib}/openblas-pthread/libopenblas.so.0"],
        "spinning barrier": [os.path.join(bench, "barrier"), "--kind", "spin-pause", "--threads", "8", "--us", "10", "--seconds", "2"],
        "spin lock": [os.path.join(bench, "lock"), "--kind", "tas-pause", "--threads", "8", "--seconds", "2"],
        "threads": [os.path.join(bench, "storm"), "--threads", "16", "--us", "20", "--seconds", "2"],
        "echo server": [os.path.join(bench, "echo"), "--clients", "8", "--seconds", "2"],
        "MPICH": ["mpirun.mpich", "-n", "4", os.path.join(bench, "mpi_halo-mpich"), "--cells", "2000", "--seconds", "2"],
        "numpy": ["/usr/bin/python3", os.path.join(work, "py_numpy.py"), "--op", "matmul", "--workers", "8", "--seconds", "2"],
        "redis": [*served, "redis", "--seconds", "2"],
        "http.server": [*served, "http", "--seconds", "2"],
        "pipeline": [*served, "pipeline", "--seconds", "2"],
        "processes": ["bash", "-c", "for i in $(seq 200); do /bin/true || exit 1; done"],
        "multiprocessing": ["/usr/bin/python3", "-c", "import multiprocessing as m\nwith m.Pool(4) as p: "
                            "assert sum(p.map(abs, range(20000), 100)) == sum(range(20000))"],
    }


def is_there(argv):
    needs = [argv[0], *(a for a in argv[1:] if a.startswith("/"))]
    if "redis" in argv:
        needs.append("redis-server")
    return all(os.path.exists(n) or shutil.which(n) for n in needs)


def private_kib(pid):
    """Anonymous memory; and 0 for a process that has just ended."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as f:
            return sum(int(line.split()[1]) for line in f if line.startswith(("Private_Dirty:", "Swap:")))
    except OSError:
        return 0


def idle_s():
    """Of all CPUs together; also what waits for a disk."""
    with open("/proc/stat", encoding="ascii") as f:
        return sum(map(int, f.readline().split()[4:6])) / os.sysconf("SC_CLK_TCK")


def entries(path):
    try:
        return len(os.listdir(path))
    except OSError:
        return 0


class Soak:
    def __init__(self, args):
        self.args, self.rng = args, random.Random(args.seed)
        self.dir = tempfile.mkdtemp(prefix="usf-soak-")
        self.board = Board(os.path.join(self.dir, "board"))
        self.instance = f"everything-{os.getpid()}"
        self.segment = f"/dev/shm/usf-{os.getuid()}-{self.instance}"
        self.usf = os.path.join(args.build, "usf")
        wanted = {name: argv for name, argv in job_list(args.build).items() if not args.only or name in args.only}
        self.jobs = {name: argv for name, argv in wanted.items() if is_there(argv)}
        self.left_out = [name for name in wanted if name not in self.jobs]
        self.loads, self.running = {}, {}          # slot: process; process: (name, since)
        self.longest = collections.Counter()
        self.took = collections.defaultdict(list)  # name of a job: seconds of each
        self.stalls, self.starved, self.in_kernel, self.troubles = [], [], [], []
        self.samples = []                          # (what, kind) -> value, one dictionary per look
        self.still = {}                            # (slot, thread): (count, since)
        self.shown = 0                             # when the instance was last shown
        self.late = 0                              # seconds in which the machine stood still, or a CPU was others'
        self.probe = Probe()
        self.suspicion = None                      # since when one stands still, and what all threads had had of the CPUs then
        self.children = {}                         # meanwhile: (load's pid, child): looks, in how many it slept in the kernel, which, where

    # ---- programs ---------------------------------------------------------------------------------

    def start(self, argv, out):
        env = {k: v for k, v in os.environ.items() if not k.startswith("USF_")}
        # killed with us, should we be killed
        under = [] if self.args.bare else \
            [self.usf, "run", "-i", self.instance, "--cache-dir", os.path.join(self.dir, "cache"), "--"]
        return subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *under, *argv],
                                stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, env=env, process_group=0)     # one session: the kernel runs all of us or none

    def start_loads(self):
        for slot, kind in enumerate(LOADS):
            self.board.clear(slot)
            program = ["/usr/bin/python3", os.path.join(HERE, "load.py")] if kind == "python" else \
                      [os.path.join(self.args.build, "tests", "soak", "load")]
            with open(os.path.join(self.dir, f"load-{kind}"), "wb") as out:
                self.loads[slot] = self.start([*program, kind, str(slot), "2", self.board.path], out)

    def fill(self):
        while len(self.running) < self.args.jobs:
            name = self.rng.choice(sorted(self.jobs))
            path = os.path.join(self.dir, f"job-{sum(map(len, self.took.values())) + len(self.running)}")
            with open(path, "wb") as out:
                self.running[self.start(self.jobs[name], out)] = (name, time.monotonic(), path)

    def reap(self):
        for p, (name, since, path) in list(self.running.items()):
            late = time.monotonic() - since > JOB_LIMIT_S
            if p.poll() is None and not late:
                continue
            del self.running[p]
            self.took[name].append(time.monotonic() - since)
            if late and not self.args.bare:
                print(self.tool("ps", "--why", "-i", self.instance) + "\n".join(threads_of(q["pid"] for q in self.instance_report()["processes"])))
            if late or p.returncode:
                self.trouble(f"{name}: " + ("does not end" if late else f"status {p.returncode}"), path)
                self.end(p)
            os.unlink(path)

    @staticmethod
    def end(p):
        """It and its children, which are in its process group."""
        try:
            os.killpg(p.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        p.wait()

    def trouble(self, text, path=None):
        if path:
            with open(path, encoding="utf-8", errors="replace") as f:
                text += "\n" + f.read()[-2000:]
        self.troubles.append(text)
        print("trouble: " + text, flush=True)

    # ---- what is looked at --------------------------------------------------------------------------

    def look(self, late):
        """Who stands still, in time in which we ourselves ran: when a look is late the machine stood still, or was another's."""
        self.late += LOOK_S + late if self.probe.is_late() else max(0, late - LATE_S)
        now = time.monotonic() - self.late
        longest = 0
        for slot, kind in enumerate(LOADS):
            for i, (count, _, _) in enumerate(self.board.threads(slot)):
                old, since = self.still.get((slot, i), (None, now))
                if count != old:
                    if now - since > STALL_S:
                        cause, text = self.explain(slot)
                        cause.append((kind, i, now - since))
                        print(f"stall: {kind}, thread {i}: {now - since:.2f} s; {text}", flush=True)
                    self.longest[kind] = max(self.longest[kind], now - since)
                    self.still[slot, i] = (count, now)
                    continue
                longest = max(longest, now - since)
                if now - since > STALL_S and now > self.shown + 10:
                    self.shown = now
                    print(f"{kind}, thread {i}, stands still:\n" + self.tool("ps", "--why", "-i", self.instance), flush=True)
                elif now - since > JOB_LIMIT_S:
                    raise RuntimeError(f"{kind}, thread {i}, hangs:\n" + self.tool("ps", "--why", "-i", self.instance))

        if longest <= SUSPECT_S:
            self.suspicion = None
            self.children = {}
        elif not self.suspicion:
            self.suspicion = (time.monotonic(), idle_s(), self.accounts(), self.died())
        if self.suspicion:
            self.note_children()

    def note_children(self):
        for load in self.loads.values():
            for child, (state, name, where) in children_of(load.pid).items():
                looks, asleep, *which = self.children.get((load.pid, child), (0, 0, name, where))
                if state == "D":
                    asleep, which = asleep + 1, (name, where)
                self.children[load.pid, child] = (looks + 1, asleep, *which)

    def died(self):
        """s of CPU that all have had who have ended"""
        ours = os.times()
        return ours.children_user + ours.children_system + sum(ran_and_died(p["pid"]) for p in self.instance_report()["processes"])

    def accounts(self):
        """What each thread of the instance, and of its monitor, has had of the CPUs."""
        report = self.instance_report()
        return accounts([p["pid"] for p in report["processes"]] + [report["monitor_pid"]])

    def explain(self, slot):
        """Where it is to be counted, and since the suspicion: who ran, who waited for a CPU though it could have run."""
        if not self.suspicion:
            return self.stalls, "not suspected"
        since, idle, before, died = self.suspicion
        lines, all_ran = [], self.died() - died
        for thread, (name, *after) in self.accounts().items():
            ran, waited, times = (a - b for a, b in zip(after, before.get(thread, (name, 0, 0, 0))[1:]))
            all_ran += ran / 1e9
            if ran > 20e6 or waited > 20e6:
                lines.append(f"  {thread[0]:6} {thread[1]:6} {name:15} {ran / 1e6:8.1f} {waited / 1e6:8.1f} {times:6}")
        idle = idle_s() - idle
        cpus = (time.monotonic() - since) * os.cpu_count()
        others = all_ran < 0.5 * cpus and idle < 0.2 * cpus
        asleep = [(child, *what) for (pid, child), what in self.children.items() if pid == self.loads[slot].pid and 2 * what[1] > what[0]]
        text = f"of {cpus:.2f} s of CPU we had {all_ran:.2f}, {idle:.2f} were idle" + (": others had them" if others else "")
        text += "".join(f"; child {child} ({name}) slept in the kernel ({where}) in {n} of {looks} looks" for child, looks, n, name, where in asleep)
        cause = self.starved if others else self.in_kernel if asleep else self.stalls
        return cause, "\n".join([text, "     pid    tid name              ran ms waited ms  times", *lines])

    def instance_report(self):
        return json.loads(self.tool("ps", "--json", "-i", self.instance))[0]

    def tool(self, *args):
        return subprocess.run([self.usf, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=60, check=False).stdout

    def sample(self):
        values = {}
        report = self.instance_report()
        pids = {f"load {LOADS[slot]}": p.pid for slot, p in self.loads.items()}
        pids["monitor"] = report["monitor_pid"]
        for who, pid in pids.items():
            values[who, "private KiB"] = private_kib(pid)
            values[who, "descriptors"] = entries(f"/proc/{pid}/fd")
            values[who, "threads"] = entries(f"/proc/{pid}/task")
        values["segment", "KiB"] = os.stat(self.segment).st_blocks // 2
        values["records of loads", "threads"] = sum(len(p["threads"]) for p in report["processes"] if p["pid"] in pids.values())
        self.samples.append(values)

    def growth(self):
        """The most in the second quarter of the time against the least in the last: what only ever grows shows."""
        n = len(self.samples)
        if n < 8:
            return
        for key in self.samples[-1]:
            early = max(s.get(key, 0) for s in self.samples[n // 4:n // 2])
            late = min(s.get(key, 0) for s in self.samples[-(n // 4):])
            if key[0] != "segment" and late > early + GROWTH[key[1]]:
                self.trouble(f"{key[0]}: {key[1]} grew from {early} to {late}")
            if key[0] == "segment" and late > early * 1.25:
                self.trouble(f"the segment grew from {early} to {late} KiB")

    # ---- all ----------------------------------------------------------------------------------------

    def run(self):
        self.start_loads()
        end = time.monotonic() + 60 * self.args.minutes
        before = sampled = time.monotonic()
        while time.monotonic() < end:
            self.fill()
            self.reap()
            now = time.monotonic()
            if not self.args.bare:
                self.look(now - before - LOOK_S)
                if now - sampled > SAMPLE_S:
                    self.sample()
                    sampled = now
            before = now        # it may ask the tool, which takes its time
            gone = [LOADS[slot] for slot, p in self.loads.items() if p.poll() is not None]
            if gone:
                raise RuntimeError(f"ended too early: {', '.join(gone)}")
            time.sleep(LOOK_S)
        if not self.args.bare:
            self.is_sound()
        self.board.stop()
        for p in [*self.loads.values(), *self.running]:
            try:
                if p.wait(JOB_LIMIT_S):
                    self.trouble(f"{p.args[-5:]} ended with {p.returncode}")
            except subprocess.TimeoutExpired:
                self.trouble(f"{p.args[-5:]} does not end\n" + self.tool("ps", "--why", "-i", self.instance))
        if not self.args.bare:
            self.growth()
            self.is_gone()

    def is_sound(self):
        for finding in json.loads(self.tool("doctor", "--json"))["findings"]:
            if finding["check"] == self.instance and finding["result"] == "wrong":
                self.trouble(f"usf doctor: {finding['text']}")

    def is_gone(self):
        """Once nobody takes part."""
        end = time.monotonic() + EMPTY_S
        while os.path.exists(self.segment) and time.monotonic() < end:
            time.sleep(LOOK_S)
        if os.path.exists(self.segment):
            self.trouble(f"the instance is still there after {EMPTY_S} s\n" + self.tool("ps", "--why", "-i", self.instance))

    def report(self):
        print(f"{sum(map(len, self.took.values()))} jobs (median and longest time, s): " + ", ".join(
            f"{len(t)} {name} ({statistics.median(t):.1f} {max(t):.1f})" for name, t in sorted(self.took.items())))
        if self.args.bare:
            return
        print("longest standstill of a thread, s: " + ", ".join(f"{kind} {s:.2f}" for kind, s in sorted(self.longest.items())))
        if self.samples:
            print("at the end: " + ", ".join(f"{who} {value} {what}" for (who, what), value in sorted(self.samples[-1].items())))
        print(f"the machine itself stood still, or ran nobody of ours on some CPU, for {self.late:.2f} s, {self.probe.longest:.2f} s at most")
        print(f"{len(self.starved)} stalls of more than {STALL_S:g} s while others had the CPUs" + (": the machine is not quiet, this proves nothing" if self.starved else ""))
        print(f"{len(self.in_kernel)} stalls of more than {STALL_S:g} s while a child slept in the kernel")
        print(f"{len(self.stalls)} stalls of more than {STALL_S:g} s, {len(self.troubles)} troubles")

    def close(self):
        self.probe.end()
        for p in [*self.loads.values(), *self.running]:
            if p.poll() is None:
                self.end(p)
        shutil.rmtree(self.dir, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--jobs", type=int, default=3, help="how many run at a time")
    parser.add_argument("--only", type=lambda names: names.split(","), metavar="NAME,...", help="the jobs to choose from")
    parser.add_argument("--bare", action="store_true", help="without usf: how long do the jobs take?")
    args = parser.parse_args()
    args.build = os.path.abspath(args.build)
    unknown = set(args.only or []) - set(job_list(args.build))
    if unknown:
        parser.error(f"no such job: {', '.join(sorted(unknown))}; there are {', '.join(job_list(args.build))}")
    soak = Soak(args)
    if not soak.jobs:
        soak.close()
        parser.error(f"not built or installed: {', '.join(soak.left_out)}")
    print(f"seed {args.seed}, " + ("bare" if args.bare else f"instance {soak.instance}") + (f"; left out: {', '.join(soak.left_out)}" if soak.left_out else ""), flush=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        soak.run()
    except RuntimeError as e:
        soak.trouble(str(e))
    finally:
        soak.close()
        soak.report()
    sys.exit(1 if soak.troubles or soak.stalls or soak.starved else 0)


if __name__ == "__main__":
    main()
