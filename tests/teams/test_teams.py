#!/usr/bin/env python3
# tests/teams/test_teams.py - the entries of OpenMP runtimes are hooked, whatever way a program comes to them.
# SPDX-License-Identifier: Apache-2.0
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from instance import CPUS, Programs, main

USF, SHARER, HOST, GCC, CLANG = sys.argv[1:6]
FAKES, TOOL, (OLD_HASH, WEAK, WEAK_GOMP, LINKED) = sys.argv[6:10], sys.argv[10], sys.argv[11:15]
MODULES = [m for m in (GCC, CLANG) if m != "-"]


class Host:
    """The host program, run with a share of one core of two."""

    def __init__(self, case, *options, weight=1, malleable="on", policy=SHARER, **env):
        self.case = case
        self.p = case.start(*case.run_of("--policy", policy, "--weight", str(weight), "--malleable=" + malleable, *options), HOST,
                            env={**case.env, **env}, stderr=subprocess.PIPE)

    def __call__(self, *command):
        return int(self.case.says(self.p, *command))

    def share(self, n):
        self.case.usf("policy", "weight", str(self.p.pid), str(n))

    def end(self):
        err = self.p.communicate(timeout=60)[1]
        self.case.assertEqual(self.p.returncode, 0, err)
        return err

    def record(self):
        return self.case.process(self.p.pid)


