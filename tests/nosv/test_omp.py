# tests/nosv/test_omp.py - OpenMP and BLAS beside tasks, bare and under usf.  SPDX-License-Identifier: Apache-2.0
# usage: test_omp.py USF PROGRAM; each on one and on two CPUs
import glob
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import instance

USF, PROGRAM = (os.path.abspath(a) for a in sys.argv[1:3])
# libomp 14 enlarges its array of threads and frees the old one while threads that begin still read
# it (__kmp_check_stack_overlap): with MALLOC_PERTURB_ one bare run in 300 crashed. With this number
# the array is large enough from the beginning. Each region of the program names its own number.
ENOUGH = {"OMP_NUM_THREADS": "128"}
BLAS = sorted(glob.glob("/usr/lib/*/openblas-*/libopenblas.so.0"))


class Omp(instance.Programs):
    tool, kind = USF, "nosv-omp"

    def everywhere(self, *command, **env):
        for cpus in (instance.CPUS[:1], instance.CPUS):
            shown = ",".join(map(str, cpus))
            scheduled = [USF, "run", "-i", self.instance, "-c", shown, "--"]
            for prefix in (["taskset", "-c", shown], scheduled):
                for wait in ({}, {"OMP_WAIT_POLICY": "passive"}):
                    with self.subTest(prefix=prefix, wait=wait, **env):
                        self.result(*prefix, *command, env={**self.env, **ENOUGH, **wait, **env})

    def test_omp(self):
        self.everywhere(PROGRAM)

    @unittest.skipUnless(BLAS, "no OpenBLAS")
    def test_blas(self):
        for path in BLAS:
            self.everywhere(PROGRAM, "blas", BLAS=path)


instance.main(280, taken=2)
