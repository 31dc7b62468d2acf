#!/usr/bin/python3
# bench/test_workloads.py - the workloads find their own results right, and refuse what they do not know.
# SPDX-License-Identifier: Apache-2.0
"""test_workloads.py BUILD_DIR: needs `make workloads` (exit 77 if they are not built)."""
import os
import shutil
import signal
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from usfbench import benches, configs, measure  # noqa: E402

BIN = os.path.join(sys.argv.pop(1) if len(sys.argv) > 1 else "build", "bench")
SHORT = ["--seconds", "0.02"]


def run(argv, env=None):
    return subprocess.run(argv, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=60, check=False)


class Workloads(unittest.TestCase):
    def good(self, name, *args, env=None, launcher=()):
        path = os.path.join(BIN, name)
        if not os.path.exists(path):
            self.skipTest(f"{name} is not built here")
        done = run([*launcher, path, *args], env)
        begin, result = measure.parse(done.stdout)
        self.assertEqual((done.returncode, result.get("ok")), (0, "1"), f"{name} {args}: {done.stdout}{done.stderr}")
        self.assertGreater(float(result["rate"]), 0)
        self.assertGreater(float(begin["work"]), 0)

    def test_nested(self):
        for outer in ("pthread", "gomp", "tbb"):
            for library, path in benches.BLAS.items():
                if not os.path.exists(path):
                    continue
                for op in ("dgemm", "cholesky"):
                    with self.subTest(outer=outer, library=library, op=op):
                        env = {"OMP_NUM_THREADS": "1", "BLIS_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
                        self.good(f"nested-{outer}", "--blas", path, "--op", op, "--n", "256", "--tile", "64", *SHORT, env=env)

    def test_openmp(self):
        for runtime in ("gomp", "libomp"):
            with self.subTest(runtime=runtime):
                env = {"OMP_WAIT_POLICY": "passive"}
                self.good(f"forkjoin-{runtime}", "--threads", "3", *SHORT, env=env)
                self.good(f"omp_cg-{runtime}", "--n", "16", "--iterations", "120", env=env)
                self.good(f"omp_nbody-{runtime}", "--n", "200", "--steps", "5", env=env)
                self.good(f"omp_sort-{runtime}", "--n", "20000", "--rounds", "5", "--threads", "3", env=env)
                self.good(f"omp_share-{runtime}", "--us", "20", "--after", "0.01", env=env)

    def test_barriers_and_locks(self):
        for kind in benches.BARRIERS:
            with self.subTest(barrier=kind):
                self.good("barrier", "--kind", kind, "--threads", "2", *SHORT)
        for kind in benches.LOCKS:
            with self.subTest(lock=kind):
                self.good("lock", "--kind", kind, "--threads", "2", "--ops", "100", *SHORT)
        for kind in ("tas", "ttas", "ticket", "mcs", "clh", "spin", "mutex", "rand"):
            with self.subTest(hotlock=kind):
                self.good("hotlock", "--kind", kind, "--threads", "2", "--held", "100", *SHORT)
                self.good("hotlock", "--kind", kind, "--threads", "2", "--op", "hash", "--ops", "50", *SHORT)

    def test_threads_and_single_operations(self):
        self.good("storm", "--threads", "4", *SHORT)
        self.good("startup", "3", "true")
        for op in ("getppid", "read", "write", "getrandom", "recv", "pread", "fstat", "pipe", "calls", "pingpong", "yield"):
            self.good("micro", "--op", op, "--rounds", "500")
        self.good("micro", "--op", "polled", "--rounds", "3")
        if len(os.sched_getaffinity(0)) > 1:
            self.good("micro", "--op", "idlewake", "--pin", "1", "--rounds", "50")

    def test_groups_of_senders_and_receivers(self):
        for kind in ("socket", "pipe"):
            for how in ("threads", "processes"):
                with self.subTest(kind=kind, how=how):
                    self.good("hack", "--kind", kind, "--as", how, "--groups", "2", "--pairs", "3", "--messages", "20", "--size", "4096")

    def test_mpi(self):
        for kind, launcher in (("mpich", ["mpirun.mpich", "-n", "2"]),
                               ("openmpi", ["mpirun.openmpi", "--oversubscribe", "--bind-to", "none", "-n", "2"])):
            with self.subTest(kind=kind):
                if shutil.which(launcher[0]):
                    self.good(f"mpi_halo-{kind}", "--cells", "2000", *SHORT, launcher=launcher)

    def test_misspelt_options_are_refused(self):
        for name, *args in (("barrier", "--thread", "3"), ("lock", "--kind"), ("storm", "2"), ("lock", "--kind", "none"),
                            ("barrier", "--threads", "two"), ("startup", "0", "true"), ("hack", "--kind", "none"), ("hack", "--size", "3")):
            with self.subTest(args=(name, *args)):
                done = run([os.path.join(BIN, name), *args])
                self.assertEqual(done.returncode, 2)
                self.assertTrue(done.stderr)


if __name__ == "__main__":
    if not os.path.exists(os.path.join(BIN, "barrier")):
        print(f"no workloads in {BIN}")
        sys.exit(77)
    signal.alarm(240)
    configs.scrub_environment()
    unittest.main()