class Teams(Programs):
    tool, kind = USF, "teams"

    def each(self, **more):
        for m in MODULES:
            with self.subTest(module=os.path.basename(m), **{k: v for k, v in more.items() if k.isupper()}):
                h = Host(self, **more)
                h("open", "m", m)
                yield h
                h.end()

    # ---- the runtimes ------------------------------------------------------------------------------

    def test_all_ways_of_regions(self):
        for h in self.each():
            self.assertEqual([h(w, "m") for w in ("plain", "tail")], [1, 1])
            h.share(2)
            self.assertEqual([h(w, "m") for w in ("plain", "tail", "plain")], [2, 2, 2])
            self.assertEqual(h("asked", "m", 3), 3)
            h.share(1)
            self.assertEqual([h(w, "m", 2) for w in ("plain", "serial", "plain")], [1, 1, 1])
            self.assertEqual((h("asked", "m", 2), h("plain", "m"), h("max", "m")), (2, 1, 2))
            self.assertTrue(h.record()["malleable"])

    # Where a region is in another the runtime's own word holds, which is that of its start: share 2, now 1.
    def test_inner_regions_are_left_alone(self):
        for h in self.each(weight=2):
            self.assertEqual(h("plain", "m"), 2)
            regions = h.record()["regions"]
            h.share(1)
            self.assertEqual(h("plain", "m"), 1)
            self.assertEqual([h(w, "m") for w in ("nested", "inactive", "task")], [2, 2, 2])
            self.assertEqual(h("plain", "m"), 1)
            self.assertEqual(h.record()["regions"] - regions, 4)        # two plain, and what nested and task are in

    def test_leagues_of_teams(self):
        for m in MODULES:
            bare = subprocess.run([HOST], input="open m %s\nleague m\n" % m, env=self.env, stdout=subprocess.PIPE, text=True, timeout=60).stdout
            h = Host(self, weight=2)
            h("open", "m", m)
            first = h("league", "m")
            if bare == "1\n%d\n" % (2 * len(os.sched_getaffinity(0))) and len(os.sched_getaffinity(0)) == 2: self.assertEqual(first, 4)
            h.share(1)
            self.assertEqual((h("league", "m"), h("plain", "m")), (first, 1))
            h.end()

    def test_two_runtimes_in_one_process(self):
        if len(MODULES) < 2: self.skipTest("needs libgomp and libomp")
        h = Host(self)
        h("open", "a", MODULES[0])
        h("open", "b", MODULES[1])
        self.assertEqual((h("plain", "a"), h("plain", "b")), (1, 1))
        h("set", "a", 2)
        self.assertEqual((h("plain", "a"), h("plain", "b")), (2, 1))
        h.share(2)
        self.assertEqual((h("plain", "a"), h("plain", "b")), (2, 2))
        h("set", "b", 1)
        self.assertEqual((h("plain", "a"), h("plain", "b"), h("max", "b")), (2, 1, 1))
        h.end()

    def test_what_a_thread_says_goes_for_it(self):
        for h in self.each():
            self.assertEqual((h("says", "m"), h("fresh", "m"), h("plain", "m")), (2, 1, 1))
            h("set", "m", 2)
            self.assertEqual((h("plain", "m"), h("fresh", "m")), (2, 1))

    def test_many_threads(self):
        for h in self.each():
            self.assertEqual(h("threads", "m", 12), 12 * 20)
            self.assertEqual(h.record()["regions"], 12 * 20)

    def test_a_child(self):
        for h in self.each():
            self.assertEqual((h("child", "m"), h("plain", "m")), (1, 1))

    def test_what_the_user_says(self):
        for env, sizes in (({"OMP_NUM_THREADS": "2"}, (2, 2)), ({"OMP_NUM_THREADS": "3,2"}, (3, 3)), ({"OMP_DYNAMIC": "false"}, (1, 1)),
                           ({"OMP_DYNAMIC": " FALSE"}, (1, 1)), ({"OMP_THREAD_LIMIT": "1"}, (1, 1))):
            for h in self.each(**env):
                n = h("plain", "m")
                h.share(2)
                self.assertEqual((n, h("plain", "m")), sizes)

    def test_what_the_program_says_before_it_loads_a_runtime(self):
        for m in MODULES:
            h = Host(self)
            h("environment", "OMP_NUM_THREADS", "2")
            h("open", "m", m)
            self.assertEqual(h("plain", "m"), 2)
            h.end()

    def test_what_the_program_says_for_all_threads(self):
        if CLANG == "-": self.skipTest("needs libomp")
        h = Host(self)
        h("open", "m", CLANG)
        h("defaults", "m", "OMP_NUM_THREADS=2")
        self.assertEqual(h("plain", "m"), 2)
        self.assertFalse(h.record()["malleable"])
        h.end()

    def test_a_program_that_wants_equal_teams(self):
        for h in self.each():
            self.assertEqual(h("plain", "m"), 1)
            h("dynamic", "m", 0)
            h.share(2)
            self.assertEqual(h("plain", "m"), 1)
            h("dynamic", "m", 1)        # libomp has no more then than at its start
            self.assertLessEqual(h("plain", "m"), 2)

    def test_by_default_sizes_do_not_change(self):
        for h in self.each(weight=2, malleable="auto"):
            self.assertEqual((h("plain", "m"), h("max", "m")), (2, 2))
            h.share(1)
            self.assertEqual((h("plain", "m"), h("max", "m")), (2, 2))
            q = h.record()
            self.assertEqual((q["malleable"], q["regions"], q["width"]), (False, 2, 2))
            h("dynamic", "m", 1)
            self.assertEqual((h("plain", "m"), h("max", "m")), (1, 2))
            self.assertTrue(h.record()["malleable"])
            h.share(2)
            h("dynamic", "m", 0)
            self.assertEqual(h("plain", "m"), 2)
        for h in self.each(weight=2, malleable="off"):
            h("plain", "m")
            h("dynamic", "m", 1)
            h.share(1)
            h("plain", "m")
            self.assertFalse(h.record()["malleable"])

    # The runtimes would count the machine's load themselves, and have teams of one on one that is busy.
    def test_sizes_that_may_vary(self):
        for malleable in ("auto", "on"):
            for h in self.each(weight=2, malleable=malleable, OMP_DYNAMIC="true"):
                for n in (2, 1, 2, 1):
                    h.share(n)
                    self.assertEqual((h("plain", "m"), h("max", "m")), (n, 2))
                self.assertTrue(h.record()["malleable"])

    # ---- programs that look for OpenMP --------------------------------------------------------------

    def test_no_symbol_appears(self):
        h = Host(self)
        self.assertEqual([h("visible", s) for s in ("GOMP_parallel", "__kmpc_fork_call", "omp_set_num_threads")], [0, 0, 0])
        for m in MODULES: h("open", m.rpartition("/")[2][:20], m)
        self.assertEqual([h("visible", s) for s in ("GOMP_parallel", "__kmpc_fork_call", "omp_get_max_threads")], [0, 0, 0])
        h.end()

    def weak(self, program, *options, **env):
        return self.result(*self.run_of("--policy", SHARER, *options), program, env={**self.env, **env})

    def test_weak_symbols(self):
        self.assertEqual(self.weak(WEAK, "--malleable", "--weight", "1"), "0 0 0")
        if WEAK_GOMP != "-":
            self.assertEqual(self.weak(WEAK_GOMP, "--malleable", "--weight", "1"), "1 2 1")
            self.assertEqual(self.weak(WEAK_GOMP, "--weight", "2"), "1 2 2")
            self.assertEqual(self.weak(WEAK_GOMP, "--malleable", "--weight", "1", OMP_NUM_THREADS="3"), "1 3 3")

    # ---- beginnings of functions --------------------------------------------------------------------

    def test_beginnings(self):
        h = Host(self)
        h("open", "f", FAKES[0])
        for f in ("GOMP_parallel", "GOMP_parallel_start", "GOMP_parallel_sections", "GOMP_parallel_reductions", "GOMP_parallel_loop_static",
                  "GOMP_parallel_loop_runtime"):
            self.assertEqual((h(f, "f", 0), h(f, "f", 3), h(f, "f", 1)), (1, 3, 1), f)
        self.assertEqual((h("GOMP_parallel", "f", 5), h("max", "f")), (105, 2))        # the other way of its branch
        self.assertEqual((h("arguments", "f", 0), h("arguments", "f", 4)), (1, 4))
        h("level", "f", 1)
        self.assertEqual((h("GOMP_parallel", "f", 0), h("max", "f")), (0, 7))
        h("set", "f", 9)                # in a region: it goes for that alone
        h("level", "f", 0)
        self.assertEqual(h("GOMP_parallel", "f", 0), 1)
        h("set", "f", 9)
        self.assertEqual((h("GOMP_parallel", "f", 0), h("max", "f")), (0, 9))
        h.end()

    def test_lists_of_sizes(self):
        h = Host(self)
        h("open", "f", FAKES[0])
        self.assertEqual((h("pushed", "f", 4), h.record()["width"], h.record()["regions"]), (4, 4, 1))
        self.assertEqual((h("listed", "f", 2), h.record()["width"], h.record()["regions"]), (2, 2, 2))
        self.assertEqual((h("listed", "f", 1), h.record()["regions"]), (1, 2))      # no region of several
        self.assertEqual((h("pushed", "f", 0), h("listed", "f", 0)), (1, 1))
        h.end()

    # Arrays that were made before the policy said anything are not overrun after it.
    def test_what_was_said_before_the_first_share(self):
        for ask in (True, False):
            h = Host(self, policy="coop", weight=100)
            h("open", "f", FAKES[0])
            h("most", "f", 1)
            if ask: self.assertEqual(h("max", "f"), 1)
            self.assertEqual(h("GOMP_parallel", "f", 0), 0)
            self.usf("policy", "set", "equi", "-i", self.instance)
            self.soon(lambda: h.record()["share"] is not None, "equi gives no share")
            n = h("max", "f")
            self.assertEqual(n, 1 if ask else 2)
            self.assertEqual(h("GOMP_parallel", "f", 0), n)
            h.end()
            self.take_another_instance()

    def test_never_more_than_promised(self):
        h = Host(self, weight=2, malleable="auto")
        h("open", "f", FAKES[0])
        h("dynamic-is", "f", 1)
        self.assertEqual(h("GOMP_parallel", "f", 0), 2)
        h("most", "f", 1)
        self.assertEqual(h("GOMP_parallel", "f", 0), 1)
        h("dynamic-is", "f", 0)
        self.assertEqual(h("GOMP_parallel", "f", 0), 0)
        h.end()

    def test_what_the_environment_was_when_it_was_loaded(self):
        h = Host(self)
        h("environment", "OMP_NUM_THREADS", 2)
        h("open", "f", FAKES[0])
        h("without", "OMP_NUM_THREADS")
        self.assertEqual(h("GOMP_parallel", "f", 0), 0)
        h("open", "other", OLD_HASH)
        self.assertEqual(h("GOMP_parallel", "other", 0), 1)
        h.end()

    def test_a_kept_thread_remembers_nothing(self):
        h = Host(self)
        h("open", "f", FAKES[0])
        for i in range(20):
            self.assertEqual((h("says", "f"), h("fresh", "f")), (0, 1))
            if h("same", "f"): break
        else:
            self.fail("no thread was used again")
        h.end()

    def test_tools_before_a_runtime_are_none(self):
        h = Host(self)
        h("open", "f", TOOL)
        self.assertEqual(h("GOMP_parallel", "f", 0), 0)
        h.end()

    def test_other_ways_of_loading(self):
        h = Host(self)
        h("open", "old", OLD_HASH)
        h("open-apart", "apart", FAKES[0])      # in a namespace of its own
        for m in ("old", "apart", "old"):
            self.assertEqual((h("GOMP_parallel", m, 0), h("GOMP_parallel_sections", m, 0), h("GOMP_parallel", m, 3)), (1, 1, 3), m)
        h("set", "old", 3)
        self.assertEqual((h("GOMP_parallel", "old", 0), h("GOMP_parallel", "apart", 0)), (0, 1))
        h.end()

    def test_unwinding_from_any_instruction(self):
        h = Host(self)
        h("open", "f", FAKES[0])
        for f in ("GOMP_parallel", "GOMP_parallel_start", "GOMP_parallel_sections", "GOMP_parallel_reductions", "GOMP_parallel_loop_static",
                  "GOMP_parallel_loop_runtime"):
            self.assertEqual(h("unwind", "f", f), 0, f)
        h.end()

    def test_what_cannot_be_hooked_is_left_alone(self):
        for fake, why in zip(FAKES[1:], ("too short", "jumps into its first", "no description of its bounds")):
            h = Host(self, "-v")
            h("open", "f", fake)
            self.assertEqual((h("GOMP_parallel", "f", 0), h("max", "f"), h("GOMP_parallel", "f", 5)), (0, 7, 105))
            self.assertIn("its OpenMP teams do not follow shares: ", err := h.end())
            self.assertIn(why, err)

    def test_what_doctor_says(self):
        for program, says in ((LINKED, "its teams do not follow shares: it is too short"), (WEAK_GOMP, "its teams can follow a share (")):
            if program == "-": continue
            out = subprocess.run([USF, "doctor", "--program", program], env=self.env, capture_output=True, text=True, timeout=60).stdout
            self.assertIn(says, out)
            self.assertEqual(out.count("openmp"), 1, out)

    def test_loaded_again_and_again(self):
        h = Host(self)
        self.assertEqual(h("reload", "f", FAKES[0]), 100)
        before = h("stubs")
        self.assertEqual(h("reload", "f", FAKES[0]), 100)
        self.assertEqual(h("stubs"), before)
        h.end()


if __name__ == "__main__":
    if len(CPUS) < 2:
        print("skipped: needs two CPUs")
        sys.exit(77)
    main(110, taken=14)
